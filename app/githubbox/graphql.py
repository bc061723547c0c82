"""GraphQL: the box knows what REST does not tell or do: who edited an issue, and what makes a
pull request a draft, or none any more.

Any other query, also one that only differs in spaces, gets GraphQL's answer to a mistake.
"""

from __future__ import annotations

from app.githubbox.http import Call, Reply
from app.githubbox.identity import AsInstallation, AsUser, Caller, sees
from app.githubbox.render import instant
from app.githubbox.routing import Route
from app.githubbox.state import (
    NO_DRAFTS,
    Issue,
    Json,
    Pull,
    Repository,
    Role,
    TextEdit,
    TimelineEvent,
    User,
)

MOST_NODES = 100
EDITS = """\
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    issueOrPullRequest(number: $number) {
      ... on Comment {
        createdAt userContentEdits(first: 100) { totalCount nodes { ...edit } }
      }
      ... on Issue {
        timelineItems(itemTypes: [RENAMED_TITLE_EVENT], last: 100) { nodes { ...renaming } }
      }
      ... on PullRequest {
        timelineItems(itemTypes: [RENAMED_TITLE_EVENT], last: 100) { nodes { ...renaming } }
      }
    }
  }
}
fragment edit on UserContentEdit { editedAt editor { __typename login } }
fragment renaming on RenamedTitleEvent { createdAt actor { __typename login } }
"""
READY = """\
mutation($id: ID!) {
  markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } }
}
"""
DRAFT = """\
mutation($id: ID!) {
  convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } }
}
"""
"""All judged valid by GitHub's published schema (`@octokit/graphql-schema`)."""


async def answer(call: Call) -> Reply:
    """GraphQL answers 200 to mistakes as well, and says them in `errors`."""
    asked = call.body.get("variables")
    if call.body.get("query") in (READY, DRAFT) and isinstance(asked, dict):
        return await _drafted(call, str(asked.get("id")), is_draft=call.body["query"] == DRAFT)
    if call.body.get("query") != EDITS or not isinstance(asked, dict):
        return _mistake("undefinedField", "the box does not know this query")
    repository = call.world.repository(f"{asked.get('owner')}/{asked.get('name')}")
    if repository is None or not sees(call.caller, repository):
        return _mistake("NOT_FOUND", "Could not resolve to a Repository with that name.")
    issue = repository.issues.get(asked.get("number", 0))
    if issue is None:
        return _mistake("NOT_FOUND", "Could not resolve to an issue or pull request.")
    return Reply(200, {"data": {"repository": {"issueOrPullRequest": _edits(issue)}}})


async def _drafted(call: Call, node: str, *, is_draft: bool) -> Reply:
    found = _pull_of(call, node)
    if found is None or not sees(call.caller, found[0]):
        return _mistake("NOT_FOUND", f"Could not resolve to a node with the global id of '{node}'")
    repository, issue, pull = found
    if not _may_draft(call.caller, repository, issue):
        return _mistake("FORBIDDEN", "Resource not accessible by integration")
    if is_draft and not repository.has_drafts:
        return _mistake("UNPROCESSABLE", NO_DRAFTS)
    if pull.draft != is_draft:
        pull.draft, issue.updated_at = is_draft, call.now
        action = "converted_to_draft" if is_draft else "ready_for_review"
        what = "convert_to_draft" if is_draft else action
        issue.timeline.append(TimelineEvent(call.world.next_id(), what, call.actor, call.now, None))
        await call.events.pull_request(action, repository, issue, pull, call.actor)
    name = "convertPullRequestToDraft" if is_draft else "markPullRequestReadyForReview"
    return Reply(200, {"data": {name: {"pullRequest": {"isDraft": is_draft}}}})


def _may_draft(caller: Caller, repository: Repository, issue: Issue) -> bool:
    match caller:
        case AsInstallation():
            return caller.may("pull_requests", "write")
        case AsUser(user):
            return repository.role(user) >= Role.WRITE or user is issue.author
        case _:
            return False


def _pull_of(call: Call, node: str) -> tuple[Repository, Issue, Pull] | None:
    for repository in call.world.repositories.values():
        for issue, pull in repository.pulls():
            if node == f"PR_{pull.id}":
                return repository, issue, pull
    return None


def _mistake(kind: str, message: str) -> Reply:
    return Reply(200, {"data": None, "errors": [{"type": kind, "message": message}]})


def _edits(issue: Issue) -> Json:
    """The newest first; of a text that was edited, the first edit is how it was written."""
    bodies = [each for each in issue.edits if each.what == "body"]
    if bodies:
        bodies.insert(0, TextEdit("body", issue.author, issue.created_at))
    titles = [each for each in issue.edits if each.what == "title"]
    return {
        "createdAt": instant(issue.created_at),
        "userContentEdits": {
            "totalCount": len(bodies),
            "nodes": [
                {"editedAt": instant(each.at), "editor": _actor(each.actor)}
                for each in reversed(bodies)
            ][:MOST_NODES],
        },
        "timelineItems": {
            "nodes": [
                {"createdAt": instant(each.at), "actor": _actor(each.actor)}
                for each in titles[-MOST_NODES:]
            ]
        },
    }


def _actor(user: User) -> Json:
    """A bot's login has no `[bot]` here."""
    return {"__typename": user.kind, "login": user.login.removesuffix("[bot]")}


ROUTES = (Route("POST", "/graphql", answer, "known"),)
