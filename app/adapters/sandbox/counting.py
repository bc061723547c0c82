"""What directories that an agent writes hold of the disk, and what their file systems have left.

They are counted by `du`, in a process behind walls: it takes none of the service's time, ends at
its bound, gets through paths of any length, and sees directories that the agent has shut for its
own user, who counts them: the one capability that it has is for that.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.sandbox.system import program, system
from app.adapters.sandbox.user import as_agents_user
from app.ports import Processes

COUNT_SECONDS: Final = 120.0
_MOST_SAID: Final = 200
_INSIDE: Final = "/held"
_COUNT: Final = f"du -s --block-size=1 {_INSIDE}; du -s --inodes {_INSIDE}"
_COUNTED: Final = re.compile(rf"^(\d+)\t{_INSIDE}\n(?:.*\n)*(\d+)\t{_INSIDE}\n", re.MULTILINE)


class CannotCount(Exception):
    """How much is there cannot be found out; the text says why."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Of a disk."""

    size_bytes: int
    """That it takes there: holes in files take none."""
    files: int
    """Directories and links are files too; one with several names counts once."""

    def is_within(self, most: "Amount") -> bool:
        """Whether it is at most so much, in both."""
        return self.size_bytes <= most.size_bytes and self.files <= most.files


Free = Mapping[int, Amount]
"""What is left, by file system."""


async def held_in(places: Iterable[Path], processes: Processes) -> Amount:
    """What these directories hold, each with all below it; links are not followed, and one that
    is not there holds nothing. Raises `CannotCount`."""
    try:
        ended = await processes.run(
            _counting_argv(places),
            cwd=Path("/"),
            environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            timeout_seconds=COUNT_SECONDS,
        )
    except OSError as error:
        raise CannotCount(str(error)) from error
    if ended.exit_code is None:
        raise CannotCount(f"that takes longer than {COUNT_SECONDS:g} s")
    found = _COUNTED.search(ended.output)
    if found is None:
        raise CannotCount(ended.output[:_MOST_SAID].strip() or "du says nothing")
    return Amount(int(found[1]), int(found[2]))


def free_around(places: Iterable[Path]) -> Free:
    """What the file systems of these directories have left. Takes microseconds."""
    found: dict[int, Amount] = {}
    for place in places:
        with suppress(FileNotFoundError):
            left = os.statvfs(place)
            found[left.f_fsid] = Amount(left.f_bfree * left.f_frsize, left.f_ffree)
    return found


def most_free(before: Free, now: Free) -> Free:
    """What was left at most, the one time or the other."""
    both = {
        each: Amount(
            max(before[each].size_bytes, now[each].size_bytes),
            max(before[each].files, now[each].files),
        )
        for each in before.keys() & now.keys()
    }
    return {**before, **now, **both}


def gone(before: Free, now: Free) -> Amount:
    """What was taken in between."""
    pairs = [(before[each], now[each]) for each in before.keys() & now.keys()]
    return Amount(
        sum(max(old.size_bytes - new.size_bytes, 0) for old, new in pairs),
        sum(max(old.files - new.files, 0) for old, new in pairs),
    )


def _counting_argv(places: Iterable[Path]) -> list[str]:
    """Raises `FileNotFoundError` without bubblewrap, and `OSError` as `as_agents_user`."""
    inside = [
        ("--ro-bind-try", str(place), f"{_INSIDE}/{number}") for number, place in enumerate(places)
    ]
    return [
        *as_agents_user(),
        program(),
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--cap-drop", "ALL", "--cap-add", "CAP_DAC_READ_SEARCH"),
        *("--new-session", "--die-with-parent"),
        *system(),
        *(part for each in inside for part in each),
        *("--remount-ro", "/", "--", "/bin/sh", "-c", _COUNT),
    ]
