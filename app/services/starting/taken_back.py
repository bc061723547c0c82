"""Starts that wait on an issue: why, and that people take them back before they begin."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from app.core.rules.brakes import brake_on
from app.core.words.refusals import TRIED_AGAIN, brake_words, taken_back_words
from app.ports import Order, Repository, StartRefused, TakenBack
from app.services.world import World

WAITS_AT_MOST: Final = timedelta(days=100)
"""A start that was put off for this time, longer than any budget's window but the endless one, is
forgotten."""


class NotBegun:
    """What waits to start, as people ask about it."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def of(self, repository: Repository, issue: int) -> Mapping[str, Order]:
        """The orders that wait on an issue, by role."""
        ever = self._world.clock.now() + WAITS_AT_MOST
        orders = [start.order for start in await self._world.store.waiting_starts(ever)]
        here = (repository.full_name, issue)
        return {
            each.role: each for each in orders if (each.repository.full_name, each.issue) == here
        }

    async def why(self, order: Order) -> str:
        """What keeps a start waiting, in people's words."""
        store, here = self._world.store, order.repository
        brake = brake_on(await store.brakes(), here.full_name, here.installation_id)
        if brake is not None:
            return brake_words(brake)
        post = (here.full_name, order.issue, order.role)
        refused = await store.refused_starts(order.at or self._world.clock.now())
        reasons = (one.reason for one in refused if (one.repository, one.issue, one.role) == post)
        return next(reasons, TRIED_AGAIN)

    async def taken_back_by(self, repository: Repository, issue: int, said: str) -> set[str]:
        """The roles whose starts these words have taken back already."""
        taken = await self._world.store.taken_back_starts(repository.full_name, issue)
        return {role for role, told in taken.items() if told.said == said}

    async def take_back(
        self, repository: Repository, issue: int, role: str, by: str, told: TakenBack
    ) -> bool:
        """Let a start that waits not be made, nor what asked for it start anything later; False
        if it does not wait any more. `by`: whose words, as a login."""
        store, name = self._world.store, repository.full_name
        async with self._world.exclusive(start_name(repository, issue, role)):
            if not await store.take_back_start(name, issue, role, told):
                return False
        why, now = taken_back_words(by), self._world.clock.now()
        refused = StartRefused(name, issue, role, why, by, max(told.at, now), now, 1)
        await store.note_refused(refused, is_asked=True)
        return True


async def is_taken_back(
    world: World, repository: Repository, issue: int, role: str, at: datetime | None
) -> bool:
    """Whether what was asked for at `at` (None: now) waited, and was taken back since."""
    if at is None:
        return False
    told = (await world.store.taken_back_starts(repository.full_name, issue)).get(role)
    return told is not None and at <= told.at


def start_name(repository: Repository, issue: int, role: str) -> str:
    """Under which one at a time starts on a post, or takes a start back."""
    return f"start:{repository.full_name}#{issue}/{role}"
