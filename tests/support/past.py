"""Agents of the past: what is in a registry after months of work."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from app.adapters.artifacts import artifacts_at
from app.adapters.clock import new_name
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import Agent, AgentId, Effect
from app.core.agents.counters import fold
from app.core.agents.events import (
    AgentEvent,
    Finished,
    HandedOver,
    Held,
    ModelCalled,
    ToolAsked,
    ToolEnded,
    Tripped,
)
from app.core.agents.lifecycle import Signal
from app.core.agents.steps import Pause, Step
from app.core.agents.transition import transition
from app.core.breaker.verdict import decide
from app.core.limits import Limits
from app.ports import Artifact, ArtifactKind, HeardCommands, Look, Whereabouts, Work
from app.services.moves.glances import catch_up
from tests.contract.store_support import NOON, a_new_agent
from tests.support.moves import Changes, begin, move


class Past:
    """Writes agents as the service writes them, an hour after each other."""

    def __init__(self, store: SqlStore, issues: int) -> None:
        """`issues`: how many there have been before."""
        self._store = store
        self._issue = issues

    def at_issue(self, number: int) -> None:
        """Go on so many hours after noon, with the issue of that number."""
        self._issue = number

    async def looked_at(self, repository: str) -> None:
        """A repository that nobody has worked in yet."""
        await self._store.save_look(repository, Look(NOON, NOON, NOON, NOON, {}, {}))

    async def merged(self, calls: int, *, after: AgentId) -> AgentId:
        """A retry of `after`, whose work was merged."""
        issue, self._issue = self._issue, after.issue - 1
        merged = await self.worked(calls, role=after.role, pull_request=7)
        self._issue = issue
        return merged

    async def worked(
        self,
        calls: int,
        *,
        role: str = "bug-fix",
        limits: Limits | None = None,
        tokens: int = 0,
        pull_request: int | None = None,
    ) -> AgentId:
        """One agent from its start to its end: so many calls, or the limit stops it. `tokens`:
        of one model call before these; `pull_request`: it was merged."""
        now, waiting = await self._queued(role, limits or Limits())
        agent = await begin(self._store, waiting, 0, "worker-1", now)
        assert agent is not None
        log = list(await self._store.log(agent.id))
        counters, events = fold(log), list[AgentEvent]()
        if tokens:
            said = ModelCalled(at=now, model="scripted", input_tokens=tokens, output_tokens=0)
            counters = fold([said], counters)
            events.append(said)
        for number in range(calls):
            now += timedelta(seconds=1)
            ask = ToolAsked(at=now, call=f"{number}", tool="view", what=f"{number}.py")
            decision = decide(counters, ask, agent.assignment.limits)
            counters = decision.counters
            events += decision.events
            if counters.trip is not None:
                break
            ended = ToolEnded(at=now, call=f"{number}", ok=True)
            counters = fold([ended], counters)
            events.append(ended)
        await self._ends(agent, len(log), events, now, pull_request)
        await catch_up(self._store, now)
        return agent.id

    async def begun(self, worker: str) -> AgentId:
        """One agent that is at work now."""
        now, waiting = await self._queued("bug-fix", Limits())
        assert await begin(self._store, waiting, 0, worker, now) is not None
        return waiting

    async def went(self, *steps: Step, role: str = "bug-fix") -> AgentId:
        """One agent that began, and then took these steps, one each minute."""
        now, agent_id = await self._queued(role, Limits())
        agent = await begin(self._store, agent_id, 0, "worker-1", now)
        assert agent is not None
        for step in steps:
            now += timedelta(minutes=1)
            if isinstance(step, Pause):
                seq = len(await self._store.log(agent_id)) + 1
                assert await self._store.append(agent_id, 0, seq, [Held(at=now, hold=step.hold)])
            agent = await self._store.move(transition(agent, step, None, now))
            assert agent is not None
        await catch_up(self._store, now)
        return agent_id

    async def waits(self) -> AgentId:
        """One agent that waits for a worker."""
        return (await self._queued("bug-fix", Limits()))[1]

    async def _queued(self, role: str, limits: Limits) -> tuple[datetime, AgentId]:
        now = NOON + timedelta(hours=self._issue)
        self._issue += 1
        new = a_new_agent(self._issue, role)
        assignment = replace(new.assignment, limits=limits)
        created = await self._store.create(replace(new, assignment=assignment), now)
        assert created is not None
        return now, created.id

    async def _ends(
        self,
        agent: Agent,
        logged: int,
        events: list[AgentEvent],
        now: datetime,
        pull_request: int | None,
    ) -> None:
        assert await self._store.append(agent.id, 0, logged + 1, events)
        trips = [event.trip for event in events if isinstance(event, Tripped)]
        signal = Signal.TRIPPED if trips else Signal.FINISHED
        end = Finished(at=now, why="done", since=None if pull_request is None else now)
        changes = Changes(stop=trips[0] if trips else None, sha="5e1f" * 10)
        if pull_request is not None:
            await self._store.note_handed_over(agent, HandedOver(at=now, pull_request=pull_request))
        assert await move(self._store, agent, signal, [end], changes) is not None

    async def published(self, agent: AgentId, *effects: Effect) -> None:
        """What became of what was to be written on GitHub about it."""
        for effect in effects:
            await self._store.save_effect(agent, effect)

    async def is_elsewhere(self, agent: AgentId, conversation: Artifact, address: str) -> None:
        """It began last on another machine, which kept its conversation at that address."""
        present = await self._store.agent(agent)
        assert present is not None
        assert await self._store.note_whereabouts(present, Whereabouts("another", 2), None)
        artifacts = artifacts_at(address, self._store, new_name)
        assert await artifacts.keep_artifact(present, ArtifactKind.CONVERSATION, conversation)

    async def heard(self, told: HeardCommands) -> None:
        """Somebody told Squadron something."""
        await self._store.hear_commands(told)


@contextmanager
def a_past(database_url: str, issues: int = 0) -> Iterator[Past]:
    """A registry to be filled, or filled further."""
    engine = make_engine(database_url)
    migrate(engine)
    writer = GroupWriter(engine)

    def enqueue_nothing(_: sa.Connection, __: Work) -> None:
        return

    try:
        yield Past(SqlStore(engine, writer, enqueue_nothing), issues)
    finally:
        writer.close()
        engine.dispose()
