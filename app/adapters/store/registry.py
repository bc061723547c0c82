"""The registry: rows of agents, changed by compare-and-set on (state, segment) only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import sqlalchemy as sa

from app.adapters.store import log
from app.adapters.store.codec import (
    decode_agent,
    encode_assignment,
    encode_numbers,
    encode_trip,
)
from app.adapters.store.dialects import insert
from app.adapters.store.tables import AGENTS
from app.core.agent import Agent, AgentId
from app.core.events import AgentEvent, Created, SegmentStarted
from app.core.lifecycle import FINAL, Signal, State, next_segment, target
from app.ports import Changes, NewAgent, Work

Enqueue = Callable[[sa.Connection, Work], None]
"""Commits durable work together with the transaction of the connection."""


def create(
    connection: sa.Connection, enqueue: Enqueue, new: NewAgent, at: datetime
) -> Agent | None:
    """A QUEUED agent with its `Created` event and its first segment's work, if the post is free."""
    post = AgentId(new.repository.full_name, new.issue, new.role, attempt=0).post
    predecessor = connection.execute(
        sa.select(AGENTS.c.id, AGENTS.c.attempt, AGENTS.c.branch, AGENTS.c.summary)
        .where(AGENTS.c.post == post)
        .order_by(AGENTS.c.attempt.desc())
        .limit(1)
    ).one_or_none()
    attempt = 1 if predecessor is None else predecessor.attempt + 1
    agent = AgentId(new.repository.full_name, new.issue, new.role, attempt)
    inherited: Mapping[str, Any] = {
        "predecessor": None if predecessor is None else predecessor.id,
        "branch": new.branch if predecessor is None else predecessor.branch,
        "summary": "" if predecessor is None else predecessor.summary,
    }
    row = connection.execute(
        insert(connection, AGENTS).on_conflict_do_nothing().returning(AGENTS),
        {**_first_row(agent, new, at), **inherited},
    ).mappings()
    created = row.one_or_none()
    if created is None:
        return None
    log.add(
        connection,
        agent,
        0,
        [Created(at=at, started_by=new.started_by, trigger=new.trigger)],
    )
    enqueue(connection, Work.to_run(agent, 0))
    return decode_agent(created)


def _first_row(agent: AgentId, new: NewAgent, at: datetime) -> Mapping[str, Any]:
    return {
        "id": str(agent),
        "post": agent.post,
        "live_post": agent.post,
        "repository": agent.repository,
        "issue": agent.issue,
        "role": agent.role,
        "attempt": agent.attempt,
        "installation_id": new.repository.installation_id,
        "state": State.QUEUED.value,
        "waits_for": None,
        "segment": 0,
        "segment_attempts": 0,
        "worker": None,
        "assignment": encode_assignment(new.assignment),
        "default_branch": new.default_branch,
        "base_sha": None,
        "sha": None,
        "pull_request": None,
        "blocked_by": encode_numbers(()),
        "trip": None,
        "started_by": new.started_by,
        "note": "",
        "input_tokens": 0,
        "output_tokens": 0,
        "created_at": at,
        "updated_at": at,
    }


def begin_segment(
    connection: sa.Connection, agent: AgentId, segment: int, worker: str, at: datetime
) -> Agent | None:
    """Make a queued segment ACTIVE, or an ACTIVE one again after a death; count the attempt."""
    active = target(State.QUEUED, Signal.STARTED)
    begun = _change(
        connection,
        sa.and_(
            AGENTS.c.id == str(agent),
            AGENTS.c.segment == segment,
            AGENTS.c.state.in_([State.QUEUED.value, active.value]),
        ),
        {
            "state": active.value,
            "worker": worker,
            "segment_attempts": AGENTS.c.segment_attempts + 1,
            "updated_at": at,
        },
    )
    if begun is not None:
        started = SegmentStarted(at=at, segment=segment, attempt=begun.segment_attempts)
        log.add(connection, agent, segment, [started])
    return begun


@dataclass(frozen=True, slots=True)
class Move:
    """A change of state, worked out before the database is asked."""

    agent: Agent
    """As the mover saw it."""
    events: Sequence[AgentEvent]
    values: Mapping[str, Any]
    work: Sequence[Work]

    @classmethod
    def of(
        cls,
        agent: Agent,
        signal: Signal,
        events: Sequence[AgentEvent],
        changes: Changes,
        follow: Sequence[Work],
    ) -> Self:
        """Raises `ImpossibleTransition`, and `ValueError` for a move that no event explains."""
        if not events:
            raise ValueError(f"{agent.id}: a change of state needs an event that explains it")
        state = target(agent.state, signal)
        segment = agent.segment + next_segment(agent.state, signal)
        values = {
            "state": state.value,
            "segment": segment,
            "updated_at": events[-1].at,
            **_changed(changes),
            **log.Tokens.of(events).columns,
        }
        if state is not State.SLEEPING:
            values["waits_for"] = None
        if state is not State.ACTIVE:
            values["worker"] = None
        if state in FINAL:
            values["live_post"] = None
        if segment != agent.segment:
            values["segment_attempts"] = 0
        work = [*follow, Work.to_run(agent.id, segment)] if state is State.QUEUED else follow
        return cls(agent, events, values, work)


def _changed(changes: Changes) -> dict[str, Any]:
    """What is set anew at every move, and what only when it is given."""
    given = {
        "summary": changes.summary,
        "sha": changes.sha,
        "base_sha": changes.base_sha,
        "pull_request": changes.pull_request,
        "trip": None if changes.trip is None else encode_trip(changes.trip),
        "note": changes.note,
    }
    return {
        "waits_for": None if changes.waits_for is None else changes.waits_for.value,
        "blocked_by": encode_numbers(changes.blocked_by),
        **{column: value for column, value in given.items() if value is not None},
    }


def move(connection: sa.Connection, enqueue: Enqueue, step: Move) -> Agent | None:
    """Change, append and enqueue; None if the row is not as the mover saw it."""
    before = step.agent
    moved = _change(
        connection,
        sa.and_(
            AGENTS.c.id == str(before.id),
            AGENTS.c.state == before.state.value,
            AGENTS.c.segment == before.segment,
        ),
        step.values,
    )
    if moved is not None:
        log.add(connection, before.id, before.segment, step.events)
        for work in step.work:
            enqueue(connection, work)
    return moved


def note(connection: sa.Connection, agent: AgentId, values: Mapping[str, Any]) -> None:
    """Set facts about an agent that are no part of its state."""
    connection.execute(sa.update(AGENTS).where(AGENTS.c.id == str(agent)).values(values))


def agent(connection: sa.Connection, wanted: AgentId) -> Agent | None:
    """One agent."""
    rows = connection.execute(sa.select(AGENTS).where(AGENTS.c.id == str(wanted))).mappings()
    found = rows.one_or_none()
    return None if found is None else decode_agent(found)


def agents(
    connection: sa.Connection,
    repository: str | None,
    issue: int | None,
    states: frozenset[State] | None,
    changed_since: datetime | None,
) -> Sequence[Agent]:
    """Agents that fit, oldest first."""
    wanted = sa.select(AGENTS).order_by(AGENTS.c.created_at, AGENTS.c.id)
    if repository is not None:
        wanted = wanted.where(AGENTS.c.repository == repository)
    if issue is not None:
        wanted = wanted.where(AGENTS.c.issue == issue)
    if states is not None:
        wanted = wanted.where(AGENTS.c.state.in_([state.value for state in states]))
    if changed_since is not None:
        wanted = wanted.where(AGENTS.c.updated_at >= changed_since)
    return [decode_agent(row) for row in connection.execute(wanted).mappings()]


def _change(
    connection: sa.Connection, expected: sa.ColumnElement[bool], values: Mapping[str, Any]
) -> Agent | None:
    """One UPDATE, which locks the row; None if no row is as expected."""
    rows = connection.execute(
        sa.update(AGENTS).where(expected).values(values).returning(AGENTS)
    ).mappings()
    changed = rows.one_or_none()
    return None if changed is None else decode_agent(changed)
