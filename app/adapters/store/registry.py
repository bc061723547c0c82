"""The registry: rows of agents, changed by compare-and-set on (state, segment, attempt) only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from app.adapters.store import glances, log, ranks, refused
from app.adapters.store.codec import (
    decode_agent,
    encode_assignment,
    encode_numbers,
    encode_stop,
)
from app.adapters.store.dialects import insert
from app.adapters.store.tables import AGENTS, EFFECTS
from app.core.agents.agent import Agent, AgentId, EffectName
from app.core.agents.caps import AT_WORK, reached
from app.core.agents.events import Created, HandedOver, Kept, Waits
from app.core.agents.lifecycle import State
from app.core.agents.stops import Failure, StopReason, Trip
from app.core.agents.transition import Transition
from app.core.rules.caps import Caps, Full
from app.core.words.glance import NotedGlance
from app.ports import NewAgent, Publish, RunSegment, StoreUnavailable, Work

Enqueue = Callable[[sa.Connection, Work], None]
"""Commits durable work together with the transaction of the connection."""


_LOCK_CAPS: Final = sa.text("SELECT pg_advisory_xact_lock(:lock)")
_CAPS_LOCK: Final = 0x5371_7561_6361_7073
"""Ours among PostgreSQL's advisory locks."""

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
        enqueue(connection, RunSegment(created.id, 0, new.delay_seconds, created.rank))
        enqueue(connection, Publish.new_in_queue(created.id))
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
        "dismissed_at": None,
        "missing_provider": None,
        "rank": 0 if new.parent else ranks.of_the_next(connection, new.repository.full_name),
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


def move(
    connection: sa.Connection,
    enqueue: Enqueue,
    change: Transition,
    seen: NotedGlance | None = None,
) -> Agent | None:
    """Write the row, append, enqueue, and note what lists show; None if the row is not as the mover
    saw it."""
    before, after = change.before, change.after
    told = {
        "summary": (before.summary, after.summary),
        "sha": (before.sha, after.sha),
        "trip": (before.stop, after.stop),
    }
    values = {
        "state": after.state.value,
        "segment": after.segment,
        "segment_attempts": after.segment_attempts,
        "worker": after.worker,
        "waits_for": None if after.waits_for is None else after.waits_for.value,
        "blocked_by": encode_numbers(after.blocked_by),
        "retry_at": after.retry_at,
        "missing_provider": after.missing_provider,
        "taken_away_at": after.taken_away_at,
        "updated_at": after.updated_at,
        **{name: _encoded(now) for name, (was, now) in told.items() if now != was},
        **log.Tokens.of(change.events).columns,
    }
    if after.is_final:
        values["live_post"] = None
    rank = 0
    if after.state is State.QUEUED and before.parent is None:
        rank = ranks.of_the_next(connection, before.repository)
        values["rank"] = rank if change.joins_queue else 0
    written = _change(connection, _as_seen(before), values)
    if written is not None:
        log.add(connection, before.id, before.segment, change.events)
        for work in change.follow:
            enqueue(connection, replace(work, rank=rank) if isinstance(work, RunSegment) else work)
        if seen is not None:
            glances.note(connection, before.id, seen)
    return written


def begin(
    connection: sa.Connection, enqueue: Enqueue, change: Transition, caps: Caps
) -> Agent | Full | None:
    """As `move`; or the cap that is reached. Who begins once more after a death has its place."""
    agent = change.before
    if caps.concern(agent.id.role) and agent.state is not State.ACTIVE:
        if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
            connection.execute(_LOCK_CAPS, {"lock": _CAPS_LOCK})
        at_work = sa.select(AGENTS).where(AGENTS.c.state.in_([state.value for state in AT_WORK]))
        others = [decode_agent(row) for row in connection.execute(at_work).mappings()]
        if full := reached(caps, agent, others):
            return full
    return move(connection, enqueue, change)


def _encoded(value: str | StopReason | None) -> str | None:
    return encode_stop(value) if isinstance(value, Trip | Failure) else value


def note(connection: sa.Connection, agent: AgentId, values: Mapping[str, Any]) -> None:
    """Set facts about an agent that are no part of its state."""
    connection.execute(sa.update(AGENTS).where(AGENTS.c.id == str(agent)).values(values))


def dismiss(
    connection: sa.Connection,
    repository_id: int,
    issue: int,
    at: datetime,
    stopped_before: datetime | None,
) -> None:
    """Agents of an issue that were stopped before an instant, or at any time."""
    stopped = sa.update(AGENTS).where(
        AGENTS.c.repository_id == repository_id,
        AGENTS.c.issue == issue,
        AGENTS.c.state == State.ESCALATED.value,
        AGENTS.c.dismissed_at.is_(None),
    )
    if stopped_before is not None:
        stopped = stopped.where(AGENTS.c.updated_at <= stopped_before)
    connection.execute(stopped.values(dismissed_at=at))


def needs_human_issues(connection: sa.Connection, repository: str) -> Mapping[AgentId, int]:
    """By which issue people were called for each agent that was stopped."""
    found = connection.execute(
        sa.select(AGENTS.c.id, EFFECTS.c.number)
        .join(EFFECTS, EFFECTS.c.agent_id == AGENTS.c.id)
        .where(AGENTS.c.repository == repository, AGENTS.c.state == State.ESCALATED.value)
        .where(EFFECTS.c.name == EffectName.ISSUE.value, EFFECTS.c.number.is_not(None))
    )
    return {AgentId.parse(row.id): row.number for row in found}


def note_pushed_beside(
    connection: sa.Connection, enqueue: Enqueue, of: Agent, sha: str, work: Work
) -> None:
    """Nothing is noted of who has gone on meanwhile."""
    if _change(connection, _as_seen(of), {"sha": sha}) is not None:
        enqueue(connection, work)


def note_kept(connection: sa.Connection, of: Agent, kept: Kept) -> None:
    """The row is locked by its change. Nothing is noted of who has gone on meanwhile: its segment
    alone writes its log, and keeps what it makes."""
    if _change(connection, _as_seen(of), {"sha": kept.sha}) is not None:
        log.add(connection, of.id, of.segment, [kept])


def note_handed_over(connection: sa.Connection, of: Agent, told: HandedOver) -> None:
    """As `note_kept`; but the number is noted in any case."""
    if _change(connection, _as_seen(of), {"pull_request": told.pull_request}) is not None:
        log.add(connection, of.id, of.segment, [told])
    else:
        note(connection, of.id, {"pull_request": told.pull_request})


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
    waits_for: Waits | None,
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
    if waits_for is not None:
        wanted = wanted.where(AGENTS.c.waits_for == waits_for.value)
    if changed_since is not None:
        wanted = wanted.where(AGENTS.c.updated_at >= changed_since)
    if parent is not None:
        wanted = wanted.where(AGENTS.c.parent == str(parent))
    return [decode_agent(row) for row in connection.execute(wanted).mappings()]


def changed(connection: sa.Connection, since: datetime) -> Mapping[AgentId, datetime]:
    """When those were moved last that were since then, sub-agents left out, oldest first."""
    found = connection.execute(
        sa.select(AGENTS.c.id, AGENTS.c.updated_at)
        .where(AGENTS.c.updated_at >= since, AGENTS.c.parent.is_(None))
        .order_by(AGENTS.c.created_at, AGENTS.c.id)
    )
    return {AgentId.parse(row.id): row.updated_at for row in found}


def is_as_seen(connection: sa.Connection, agent: Agent) -> bool:
    """Whether the agent is where somebody saw it; its row is locked."""
    found = sa.select(AGENTS.c.id).where(_as_seen(agent)).with_for_update()
    return connection.scalar(found) is not None


def _as_seen(agent: Agent) -> sa.ColumnElement[bool]:
    """Whether the row is in the state, the segment and the attempt in which somebody saw it."""
    return sa.and_(
        AGENTS.c.id == str(agent.id),
        AGENTS.c.state == agent.state.value,
        AGENTS.c.segment == agent.segment,
        AGENTS.c.segment_attempts == agent.segment_attempts,
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
