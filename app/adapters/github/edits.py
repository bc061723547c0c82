"""Who edited an issue, and when: REST does not tell, so GraphQL is asked."""

from datetime import datetime
from typing import Final

from app.adapters.github import reading
from app.adapters.github.call import Call
from app.adapters.github.graphql import graphql
from app.ports import Edit, Repository, Unreachable

_QUERY: Final = """\
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
_FOUND: Final = ("data", "repository", "issueOrPullRequest")


def call(api_url: str, repository: Repository, number: int) -> Call:
    """The question."""
    owner, _, name = repository.full_name.partition("/")
    return graphql(api_url, _QUERY, {"owner": owner, "name": name, "number": number})


def read(answer: object) -> list[Edit]:
    """The edits of title and body. Raises `Unreachable` where GitHub did not say them."""
    if reading.dig(answer, *_FOUND) is None:
        problem = reading.text(answer, "message") or reading.dig(answer, "errors")
        raise Unreachable(f"GitHub did not say who edited the issue: {problem}")
    bodies = reading.needed_list(answer, *_FOUND, "userContentEdits", "nodes")
    titles = reading.needed_list(answer, *_FOUND, "timelineItems", "nodes")
    edits = [_edit(each, "editedAt", "editor") for each in bodies]
    edits.reverse()  # GitHub begins with the newest
    edits.sort(key=_at)
    if edits and edits[0].at == reading.needed_instant(answer, *_FOUND, "createdAt"):
        del edits[0]  # how it was written: GitHub counts that too, once there is an edit
    edits += [_edit(each, "createdAt", "actor") for each in titles]
    total = reading.needed_number(answer, *_FOUND, "userContentEdits", "totalCount")
    if total > len(bodies):
        newest = max(map(_at, edits))
        edits.append(Edit(reading.GHOST, is_bot=False, at=newest))  # somebody whom nobody named
    return sorted(edits, key=_at)


def _at(edit: Edit) -> datetime:
    return edit.at


def _edit(node: object, at: str, who: str) -> Edit:
    login = reading.text(node, who, "login") or reading.GHOST
    is_bot = reading.text(node, who, "__typename") == "Bot"
    return Edit(f"{login}[bot]" if is_bot else login, is_bot, reading.needed_instant(node, at))
