"""REST of check runs, which only Apps may write, and of commit statuses."""

from __future__ import annotations

from datetime import datetime

from app.githubbox.http import Call, Fields, Refused, Reply, invalid, not_found
from app.githubbox.render import REPO
from app.githubbox.render_git import GitRender
from app.githubbox.routing import Route, reading, writing
from app.githubbox.state import CheckRun, CheckSuite, Json, Repository, Role, Status
from app.githubbox.suites import add_check, latest_runs, suite

MAX_OUTPUT_CHARACTERS = 65_535
MAX_ANNOTATIONS = 50
MAX_ACTIONS = 3
_STATUSES = ("queued", "in_progress", "completed")
_CONCLUSIONS = (
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "success",
    "skipped",
    "stale",
    "timed_out",
)
_STATES = ("error", "failure", "pending", "success")


async def create_check(call: Call) -> Reply:
    fields, repository = call.fields("CheckRun"), call.repository
    name, sha = fields.text("name"), fields.text("head_sha")
    if len(sha) != 40 or await repository.git.resolve(sha) != sha:
        raise Refused(422, f"No commit found for SHA: {sha}")
    check = CheckRun(call.world.next_id(), name, sha, "queued", call.now)
    _apply(call, check, fields)
    add_check(call.world, repository, check)
    await call.events.check_run("created", repository, check, call.actor)
    await _tell_completed(call, check, was="queued")
    return Reply(201, await _render(call, check))


async def change_check(call: Call) -> Reply:
    check, fields = _check(call), call.fields("CheckRun")
    was = check.status
    if "name" in fields:
        check.name = fields.text("name")
    _apply(call, check, fields)
    await _tell_completed(call, check, was)
    return Reply(200, await _render(call, check))


def _apply(call: Call, check: CheckRun, fields: Fields) -> None:
    """Check the whole body, then take it over: a refused body changes nothing."""
    status = fields.choice("status", _STATUSES)
    conclusion = fields.choice("conclusion", _CONCLUSIONS)
    if status == "completed" and conclusion is None:
        raise Refused(422, "Invalid request.\n\nFor 'completed', a conclusion is required.")
    output, actions = fields.nested("output"), _actions(fields)
    if output is not None:
        _apply_output(check, output)
    if check.status == "completed":
        status = check.status  # GitHub keeps what has completed, and says nothing of it
    elif conclusion:
        status = "completed"
        check.conclusion = conclusion
        check.completed_at = _moment(fields, "completed_at") or call.now
    check.status = status or check.status
    check.started_at = _moment(fields, "started_at") or check.started_at
    check.external_id = fields.optional_text("external_id") or check.external_id
    check.details_url = fields.optional_text("details_url") or check.details_url
    if actions is not None:
        check.actions = actions


def _apply_output(check: CheckRun, output: Fields) -> None:
    title = output.optional_text("title") or check.title
    summary = output.optional_text("summary", MAX_OUTPUT_CHARACTERS)
    text = output.optional_text("text", MAX_OUTPUT_CHARACTERS)
    annotations = output.objects("annotations", MAX_ANNOTATIONS)
    if title is None or (summary is None and check.summary is None):
        raise Refused(422, 'Invalid request.\n\n"title", "summary" weren\'t supplied.')
    for one in annotations:
        if missing := {"path", "start_line", "annotation_level", "message"} - set(one):
            raise Refused(422, f"Invalid request.\n\n{sorted(missing)} weren't supplied.")
    check.title = title
    check.summary = check.summary if summary is None else summary
    check.text = check.text if text is None else text
    check.annotations += annotations  # GitHub adds annotations to those it has


def _actions(fields: Fields) -> list[Json] | None:
    if "actions" not in fields:
        return None
    actions = fields.objects("actions", MAX_ACTIONS)
    bounds = {"label": 20, "description": 40, "identifier": 20}
    for action in actions:
        for name, limit in bounds.items():
            Fields(action, "CheckRun").text(name, limit)
    return actions


def _moment(fields: Fields, name: str) -> datetime | None:
    value = fields.optional_text(name)
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise invalid("CheckRun", name) from None
    if moment.tzinfo is None:
        raise invalid("CheckRun", name)
    return moment


async def _tell_completed(call: Call, check: CheckRun, was: str) -> None:
    if check.status == "completed" and was != "completed":
        await call.events.check_run("completed", call.repository, check, call.actor)


def _check(call: Call) -> CheckRun:
    found = call.repository.checks.get(call.number("check_run_id"))
    if found is None:
        raise not_found()
    return found


async def _render(call: Call, check: CheckRun) -> Json:
    pulls = await GitRender(call.render).short_pulls(call.repository, check.head_sha)
    return call.render.check_run(call.repository, check, pulls)


async def get_check(call: Call) -> Reply:
    return Reply(200, await _render(call, _check(call)))


async def list_annotations(call: Call) -> Reply:
    check = _check(call)
    page, links = call.page(check.annotations)
    return Reply(200, [_annotation(call, check, one) for one in page], links)


def _annotation(call: Call, check: CheckRun, given: Json) -> Json:
    """As it is shown: what was not given is null."""
    optional = dict.fromkeys(("start_column", "end_column", "title", "raw_details"))
    blob = call.render.page_url(call.repository, f"/blob/{check.head_sha}/{given['path']}")
    return {**optional, "end_line": given["start_line"], **given, "blob_href": blob}


async def list_checks(call: Call) -> Reply:
    """Check runs of a commit, newest first; of one name only the latest unless `filter=all`."""
    sha = await _commit(call)
    found = [one for one in reversed(call.repository.checks.values()) if one.head_sha == sha]
    if app_id := call.query.get("app_id"):
        found = [one for one in found if str(call.render.app_named(one.app_slug)["id"]) == app_id]
    return await _listed(call, found)


async def _listed(call: Call, found: list[CheckRun]) -> Reply:
    query = call.query
    if name := query.get("check_name"):
        found = [one for one in found if one.name == name]
    if query.get("filter", "latest") == "latest":
        latest: dict[str, CheckRun] = {}
        for one in found:
            latest.setdefault(one.name, one)
        found = list(latest.values())
    if status := query.get("status"):
        found = [one for one in found if one.status == status]
    page, links = call.page(found)
    body = {"total_count": len(found), "check_runs": [await _render(call, one) for one in page]}
    return Reply(200, body, links)


async def list_suites(call: Call) -> Reply:
    """Check suites of a commit. GitHub makes one for each App that may write checks, as soon as
    the commit is pushed: so ours is there without a run, and queued."""
    repository, sha = call.repository, await _commit(call)
    suite(call.world, repository, sha, None)
    found = [one for one in repository.suites.values() if one.head_sha == sha]
    if app_id := call.query.get("app_id"):
        found = [one for one in found if str(call.render.app_named(one.app_slug)["id"]) == app_id]
    if name := call.query.get("check_name"):
        found = [
            one for one in found if any(run.name == name for run in latest_runs(repository, one))
        ]
    page, links = call.page(found)
    git = GitRender(call.render)
    shown = [await git.suite(repository, one) for one in page]
    return Reply(200, {"total_count": len(found), "check_suites": shown}, links)


async def get_suite(call: Call) -> Reply:
    return Reply(200, await GitRender(call.render).suite(call.repository, _suite(call)))


async def list_suites_checks(call: Call) -> Reply:
    of = _suite(call)
    found = [
        one
        for one in reversed(call.repository.checks.values())
        if (one.head_sha, one.app_slug) == (of.head_sha, of.app_slug)
    ]
    return await _listed(call, found)


def _suite(call: Call) -> CheckSuite:
    number = call.number("check_suite_id")
    for one in call.repository.suites.values():
        if one.id == number:
            return one
    raise not_found()


async def _commit(call: Call) -> str:
    sha = await call.repository.git.resolve(call.params["ref"])
    if sha is None:
        raise Refused(422, f"No commit found for SHA: {call.params['ref']}")
    return sha


def passes(repository: Repository, sha: str, name: str) -> bool:
    """Whether a required check lets a commit through: of the runs of one name the newest counts,
    and GitHub lets neutral and skipped pass."""
    runs = [one for one in repository.checks.values() if (one.head_sha, one.name) == (sha, name)]
    newest = max(runs, key=lambda one: one.id, default=None)
    return newest is not None and newest.conclusion in {"success", "neutral", "skipped"}


# statuses


async def create_status(call: Call) -> Reply:
    fields, repository = call.fields("Status"), call.repository
    sha = call.params["sha"]
    if await repository.git.resolve(sha) != sha:
        raise Refused(422, f"No commit found for SHA: {sha}")
    state = fields.choice("state", _STATES)
    if state is None:
        raise invalid("Status", "state", "missing_field")
    status = Status(
        call.world.next_id(),
        sha,
        state,
        fields.optional_text("context") or "default",
        fields.optional_text("description", 140),
        fields.optional_text("target_url"),
        call.actor,
        call.now,
    )
    repository.statuses.append(status)
    await call.events.status(repository, status)
    return Reply(201, call.render.status(repository, status))


async def combined_status(call: Call) -> Reply:
    """The latest status of each context, and what they come to together."""
    repository, sha = call.repository, await _commit(call)
    latest = {one.context: one for one in repository.statuses if one.sha == sha}
    states = {one.state for one in latest.values()}
    if states & {"error", "failure"}:
        state = "failure"
    else:
        state = "success" if states == {"success"} else "pending"
    page, links = call.page(list(latest.values()))
    described = []
    for status in page:
        one = call.render.status(repository, status)
        del one["creator"]
        described.append(one)
    return Reply(
        200,
        {
            "state": state,
            "statuses": described,
            "sha": sha,
            "total_count": len(latest),
            "repository": call.render.repository(repository),
            "commit_url": call.render.api_url(repository, f"/commits/{sha}"),
            "url": call.render.api_url(repository, f"/commits/{sha}/status"),
        },
        links,
    )


_ONE = f"{REPO}/check-runs/{{check_run_id}}"
_SUITE = f"{REPO}/check-suites/{{check_suite_id}}"
_WRITE = writing(Role.NONE, "checks", app_only=True)
ROUTES = (
    Route("POST", f"{REPO}/check-runs", create_check, _WRITE),
    Route("PATCH", _ONE, change_check, _WRITE),
    Route("GET", _ONE, get_check, reading("checks")),
    Route("GET", f"{_ONE}/annotations", list_annotations, reading("checks")),
    Route("GET", f"{REPO}/commits/{{ref}}/check-runs", list_checks, reading("checks")),
    Route("GET", f"{REPO}/commits/{{ref}}/check-suites", list_suites, reading("checks")),
    Route("GET", _SUITE, get_suite, reading("checks")),
    Route("GET", f"{_SUITE}/check-runs", list_suites_checks, reading("checks")),
    Route("POST", f"{REPO}/statuses/{{sha}}", create_status, writing(Role.WRITE, "statuses")),
    Route("GET", f"{REPO}/commits/{{ref}}/status", combined_status, reading("statuses")),
)
