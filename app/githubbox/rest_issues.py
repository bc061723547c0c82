"""REST of issues: the issues themselves, their assignees, dependencies and sub-issues."""

from __future__ import annotations

from collections.abc import Sequence

from app.githubbox.http import (
    Call,
    Fields,
    Refused,
    Reply,
    forbidden,
    invalid,
    issues_disabled,
    not_found,
)
from app.githubbox.moves import shut
from app.githubbox.render import REPO
from app.githubbox.routing import Route, reading, writing
from app.githubbox.state import Issue, Json, Label, Repository, Role, TextEdit, TimelineEvent, User

MAX_TITLE_CHARACTERS = 256
MAX_ASSIGNEES = 10
NEW_LABEL_COLOR = "ededed"
THREAD = ("issues", "pull_requests")
"""What is common to issues and pull requests takes either permission."""
_SORTS = {
    "created": lambda issue: issue.created_at,
    "updated": lambda issue: issue.updated_at,
    "comments": lambda issue: len(issue.comments),
}


async def list_issues(call: Call) -> Reply:
    """Issues and pull requests, newest first unless the query says otherwise."""
    query, repository = call.query, call.repository
    if not repository.has_issues:
        raise issues_disabled()
    found = list(repository.issues.values())
    state = query.get("state", "open")
    if state != "all":
        found = [one for one in found if one.state == state]
    for name in filter(None, query.get("labels", "").split(",")):
        found = [one for one in found if any(_same(name, label) for label in one.labels)]
    if creator := query.get("creator"):
        found = [one for one in found if one.author.login.lower() == creator.lower()]
    if assignee := query.get("assignee"):
        found = [one for one in found if _is_assigned(one, assignee)]
    if since := call.since():
        found = [one for one in found if one.updated_at >= since]
    found.sort(key=lambda one: one.number)
    found.sort(key=_SORTS.get(query.get("sort", ""), _SORTS["created"]))
    if query.get("direction", "desc") == "desc":
        found.reverse()
    page, links = call.page(found)
    return Reply(200, [call.render.issue(repository, one) for one in page], links)


def _same(name: str, label: Label) -> bool:
    return label.name.lower() == name.strip().lower()


def _is_assigned(issue: Issue, assignee: str) -> bool:
    if assignee in ("none", "*"):
        return bool(issue.assignees) == (assignee == "*")
    return any(user.login.lower() == assignee.lower() for user in issue.assignees)


async def create_issue(call: Call) -> Reply:
    """Open an issue. Of somebody without triage rights labels and assignees are dropped."""
    fields, repository = call.fields("Issue"), call.repository
    if not repository.has_issues:
        raise issues_disabled()
    issue = Issue(
        call.world.next_id(),
        0,
        fields.text("title", MAX_TITLE_CHARACTERS),
        fields.optional_text("body"),
        call.actor,
        call.now,
        call.now,
    )
    names, logins = fields.texts("labels"), _assignees(fields)
    if call.at_least(Role.TRIAGE, "issues"):
        issue.labels = labels_named(call, names)
        issue.assignees = _assignable(call, logins)
    issue.number = repository.next_number()
    repository.issues[issue.number] = issue
    call.events.issues("opened", repository, issue, call.actor)
    for label in issue.labels:
        _note(call, issue, "labeled", label)
        described = call.render.label(repository, label)
        call.events.issues("labeled", repository, issue, call.actor, label=described)
    for user in issue.assignees:
        _note(call, issue, "assigned", user)
        described = call.render.user(user)
        call.events.issues("assigned", repository, issue, call.actor, assignee=described)
    url = call.render.api_url(repository, f"/issues/{issue.number}")
    return Reply(201, call.render.issue(repository, issue), {"Location": url})


async def get_issue(call: Call) -> Reply:
    return Reply(200, call.render.issue(call.repository, call.issue))


async def change_issue(call: Call) -> Reply:
    """Title, body, state, labels and assignees; the author may change the first three as well."""
    issue, repository, fields = call.issue, call.repository, call.fields("Issue")
    permission = "pull_requests" if issue.pull else "issues"
    trusted = call.at_least(Role.TRIAGE, permission)
    if not trusted and issue.author is not call.actor:
        raise forbidden(call.caller)
    state = fields.choice("state", ("open", "closed"))
    reason = fields.choice("state_reason", ("completed", "not_planned", "duplicate", "reopened"))
    if issue.pull and issue.pull.merged_at and state == "open":
        raise invalid(
            "Issue",
            "state",
            "invalid",
            "state cannot be changed. The pull request cannot be reopened.",
        )
    await change_text(call, repository, issue, fields)
    if "labels" in fields and trusted:
        await replace_labels(call, issue, labels_named(call, fields.texts("labels")))
    if "assignees" in fields and trusted:
        await _replace_assignees(call, issue, _assignable(call, _assignees(fields)))
    if state and state != issue.state:
        await set_state(call, repository, issue, state, reason)
    return Reply(200, call.render.issue(repository, issue))


async def change_text(call: Call, repository: Repository, issue: Issue, fields: Fields) -> None:
    """Take over a new title and body, and tell what they were before."""
    changes: Json = {}
    title = fields.text("title", MAX_TITLE_CHARACTERS) if "title" in fields else issue.title
    body = fields.optional_text("body") if "body" in fields else issue.body
    if title != issue.title:
        changes["title"] = {"from": issue.title}
        issue.edits.append(TextEdit("title", call.actor, call.now))
    if body != issue.body:
        changes["body"] = {"from": issue.body or ""}
        issue.edits.append(TextEdit("body", call.actor, call.now))
    if changes:
        issue.title, issue.body, issue.updated_at = title, body, call.now
        await call.events.thread("edited", repository, issue, call.actor, changes=changes)


async def set_state(
    call: Call, repository: Repository, issue: Issue, state: str, reason: str | None
) -> None:
    if state == "closed":
        if issue.pull:
            head = await issue.pull.head_sha(repository)
            issue.pull.last_head_sha = head or issue.pull.last_head_sha
        shut(issue, call.actor, call.now, None if issue.pull else reason or "completed")
    else:
        issue.state, issue.state_reason = "open", None if issue.pull else "reopened"
        issue.closed_at, issue.closed_by, issue.updated_at = None, None, call.now
    action = "closed" if state == "closed" else "reopened"
    _note(call, issue, action)
    await call.events.thread(action, repository, issue, call.actor)


def _note(call: Call, issue: Issue, action: str, about: Label | User | None = None) -> None:
    """Write into the issue's timeline."""
    event_id = call.world.next_id()
    issue.timeline.append(TimelineEvent(event_id, action, call.actor, call.now, about))


def labels_named(call: Call, names: Sequence[str]) -> list[Label]:
    """The labels of those names; a missing one is made, as GitHub makes it."""
    found = []
    for name in dict.fromkeys(names):
        label = call.repository.label(name)
        if label is None:
            label = Label(call.world.next_id(), name, NEW_LABEL_COLOR)
            call.repository.labels.append(label)
            call.events.label("created", call.repository, label, call.actor)
        if label not in found:
            found.append(label)
    return found


async def replace_labels(call: Call, issue: Issue, labels: list[Label]) -> None:
    """Set an issue's labels, with one event for each that came or went."""
    gone = [label for label in issue.labels if label not in labels]
    new = [label for label in labels if label not in issue.labels]
    repository = call.repository
    for action, changed in (("unlabeled", gone), ("labeled", new)):
        for label in changed:
            if action == "labeled":
                issue.labels.append(label)
            else:
                issue.labels.remove(label)
            issue.updated_at = call.now
            _note(call, issue, action, label)
            described = call.render.label(repository, label)
            await call.events.thread(action, repository, issue, call.actor, label=described)


# assignees


def _assignees(fields: Fields) -> list[str]:
    single = fields.optional_text("assignee") if "assignee" in fields else None
    return fields.texts("assignees") or ([single] if single else [])


def may_be_assigned(call: Call, login: str) -> User | None:
    """Everybody with write access and the App's bot may be assigned."""
    user = call.world.user(login)
    bot = call.identity.bot
    return user if user and (user.role >= Role.TRIAGE or user is bot) else None


def _assignable(call: Call, logins: Sequence[str]) -> list[User]:
    users = []
    for login in dict.fromkeys(logins[:MAX_ASSIGNEES]):
        user = may_be_assigned(call, login)
        if user is None:
            raise Refused(
                422,
                "Validation Failed",
                [{"value": login, "resource": "Issue", "field": "assignees", "code": "invalid"}],
            )
        users.append(user)
    return users


async def _replace_assignees(call: Call, issue: Issue, users: list[User]) -> None:
    gone = [user for user in issue.assignees if user not in users]
    new = [user for user in users if user not in issue.assignees]
    for action, changed in (("unassigned", gone), ("assigned", new)):
        for user in changed:
            if action == "assigned":
                issue.assignees.append(user)
            else:
                issue.assignees.remove(user)
            issue.updated_at = call.now
            _note(call, issue, action, user)
            described = call.render.user(user)
            await call.events.thread(action, call.repository, issue, call.actor, assignee=described)


async def list_assignees(call: Call) -> Reply:
    users = [one for one in call.world.users.values() if may_be_assigned(call, one.login)]
    page, links = call.page(users)
    return Reply(200, [call.render.user(one) for one in page], links)


async def get_assignee(call: Call) -> Reply:
    if may_be_assigned(call, call.params["assignee"]) is None:
        raise not_found()
    return Reply(204)


async def add_assignees(call: Call) -> Reply:
    """Unlike at creation, who may not be assigned is left out silently."""
    issue = call.issue
    known = [may_be_assigned(call, login) for login in call.fields("Issue").texts("assignees")]
    new = [user for user in known if user and user not in issue.assignees]
    await _replace_assignees(call, issue, (issue.assignees + new)[:MAX_ASSIGNEES])
    return Reply(201, call.render.issue(call.repository, issue))


async def remove_assignees(call: Call) -> Reply:
    issue = call.issue
    gone = {login.lower() for login in call.fields("Issue").texts("assignees")}
    left = [user for user in issue.assignees if user.login.lower() not in gone]
    await _replace_assignees(call, issue, left)
    return Reply(200, call.render.issue(call.repository, issue))


# dependencies and sub-issues


async def list_blockers(call: Call) -> Reply:
    page, links = call.page(call.issue.blocked_by)
    return Reply(200, [call.render.issue(call.repository, one) for one in page], links)


async def add_blocker(call: Call) -> Reply:
    issue, blocker = call.issue, _by_id(call, call.fields("Issue").whole("issue_id"))
    if blocker is issue or blocker in issue.blocked_by:
        raise invalid(
            "IssueDependency",
            "issue_id",
            "custom",
            "an issue cannot be blocked by itself or twice by the same",
        )
    issue.blocked_by.append(blocker)
    call.events.issue_dependencies("blocked_by_added", call.repository, issue, blocker, call.actor)
    return Reply(201, call.render.issue(call.repository, blocker))


async def remove_blocker(call: Call) -> Reply:
    issue, blocker = call.issue, _by_id(call, call.number("issue_id"))
    if blocker not in issue.blocked_by:
        raise not_found()
    issue.blocked_by.remove(blocker)
    call.events.issue_dependencies(
        "blocked_by_removed", call.repository, issue, blocker, call.actor
    )
    return Reply(200, call.render.issue(call.repository, blocker))


def _by_id(call: Call, number: int | None) -> Issue:
    """Dependencies name issues by their id, not by their number."""
    if number is None:
        raise invalid("IssueDependency", "issue_id", "missing_field")
    for issue in call.repository.issues.values():
        if issue.id == number:
            return issue
    raise not_found()


async def list_sub_issues(call: Call) -> Reply:
    page, links = call.page(call.issue.sub_issues)
    return Reply(200, [call.render.issue(call.repository, one) for one in page], links)


async def lock(call: Call) -> Reply:
    issue = call.issue
    issue.locked = True
    await call.events.thread("locked", call.repository, issue, call.actor)
    return Reply(204)


async def unlock(call: Call) -> Reply:
    issue = call.issue
    issue.locked = False
    await call.events.thread("unlocked", call.repository, issue, call.actor)
    return Reply(204)


_ONE = f"{REPO}/issues/{{issue_number}}"
ROUTES = (
    Route("GET", f"{REPO}/issues", list_issues, reading("issues")),
    Route("POST", f"{REPO}/issues", create_issue, writing(Role.NONE, "issues")),
    Route("GET", _ONE, get_issue, reading(*THREAD)),
    Route("PATCH", _ONE, change_issue, writing(Role.NONE, *THREAD)),
    Route("GET", f"{REPO}/assignees", list_assignees, reading("metadata")),
    Route("GET", f"{REPO}/assignees/{{assignee}}", get_assignee, reading("metadata")),
    Route("POST", f"{_ONE}/assignees", add_assignees, writing(Role.TRIAGE, *THREAD)),
    Route("DELETE", f"{_ONE}/assignees", remove_assignees, writing(Role.TRIAGE, *THREAD)),
    Route("GET", f"{_ONE}/dependencies/blocked_by", list_blockers, reading("issues")),
    Route("POST", f"{_ONE}/dependencies/blocked_by", add_blocker, writing(Role.TRIAGE, "issues")),
    Route(
        "DELETE",
        f"{_ONE}/dependencies/blocked_by/{{issue_id}}",
        remove_blocker,
        writing(Role.TRIAGE, "issues"),
    ),
    Route("GET", f"{_ONE}/sub_issues", list_sub_issues, reading("issues")),
    Route("PUT", f"{_ONE}/lock", lock, writing(Role.TRIAGE, *THREAD)),
    Route("DELETE", f"{_ONE}/lock", unlock, writing(Role.TRIAGE, *THREAD)),
)
