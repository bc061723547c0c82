"""Whether an agent's work was taken away by people, asked of its issue on GitHub."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import AgentEvent
from app.core.github.timeline import Mark
from app.core.rules.plan import RepositoryPlan
from app.core.rules.trust import Sender
from app.core.steering import ownership as override
from app.core.steering.asks import assigned_after, is_answered, removed_since
from app.core.steering.ownership import ASSIGNMENT_TRIGGER, Taken, label_asks, taken_back
from app.ports import Issue
from app.services.configuration.plans import Plans
from app.services.starting.predecessor import ended_at
from app.services.starting.trust import Trusting
from app.services.world import World, repository_of


class Overriding:
    """Reads what `app/core/steering/ownership.py` decides from."""

    def __init__(self, world: World, plans: Plans, trusting: Trusting) -> None:
        self._world = world
        self._plans = plans
        self._trusting = trusting

    async def taken_away(
        self, agent: Agent, history: Sequence[AgentEvent], issue: Issue | None, *, is_news: bool
    ) -> Taken | None:
        """Whether people have taken the agent's work away, as its issue is now, or was meanwhile;
        only if `is_news` something may have been done to it and undone. `history`: the agent's
        log. May raise `GitHubFailed`."""
        facts = None if issue is None else await self._facts(agent, history, issue, is_news)
        why = override.taken_away(history, facts, await self._world.github.bot_login())
        if not why:
            return None
        if facts is not None and facts.taken_back is not None:
            return Taken(why, facts.taken_back.at)
        return Taken(why, None if issue is None else issue.closed_at)

    async def _facts(
        self, agent: Agent, history: Sequence[AgentEvent], issue: Issue, is_news: bool
    ) -> override.Issue:
        """What happened to the issue since its agent began is asked for only if it matters."""
        github, role = self._world.github, agent.id.role
        plan = (await self._plans.of(repository_of(agent))).plan or RepositoryPlan()
        bot, began = await github.bot_login(), override.beginning(history)

        def starts_role(label: str) -> bool:
            return plan.role_of_label(label) == role

        facts = override.Issue(
            issue.number,
            issue.is_open,
            issue.assignees,
            any(map(starts_role, issue.labels)),
            issue.labels,
        )
        is_touched = is_news or issue.was_reopened
        may_be_undone = is_touched and issue.updated_at > agent.created_at
        # Something else may have taken the work away before the issue was closed.
        is_closed = not issue.is_open
        matters = is_closed or may_be_undone or override.needs_marks(history, facts, bot)
        if began is None or not matters:
            return facts
        marks = await github.marks(repository_of(agent), issue.number)
        is_assigned = began.trigger == ASSIGNMENT_TRIGGER
        may_start = await self._may_start(agent, marks if is_assigned else (), starts_role)
        return replace(
            facts,
            removed_label=removed_since(marks, began.at, role, plan.role_of_label),
            assigned_after_us=assigned_after(marks, began.at, bot),
            taken_back=taken_back(began.trigger, starts_role, bot, began.at, marks, may_start),
            label_asks=label_asks(issue.labels, starts_role, marks, may_start),
        )

    async def _may_start(
        self, agent: Agent, marks: Sequence[Mark], starts_role: Callable[[str], bool]
    ) -> Callable[[Mark], bool]:
        """Tells of the labels among the marks whether they would have started the agent: set by
        somebody trusted, and after the end of the one before it."""
        here, before, ended = repository_of(agent), None, None
        if agent.predecessor is not None:
            before = await self._world.store.agent(AgentId.parse(agent.predecessor))
            ended = None if before is None else await ended_at(self._world, before)
        people = {one.by for one in marks if one.what == "labeled" and starts_role(one.about)}
        trusted = {
            login
            for login in people
            if await self._trusting.is_trusted(here, Sender(login, login.endswith("[bot]")))
        }

        def may_start(mark: Mark) -> bool:
            is_new = before is None or not is_answered(mark.at, before.created_at, ended)
            return is_new and mark.by in trusted

        return may_start
