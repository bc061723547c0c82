"""Starts that an issue asks for and of which no webhook has told yet: who takes one back may be
heard before it."""

from datetime import datetime

from app.core.rules.plan import RepositoryPlan
from app.core.steering.asks import Ask, asked_by_events, asked_by_opening, asks, told_by_marks
from app.ports import Issue, Order, Repository
from app.services.configuration.plans import Plans
from app.services.configuration.triggers import Triggers
from app.services.starting.start import Starting
from app.services.world import World


class Unheard:
    """Finds them, and lets them wait as if they had been put off."""

    def __init__(self, world: World, plans: Plans, triggers: Triggers, starting: Starting) -> None:
        self._world = world
        self._plans = plans
        self._triggers = triggers
        self._starting = starting

    async def put_off(self, repository: Repository, issue: int, until: datetime) -> None:
        """Let wait what an open issue, or pull request, asked for by then and what nobody has dealt
        with. May raise `GitHubFailed`."""
        plan = (await self._plans.of(repository)).plan
        present = await self._world.github.issue(repository, issue)
        if plan is None or present is None or not present.is_open:
            return
        for ask in await self._asks(repository, plan, present):
            if ask.at <= until:
                await self._starting.expect(Order.of_ask(repository, issue, ask))

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
