"""Limits, as agents come along with them: who is close, how often each was reached and whether that
was right, and what finished agents used. No log is read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import LIVE, State
from app.core.history.precision import Stop, stops
from app.core.history.role_use import LimitUsed, role_use
from app.core.history.suggest import MOST_AGENTS
from app.ports import Facets, FleetAgent, FleetFilter, Store
from app.services.fleet import MOST_OF_A_FACET, MOST_ON_A_PAGE, fleet_page

CLOSE: Final = 0.8
"""Who has used so much of a limit is close to it."""


@dataclass(frozen=True, slots=True)
class LimitsAsked:
    """Which agents are asked about."""

    role: str | None
    repository: str | None
    since: datetime
    """Stops before that are left out."""


@dataclass(frozen=True, slots=True)
class LimitsSeen:
    """What limits do to agents."""

    close: Sequence[FleetAgent]
    """Live ones that are close to a limit, the closest first; of the newest so many live ones."""
    stops: Sequence[Stop]
    """Each stop and each pause, the latest first."""
    finished: int
    """How many finished agents `used` is about: the newest of the role. 0 without a role."""
    used: Sequence[LimitUsed]
    facets: Facets
    """By what agents can be told apart."""


async def limits_seen(store: Store, asked: LimitsAsked, now: datetime) -> LimitsSeen:
    """As of now. Raises `StoreUnavailable`."""
    of_them = FleetFilter(repository=asked.repository, role=asked.role)
    live = await _newest(store, replace(of_them, states=LIVE), MOST_ON_A_PAGE, now)
    close = sorted((each for each in live if _share(each) >= CLOSE), key=_share, reverse=True)
    finished = list[FleetAgent]()
    if asked.role is not None:
        completed = replace(of_them, states=frozenset({State.COMPLETED}))
        found = await _newest(store, completed, MOST_AGENTS, now)
        finished = [each for each in found if each.agent.parent is None]
    stopped, facets = await _stops(store, asked), await store.facets(MOST_OF_A_FACET)
    return LimitsSeen(close, stopped, len(finished), _used(finished), facets)


async def _newest(
    store: Store, wanted: FleetFilter, most: int, now: datetime
) -> Sequence[FleetAgent]:
    return await fleet_page(store, wanted, None, most, now, newest_first=True)


def _share(listed: FleetAgent) -> float:
    nearest = listed.seen.nearest
    return 0.0 if nearest is None else nearest.share


def _used(finished: Sequence[FleetAgent]) -> Sequence[LimitUsed]:
    """With the limits of the newest."""
    if not finished:
        return ()
    return role_use(finished[0].agent.assignment.limits, [each.seen for each in finished])


async def _stops(store: Store, asked: LimitsAsked) -> Sequence[Stop]:
    found = [
        stop
        for stop in stops(await store.stopped_since(asked.since))
        if stop.why.at >= asked.since
        and asked.role in (None, stop.role)
        and (asked.repository is None or _is_of(stop, asked.repository))
    ]
    return sorted(found, key=lambda stop: stop.why.at, reverse=True)


def _is_of(stop: Stop, repository: str) -> bool:
    return AgentId.parse(stop.agent).repository.casefold() == repository.casefold()
