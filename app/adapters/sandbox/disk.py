"""How much of the disk one agent takes, watched while its processes run: a user has no quotas.

What an agent writes is missing from the free space of its file system, and a look at that costs
nothing. So its directories are counted only when half of what they may still take is gone there,
by whomever; and now and then, as somebody may give back in the same moment what it takes. A
command that is over in a moment waits for no counting.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.sandbox.counting import (
    Amount,
    CannotCount,
    free_around,
    gone,
    held_in,
    most_free,
)
from app.ports import SEGMENT_VARIABLE, Processes

LOOK_SECONDS: Final = 0.1
LONG_SECONDS: Final = 1.0
"""What runs for longer is also counted when nothing seems to be gone."""
COUNT_AGAIN_SECONDS: Final = 2.0
MOST_TIMES_TOLD: Final = 2
"""How often an agent is told that it holds too much; the next time ends it."""
_PARTS: Final = 32
"""Of the bound: one of them has to be gone before it is worth a count, and so much may an agent
that was told still add while it clears up."""
_PAUSE: Final = 4
_LONG_PAUSE: Final = 15
"""Times what the last count took: how long the next one waits at least, and, where nothing seems
to be gone, at most."""
_KIB: Final = 1024

log = logging.getLogger("squadron.sandbox")


@dataclass(slots=True, eq=False)
class Watched:
    """One command, or one program that goes on for longer."""

    disk: "AgentDisk"
    is_program: bool
    excess: str = ""
    """Why it was ended, in words for the agent; empty: it was not."""

    @property
    def marker(self) -> str:
        """What its environment has to hold."""
        return self.disk.marker

    async def is_over(self) -> None:
        """It has ended: see whether it wrote too much in a moment."""
        await self.disk.look(is_over=True)


class DiskWatch:
    """Of all agents. Use it from one event loop only."""

    def __init__(self, processes: Processes, most: Amount) -> None:
        """`most` is what one agent may hold."""
        self._processes = processes
        self._most = most
        self._disks: dict[str, AgentDisk] = {}

    @asynccontextmanager
    async def over(
        self, environment: Mapping[str, str], places: Iterable[Path], *, is_program: bool = False
    ) -> AsyncIterator[Watched]:
        """Watch what is written in these directories by something that runs in this environment.
        When that is too much, all that carries the same marker (`SEGMENT_VARIABLE`) is killed;
        what has none is given one, and is watched by itself."""
        marker = environment.get(SEGMENT_VARIABLE)
        if marker is None:
            disk = AgentDisk(f"alone:{secrets.token_hex(8)}", self._processes, self._most)
        elif (known := self._disks.get(marker)) is not None:
            disk = known
        else:
            disk = self._disks[marker] = AgentDisk(marker, self._processes, self._most)
        watched = Watched(disk, is_program)
        await disk.enter(watched, places)
        try:
            yield watched
        finally:
            await disk.leave(watched)

    def excess(self, marker: str) -> str:
        """Why the agent with this marker must be ended, for people; empty: it need not be."""
        disk = self._disks.get(marker)
        return "" if disk is None else disk.excess

    def forget(self, marker: str) -> None:
        """Nothing of this marker runs any more."""
        self._disks.pop(marker, None)


class AgentDisk:
    """What one agent holds, as far as is known."""

    def __init__(self, marker: str, processes: Processes, most: Amount) -> None:
        self.marker = marker
        self._processes = processes
        self._most = most
        self._may_hold = most
        """More than the bound while an agent that was told clears up."""
        self._held: Amount | None = None
        """At the last count."""
        self._places: dict[Path, None] = {}
        self._free = free_around(())
        """The most that was seen since the last count, or since the start: what is given back,
        by whomever, must not hide what is taken."""
        self._counted_at = self._busy_since = 0.0
        self._count_seconds = 0.0
        self._times_told = 0
        self._watched: set[Watched] = set()
        self._looking: asyncio.Task[None] | None = None
        self._counting, self._killing = asyncio.Lock(), asyncio.Lock()
        self.excess = ""
        """Why the agent must be ended, for people; empty: it need not be."""

    async def enter(self, watched: Watched, places: Iterable[Path]) -> None:
        """It begins to run."""
        async with self._killing:  # what began now would be killed without a word
            self._watched.add(watched)
        self._places |= dict.fromkeys(places)
        self._free = most_free(self._free, free_around(self._places))
        if self._looking is None:
            self._busy_since = _now()
            self._looking = asyncio.create_task(self._go_on_looking())

    async def leave(self, watched: Watched) -> None:
        """It runs no more."""
        self._watched.discard(watched)
        if not self._watched and self._looking is not None:
            looking, self._looking = self._looking, None
            looking.cancel()
            await asyncio.wait([looking])

    async def look(self, *, is_over: bool = False) -> None:
        """Count if it is time to, and end what runs if that is too much. `is_over`: for what has
        ended, and waits for nothing but the sight of what it took, or has cleared up."""
        if is_over and not self._killing.locked() and not self._is_worth_a_count(is_over=True):
            return
        async with self._counting:
            if not self._is_worth_a_count(is_over=is_over):
                return
            try:
                held = await self._count()
            except CannotCount as error:
                await self._end_all(f"cannot be counted ({error})")
                return
            if held.is_within(self._may_hold):
                self._now_holds(held)
            else:
                await self._end_all(_comparison(held, self._most))

    async def _go_on_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except OSError as error:  # something survives: the next look tries again
                log.error("an agent that holds too much does not end: %s", error)

    def _is_worth_a_count(self, *, is_over: bool) -> bool:
        """What an agent that was told has cleared up is seen at the end of the command: it shall
        not take it again unseen."""
        if self._is_much_gone():
            return True
        if is_over:
            return not self._may_hold.is_within(self._most) and not self._has_just_counted()
        return self._is_long_ago()

    def _has_just_counted(self) -> bool:
        return _now() < self._counted_at + _PAUSE * self._count_seconds

    def _is_much_gone(self) -> bool:
        """Whether so much is missing that the agent may have come close to its bound."""
        now = free_around(self._places)
        self._free = most_free(self._free, now)
        if self._has_just_counted():
            return False
        held, most = self._held or self._may_hold, self._may_hold
        enough = Amount(
            max(self._most.size_bytes // _PARTS, (most.size_bytes - held.size_bytes) // 2),
            max(self._most.files // _PARTS, (most.files - held.files) // 2),
        )
        return not gone(self._free, now).is_within(enough)

    def _is_long_ago(self) -> bool:
        now = _now()
        if now < self._busy_since + LONG_SECONDS:
            return False
        pause = max(COUNT_AGAIN_SECONDS, _LONG_PAUSE * self._count_seconds)
        return self._held is None or now >= self._counted_at + pause

    async def _count(self) -> Amount:
        """Raises `CannotCount`."""
        began = _now()
        self._free = free_around(self._places)  # before: what is written meanwhile counts twice
        try:
            return await held_in(self._places, self._processes)
        finally:
            self._counted_at = _now()
            self._count_seconds = self._counted_at - began

    def _now_holds(self, held: Amount) -> None:
        """What was cleared up is not given back."""
        self._held = held
        before, now = self._may_hold, _while_clearing_up(held, self._most)
        self._may_hold = Amount(
            min(before.size_bytes, now.size_bytes), min(before.files, now.files)
        )

    async def _end_all(self, what: str) -> None:
        """Kill all that runs of the agent, tell it why, and see what is left then: so much it may
        hold while it clears up. Raises `TimeoutError` (an `OSError`) if something survives."""
        async with self._killing:
            self._times_told += 1
            for_good = self._times_told > MOST_TIMES_TOLD or any(
                each.is_program for each in self._watched
            )
            if for_good:
                self.excess = (
                    f"The files of the agent, in its workspace, its home and its /tmp, {what}."
                    " All that it ran was ended."
                )
            for each in self._watched:
                each.excess = (
                    f"Everything that you ran was ended: your files, in the workspace, your home"
                    f" and /tmp, {what}. "
                    + ("Your work ends here." if for_good else "Delete what you do not need first.")
                )
            await self._processes.kill_marked(self.marker)
            try:
                held = await self._count()
            except CannotCount as error:
                log.warning("the files of %s cannot be counted: %s", self.marker, error)
                return
            self._held, self._may_hold = held, _while_clearing_up(held, self._most)


def _while_clearing_up(held: Amount, most: Amount) -> Amount:
    """What one may hold that was told and holds so much: the bound, or a little more than now."""

    def may_be(now: int, bound: int) -> int:
        return bound if now <= bound else now + bound // _PARTS

    return Amount(may_be(held.size_bytes, most.size_bytes), may_be(held.files, most.files))


def _comparison(held: Amount, most: Amount) -> str:
    """For people and for agents, behind "your files"."""
    found = []
    if held.size_bytes > most.size_bytes:
        found.append(f"take {_size(held.size_bytes)} of at most {_size(most.size_bytes)}")
    if held.files > most.files:
        found.append(f"are {held.files:,} of at most {most.files:,}")
    return " and ".join(found)


def _size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("bytes", "KiB", "MiB"):
        if size < _KIB:
            return f"{size:.4g} {unit}"
        size /= _KIB
    return f"{size:.4g} GiB"


def _now() -> float:
    return asyncio.get_running_loop().time()
