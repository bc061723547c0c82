"""Starts that an issue asks for and of which no webhook has told yet: who takes one back may be
heard before it."""

from datetime import datetime

from app.core.rules.plan import RepositoryPlan
from app.core.rules.trust import Sender
from app.core.steering.asks import Ask, asked_by_events, asked_by_opening, asks, told_by_marks
from app.ports import Issue, Order, Repository
from app.services.configuration.plans import Plans
from app.services.configuration.triggers import Triggers
from app.services.starting.posts import answered_by, newest_of
from app.services.starting.refusing import Refusing
from app.services.starting.taken_back import is_taken_back
from app.services.world import World


class Unheard:
    """Finds them, and lets them wait as if they had been put off."""

    def __init__(self, world: World, plans: Plans, triggers: Triggers, refusing: Refusing) -> None:
        self._world = world
        self._plans = plans
        self._triggers = triggers
        self._refusing = refusing

    async def put_off(self, repository: Repository, issue: int, until: datetime) -> None:
        """Let wait what an open issue, or pull request, asked for by then and what nobody has dealt
        with. May raise `GitHubFailed`."""
        plan = (await self._plans.of(repository)).plan
        present = await self._world.github.issue(repository, issue)
        if plan is None or present is None or not present.is_open:
            return
        for ask in await self._asks(repository, plan, present):
            sender = Sender(ask.by, ask.by.endswith("[bot]"))
            order = Order(
                repository, issue, ask.role, sender, ask.trigger, None, ask.at, is_found=True
            )
            if ask.at <= until and not await self._is_dealt_with(order):
                await self._refusing.put_off(order, self._world.clock.now())

    async def _asks(
        self, repository: Repository, plan: RepositoryPlan, present: Issue
    ) -> list[Ask]:
        github, is_pull_request = self._world.github, present.is_pull_request
        before = await self._world.store.look_at(repository.full_name)
        triggers = await self._triggers.of(repository, plan, before)
        opened = asked_by_opening(triggers, is_pull_request, present.author, present.created_at)
        events = told_by_marks(triggers, is_pull_request, present.updated_at)
        found = [] if opened is None else [opened]
        if not events and not any(map(plan.role_of_label, present.labels)):
            return found
        marks, bot = await github.marks(repository, present.number), await github.bot_login()
        is_ours = bot in present.assignees
        found += asks(present.labels, plan.role_of_label, is_ours, bot, marks, triggers)
        return [*found, *asked_by_events(events, marks)]

    async def _is_dealt_with(self, order: Order) -> bool:
        world, here = self._world, order.repository
        if await answered_by(world, order, await newest_of(world, order)):
            return True
        if await is_taken_back(world, here, order.issue, order.role, order.at):
            return True
        return await self._refusing.was_for_good(order)
