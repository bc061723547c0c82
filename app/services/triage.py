"""Agents that were stopped and that nobody has seen to, grouped by what stopped them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.core.agents.lifecycle import State
from app.core.agents.stops import Failure, Trip
from app.core.words.matters import MatterKind
from app.ports import FleetFilter, Store
from app.services.fleet import MOST_ON_A_PAGE, Waiting, fleet_page, matters_of

_OPEN: Final = FleetFilter(states=frozenset({State.ESCALATED}), may_need_person=True)


@dataclass(frozen=True, slots=True)
class Escalations:
    """Those of one role that the same has stopped."""

    stopped_by: str
    """A limit, or a cause without one (`Cause`)."""
    is_limit: bool
    role: str
    agents: Sequence[Waiting]
    """Who was stopped last comes first."""

    @property
    def nanousd(self) -> int:
        """What they have cost, as far as prices are known."""
        return sum(each.listed.seen.cost_nanousd for each in self.agents)

    @property
    def has_unpriced(self) -> bool:
        """Whether there are calls besides, whose price nobody knows."""
        return any(each.listed.seen.has_unpriced for each in self.agents)

    @property
    def since(self) -> datetime:
        """Since when the first of them waits."""
        return min(each.matter.since for each in self.agents)


@dataclass(frozen=True, slots=True)
class Triage:
    """All open escalations."""

    groups: Sequence[Escalations]
    """The largest first."""
    is_whole: bool
    """False: there are more than are looked at, and older ones."""


async def triage(store: Store, now: datetime) -> Triage:
    """As of now. Bounded, however many agents there are. Raises `StoreUnavailable`."""
    found = await fleet_page(store, _OPEN, None, MOST_ON_A_PAGE, now, newest_first=True)
    groups: dict[tuple[str, bool, str], list[Waiting]] = {}
    for listed in found:
        for matter in matters_of(listed, now):
            if matter.kind is MatterKind.STOPPED:
                which = *_stopped_by(listed.agent.stop), listed.agent.id.role
                groups.setdefault(which, []).append(Waiting(listed, matter))
    sums = [
        Escalations(by, is_limit, role, _latest_first(each))
        for (by, is_limit, role), each in groups.items()
    ]
    sums.sort(key=lambda each: (-len(each.agents), each.stopped_by, each.role))
    return Triage(sums, len(found) < MOST_ON_A_PAGE)


def _stopped_by(stop: Trip | Failure | None) -> tuple[str, bool]:
    assert stop is not None, "who was stopped for good has a reason"
    return (stop.limit.value, True) if isinstance(stop, Trip) else (stop.cause.value, False)


def _latest_first(agents: Sequence[Waiting]) -> Sequence[Waiting]:
    return sorted(agents, key=lambda each: each.matter.since, reverse=True)
