"""Pages of the fleet: each is read by its key, with what lists show, and no log."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import sqlalchemy as sa

from app.adapters.store import ranks
from app.adapters.store.codec import decode_agent, decode_effect, decode_glance
from app.adapters.store.names import is_alike
from app.adapters.store.tables import AGENTS, EFFECTS, GLANCES
from app.core.agents.agent import Agent, AgentId, Effect, EffectName, EffectState
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.words.glance import Glance, first_glance
from app.ports import Facets, FleetAgent, FleetFilter


def page(
    connection: sa.Connection,
    wanted: FleetFilter,
    after: AgentId | None,
    most: int,
    newest_first: bool,
) -> Sequence[FleetAgent]:
    """Agents that fit, by age, from behind `after` on."""
    order = [column.desc() if newest_first else column for column in _KEY]
    fits = sa.select(AGENTS.c.id).where(*_conditions(wanted)).order_by(*order).limit(most)
    if after is not None:
        created_at = connection.scalar(_CREATED_AT.where(AGENTS.c.id == str(after)))
        key, last = sa.tuple_(*_KEY), (created_at, str(after))
        fits = fits.where(key < last if newest_first else key > last)
    # Only the rows of a page are read whole: what sorts all that fit would carry them along.
    asked = (
        sa.select(AGENTS, GLANCES.c.body.label("glance"), _IS_TAKEN_OVER.label("is_taken_over"))
        .outerjoin(GLANCES, GLANCES.c.agent_id == AGENTS.c.id)
        .where(AGENTS.c.id.in_(fits))
        .order_by(*order)
    )
    rows = connection.execute(asked).mappings().all()
    agents = [decode_agent(row) for row in rows]
    effects = _effects(connection, [row["id"] for row in rows])
    queued = [agent.id for agent in agents if agent.state is State.QUEUED]
    queue = ranks.places(connection, queued) if queued else {}
    return [
        FleetAgent(
            agent,
            _glance(agent, row["glance"]),
            effects.get(row["id"], {}),
            queue.get(agent.id),
            bool(row["is_taken_over"]),
        )
        for agent, row in zip(agents, rows, strict=True)
    ]


def states(connection: sa.Connection, wanted: FleetFilter) -> Mapping[State, int]:
    """How many of the agents that fit are in each state, whatever states are wanted."""
    asked = (
        sa.select(AGENTS.c.state, sa.func.count())
        .where(*_conditions(replace(wanted, states=frozenset())))
        .group_by(AGENTS.c.state)
    )
    return {State(state): count for state, count in connection.execute(asked)}


def facets(connection: sa.Connection, most: int) -> Facets:
    """By what the agents that there are can be told apart: at most so many values of each."""

    def values(column: sa.ColumnElement[str]) -> Sequence[str]:
        return connection.scalars(sa.select(column).distinct().order_by(column).limit(most)).all()

    starters = sa.func.lower(AGENTS.c.started_by)
    return Facets(values(AGENTS.c.repository), values(AGENTS.c.role), values(starters))


def _conditions(wanted: FleetFilter) -> Sequence[sa.ColumnElement[bool]]:
    found = list[sa.ColumnElement[bool]]()
    if wanted.agent is not None:
        found.append(AGENTS.c.id == str(wanted.agent))
    if wanted.parent is not None:
        found.append(AGENTS.c.parent == str(wanted.parent))
    if wanted.started_by is not None:
        found.append(is_alike(AGENTS.c.started_by, wanted.started_by))
    if wanted.repository is not None:
        found.append(is_alike(AGENTS.c.repository, wanted.repository))
    if wanted.role is not None:
        found.append(AGENTS.c.role == wanted.role)
    if wanted.states:
        found.append(_is_in(wanted.states))
    if wanted.since is not None:
        found.append(AGENTS.c.updated_at >= wanted.since)
    if wanted.may_need_person:
        found += [AGENTS.c.parent.is_(None), ~_IS_TAKEN_OVER, _MAY_NEED_PERSON]
    return found


def _is_in(states: frozenset[State]) -> sa.ColumnElement[bool]:
    return AGENTS.c.state.in_([state.value for state in states])


def _waits(*reasons: Waits) -> sa.ColumnElement[bool]:
    return AGENTS.c.waits_for.in_([reason.value for reason in reasons])


def _effects(
    connection: sa.Connection, agents: Sequence[str]
) -> Mapping[str, Mapping[EffectName, Effect]]:
    """Of each agent that has any of those that lists tell of."""
    is_told = sa.or_(
        EFFECTS.c.state == EffectState.REFUSED.value,
        EFFECTS.c.name.in_([EffectName.CALL.value, EffectName.ISSUE.value]),
    )
    asked = sa.select(EFFECTS).where(EFFECTS.c.agent_id.in_(agents), is_told)
    found = dict[str, dict[EffectName, Effect]]()
    for row in connection.execute(asked).mappings():
        effect = decode_effect(row)
        found.setdefault(row["agent_id"], {})[effect.name] = effect
    return found


def _glance(agent: Agent, kept: str | None) -> Glance:
    return first_glance(agent) if kept is None else decode_glance(kept, agent.assignment.limits)


_KEY = (AGENTS.c.created_at, AGENTS.c.id)
_CREATED_AT = sa.select(AGENTS.c.created_at)
_LATER = AGENTS.alias("later")
_IS_TAKEN_OVER = sa.exists().where(
    _LATER.c.post == AGENTS.c.post,
    _LATER.c.attempt > AGENTS.c.attempt,
    _LATER.c.parent.is_(None),
)
_IS_REFUSED = sa.exists().where(
    EFFECTS.c.agent_id == AGENTS.c.id, EFFECTS.c.state == EffectState.REFUSED.value
)
_MAY_NEED_PERSON = sa.or_(
    _is_in(frozenset({State.QUEUED, State.PAUSED})),
    sa.and_(_is_in(frozenset({State.ESCALATED})), AGENTS.c.dismissed_at.is_(None)),
    sa.and_(_is_in(frozenset({State.SLEEPING})), _waits(Waits.ANSWER, Waits.ACCESS)),
    _IS_REFUSED,
)
