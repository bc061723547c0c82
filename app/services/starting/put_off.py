"""Start what was put off, once nothing is in its way any more and somebody still wants it."""

import logging
from collections.abc import Callable

from app.core.agents.agent import Agent, Task
from app.core.rules.brakes import brake_on
from app.ports import GitHubFailed, WaitingStart
from app.services.guard import Guard
from app.services.starting.start import NotYet, Order, Starting
from app.services.starting.taken_back import WAITS_AT_MOST
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
            here = waiting.repository
            what = f"start of {waiting.role} for {here.full_name}#{waiting.issue}"
            try:
                if now - waiting.asked_at > WAITS_AT_MOST:
                    await self._forget(waiting)
                elif brake_on(brakes, here.full_name, here.installation_id) is None:
                    with self._guard.over(what):
                        started += await self._start_if_it_can(waiting)
            except GitHubFailed as error:
                log.warning("not started yet: %s", error, extra=waiting.where())
        return started

    async def _is_still_short(self, waiting: WaitingStart) -> bool:
        task = waiting.task or Task("", "")
        return bool(waiting.budget) and await self._starting.is_short(
            waiting.repository, waiting.issue, _order(waiting), task
        )

    async def _start_if_it_can(self, waiting: WaitingStart) -> bool:
        try:
            is_short = await self._is_still_short(waiting)
            return not is_short and await self._start_now(waiting) is not None
        except NotYet:
            return False

    async def _start_now(self, waiting: WaitingStart) -> Agent | None:
        """Start what has waited, if it may still start; else forget it. Raises `NotYet`."""
        agent = await self._starting.attempt(waiting.repository, waiting.issue, _order(waiting))
        if agent is None:
            await self._forget(waiting)
        return agent

    async def _forget(self, waiting: WaitingStart) -> None:
        log.info("not started: it is not wanted any more", extra=waiting.where())
        await self._world.store.forget_waiting(
            waiting.repository.full_name, waiting.issue, waiting.role
        )


def _order(waiting: WaitingStart) -> Order:
    return Order(
        waiting.role,
        waiting.by,
        waiting.trigger,
        waiting.task,
        waiting.asked_at,
        raises=waiting.raises,
        said=waiting.said,
        is_found=True,
    )
