"""REST of reviews of pull requests, and of the comments on lines that belong to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from app.githubbox.git import FileChange
from app.githubbox.http import Call, Fields, Refused, Reply, forbidden, invalid, not_found
from app.githubbox.render import REPO
from app.githubbox.render_git import GitRender, ends, pull_changes
from app.githubbox.rest_comments import react
from app.githubbox.routing import Route, reading, writing
from app.githubbox.state import Issue, Json, LineComment, Pull, Review, Role

_STATES: dict[str, Literal["APPROVED", "CHANGES_REQUESTED", "COMMENTED"]] = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
MAX_COMMENTS = 100


async def list_reviews(call: Call) -> Reply:
    issue, pull = call.pull
    page, links = call.page(pull.reviews)
    git = GitRender(call.render)
    return Reply(200, [git.review(call.repository, issue, one) for one in page], links)


async def create_review(call: Call) -> Reply:
    """Submit a review; one without an event would stay pending, which the box does not keep."""
    issue, _ = call.pull
    fields = call.fields("PullRequestReview")
    event = fields.choice("event", tuple(_STATES))
    if event is None:
        raise invalid("PullRequestReview", "event", "missing_field")
    own = issue.author is call.actor
    if own and event != "COMMENT":
        deed = "approve" if event == "APPROVE" else "request changes on"
        raise Refused(422, "Unprocessable Entity", [f"Can not {deed} your own pull request"])
    body = fields.optional_text("body") or ""
    comments = [
        Fields(one, "PullRequestReviewComment") for one in fields.objects("comments", MAX_COMMENTS)
    ]
    if not body.strip() and event != "APPROVE" and not comments:
        raise Refused(422, "Unprocessable Entity", ["Body can't be blank"])
    review = await _submit(call, _STATES[event], body, comments, fields)
    return Reply(200, GitRender(call.render).review(call.repository, issue, review))


async def change_review(call: Call) -> Reply:
    """Other words; only who wrote a review may change it."""
    (issue, pull), number = call.pull, call.number("review_id")
    review = next((one for one in pull.reviews if one.id == number), None)
    if review is None:
        raise not_found()
    if review.author is not call.actor:
        raise forbidden()
    before, review.body = review.body, call.fields("PullRequestReview").text("body")
    if review.body != before:
        issue.updated_at = call.now
        changes: Json = {"body": {"from": before}}
        await call.events.pull_request_review(
            "edited", call.repository, issue, pull, review, call.actor, changes=changes
        )
    return Reply(200, GitRender(call.render).review(call.repository, issue, review))


async def create_comment(call: Call) -> Reply:
    """A single comment on a line; GitHub makes a review of its own around it."""
    issue, pull = call.pull
    fields = call.fields("PullRequestReviewComment")
    await _submit(call, "COMMENTED", "", [fields], fields)
    body = GitRender(call.render).line_comment(call.repository, issue, pull.line_comments[-1])
    return Reply(201, body, {"Location": body["url"]})


async def _submit(
    call: Call,
    state: Literal["APPROVED", "CHANGES_REQUESTED", "COMMENTED"],
    body: str,
    comments: list[Fields],
    fields: Fields,
) -> Review:
    """All of a review or, if one line is not part of the diff, nothing of it."""
    issue, pull = call.pull
    repository = call.repository
    head, _ = await ends(repository, issue, pull)
    commit = fields.optional_text("commit_id") or head
    review = Review(call.world.next_id(), call.actor, state, body, commit, call.now)
    files = (await pull_changes(repository, issue, pull)).files if comments else ()
    lines = [_line_comment(call, review, files, one) for one in comments]
    pull.reviews.append(review)
    pull.line_comments += lines
    issue.updated_at = call.now
    await call.events.pull_request_review("submitted", repository, issue, pull, review, call.actor)
    for line in lines:
        await call.events.pull_request_review_comment(
            "created", repository, issue, pull, line, call.actor
        )
    return review


def _line_comment(
    call: Call, review: Review, files: tuple[FileChange, ...], fields: Fields
) -> LineComment:
    path, line = fields.text("path"), fields.whole("line")
    side = fields.choice("side", ("LEFT", "RIGHT")) or "RIGHT"
    if line is None:
        raise invalid("PullRequestReviewComment", "line", "missing_field")
    patch = next((one.patch for one in files if one.path == path), None) or ""
    if (side, line) not in _lines_of(patch):
        raise Refused(422, "Unprocessable Entity", ["Line could not be resolved"])
    return LineComment(
        call.world.next_id(),
        review.id,
        call.actor,
        path,
        line,
        side,
        fields.text("body"),
        review.commit_id,
        patch,
        call.now,
        call.now,
    )


def _lines_of(patch: str) -> set[tuple[str, int]]:
    """The lines that a patch shows, by side: what was there, and what is there now."""
    return set(_walk(patch))


def _walk(patch: str) -> Iterator[tuple[str, int]]:
    old = new = 0
    for text in patch.splitlines():
        if hunk := _HUNK.match(text):
            old, new = int(hunk[1]), int(hunk[2])
            continue
        if text.startswith((" ", "-")) or not text:
            yield "LEFT", old
            old += 1
        if text.startswith((" ", "+")) or not text:
            yield "RIGHT", new
            new += 1


async def list_comments(call: Call) -> Reply:
    """Comments on the lines of one pull request, oldest first."""
    return _listed(call, [call.pull])


async def list_repository_comments(call: Call) -> Reply:
    """The same of all pull requests."""
    return _listed(call, call.repository.pulls())


def _listed(call: Call, pulls: list[tuple[Issue, Pull]]) -> Reply:
    since = call.since()
    found = [
        (issue, one)
        for issue, pull in pulls
        for one in pull.line_comments
        if since is None or one.updated_at >= since
    ]
    found.sort(key=lambda pair: pair[1].id)
    if call.query.get("sort") == "updated":
        found.sort(key=lambda pair: pair[1].updated_at)
    if call.query.get("direction") == "desc":
        found.reverse()
    page, links = call.page(found)
    git = GitRender(call.render)
    body: list[Json] = [git.line_comment(call.repository, *pair) for pair in page]
    return Reply(200, body, links)


async def get_comment(call: Call) -> Reply:
    issue, _, line = _find(call)
    return Reply(200, GitRender(call.render).line_comment(call.repository, issue, line))


async def change_comment(call: Call) -> Reply:
    issue, pull, line = _find(call)
    if line.author is not call.actor and not call.at_least(Role.WRITE, "pull_requests"):
        raise forbidden()
    before, line.body = line.body, call.fields("PullRequestReviewComment").text("body")
    if line.body != before:
        line.updated_at = issue.updated_at = call.now
        changes: Json = {"body": {"from": before}}
        await call.events.pull_request_review_comment(
            "edited", call.repository, issue, pull, line, call.actor, changes=changes
        )
    return Reply(200, GitRender(call.render).line_comment(call.repository, issue, line))


async def react_to_comment(call: Call) -> Reply:
    return react(call, _find(call)[2].reactions)


def _find(call: Call) -> tuple[Issue, Pull, LineComment]:
    number = call.number("comment_id")
    for issue, pull in call.repository.pulls():
        for line in pull.line_comments:
            if line.id == number:
                return issue, pull, line
    raise not_found()


_ONE = f"{REPO}/pulls/{{pull_number}}"
_COMMENT = f"{REPO}/pulls/comments/{{comment_id}}"
_READ = reading("pull_requests")
_REVIEW = writing(Role.READ, "pull_requests")
ROUTES = (
    Route("GET", f"{_ONE}/reviews", list_reviews, _READ),
    Route("POST", f"{_ONE}/reviews", create_review, _REVIEW),
    Route("PUT", f"{_ONE}/reviews/{{review_id}}", change_review, _REVIEW),
    Route("GET", f"{_ONE}/comments", list_comments, _READ),
    Route("POST", f"{_ONE}/comments", create_comment, _REVIEW),
    Route("GET", f"{REPO}/pulls/comments", list_repository_comments, _READ),
    Route("GET", _COMMENT, get_comment, _READ),
    Route("PATCH", _COMMENT, change_comment, _REVIEW),
    Route("POST", f"{_COMMENT}/reactions", react_to_comment, _REVIEW),
)
