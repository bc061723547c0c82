"""REST of comments on issues and pull requests, and of reactions."""

from __future__ import annotations

from app.githubbox.http import Call, Refused, Reply, forbidden, invalid, not_found
from app.githubbox.identity import AsUser
from app.githubbox.render import REPO
from app.githubbox.rest_issues import THREAD
from app.githubbox.routing import Route, reading, writing
from app.githubbox.state import Comment, Issue, Json, Reaction, Role

_CONTENTS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")


async def list_comments(call: Call) -> Reply:
    """Comments of one issue, oldest first."""
    issue, since = call.issue, call.since()
    found = [one for one in issue.comments if since is None or one.updated_at >= since]
    page, links = call.page(found)
    return Reply(200, [call.render.comment(call.repository, issue, one) for one in page], links)


async def list_repository_comments(call: Call) -> Reply:
    """Comments of all issues of the repository, by id unless the query says otherwise."""
    since = call.since()
    found = [
        (issue, comment)
        for issue in call.repository.issues.values()
        for comment in issue.comments
        if since is None or comment.updated_at >= since
    ]
    found.sort(key=lambda pair: pair[1].id)
    if call.query.get("sort") == "updated":
        found.sort(key=lambda pair: pair[1].updated_at)
    if "sort" in call.query and call.query.get("direction") == "desc":
        found.reverse()
    page, links = call.page(found)
    return Reply(200, [call.render.comment(call.repository, *pair) for pair in page], links)


async def create_comment(call: Call) -> Reply:
    issue, repository = call.issue, call.repository
    body = call.fields("IssueComment").text("body")
    by_collaborator = isinstance(call.caller, AsUser) and call.actor.role >= Role.WRITE
    if issue.locked and not by_collaborator:  # Apps are refused too
        raise Refused(403, "Unable to create comment because issue is locked.")
    comment = Comment(call.world.next_id(), call.actor, body, call.now, call.now)
    issue.comments.append(comment)
    issue.updated_at = call.now
    call.events.issue_comment("created", repository, issue, comment, call.actor)
    answer = call.render.comment(repository, issue, comment)
    return Reply(201, answer, {"Location": answer["url"]})


async def get_comment(call: Call) -> Reply:
    issue, comment = _find(call)
    return Reply(200, call.render.comment(call.repository, issue, comment))


async def change_comment(call: Call) -> Reply:
    issue, comment = _own(call)
    before, comment.body = comment.body, call.fields("IssueComment").text("body")
    if comment.body != before:
        comment.updated_at = issue.updated_at = call.now
        changes: Json = {"body": {"from": before}}
        call.events.issue_comment(
            "edited", call.repository, issue, comment, call.actor, changes=changes
        )
    return Reply(200, call.render.comment(call.repository, issue, comment))


async def delete_comment(call: Call) -> Reply:
    issue, comment = _own(call)
    issue.comments.remove(comment)
    call.events.issue_comment("deleted", call.repository, issue, comment, call.actor)
    return Reply(204)


def _find(call: Call) -> tuple[Issue, Comment]:
    number = call.number("comment_id")
    for issue in call.repository.issues.values():
        for comment in issue.comments:
            if comment.id == number:
                return issue, comment
    raise not_found()


def _own(call: Call) -> tuple[Issue, Comment]:
    """A comment that the caller may change: its own, or any with write access."""
    issue, comment = _find(call)
    if comment.author is not call.actor and not call.at_least(Role.WRITE, "issues"):
        raise forbidden(call.caller)
    return issue, comment


async def react_to_comment(call: Call) -> Reply:
    _, comment = _find(call)
    return react(call, comment.reactions)


async def react_to_issue(call: Call) -> Reply:
    return react(call, call.issue.reactions)


def react(call: Call, reactions: list[Reaction]) -> Reply:
    """Add a reaction; the same one by the same account exists only once (200)."""
    content = call.fields("Reaction").choice("content", _CONTENTS)
    if content is None:
        raise invalid("Reaction", "content", "missing_field")
    for known in reactions:
        if known.content == content and known.user is call.actor:
            return Reply(200, call.render.reaction(known))
    reaction = Reaction(call.world.next_id(), call.actor, content, call.now)
    reactions.append(reaction)
    return Reply(201, call.render.reaction(reaction))


_OF_ISSUE = f"{REPO}/issues/{{issue_number}}/comments"
_ONE = f"{REPO}/issues/comments/{{comment_id}}"
ROUTES = (
    Route("GET", _OF_ISSUE, list_comments, reading(*THREAD)),
    Route("POST", _OF_ISSUE, create_comment, writing(Role.NONE, *THREAD)),
    Route("GET", f"{REPO}/issues/comments", list_repository_comments, reading(*THREAD)),
    Route("GET", _ONE, get_comment, reading(*THREAD)),
    Route("PATCH", _ONE, change_comment, writing(Role.NONE, *THREAD)),
    Route("DELETE", _ONE, delete_comment, writing(Role.NONE, *THREAD)),
    Route("POST", f"{_ONE}/reactions", react_to_comment, writing(Role.NONE, *THREAD)),
    Route(
        "POST",
        f"{REPO}/issues/{{issue_number}}/reactions",
        react_to_issue,
        writing(Role.NONE, *THREAD),
    ),
)
