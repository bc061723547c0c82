"""Brakes at work: who they hold does not begin, and goes on when they are lifted.

A brake is a row that the command line, or a repository's configuration, writes. Every process
looks once a second: running segments see it by `BrakeWatch`, and a brake that was lifted sets a
pass of reconciliation in motion, which lets everybody on.
"""

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Braked, BrakeLifted
from app.core.agents.lifecycle import State
from app.core.agents.steps import HoldBack, LetGoOn, Requeue
from app.core.rules.brakes import Brake, brake_on, time_under
from app.core.words.refusals import brake_words
from app.core.words.report import braked
from app.ports import Clock, Queue, Reconcile, Repository, Store
from app.services.moves.moves import Moves
from app.services.world import World, repository_of

LOOK_SECONDS: Final = 1.0
"""How often a process looks for brakes."""
CLOCKS_DIFFER: Final = timedelta(minutes=1)
"""How far the clock may differ of whoever lifts a brake."""
LIFTED: Final = "lifted"
"""Why a pass of reconciliation runs after a brake was lifted."""
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)

log = logging.getLogger("squadron.brakes")


async def brake_at(world: World, repository: Repository) -> Brake | None:
    """The widest brake that is on there now, as the database has it."""
    brakes = await world.store.brakes()
    return brake_on(brakes, repository.full_name, repository.installation_id)


class BrakeWatch:
    """Which brakes are on, as of a second ago: for running sessions, which look all the time."""

    def __init__(self, store: Store, queue: Queue, clock: Clock) -> None:
        self._store = store
        self._queue = queue
        self._clock = clock
        self._brakes: tuple[Brake, ...] = ()
        self._told: frozenset[Brake] = frozenset()
        self._looking: asyncio.Task[None] | None = None

    def holds(self, agent: Agent) -> bool:
        """Whether a brake is on where the agent works. From any thread or loop."""
        return brake_on(self._brakes, agent.repository, agent.installation_id) is not None

    def start(self) -> None:
        """Look again and again until `stop`."""
        self._looking = asyncio.create_task(self._look_on(), name="brakes")

    async def stop(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking

    async def look(self) -> None:
        """Look once; whoever was held by a brake that was lifted is let on soon."""
        since = self._clock.now() - CLOCKS_DIFFER - timedelta(seconds=LOOK_SECONDS)
        found = tuple(await self._store.brakes(since))
        self._brakes = tuple(brake for brake in found if brake.is_on)
        lifted = [brake for brake in found if not brake.is_on]
        for brake in lifted:
            if brake in self._told:
                continue
            place = brake.place
            name = f"{place.scope}:{place.name}:{brake.since.timestamp()}"
            await self._queue.enqueue(Reconcile(LIFTED, f"{LIFTED}:{name}"))
            log.info("brake lifted", extra={"brake": brake_words(brake), "by": brake.lifted_by})
        self._told = frozenset(lifted)

    async def _look_on(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:  # whatever it is: who does not look any more does not brake either
                log.exception("cannot look for brakes; those that were known stay on")
            await self._clock.sleep(LOOK_SECONDS)


class Braking:
    """Holds agents, and lets them on."""

    def __init__(self, world: World, moves: Moves) -> None:
        self._world = world
        self._moves = moves
        self._history: tuple[Brake, ...] = ()
        self._history_read_at = _LONG_AGO

    async def is_held(self, agent: Agent) -> bool:
        """Whether a brake is on where the agent would work now."""
        return await brake_at(self._world, repository_of(agent)) is not None

    async def interrupt(self, agent: Agent, summary: str) -> None:
        """End the running segment of an agent, its work kept; it waits in the queue until
        nothing holds it any more."""
        brake = await brake_at(self._world, repository_of(agent))
        if brake is None:  # lifted meanwhile: the next segment begins at once
            await self._moves.apply(agent, Requeue("it was paused for a moment", summary))
        else:
            await self._moves.apply(agent, HoldBack(self._told(brake), summary))

    async def hold_back(self, agent_id: AgentId, segment: int) -> bool:
        """Whether a brake holds a queued segment; an agent that is held is told why, once."""
        agent = await self._world.store.agent(agent_id)
        if agent is None or agent.state is not State.QUEUED or agent.segment != segment:
            return False
        brake = await brake_at(self._world, repository_of(agent))
        if brake is None:
            return False
        before = braked(await self._world.store.log(agent.id))
        told = self._told(brake)
        if before is None or (before.scope, before.since) != (told.scope, told.since):
            await self._moves.apply(agent, HoldBack(told))
        return True

    async def let_on(self, agent: Agent) -> bool:
        """Queue an agent again that was held; False if it was not, or somebody else did."""
        if braked(await self._world.store.log(agent.id)) is None:
            return False
        step = LetGoOn(BrakeLifted(at=self._world.clock.now()))
        return await self._moves.apply(agent, step) is not None

    async def time_under(self, agent: Agent, since: datetime) -> timedelta:
        """How long of an agent's waiting since then a brake was on."""
        now = self._world.clock.now()
        if now - self._history_read_at >= timedelta(seconds=LOOK_SECONDS):
            self._history = tuple(await self._world.store.brakes(_LONG_AGO))
            self._history_read_at = now
        return time_under(self._history, agent.repository, agent.installation_id, since, now)

    def _told(self, brake: Brake) -> Braked:
        return Braked(
            at=self._world.clock.now(),
            why=brake_words(brake),
            scope=brake.place.scope.value,
            since=brake.since,
        )
