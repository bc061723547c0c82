"""Start what was put off, once nothing is in its way any more and somebody still wants it."""

import logging
from collections.abc import Callable

from app.core.agents.agent import Agent
from app.core.rules.brakes import brake_on
from app.ports import GitHubFailed, Order, WaitingStart
from app.services.guard import Guard
from app.services.starting.start import Starting
from app.services.starting.taken_back import WAITS_AT_MOST
from app.services.starting.verdict import NotStarted
from app.services.world import World

log = logging.getLogger("squadron.starts")


class WaitingStarts:
    """Looks through the starts that were put off."""

    def __init__(self, world: World, starting: Starting, guard: Guard) -> None:
        self._world = world
        self._starting = starting
        self._guard = guard

    async def look(self, has_turn: Callable[[], bool]) -> int:
        """Start what can start now, while there is a turn for it; how many."""
        started, now = 0, self._world.clock.now()
        await self._world.store.forget_taken_back(now - WAITS_AT_MOST)
        brakes = await self._world.store.brakes()
        for waiting in await self._world.store.waiting_starts(now):
            if not has_turn():
                break
            order, here = waiting.order, waiting.order.repository
            what = f"start of {order.role} for {here.full_name}#{order.issue}"
            try:
                if now - waiting.asked_at > WAITS_AT_MOST:
                    await self._forget(waiting.order)
                elif brake_on(brakes, here.full_name, here.installation_id) is None:
                    with self._guard.over(what):
                        started += await self._start_if_it_can(waiting)
            except GitHubFailed as error:
                log.warning("not started yet: %s", error, extra=order.where())
        return started

    async def _is_still_short(self, waiting: WaitingStart) -> bool:
        return bool(waiting.budget) and await self._starting.is_short(waiting.order)

    async def _start_if_it_can(self, waiting: WaitingStart) -> bool:
        """Start what has waited; what may not start any more is forgotten."""
        if await self._is_still_short(waiting):
            return False
        started = await self._starting.start(waiting.order)
        if isinstance(started, NotStarted) and not started.waits:
            await self._forget(waiting.order)
        return isinstance(started, Agent)

    async def _forget(self, order: Order) -> None:
        log.info("not started: it is not wanted any more", extra=order.where())
        await self._world.store.forget_waiting(order.repository.full_name, order.issue, order.role)
