"""What comes to pull requests and moves no list: failing checks, a conflict with the base."""

import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.steering.seen import AS_IT_WAS, UNKNOWN
from app.ports import GitHubFailed, RateLimited
from app.services.guard import Guard
from app.services.reconciling.request_budget import Purse, Share
from app.services.steering.look import Looking
from app.services.world import World

_FEEDBACK: Final = replace(AS_IT_WAS, feedback=UNKNOWN)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)

log = logging.getLogger("squadron.reconcile")


class Judging:
    """Asks about each pull request that waits for a review, in turn: those first that were not
    asked about for longest."""

    def __init__(self, world: World, looking: Looking, guard: Guard) -> None:
        self._world = world
        self._guard = guard
        self._looking = looking
        self._asked: dict[AgentId, datetime] = {}

    async def in_turn(self, purse: Purse, limited: set[int]) -> list[Agent]:
        """Ask about as many as the purse has room for; who was told of something. Leaves the
        installations in `limited` alone, and adds to them."""
        asleep = frozenset({State.SLEEPING})
        waiting = await self._world.store.agents(states=asleep, waits_for=Waits.REVIEW)
        self._asked = {agent.id: self._asked.get(agent.id, _NEVER) for agent in waiting}
        told = []
        for agent in sorted(waiting, key=lambda one: self._asked[one.id]):
            if not purse.holds(Share.REVIEWS) or agent.installation_id in limited:
                purse.leave(Share.REVIEWS)
                continue
            self._asked[agent.id] = self._world.clock.now()
            try:
                with self._guard.over(f"pull request of {agent.id}"):
                    if await self._looking.look(agent.id, _FEEDBACK):
                        told.append(agent)
            except GitHubFailed as error:
                log.warning("not reconciled: %s", error, extra={"what": str(agent.id)})
                if isinstance(error, RateLimited):
                    limited.add(agent.installation_id)
        return told
