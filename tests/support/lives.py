"""A thousand short lives in the real registry and the real engine, without GitHub, git and model.

    python -m tests.support.lives DATA_DIRECTORY SLOTS LIVES SEED

Each life takes its slot as an agent's segment does and ends as chance wills. Every slot that is
taken or given back is a line of `slots-<n>.log`, one file a start of the process: the parent kills
it when it likes, and starts it again.
"""

import asyncio
import itertools
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TextIO

from app.adapters.clock import SystemClock
from app.adapters.engine import DurableEngine
from app.adapters.engine.membership import SingleProcess
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import Agent
from app.core.agents.events import (
    AgentEvent,
    Finished,
    SegmentEnded,
    Slept,
    Tripped,
    Waits,
    Woken,
)
from app.core.agents.lifecycle import LIVE, Signal, State
from app.core.agents.stops import Layer, Trip
from app.core.limits import LimitName
from app.ports import RunSegment, Work, WorkKind
from tests.contract.store_support import a_new_agent
from tests.support.moves import Changes, begin, move

MOST_SECONDS = 600.0
"""Far more than all of them take: each move is a commit, and a busy disk is slow at those."""
LONGEST_SECONDS = 0.03
PAUSE_SECONDS = 0.1
LOOK_SECONDS = 1.0
FIRST_OF_THE_LAST = 1_000_000
"""Issues from here on are the last wave: as many as there are slots, who wait for each other."""
FATES = ("completes", "trips", "cancelled", "reassigned", "sleeps", "dies")


@dataclass
class Lives:
    """What the handler of segments does."""

    store: SqlStore
    slots: int
    seed: int
    log: TextIO
    clock: SystemClock = field(default_factory=SystemClock)
    met: int = 0
    all_met: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, work: Work) -> None:
        """One segment; nothing else is enqueued here that is taken from a queue."""
        assert isinstance(work, RunSegment)
        self._note("+", work)
        try:
            await self._live(work)
        finally:
            self._note("-", work)

    async def _live(self, work: RunSegment) -> None:
        agent_id = work.agent
        agent = await begin(self.store, agent_id, work.segment, "w", self.clock.now())
        if agent is None:
            return
        if agent.id.issue >= FIRST_OF_THE_LAST:
            self.met += 1
            if self.met == self.slots:
                self.all_met.set()
            await self.all_met.wait()
            await self._ends(agent, Signal.FINISHED)
            return
        chance = Random(f"{self.seed}:{work.id}")
        fate = chance.choice(FATES if work.segment < 2 else FATES[:4])
        person = None
        if fate in ("cancelled", "reassigned"):
            person = asyncio.create_task(self._takes_away(agent, chance.random()))
        await asyncio.sleep(chance.random() * LONGEST_SECONDS)
        match fate:
            case "trips":
                await self._ends(agent, Signal.TRIPPED)
            case "sleeps":
                await self._sleeps(agent)
            case "dies":
                ended = SegmentEnded(at=self.clock.now(), why="died", died=True)
                later = Changes(pause_seconds=PAUSE_SECONDS)
                await move(self.store, agent, Signal.INTERRUPTED, [ended], later)
            case _:
                await self._ends(agent, Signal.FINISHED)
        if person is not None:
            await person

    async def _takes_away(self, agent: Agent, part: float) -> None:
        """A person, at about the same moment."""
        await asyncio.sleep(part * LONGEST_SECONDS)
        await self._ends(agent, Signal.ABANDONED)

    async def _ends(self, agent: Agent, signal: Signal) -> None:
        """As whoever comes first has it."""
        now, trip = self.clock.now(), None
        event: AgentEvent = Finished(at=now, why="end")
        if signal is Signal.TRIPPED:
            trip = Trip(
                limit=LimitName.MAX_TURNS,
                observed=1,
                maximum=1,
                layer=Layer.HOOK,
                at=now,
                reason="enough",
            )
            event = Tripped(at=now, trip=trip)
        ended = SegmentEnded(at=now, why="end")
        await move(self.store, agent, signal, [event, ended], Changes(stop=trip))

    async def _sleeps(self, agent: Agent) -> None:
        """For a moment, without a slot: whoever wakes it does so later."""
        now = self.clock.now()
        slept = Slept(at=now, waits_for=Waits.ANSWER, blocked_by=(), reason="a question")
        ended = SegmentEnded(at=now, why="sleeps")
        changes = Changes(waits_for=Waits.ANSWER)
        await move(self.store, agent, Signal.WAITS, [ended, slept], changes)

    async def people(self) -> None:
        """Wake who sleeps, now and then take away who still waits in the queue."""
        chance = Random(self.seed)
        for number in itertools.count():
            await asyncio.sleep(PAUSE_SECONDS)
            for agent in await self.store.agents(states=frozenset({State.SLEEPING})):
                woken = Woken(at=self.clock.now(), why="an answer", by="maria")
                await move(self.store, agent, Signal.WOKEN, [woken], Changes())
            if number % 10 == 0:
                queued = await self.store.agents(states=frozenset({State.QUEUED}))
                for agent in chance.sample(list(queued), min(5, len(queued))):
                    if agent.id.issue < FIRST_OF_THE_LAST:
                        await self._ends(agent, Signal.ABANDONED)

    def _note(self, what: str, work: Work) -> None:
        self.log.write(f"{what} {work.id}\n")
        self.log.flush()


async def create(store: SqlStore, issues: Sequence[int]) -> None:
    """Agents for these issues, each with its first piece of work; a repeat changes nothing."""
    now = SystemClock().now()
    known = {agent.id.issue for agent in await store.agents()}
    await asyncio.gather(
        *(store.create(a_new_agent(issue), now) for issue in issues if issue not in known)
    )


async def until_ended(store: SqlStore) -> None:
    """Wait until nobody is alive any more."""
    while await store.agents(states=LIVE):  # noqa: ASYNC110 (the registry calls nobody)
        await asyncio.sleep(LOOK_SECONDS)


async def live(directory: Path, slots: int, lives: int, seed: int) -> None:
    """Until all have ended, the last wave as well."""
    starts = next(n for n in itertools.count() if not (directory / f"slots-{n}.log").exists())
    file = directory / "lives.sqlite"
    database = make_engine(f"sqlite:///{file}")
    membership = SingleProcess(directory, database, str(os.getpid()))
    migrate(database)
    engine = DurableEngine(
        database, membership, {WorkKind.SEGMENT: slots}, SystemClock().now, lambda: None
    )
    writer = GroupWriter(database)
    store = SqlStore(database, writer, engine.enqueue_with)
    with (directory / f"slots-{starts}.log").open("w", encoding="utf-8") as log:
        all_lives = Lives(store, slots, seed, log)
        await engine.start(all_lives.run)
        await create(store, range(1, lives + 1))
        people = asyncio.create_task(all_lives.people())
        await until_ended(store)
        await create(store, range(FIRST_OF_THE_LAST, FIRST_OF_THE_LAST + slots))
        await until_ended(store)
        people.cancel()
        with suppress(asyncio.CancelledError):
            await people
        await engine.stop(5)
    writer.close()
    database.dispose()


if __name__ == "__main__":
    place, *figures = sys.argv[1:]
    asyncio.run(asyncio.wait_for(live(Path(place), *map(int, figures)), MOST_SECONDS))
