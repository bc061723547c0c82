"""REST of labels: those of a repository, and those on an issue."""

from __future__ import annotations

import re

from app.githubbox.http import Call, Refused, Reply, invalid, not_found
from app.githubbox.render import REPO
from app.githubbox.rest_issues import NEW_LABEL_COLOR, THREAD, labels_named, replace_labels
from app.githubbox.routing import Route, reading, writing
from app.githubbox.state import Issue, Label, Role

MAX_NAME_CHARACTERS = 50
MAX_LABELS = 100
_COLOR = re.compile(r"[0-9a-fA-F]{6}")


async def list_labels(call: Call) -> Reply:
    page, links = call.page(call.repository.labels)
    return Reply(200, [call.render.label(call.repository, one) for one in page], links)


async def create_label(call: Call) -> Reply:
    fields, repository = call.fields("Label"), call.repository
    name = fields.text("name", MAX_NAME_CHARACTERS)
    color = fields.optional_text("color") or NEW_LABEL_COLOR
    if not _COLOR.fullmatch(color):
        raise invalid("Label", "color")
    if repository.label(name):
        raise invalid("Label", "name", "already_exists")
    label = Label(call.world.next_id(), name, color, fields.optional_text("description", 100))
    repository.labels.append(label)
    call.events.label("created", repository, label, call.actor)
    answer = call.render.label(repository, label)
    return Reply(201, answer, {"Location": answer["url"]})


async def get_label(call: Call) -> Reply:
    return Reply(200, call.render.label(call.repository, _label(call)))


async def delete_label(call: Call) -> Reply:
    """Delete a label; issues that carry it lose it without an event of their own."""
    label = _label(call)
    call.repository.labels.remove(label)
    for issue in call.repository.issues.values():
        if label in issue.labels:
            issue.labels.remove(label)
    call.events.label("deleted", call.repository, label, call.actor)
    return Reply(204)


def _label(call: Call) -> Label:
    found = call.repository.label(call.params["name"])
    if found is None:
        raise not_found()
    return found


async def list_issue_labels(call: Call) -> Reply:
    page, links = call.page(call.issue.labels)
    return Reply(200, [call.render.label(call.repository, one) for one in page], links)


async def add_issue_labels(call: Call) -> Reply:
    issue, given = call.issue, labels_named(call, _names(call))
    new = [label for label in given if label not in issue.labels]
    await replace_labels(call, issue, issue.labels + new)
    return _labels(call, issue)


async def set_issue_labels(call: Call) -> Reply:
    issue = call.issue
    await replace_labels(call, issue, labels_named(call, _names(call)))
    return _labels(call, issue)


async def remove_issue_label(call: Call) -> Reply:
    issue, label = call.issue, call.repository.label(call.params["name"])
    if label is None or label not in issue.labels:
        raise Refused(404, "Label does not exist")
    await replace_labels(call, issue, [one for one in issue.labels if one is not label])
    return _labels(call, issue)


async def clear_issue_labels(call: Call) -> Reply:
    await replace_labels(call, call.issue, [])
    return Reply(204)


def _names(call: Call) -> list[str]:
    names = call.fields("Label").texts("labels")
    if len(names) > MAX_LABELS:
        raise invalid("Label", "labels", "too_many")
    for name in names:
        if len(name) > MAX_NAME_CHARACTERS:
            raise invalid(
                "Label",
                "name",
                "custom",
                f"name is too long (maximum is {MAX_NAME_CHARACTERS} characters)",
            )
    return names


def _labels(call: Call, issue: Issue) -> Reply:
    return Reply(200, [call.render.label(call.repository, one) for one in issue.labels])


_ISSUE = f"{REPO}/issues/{{issue_number}}/labels"


async def timeline(call: Call) -> Reply:
    """Who labelled, assigned, closed and reopened, and when; other kinds are left out."""
    page, links = call.page(call.issue.timeline)
    return Reply(200, [call.render.timeline_event(call.repository, one) for one in page], links)


ROUTES = (
    Route("GET", f"{REPO}/labels", list_labels, reading(*THREAD)),
    Route("POST", f"{REPO}/labels", create_label, writing(Role.WRITE, *THREAD)),
    Route("GET", f"{REPO}/labels/{{name}}", get_label, reading(*THREAD)),
    Route("DELETE", f"{REPO}/labels/{{name}}", delete_label, writing(Role.WRITE, *THREAD)),
    Route("GET", f"{REPO}/issues/{{issue_number}}/timeline", timeline, reading(*THREAD)),
    Route("GET", _ISSUE, list_issue_labels, reading(*THREAD)),
    Route("POST", _ISSUE, add_issue_labels, writing(Role.TRIAGE, *THREAD)),
    Route("PUT", _ISSUE, set_issue_labels, writing(Role.TRIAGE, *THREAD)),
    Route("DELETE", _ISSUE, clear_issue_labels, writing(Role.TRIAGE, *THREAD)),
    Route("DELETE", f"{_ISSUE}/{{name}}", remove_issue_label, writing(Role.TRIAGE, *THREAD)),
)
