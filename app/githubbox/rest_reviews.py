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
    found = [one for one in pull.reviews if _is_shown(call, one)]
    page, links = call.page(found)
    git = GitRender(call.render)
    return Reply(200, [git.review(call.repository, issue, one) for one in page], links)


def _is_shown(call: Call, review: Review) -> bool:
    """What is pending only its author sees."""
    return review.state != "PENDING" or review.author is call.actor


async def create_review(call: Call) -> Reply:
    """Submit a review; one without an event is pending until its author submits it."""
    issue, pull = call.pull
    fields = call.fields("PullRequestReview")
    event = fields.choice("event", tuple(_STATES))
    _check_own(call, issue, event)
    if _has_pending(call, pull):
        raise _refused("User can only have one pending review per pull request")
    body = fields.optional_text("body") or ""
    comments = [
        Fields(one, "PullRequestReviewComment") for one in fields.objects("comments", MAX_COMMENTS)
    ]
    if event is not None and event != "APPROVE" and not body.strip() and not comments:
        raise _refused("Body can't be blank")
    review = await _written(call, body, comments, fields)
    if event is not None:
        await _submit(call, issue, pull, review, event)
    return Reply(200, GitRender(call.render).review(call.repository, issue, review))


async def submit_review(call: Call) -> Reply:
    """Let everybody see a review that was pending."""
    (issue, pull), review = call.pull, _review(call)
    fields = call.fields("PullRequestReview")
    event = fields.choice("event", tuple(_STATES))
    if event is None:
        raise Refused(422, 'Invalid request.\n\n"event" wasn\'t supplied.')
    if review.author is not call.actor:
        raise forbidden(call.caller)
    if review.state != "PENDING":
        raise _refused("Could not submit a review that is not pending")
    _check_own(call, issue, event)
    review.body = fields.optional_text("body") or review.body
    has_comments = any(one.review_id == review.id for one in pull.line_comments)
    if event != "APPROVE" and not review.body.strip() and not has_comments:
        raise _refused("Body can't be blank")
    await _submit(call, issue, pull, review, event)
    return Reply(200, GitRender(call.render).review(call.repository, issue, review))


async def get_review(call: Call) -> Reply:
    issue, review = call.pull[0], _review(call)
    return Reply(200, GitRender(call.render).review(call.repository, issue, review))


async def delete_review(call: Call) -> Reply:
    """Of one that is pending nothing is left."""
    (issue, pull), review = call.pull, _review(call)
    if review.state != "PENDING":
        raise _refused("Can not delete a non-pending pull request review")
    pull.reviews.remove(review)
    pull.line_comments = [one for one in pull.line_comments if one.review_id != review.id]
    return Reply(200, GitRender(call.render).review(call.repository, issue, review))


def _check_own(call: Call, issue: Issue, event: str | None) -> None:
    if issue.author is call.actor and event in ("APPROVE", "REQUEST_CHANGES"):
        deed = "approve" if event == "APPROVE" else "request changes on"
        raise _refused(f"Can not {deed} your own pull request")


def _refused(why: str) -> Refused:
    return Refused(422, "Unprocessable Entity", [why])


def _review(call: Call) -> Review:
    """The one in the path, if the caller may see it."""
    number = call.number("review_id")
    for review in call.pull[1].reviews:
        if review.id == number and _is_shown(call, review):
            return review
    raise not_found()


async def change_review(call: Call) -> Reply:
    """Other words; only who wrote a review may change it."""
    (issue, pull), review = call.pull, _review(call)
    if review.author is not call.actor:
        raise forbidden(call.caller)
    before, review.body = review.body, call.fields("PullRequestReview").text("body")
    if review.body != before and review.state != "PENDING":
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
    if _has_pending(call, pull):
        words = "user_id can only have one pending review per pull request"
        raise invalid("PullRequestReview", "user_id", "custom", words)
    review = await _written(call, "", [fields], fields)
    await _submit(call, issue, pull, review, "COMMENT")
    body = GitRender(call.render).line_comment(call.repository, issue, pull.line_comments[-1])
    return Reply(201, body, {"Location": body["url"]})


def _has_pending(call: Call, pull: Pull) -> bool:
    return any(one.state == "PENDING" and one.author is call.actor for one in pull.reviews)


async def _written(call: Call, body: str, comments: list[Fields], fields: Fields) -> Review:
    """A pending review: all of it or, if one line is not part of the diff, nothing."""
    issue, pull = call.pull
    repository = call.repository
    head, _ = await ends(repository, issue, pull)
    commit = fields.optional_text("commit_id") or head
    review = Review(call.world.next_id(), call.actor, "PENDING", body, commit, None)
    files = (await pull_changes(repository, issue, pull)).files if comments else ()
    lines = [_line_comment(call, review, files, one) for one in comments]
    pull.reviews.append(review)
    pull.line_comments += lines
    return review


async def _submit(call: Call, issue: Issue, pull: Pull, review: Review, event: str) -> None:
    repository = call.repository
    review.state, review.submitted_at = _STATES[event], call.now
    issue.updated_at = call.now
    await call.events.pull_request_review("submitted", repository, issue, pull, review, call.actor)
    for line in pull.line_comments:
        if line.review_id == review.id:
            await call.events.pull_request_review_comment(
                "created", repository, issue, pull, line, call.actor
            )


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
        for one in pull.shown_comments
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


async def list_reviews_comments(call: Call) -> Reply:
    """Of one review, also while it is pending."""
    (issue, pull), review = call.pull, _review(call)
    found = [one for one in pull.line_comments if one.review_id == review.id]
    page, links = call.page(found)
    git = GitRender(call.render)
    return Reply(200, [git.review_comment(call.repository, issue, one) for one in page], links)


async def get_comment(call: Call) -> Reply:
    issue, _, line = _find(call)
    return Reply(200, GitRender(call.render).line_comment(call.repository, issue, line))


async def change_comment(call: Call) -> Reply:
    issue, pull, line = _find(call)
    if line.author is not call.actor and not call.at_least(Role.WRITE, "pull_requests"):
        raise forbidden(call.caller)
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
        for line in pull.shown_comments:
            if line.id == number:
                return issue, pull, line
    raise not_found()


_ONE = f"{REPO}/pulls/{{pull_number}}"
_OF_A_PULL = f"{_ONE}/reviews/{{review_id}}"
_COMMENT = f"{REPO}/pulls/comments/{{comment_id}}"
_READ = reading("pull_requests")
_REVIEW = writing(Role.READ, "pull_requests")
ROUTES = (
    Route("GET", f"{_ONE}/reviews", list_reviews, _READ),
    Route("POST", f"{_ONE}/reviews", create_review, _REVIEW),
    Route("GET", _OF_A_PULL, get_review, _READ),
    Route("PUT", _OF_A_PULL, change_review, _REVIEW),
    Route("DELETE", _OF_A_PULL, delete_review, _REVIEW),
    Route("POST", f"{_OF_A_PULL}/events", submit_review, _REVIEW),
    Route("GET", f"{_OF_A_PULL}/comments", list_reviews_comments, _READ),
    Route("GET", f"{_ONE}/comments", list_comments, _READ),
    Route("POST", f"{_ONE}/comments", create_comment, _REVIEW),
    Route("GET", f"{REPO}/pulls/comments", list_repository_comments, _READ),
    Route("GET", _COMMENT, get_comment, _READ),
    Route("PATCH", _COMMENT, change_comment, _REVIEW),
    Route("POST", f"{_COMMENT}/reactions", react_to_comment, _REVIEW),
)
