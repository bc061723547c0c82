"""Paths that no agent changes: what decides about agents, and what GitHub runs or whom it asks.

A change of them is a person's to make. Where it is judged, the content of a branch is compared with
where it left the default branch, so it does not matter by which means, or in which commit, an agent
has made it.
"""

from collections.abc import Sequence
from typing import Final

DIRECTORIES: Final = (".github", ".squadron")
"""Whole: a link or a file in place of the directory counts as well."""
FILES: Final = ("CODEOWNERS", "docs/CODEOWNERS")
"""The further places in which GitHub reads code owners."""
SHOWN: Final = "`.squadron/`, `.github/` and `CODEOWNERS`"
MOST_NAMED: Final = 10

_DIRECTORIES: Final = tuple(name.lower().encode() for name in DIRECTORIES)
_FILES: Final = tuple(name.lower().encode() for name in FILES)


def is_protected(path: bytes) -> bool:
    """Whether agents may not change the path, in whatever letters: some disks fold their case."""
    folded = path.lower()
    return folded.partition(b"/")[0] in _DIRECTORIES or folded in _FILES


def refused_words(paths: Sequence[bytes]) -> str:
    """The sentence about changes of protected paths that were kept off the branch."""
    named = named_paths(paths)
    return f"Agents may not change {SHOWN}: their changes of {named} are not on the branch."


def named_paths(paths: Sequence[bytes]) -> str:
    """Paths for people, the first `MOST_NAMED` of them."""
    named = ", ".join(f"`{path.decode(errors='replace')}`" for path in paths[:MOST_NAMED])
    more = len(paths) - MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named
