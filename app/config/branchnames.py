"""Whether a `branch_naming` pattern gives names that git takes (git-check-ref-format)."""

import re
from string import Formatter
from typing import Final

from app.config.wording import did_you_mean

PLACEHOLDERS: Final = ("role", "issue", "slug")
MAX_PATTERN_CHARACTERS: Final = 120

_JOINED: Final = re.compile(r"\{issue\}\{|\}\{issue\}")
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def checked_branch_naming(pattern: str) -> str:
    """The pattern itself; raises `ValueError` that says what is wrong with it."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise ValueError(f"must have at most {MAX_PATTERN_CHARACTERS} characters")
    try:
        parts = list(Formatter().parse(pattern))
    except ValueError as error:
        raise ValueError(f"is not a pattern: {error}") from error
    names = [name for _, name, _, _ in parts if name is not None]
    for name in names:
        if name not in PLACEHOLDERS:
            raise ValueError(f"unknown placeholder {{{name}}}{did_you_mean(name, PLACEHOLDERS)}")
    if any(spec or conversion for _, _, spec, conversion in parts):
        raise ValueError("placeholders take no format: write {issue}, not {issue:05}")
    for name, sharing in (("issue", "two issues"), ("role", "two roles at work on one issue")):
        if name not in names:
            raise ValueError(f"must contain {{{name}}}, or {sharing} would share a branch")
    if _JOINED.search(pattern):
        raise ValueError(
            "{issue} must be apart from other placeholders: role1 on #2 and role on #12 would share"
            " a branch"
        )
    example = pattern.format(role="bug-fix", issue=1, slug="a-title")
    if not is_branch_name(example):
        raise ValueError(f"does not give a valid branch name (example: {example!r})")
    return pattern


def is_branch_name(name: str) -> bool:
    """Whether git accepts `name` as the name of a branch."""
    return (
        not _FORBIDDEN.search(name)
        and not name.startswith(("/", "-"))
        and not name.endswith(("/", "."))
        and not any(part.startswith(".") or part.endswith(".lock") for part in name.split("/"))
        and name not in ("", "@", "HEAD")
    )
