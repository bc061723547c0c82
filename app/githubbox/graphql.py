"""GraphQL: the box knows one query, about what REST does not tell: who edited an issue.

Any other query, also one that only differs in spaces, gets GraphQL's answer to a mistake.
"""

from __future__ import annotations

from app.githubbox.http import Call, Reply
from app.githubbox.identity import sees
from app.githubbox.render import instant
from app.githubbox.routing import Route
from app.githubbox.state import Issue, Json, TextEdit, User

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
"""Judged valid by GitHub's published schema (`@octokit/graphql-schema`)."""


async def answer(call: Call) -> Reply:
    """GraphQL answers 200 to mistakes as well, and says them in `errors`."""
    asked = call.body.get("variables")
    if call.body.get("query") != EDITS or not isinstance(asked, dict):
        return _mistake("undefinedField", "the box does not know this query")
    repository = call.world.repository(f"{asked.get('owner')}/{asked.get('name')}")
    if repository is None or not sees(call.caller, repository):
        return _mistake("NOT_FOUND", "Could not resolve to a Repository with that name.")
    issue = repository.issues.get(asked.get("number", 0))
    if issue is None:
        return _mistake("NOT_FOUND", "Could not resolve to an issue or pull request.")
    return Reply(200, {"data": {"repository": {"issueOrPullRequest": _edits(issue)}}})


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


ROUTES = (Route("POST", "/graphql", answer, "installation"),)
