"""Pull requests become drafts, and ready for review: REST does neither, so GraphQL is told."""

from typing import Final

from app.adapters.github import reading
from app.adapters.github.call import Call
from app.adapters.github.graphql import graphql
from app.ports import Refused, Unreachable

_READY: Final = """\
mutation($id: ID!) {
  markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } }
}
"""
_DRAFT: Final = """\
mutation($id: ID!) {
  convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } }
}
"""
UNPROCESSABLE: Final = 422


def call(api_url: str, node: str, *, is_draft: bool) -> Call:
    """The change of the pull request with that node id."""
    return graphql(api_url, _DRAFT if is_draft else _READY, {"id": node})


def check(answer: object) -> None:
    """Raises `Refused` with GitHub's words, or `Unreachable` where GitHub has none: it answers 200
    to what it does not do as well."""
    errors = reading.dig(answer, "errors")
    if isinstance(errors, list) and errors:
        message = reading.text(errors[0], "message") or "no reason"
        raise Refused(f"GitHub changed no draft: {message}", UNPROCESSABLE)
    if reading.dig(answer, "data") is None:
        raise Unreachable("GitHub did not say whether the pull request is a draft now")
