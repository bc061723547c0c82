"""Where people write to Squadron on GitHub."""

from typing import Literal

CommentKind = Literal["comment", "review", "review_comment"]
"""A comment on an issue or a pull request, the words of a review, or a comment on lines of a pull
request. GitHub counts each kind on its own: a number says nothing without it."""


def comment_name(kind: CommentKind, repository: str, number: int) -> str:
    """Tells a comment, or a review, from everything else that people say."""
    return f"{kind} {repository} {number}"
