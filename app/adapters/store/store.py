"""`ports.Store` on a database: writes share transactions, reads use the pool.

Every write waits at most `writer.MOST_WAIT_SECONDS`, every read `MOST_READ_SECONDS`; both fail with
`StoreUnavailable`.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

import sqlalchemy as sa

from app.adapters.store import effects, inbox, log, registry
from app.adapters.store.failures import translated
from app.adapters.store.registry import Enqueue
from app.adapters.store.tables import DeliveryState
from app.adapters.store.writer import GroupWriter
from app.core.agent import Agent, AgentId, Effect, EffectName
from app.core.events import AgentEvent
from app.core.lifecycle import Signal, State
from app.ports import Changes, Delivery, NewAgent, StoreUnavailable, Work

MOST_READ_SECONDS: Final = 30.0

Answer = TypeVar("Answer")


class SqlStore:
    """Implements `ports.Store` on SQLite and PostgreSQL."""

    def __init__(self, engine: sa.Engine, writer: GroupWriter, enqueue: Enqueue) -> None:
        self._engine = engine
        self._writer = writer
        self._enqueue = enqueue

    async def accept(self, delivery: Delivery) -> bool:
        """Commit a delivery to the inbox; False if its id is known."""
        return await self._writer.run_batched(inbox.accept, delivery)

    async def undispatched(self, most: int) -> Sequence[Delivery]:
        """The oldest deliveries that nobody has looked at yet."""
        return await self._read(lambda connection: inbox.undispatched(connection, most))

    async def dispatch(self, ignored: Sequence[str], concerning: Sequence[Work]) -> None:
        """Mark deliveries as looked at, and enqueue work for those that concern an agent."""

        def job(connection: sa.Connection) -> None:
            inbox.mark(connection, ignored, DeliveryState.IGNORED)
            deliveries = [work.subject for work in concerning]
            inbox.mark(connection, deliveries, DeliveryState.CONCERNING)
            for work in concerning:
                self._enqueue(connection, work)

        await self._writer.run(job)

    async def delivery(self, delivery: str) -> Delivery | None:
        """One delivery; None if it is not known or its body was forgotten."""
        return await self._read(lambda connection: inbox.delivery(connection, delivery))

    async def forget_deliveries(self, before: datetime) -> int:
        """Drop the bodies of deliveries that were looked at and came before; how many.

        Their ids stay, so that a redelivery is still known.
        """
        forgotten = 0
        while part := await self._writer.run(lambda connection: inbox.forget(connection, before)):
            forgotten += part
        return forgotten

    async def create(self, new: NewAgent, at: datetime) -> Agent | None:
        """Insert a QUEUED agent with all that belongs to it; None if the post is taken."""
        return await self._writer.run(
            lambda connection: registry.create(connection, self._enqueue, new, at)
        )

    async def agent(self, agent: AgentId) -> Agent | None:
        """One agent."""
        return await self._read(lambda connection: registry.agent(connection, agent))

    async def agents(
        self,
        *,
        repository: str | None = None,
        issue: int | None = None,
        states: frozenset[State] | None = None,
        changed_since: datetime | None = None,
    ) -> Sequence[Agent]:
        """Rows that fit, oldest first."""
        return await self._read(
            lambda connection: registry.agents(
                connection, repository, issue, states, changed_since
            )
        )

    async def begin_segment(
        self, agent: AgentId, segment: int, worker: str, at: datetime
    ) -> Agent | None:
        """Make the segment ACTIVE and count the attempt; None if the agent has moved on."""
        return await self._writer.run(
            lambda connection: registry.begin_segment(connection, agent, segment, worker, at)
        )

    async def log(self, agent: AgentId) -> Sequence[AgentEvent]:
        """All events of the agent, in order."""
        return await self._read(lambda connection: log.read(connection, agent))

    async def append(
        self, agent: AgentId, segment: int, first_seq: int, events: Sequence[AgentEvent]
    ) -> bool:
        """Append to the log of the segment that runs; False if the caller was superseded."""
        return await self._writer.run_batched(
            log.append, log.Append.of(agent, segment, first_seq, events)
        )

    async def move(
        self,
        agent: Agent,
        signal: Signal,
        events: Sequence[AgentEvent],
        changes: Changes,
        follow: Sequence[Work] = (),
    ) -> Agent | None:
        """Compare and set on (state, segment) of `agent`; None if the row has moved on.

        Raises `ImpossibleTransition`, and `ValueError` without events; nothing is changed then.
        """
        step = registry.Move.of(agent, signal, events, changes, follow)
        return await self._writer.run(
            lambda connection: registry.move(connection, self._enqueue, step)
        )

    async def note_head(self, agent: AgentId, base_sha: str | None, sha: str) -> None:
        """Remember the verified head of the agent's branch."""
        base = {} if base_sha is None else {"base_sha": base_sha}
        await self._writer.run(
            lambda connection: registry.note(connection, agent, {"sha": sha, **base})
        )

    async def note_pull_request(self, agent: AgentId, number: int) -> None:
        """Remember the agent's pull request."""
        await self._writer.run(
            lambda connection: registry.note(connection, agent, {"pull_request": number})
        )

    async def effects(self, agent: AgentId) -> Mapping[EffectName, Effect]:
        """All effects of an agent, in the order of an escalation."""
        return await self._read(lambda connection: effects.of_agent(connection, agent))

    async def save_effect(self, agent: AgentId, effect: Effect) -> None:
        """Remember an effect as it is now."""
        await self._writer.run(lambda connection: effects.save(connection, agent, effect))

    async def agents_with_due_effects(self, at: datetime) -> Sequence[AgentId]:
        """Agents with an effect that is wanted and due."""
        return await self._read(lambda connection: effects.agents_with_due(connection, at))

    async def _read(self, query: Callable[[sa.Connection], Answer]) -> Answer:
        """Off the event loop, on a connection of the pool."""

        def read() -> Answer:
            with self._engine.connect() as connection:
                return query(connection)

        try:
            async with asyncio.timeout(MOST_READ_SECONDS):
                return await asyncio.to_thread(read)
        except TimeoutError as error:
            raise StoreUnavailable(
                f"the database took longer than {MOST_READ_SECONDS:g} s for a read"
            ) from error
        except sa.exc.SQLAlchemyError as error:
            raise translated(error) from error.__cause__
