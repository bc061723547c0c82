"""The event logs. Whoever writes one has locked the agent's row before: so `seq` has no gaps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final, Self

import sqlalchemy as sa

from app.adapters.store import costs
from app.adapters.store.codec import decode_event, decode_log, encode_event
from app.adapters.store.tables import AGENTS, EVENTS, PACKED_LOGS
from app.core.agents.agent import AgentId
from app.core.agents.events import (
    AgentEvent,
    ModelAsked,
    ModelCalled,
    Passed,
    Spoke,
    Ticked,
    ToolAsked,
    ToolEnded,
    TurnAsked,
    Warned,
)
from app.core.agents.lifecycle import LIVE, State
from app.ports import Logged


@dataclass(frozen=True, slots=True)
class Tokens:
    """What models billed for, in a few events."""

    input: int
    output: int

    @classmethod
    def of(cls, events: Iterable[AgentEvent]) -> Self:
        """The sum over `events`."""
        called = [event for event in events if isinstance(event, ModelCalled)]
        return cls(
            sum(event.input_tokens for event in called),
            sum(event.output_tokens for event in called),
        )

    @property
    def columns(self) -> Mapping[str, Any]:
        """What to set in the agent's row."""
        return {
            "input_tokens": AGENTS.c.input_tokens + self.input,
            "output_tokens": AGENTS.c.output_tokens + self.output,
        }


@dataclass(frozen=True, slots=True)
class Append:
    """Events of a running segment that are to follow each other from `first_seq` on."""

    agent: str
    segment: int
    first_seq: int
    rows: Sequence[Mapping[str, Any]]
    tokens: Tokens
    spent: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, agent: AgentId, segment: int, first_seq: int, events: Sequence[AgentEvent]) -> Self:
        """Encoded on the caller's side, so that a value that cannot be is its fault alone."""
        name = str(agent)
        rows = _rows(name, segment, first_seq, events)
        spent = costs.rows(name, first_seq, events)
        return cls(name, segment, first_seq, rows, Tokens.of(events), spent)


def append(connection: sa.Connection, appends: Sequence[Append]) -> Sequence[bool]:
    """All events of each append, or none: False if it was superseded."""
    agents = sorted({append.agent for append in appends})
    running = _lock_running(connection, agents)
    next_seqs = following(connection, list(running))
    answers = []
    rows: list[Mapping[str, Any]] = []
    spent: list[Mapping[str, Any]] = []
    for append in appends:
        is_next = next_seqs.get(append.agent) == append.first_seq
        fits = is_next and running[append.agent] == append.segment
        if fits:
            rows += append.rows
            spent += append.spent
            next_seqs[append.agent] += len(append.rows)
            if append.tokens != _NO_TOKENS:
                connection.execute(
                    sa.update(AGENTS)
                    .where(AGENTS.c.id == append.agent)
                    .values(append.tokens.columns)
                )
        answers.append(fits)
    if rows:
        connection.execute(_INSERT, rows)
    costs.record(connection, spent)
    return answers


def add(
    connection: sa.Connection, agent: AgentId, segment: int, events: Sequence[AgentEvent]
) -> None:
    """Put events at the end of a log whose agent's row is locked."""
    name = str(agent)
    first_seq = following(connection, [name])[name]
    connection.execute(_INSERT, _rows(name, segment, first_seq, events))
    costs.record(connection, costs.rows(name, first_seq, events))


def read(connection: sa.Connection, agent: AgentId) -> Sequence[AgentEvent]:
    """All events of an agent, in order."""
    return [decode_event(body) for body in read_encoded(connection, str(agent))]


def read_encoded(connection: sa.Connection, agent: str) -> Sequence[str]:
    """All events of an agent as they are kept, in order.

    Asked in one statement: between two of them PostgreSQL could pack the log.
    """
    bodies: list[str] = []
    for row in connection.execute(_WHOLE, {"agent": agent}):
        bodies += [row.body] if row.packed is None else decode_log(row.packed)
    return bodies


def read_before(
    connection: sa.Connection, agent: AgentId, before: int | None, most: int
) -> Sequence[Logged]:
    """The last events with a number below `before`, in order; None: the last of all."""
    end = _NEVER if before is None else before
    return _last(connection, str(agent), most, end, lambda _: True, sa.true())


def read_landmarks(connection: sa.Connection, agent: AgentId, most: int) -> Sequence[Logged]:
    """The last events that tell turns and calls apart, in order."""
    return _last(connection, str(agent), most, _NEVER, _is_landmark, _IS_LANDMARK)


def _last(
    connection: sa.Connection,
    agent: str,
    most: int,
    end: int,
    is_wanted: Callable[[str], bool],
    condition: sa.ColumnElement[bool],
) -> Sequence[Logged]:
    """What is wanted of the events below `end`, in order. Of a log that is packed between the two
    questions, the first has told all."""
    loose = _LOOSE.where(EVENTS.c.seq < end, condition).limit(most)
    found = [(row.seq, row.body) for row in connection.execute(loose, {"agent": agent})]
    if len(found) < most:
        end = found[-1][0] if found else end
        packed = connection.scalar(_PACKED, {"agent": agent})
        bodies = [] if packed is None else decode_log(packed)[: end - 1]
        older = ((seq, bodies[seq - 1]) for seq in range(len(bodies), 0, -1))
        wanted = (each for each in older if is_wanted(each[1]))
        found += islice(wanted, most - len(found))
    return [Logged(seq, decode_event(body)) for seq, body in reversed(found)]


def _is_landmark(body: str) -> bool:
    """The same as `_IS_LANDMARK`, of an event as it is packed."""
    kind = body[len(_TYPE_BEGINS) : body.index('"', len(_TYPE_BEGINS))]
    if kind == ToolAsked.__name__:
        return _HAS_SUITE in body
    return _NO_OUTCOME not in body if kind == ToolEnded.__name__ else kind not in _ROUTINE


def warned(connection: sa.Connection, since: datetime) -> Sequence[tuple[AgentId, Warned | Passed]]:
    """What limits have told agents since then without stopping them, the oldest first.

    Only logs of agents to which something can have happened since then are looked at.
    """
    is_recent = sa.or_(
        AGENTS.c.state.in_([state.value for state in LIVE]), AGENTS.c.updated_at >= since
    )
    found = connection.execute(
        sa.select(AGENTS.c.id, EVENTS.c.body)
        .join_from(AGENTS, EVENTS, EVENTS.c.agent_id == AGENTS.c.id)
        .where(is_recent, EVENTS.c.at >= since, EVENTS.c.type.in_(_WARNED))
        .order_by(EVENTS.c.at, AGENTS.c.id, EVENTS.c.seq)
    )
    told = [(AgentId.parse(row.id), decode_event(row.body)) for row in found]
    return [(agent, event) for agent, event in told if isinstance(event, Warned | Passed)]


_NEVER: Final = 2**31 - 1
"""Above all numbers of events."""
_ROUTINE: Final = tuple(
    kind.__name__
    for kind in (TurnAsked, ModelAsked, ModelCalled, Spoke, Ticked, ToolAsked, ToolEnded)
)
_TYPE_BEGINS: Final = '{"type":"'
_HAS_SUITE: Final = '"suite":{'
_NO_OUTCOME: Final = '"outcome":null'
_IS_LANDMARK: Final = sa.or_(
    EVENTS.c.type.not_in(_ROUTINE),
    sa.and_(EVENTS.c.type == ToolAsked.__name__, EVENTS.c.body.contains(_HAS_SUITE)),
    sa.and_(EVENTS.c.type == ToolEnded.__name__, ~EVENTS.c.body.contains(_NO_OUTCOME)),
)
"""Within a text of JSON a quotation mark is escaped: neither mark is found there."""
_WARNED: Final = (Warned.__name__, Passed.__name__)
_NO_TOKENS: Final = Tokens(0, 0)
_AGENTS: Final = AGENTS.c.id.in_(sa.bindparam("agents", expanding=True))
_RUNNING: Final = (
    sa.select(AGENTS.c.id, AGENTS.c.segment)
    .where(_AGENTS, AGENTS.c.state == sa.bindparam("state"))
    .order_by(AGENTS.c.id)  # one order for all processes: no deadlock
    .with_for_update(key_share=True)
)
_LAST: Final = sa.select(
    AGENTS.c.id,
    sa.select(sa.func.max(EVENTS.c.seq)).where(EVENTS.c.agent_id == AGENTS.c.id).scalar_subquery(),
    sa.select(PACKED_LOGS.c.until_seq)
    .where(PACKED_LOGS.c.agent_id == AGENTS.c.id)
    .scalar_subquery(),
).where(_AGENTS)
_INSERT: Final = sa.insert(EVENTS)
_AGENT: Final = sa.bindparam("agent", type_=sa.Text)
_PACKED_UNTIL: Final = sa.select(PACKED_LOGS.c.until_seq).where(PACKED_LOGS.c.agent_id == _AGENT)
_WHOLE: Final = sa.union_all(
    sa.select(
        PACKED_LOGS.c.until_seq.label("seq"),
        PACKED_LOGS.c.body.label("packed"),
        sa.cast(sa.null(), sa.Text).label("body"),
    ).where(PACKED_LOGS.c.agent_id == _AGENT),
    sa.select(EVENTS.c.seq, sa.cast(sa.null(), sa.LargeBinary), EVENTS.c.body).where(
        EVENTS.c.agent_id == _AGENT,
        EVENTS.c.seq > sa.func.coalesce(_PACKED_UNTIL.scalar_subquery(), 0),
    ),
).order_by("seq")
"""A packed log and, after it, the events that came later."""
_PACKED: Final = sa.select(PACKED_LOGS.c.body).where(PACKED_LOGS.c.agent_id == _AGENT)
_LOOSE: Final = (
    sa.select(EVENTS.c.seq, EVENTS.c.body)
    .where(
        EVENTS.c.agent_id == _AGENT,
        EVENTS.c.seq > sa.func.coalesce(_PACKED_UNTIL.scalar_subquery(), 0),
    )
    .order_by(EVENTS.c.seq.desc())
)
"""Events that are not packed, the last first."""


def _rows(
    agent: str, segment: int, first_seq: int, events: Sequence[AgentEvent]
) -> list[Mapping[str, Any]]:
    return [
        {
            "agent_id": agent,
            "seq": seq,
            "segment": segment,
            "at": event.at,
            "type": type(event).__name__,
            "body": encode_event(event),
        }
        for seq, event in enumerate(events, first_seq)
    ]


def _lock_running(connection: sa.Connection, agents: Sequence[str]) -> dict[str, int]:
    """Segments of those agents that are ACTIVE. Their rows stay as they are until the commit."""
    found = connection.execute(_RUNNING, {"agents": agents, "state": State.ACTIVE.value})
    return {row.id: row.segment for row in found}


def following(connection: sa.Connection, agents: Sequence[str]) -> dict[str, int]:
    """The sequence number that comes next in each log.

    Asked after the lock, in a statement of its own, or PostgreSQL would answer from before it.
    """
    found = connection.execute(_LAST, {"agents": agents})
    return {agent: max(seq or 0, packed or 0) + 1 for agent, seq, packed in found}
