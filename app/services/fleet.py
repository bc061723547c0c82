"""The fleet, page by page."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import State
from app.core.words.matters import Matter, matters
from app.core.words.story import refused_words
from app.ports import Facets, FleetAgent, FleetFilter, Store

MOST_ON_A_PAGE: Final = 500
"""Agents that one question to the database is about."""
MOST_OF_A_FACET: Final = 200
"""Repositories, roles and people by which a list can be cut down."""


async def fleet_page(
    store: Store,
    wanted: FleetFilter,
    after: AgentId | None,
    most: int,
    now: datetime,
    *,
    newest_first: bool = False,
) -> Sequence[FleetAgent]:
    """Agents that fit, as of now: at most so many, from behind `after` on."""
    page = await store.fleet(wanted, after=after, most=most, newest_first=newest_first)
    return [replace(listed, seen=listed.seen.at(now)) for listed in page]


@dataclass(frozen=True, slots=True)
class FleetView:
    """A page of the fleet, and what else there is to be seen."""

    page: Sequence[FleetAgent]
    """The newest first."""
    has_more: bool
    states: Mapping[State, int]
    """How many fit in all, by state, whatever states are wanted."""
    count: int
    """How many fit in all."""
    facets: Facets


async def fleet_view(
    store: Store, wanted: FleetFilter, after: AgentId | None, most: int, now: datetime
) -> FleetView:
    """As of now: at most so many, from behind `after` on. Raises `StoreUnavailable`."""
    page = await fleet_page(store, wanted, after, most + 1, now, newest_first=True)
    states, facets = await store.fleet_states(wanted), await store.facets(MOST_OF_A_FACET)
    wants = wanted.states or states.keys()
    count = sum(count for state, count in states.items() if state in wants)
    return FleetView(page[:most], len(page) > most, states, count, facets)


async def whole_fleet(
    store: Store, wanted: FleetFilter, now: datetime
) -> AsyncIterator[FleetAgent]:
    """All that fit, as of now, oldest first."""
    after: AgentId | None = None
    while page := await fleet_page(store, wanted, after, MOST_ON_A_PAGE, now):
        for listed in page:
            yield listed
        after = page[-1].agent.id


@dataclass(frozen=True, slots=True)
class Waiting:
    """One agent that waits for a person, and for what."""

    listed: FleetAgent
    matter: Matter


def matters_of(listed: FleetAgent, now: datetime) -> Sequence[Matter]:
    """What of it waits for a person."""
    refused, over = refused_words(listed.effects), listed.is_taken_over
    return matters(listed.agent, listed.seen, refused, is_taken_over=over, now=now)
