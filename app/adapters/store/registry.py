"""The registry: rows of agents, changed by compare-and-set on (state, segment) only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Self

import sqlalchemy as sa

from app.adapters.store import log, refused
from app.adapters.store.codec import (
    decode_agent,
    encode_assignment,
    encode_numbers,
    encode_stop,
)
from app.adapters.store.dialects import insert
from app.adapters.store.tables import AGENTS
from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import AgentEvent, Created, Kept, SegmentStarted, TakenAway
from app.core.agents.lifecycle import FINAL, Signal, State, next_segment, target
from app.ports import Changes, NewAgent, StoreUnavailable, Work

Enqueue = Callable[[sa.Connection, Work], None]
"""Commits durable work together with the transaction of the connection."""


MOST_RACES: Final = 20
"""How often another process may take the attempt's number before we give up."""


def create(
    connection: sa.Connection, enqueue: Enqueue, new: NewAgent, at: datetime
) -> Agent | None:
    """A QUEUED agent with its `Created` event and, unless its parent runs it, its first segment's
    work; None if the post is taken."""
    created = _inserted(connection, new, at)
    if created is None:
        return None
    started = Created(
        at=at,
        started_by=new.started_by,
        trigger=new.trigger,
        assignees=new.assignees,
        said=new.said,
        task_sha256=new.assignment.task.sha256,
    )
    log.add(connection, created.id, 0, [started])
    if new.parent is None:
        first = Work.to_run(created.id, 0)
        enqueue(connection, replace(first, delay_seconds=new.delay_seconds))
        refused.forget(connection, created.repository, created.id.issue, created.id.role)
    return created


def _inserted(connection: sa.Connection, new: NewAgent, at: datetime) -> Agent | None:
    post = AgentId(new.repository.full_name, new.issue, new.role, attempt=0).post
    for _ in range(MOST_RACES):
        row = connection.execute(
            insert(connection, AGENTS).on_conflict_do_nothing().returning(AGENTS),
            _first_row(connection, post, new, at),
        ).mappings()
        created = row.one_or_none()
        if created is not None:
            return decode_agent(created)
        if new.parent is None and connection.scalar(
            sa.select(sa.exists().where(AGENTS.c.live_post == post))
        ):
            return None
    raise StoreUnavailable(f"others took the next attempt at {post} {MOST_RACES} times in a row")


def _first_row(
    connection: sa.Connection, post: str, new: NewAgent, at: datetime
) -> Mapping[str, Any]:
    last = connection.scalar(sa.select(sa.func.max(AGENTS.c.attempt)).where(AGENTS.c.post == post))
    agent = _unused(connection, new, (last or 0) + 1)
    before = None if new.parent is not None else _predecessor(connection, post)
    return {
        "id": str(agent),
        "post": post,
        "live_post": post if new.parent is None else None,
        "repository_id": new.repository_id,
        "repository": new.repository.full_name,
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
        "branch": new.branch if before is None else before.branch,
        "summary": "" if before is None else before.summary,
        "started_by": new.started_by,
        "predecessor": None if before is None else before.id,
        "parent": None if new.parent is None else str(new.parent),
        "depth": new.depth,
        "input_tokens": 0,
        "output_tokens": 0,
        "created_at": at,
        "updated_at": at,
        "taken_away_at": None,
        "retry_at": None,
        "missing_provider": None,
    }


def _unused(connection: sa.Connection, new: NewAgent, attempt: int) -> AgentId:
    """An id that no agent has of another repository that had this one's name before it moved."""
    while True:
        agent = AgentId(new.repository.full_name, new.issue, new.role, attempt)
        if not connection.scalar(sa.select(sa.exists().where(AGENTS.c.id == str(agent)))):
            return agent
        attempt += 1


def _predecessor(connection: sa.Connection, post: str) -> sa.Row[str, str, str] | None:
    return connection.execute(
        sa.select(AGENTS.c.id, AGENTS.c.branch, AGENTS.c.summary)
        .where(AGENTS.c.post == post, AGENTS.c.parent.is_(None))
        .order_by(AGENTS.c.attempt.desc())
        .limit(1)
    ).one_or_none()


def begin_segment(
    connection: sa.Connection, agent: AgentId, segment: int, worker: str, at: datetime
) -> Agent | None:
    """Make a queued segment ACTIVE, or an ACTIVE one again after a death; count the attempt. Who
    was taken away does not begin."""
    active = target(State.QUEUED, Signal.STARTED)
    begun = _change(
        connection,
        sa.and_(
            AGENTS.c.id == str(agent),
            AGENTS.c.segment == segment,
            AGENTS.c.state.in_([State.QUEUED.value, active.value]),
            AGENTS.c.taken_away_at.is_(None),
        ),
        {
            "state": active.value,
            "waits_for": None,
            "retry_at": None,
            "missing_provider": None,
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
    signal: Signal
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
        if state is State.ACTIVE or state in FINAL:
            values["waits_for"] = None
        if state is not State.ACTIVE:
            values["worker"] = None
        if state in FINAL:
            values["live_post"] = None
        if segment != agent.segment:
            values["segment_attempts"] = 0
        work = list(follow)
        if state is State.QUEUED and agent.parent is None:
            work.append(Work.to_run(agent.id, segment, changes.pause_seconds))
        return cls(agent, signal, events, values, work)


def _changed(changes: Changes) -> dict[str, Any]:
    """What is set anew at every move, and what only when it is given."""
    given = {
        "summary": changes.summary,
        "sha": changes.sha,
        "base_sha": changes.base_sha,
        "pull_request": changes.pull_request,
        "trip": None if changes.stop is None else encode_stop(changes.stop),
    }
    return {
        "waits_for": None if changes.waits_for is None else changes.waits_for.value,
        "retry_at": changes.retry_at,
        "missing_provider": changes.missing_provider,
        "blocked_by": encode_numbers(changes.blocked_by),
        **{column: value for column, value in given.items() if value is not None},
    }


def move(connection: sa.Connection, enqueue: Enqueue, step: Move) -> Agent | None:
    """Change, append and enqueue; None if the row is not as the mover saw it, or the agent was
    taken away and this is not its end."""
    before, is_as_seen = step.agent, _as_seen(step.agent)
    if step.signal is not Signal.TAKEN_AWAY:
        is_as_seen = sa.and_(is_as_seen, AGENTS.c.taken_away_at.is_(None))
    moved = _change(connection, is_as_seen, step.values)
    if moved is not None:
        log.add(connection, before.id, before.segment, step.events)
        for work in step.work:
            enqueue(connection, work)
    return moved


def take_away(connection: sa.Connection, before: Agent, told: TakenAway) -> Agent | None:
    """Mark and append, once; None if the row is not as it was seen. The event takes the place of
    the next one of a running segment, which is superseded by it."""
    is_at_work = sa.and_(_as_seen(before), AGENTS.c.taken_away_at.is_(None))
    taken = _change(connection, is_at_work, {"taken_away_at": told.at})
    if taken is not None:
        log.add(connection, before.id, before.segment, [told])
    return taken


def note(connection: sa.Connection, agent: AgentId, values: Mapping[str, Any]) -> None:
    """Set facts about an agent that are no part of its state."""
    connection.execute(sa.update(AGENTS).where(AGENTS.c.id == str(agent)).values(values))


def note_kept(connection: sa.Connection, of: Agent, kept: Kept) -> None:
    """The row is locked by its change: nobody else adds to the log of a final agent meanwhile."""
    note(connection, of.id, {"sha": kept.sha})
    log.add(connection, of.id, of.segment, [kept])


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
    parent: AgentId | None,
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
    if parent is not None:
        wanted = wanted.where(AGENTS.c.parent == str(parent))
    return [decode_agent(row) for row in connection.execute(wanted).mappings()]


def _as_seen(agent: Agent) -> sa.ColumnElement[bool]:
    """Whether the row is in the state and the segment in which somebody has seen it."""
    return sa.and_(
        AGENTS.c.id == str(agent.id),
        AGENTS.c.state == agent.state.value,
        AGENTS.c.segment == agent.segment,
    )


def _change(
    connection: sa.Connection, expected: sa.ColumnElement[bool], values: Mapping[str, Any]
) -> Agent | None:
    """One UPDATE, which locks the row; None if no row is as expected."""
    rows = connection.execute(
        sa.update(AGENTS).where(expected).values(values).returning(AGENTS)
    ).mappings()
    changed = rows.one_or_none()
    return None if changed is None else decode_agent(changed)
