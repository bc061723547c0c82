"""What `.squadron/` would hold after a merge: a three-way merge of its files, as git does it.

GitHub's own trial merge is worked out some time after a push, and is of the base as it was then; so
the few files that matter are merged here, where the answer is there at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final

MOST_LINES: Final = 500
"""Of a file from the first to the last line that differ. Beyond that lines are not matched: the
time it takes grows with the square of that, and with more where somebody means it to."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The files of a merge, by path."""

    files: Mapping[str, bytes]
    clashes: tuple[str, ...]
    """Files that both sides changed so that they do not fit together; the branch's are taken."""


def merge(
    base: Mapping[str, bytes], ours: Mapping[str, bytes], theirs: Mapping[str, bytes]
) -> Merged:
    """What comes of merging `theirs`, a branch, into `ours`; `base`: where they parted."""
    files, clashes = dict[str, bytes](), list[str]()
    for path in sorted({*ours, *theirs}):
        was, here, there = base.get(path), ours.get(path), theirs.get(path)
        if here in (was, there):
            result = there
        elif there == was:
            result = here
        else:
            both = None if was is None or here is None or there is None else (was, here, there)
            result = None if both is None else merged_text(*both)
            if result is None:
                clashes.append(path)
                result = there
        if result is not None:
            files[path] = result
    return Merged(files, tuple(clashes))


def merged_text(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The changes of both sides, line by line; None where they meet, or there is too much."""
    was, here, there = (each.split(b"\n") for each in (base, ours, theirs))
    first = _alike(was, here, there)
    last = _alike(*(each[first:][::-1] for each in (was, here, there)))
    head, tail = was[:first], was[len(was) - last :]
    was, here, there = (each[first : len(each) - last] for each in (was, here, there))
    if max(len(was), len(here), len(there)) > MOST_LINES:
        return None
    middle = _merged_lines(was, here, there)
    return None if middle is None else b"\n".join((*head, *middle, *tail))


def _alike(*versions: Sequence[bytes]) -> int:
    """How many lines all begin with."""
    rows = zip(*versions, strict=False)
    return sum(1 for _ in takewhile(lambda row: len({*row}) == 1, rows))


def _merged_lines(
    base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]
) -> list[bytes] | None:
    in_ours, in_theirs = _places(base, ours), _places(base, theirs)
    kept = [line for line in range(len(base)) if line in in_ours and line in in_theirs]
    result, at, at_ours, at_theirs = list[bytes](), 0, 0, 0
    for line in (*kept, len(base)):
        to_ours, to_theirs = in_ours.get(line, len(ours)), in_theirs.get(line, len(theirs))
        was, here, there = base[at:line], ours[at_ours:to_ours], theirs[at_theirs:to_theirs]
        if here not in (was, there) and there != was:
            return None
        result += there if here == was else here
        result += base[line : line + 1]
        at, at_ours, at_theirs = line + 1, to_ours + 1, to_theirs + 1
    return result


def _places(base: Sequence[bytes], changed: Sequence[bytes]) -> dict[int, int]:
    """Which lines of the base are still there, and where."""
    matcher = SequenceMatcher(None, base, changed, autojunk=False)
    return {
        block.a + line: block.b + line
        for block in matcher.get_matching_blocks()
        for line in range(block.size)
    }
