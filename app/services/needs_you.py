"""Who waits for a person: of all agents of an installation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.core.agents.agent import EffectName
from app.core.agents.lifecycle import FINAL, LIVE, State
from app.core.rules.brakes import Brake
from app.core.words.matters import Matter, MatterKind
from app.ports import FleetAgent, FleetFilter, Store
from app.services.fleet import Waiting, fleet_page, matters_of

MOST_OF_A_KIND: Final = 300
"""Agents that are looked at: of those that live, those in the queue, and those that ended; the
newest of each."""
_KINDS: Final = (LIVE - {State.QUEUED}, frozenset({State.QUEUED}), FINAL)
_CALLED_BY: Final = {
    MatterKind.QUESTION: EffectName.CALL,
    MatterKind.DECISION: EffectName.CALL,
    MatterKind.STOPPED: EffectName.ISSUE,
}


@dataclass(frozen=True, slots=True)
class NeedsYou:
    """All that waits for a person."""

    waiting: Sequence[Waiting]
    """Whose time runs out first comes first; without a deadline, who has waited for longest."""
    is_whole: bool
    """False: there are more than are looked at."""
    brakes: Sequence[Brake]
    """What keeps agents from working."""
    lacks_worker: bool
    """Whether agents wait for a worker, and none takes any."""


async def needs_you(store: Store, now: datetime) -> NeedsYou:
    """As of now. Bounded, however many agents there are. Raises `StoreUnavailable`."""
    waiting, is_whole, has_queue = list[Waiting](), True, False
    for states in _KINDS:
        wanted = FleetFilter(states=states, may_need_person=True)
        found = await fleet_page(store, wanted, None, MOST_OF_A_KIND, now, newest_first=True)
        is_whole = is_whole and len(found) < MOST_OF_A_KIND
        for listed in found:
            has_queue = has_queue or listed.queue is not None
            waiting += (Waiting(listed, matter) for matter in matters_of(listed, now))
    lacks_worker = has_queue and not any(each.takes_agents for each in await store.workers(now))
    return NeedsYou(sorted(waiting, key=_urgency), is_whole, await store.brakes(), lacks_worker)


def place_to_act(listed: FleetAgent, matter: Matter, github: str) -> str:
    """Where on GitHub a person answers. `github`: its address in a browser."""
    agent = listed.agent
    name = _CALLED_BY.get(matter.kind)
    called = None if name is None else listed.effects.get(name)
    url = None if called is None else called.url
    return url or f"{github}/{agent.repository}/issues/{agent.id.issue}"


def _urgency(waiting: Waiting) -> tuple[bool, datetime]:
    matter = waiting.matter
    return matter.deadline is None, matter.deadline or matter.since
