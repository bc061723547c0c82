"""Start an agent: who asked, may they, is the role sound, and does nobody hold the post."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from app.core.agents.agent import Agent, Assignment, EffectName, Task
from app.core.agents.lifecycle import State
from app.core.breaker.raises import Grant, NotGranted, at_start
from app.core.budgets.budgets import Started
from app.core.limits import LimitName
from app.core.rules.plan import RepositoryPlan, RoleKind
from app.core.steering.asks import still_counts
from app.core.steering.concerns import branch_name, head_of_pull_request
from app.core.steering.ownership import LABEL_TRIGGER, RETRY_TRIGGER, is_withdrawn
from app.core.words.refusals import (
    ARCHIVED,
    CLOSED,
    CLOSED_SINCE,
    ESCALATED_BEFORE,
    GONE,
    OLDER,
    REVIEWS_ONLY,
    TAKEN_BACK,
    WITHDRAWN,
    WORKS_ONLY,
)
from app.ports import Issue, NewAgent, Order, Repository, RepositoryInfo
from app.services.configuration.moved_repositories import Moving
from app.services.configuration.plans import Plans
from app.services.configuration.triggers import Triggers
from app.services.money.funding import Funded, Money, Unmeasurable
from app.services.moves.brakes import brake_at
from app.services.starting.creating import Creating
from app.services.starting.posts import answered_by, newest_of
from app.services.starting.predecessor import (
    CannotStart,
    assignment_of,
    waits_for_a_human,
    when_stopped,
)
from app.services.starting.refusing import Refusing
from app.services.starting.taken_back import is_taken_back
from app.services.starting.trust import ChangedBy, Trusting
from app.services.starting.verdict import NotStarted, Refusal
from app.services.world import PlanReading, World

log = logging.getLogger("squadron.starts")


class Starting:
    """Starts agents; every path that may start one ends here."""

    def __init__(
        self,
        world: World,
        *,
        plans: Plans,
        money: Money,
        trusting: Trusting,
        moving: Moving,
        triggers: Triggers,
        refusing: Refusing,
        creating: Creating,
    ) -> None:
        self._world = world
        self._plans = plans
        self._money = money
        self._trusting = trusting
        self._moving = moving
        self._triggers = triggers
        self._refusing = refusing
        self._creating = creating

    async def would_grant(
        self, repository: Repository, role: str, raises: Sequence[tuple[LimitName, float]]
    ) -> tuple[Grant, ...]:
        """What an agent of the role would get beyond its role's limits, if it started now.

        Raises `NotGranted`; may raise `GitHubFailed`.
        """
        reading = await self._plans.of(repository)
        ready = assignment_of(reading, role, Task("", ""), self._world.default_model)
        if isinstance(ready, CannotStart):  # which `start` tells by itself
            return ()
        return at_start(ready.limits, raises, self._world.clock.now())[1]

    async def role_of_label(self, repository: Repository, label: str) -> str | None:
        """The role that a label starts in this repository. May raise `GitHubFailed`."""
        reading = await self._plans.of(repository)
        return (reading.plan or RepositoryPlan()).role_of_label(label)

    async def role_of_event(self, repository: Repository, event: str) -> str | None:
        """The role that an event starts in this repository. May raise `GitHubFailed`."""
        reading = await self._plans.of(repository)
        return (reading.plan or RepositoryPlan()).events.get(event)

    async def start(self, order: Order) -> Agent | NotStarted:
        """Start what is ordered, or say why it does not start.

        Repeatable: a second call while the agent lives, or waits for money, does nothing. May
        raise `GitHubFailed`.
        """
        reading = await self._plans.of(order.repository)
        plan = reading.plan or RepositoryPlan()
        earlier = await newest_of(self._world, order)
        refused = (
            await self._is_over(order, earlier)
            or await self._may_not(order, plan)
            or await self._is_held(order, earlier)
        )
        if refused is not None:
            return refused
        present = await self._world.github.issue(order.repository, order.issue)
        if present is None:
            return await self._refusing.not_now(order, GONE)
        if (refused := await self._is_not_asked(order, plan, present)) is not None:
            return refused
        info = await self._world.github.repository(order.repository)
        if await self._moving.arrived(info.id, order.repository):
            return await self.start(order)  # its agents are known here now
        if info.is_archived:
            return await self._refusing.not_now(order, ARCHIVED)
        task = await self._trusting.task(order.repository, present, order.task, order.at)
        if isinstance(task, ChangedBy):
            return await self._refusing.changed_by(order, task.login)
        ready = self._ready(reading, order, task)
        if isinstance(ready, CannotStart):
            return await self._refusing.cannot(order, ready)
        try:
            funded = await self._funded(order, ready, plan)
        except Unmeasurable as error:
            return await self._refusing.cannot(order, CannotStart(str(error), ()))
        ready = replace(ready, limits=funded.limits, co_author=await self._co_author(order, plan))
        new = await self._new(order, plan, ready, present, info)
        if order.trigger == RETRY_TRIGGER and earlier is not None:
            await self._decided(order.repository, earlier)
        started = await self._creating.create(new, funded.funding, order)
        if isinstance(started, NotStarted) and started.waits:
            return started
        is_there = isinstance(started, Agent)
        log.info("started" if is_there else "not started: already at work", extra=order.where())
        await self._world.store.forget_waiting(order.repository.full_name, order.issue, order.role)
        return started

    async def leave(self, order: Order) -> None:
        """A later pass starts it: this one has started as many as it may. May raise
        `GitHubFailed`."""
        if await self._refusing.was_for_good(order):
            return
        if not await self._trusting.distrust(order.repository, order.by):
            await self._refusing.later(order)

    async def expect(self, order: Order) -> None:
        """Let it wait as if it had been put off, unless it was dealt with."""
        if await self._is_over(order, await newest_of(self._world, order)) is None:
            await self._refusing.put_off(order, self._world.clock.now())

    async def is_short(self, order: Order) -> bool:
        """Whether an agent could not be paid now, as far as that can be seen without asking
        GitHub about more than teams."""
        reading = await self._plans.of(order.repository)
        ready = self._ready(reading, order, order.task or Task("", ""))
        if isinstance(ready, CannotStart):
            return False
        try:
            funded = await self._funded(order, ready, reading.plan or RepositoryPlan())
        except Unmeasurable:
            return False
        return await self._money.shortage(funded.funding) is not None

    async def _is_over(self, order: Order, earlier: Agent | None) -> NotStarted | None:
        """What was dealt with before is not dealt with again, whoever tells of it."""
        why = await answered_by(self._world, order, earlier)
        here, issue, role = order.repository, order.issue, order.role
        if not why and await is_taken_back(self._world, here, issue, role, order.at):
            why = TAKEN_BACK
        if why:
            log.info("not started: %s", why, extra={**order.where(), "by": order.by.login})
            return NotStarted(Refusal.ANSWERED, why)
        if await self._refusing.was_for_good(order):
            return NotStarted(Refusal.NEVER, "it was refused before")
        return None

    async def _may_not(self, order: Order, plan: RepositoryPlan) -> NotStarted | None:
        """Who asks has to be trusted, and by a label only while that label starts agents."""
        if untrusted := await self._trusting.distrust(order.repository, order.by):
            return await self._refusing.untrusted(order, untrusted)
        if not await self._counts(order, plan):
            return await self._refusing.never(order, OLDER)
        return None

    async def _is_held(self, order: Order, earlier: Agent | None) -> NotStarted | None:
        """The agent before has to be gone and decided about, and nothing may be paused."""
        world = self._world
        if earlier is not None:
            if (await when_stopped(world, earlier)).state is State.STOPPING:
                return await self._refusing.stopping(order)
            is_retry = order.trigger == RETRY_TRIGGER
            if not is_retry and await waits_for_a_human(world, order.repository, earlier, order.at):
                opened = (await world.store.effects(earlier.id)).get(EffectName.ISSUE)
                number = None if opened is None else opened.number
                return await self._refusing.never(order, ESCALATED_BEFORE, number)
        if (brake := await brake_at(world, order.repository)) is not None:
            return await self._refusing.under(brake, order)
        return None

    async def _is_not_asked(
        self, order: Order, plan: RepositoryPlan, present: Issue
    ) -> NotStarted | None:
        """The issue, as it is now, has to ask for what was ordered."""
        if not present.is_open:
            return await self._refusing.never(order, CLOSED)
        if present.was_reopened and not await self._is_asked_still(order):
            return await self._refusing.never(order, CLOSED_SINCE)
        if order.role in plan.roles and plan.reviews(order.role) != present.is_pull_request:
            why = WORKS_ONLY if present.is_pull_request else REVIEWS_ONLY
            return await self._refusing.never(order, why)
        is_ours = await self._world.github.bot_login() in present.assignees
        labels, role_of = present.labels, plan.role_of_label
        if is_withdrawn(order.trigger, order.role, labels, role_of, is_ours):
            return await self._refusing.not_now(order, WITHDRAWN)
        return None

    async def _is_asked_still(self, order: Order) -> bool:
        """Whether an issue that is open again was not closed since it was asked for."""
        github = self._world.github
        marks = await github.marks(order.repository, order.issue)
        return still_counts(order.trigger, order.at, await github.bot_login(), marks)

    async def _counts(self, order: Order, plan: RepositoryPlan) -> bool:
        """Whether a label of which somebody was told started anybody when it was set. What was
        found was asked that before."""
        label = order.trigger.removeprefix(LABEL_TRIGGER)
        if order.is_found or order.at is None or label == order.trigger:
            return True
        since = await self._triggers.since(order.repository, plan, label)
        return since is None or order.at >= since.replace(microsecond=0)

    async def _co_author(self, order: Order, plan: RepositoryPlan) -> str:
        """Who starts the agent, for its commits, if the repository wants a person named there."""
        if not plan.co_author:
            return ""
        email = await self._world.github.noreply_email(order.repository, order.by.login)
        return f"{order.by.login} <{email}>"

    async def _new(
        self,
        order: Order,
        plan: RepositoryPlan,
        assignment: Assignment,
        present: Issue,
        info: RepositoryInfo,
    ) -> NewAgent:
        branch = branch_name(plan.branch_naming, order.role, order.issue, assignment.task.title)
        base = info.default_branch
        if assignment.kind is RoleKind.REVIEW:
            branch = head_of_pull_request(order.issue)
            reviewed = await self._world.github.pull_request(order.repository, order.issue)
            base = reviewed.base
        return NewAgent(
            repository=order.repository,
            repository_id=info.id,
            issue=order.issue,
            role=order.role,
            assignment=assignment,
            branch=branch,
            default_branch=base,
            started_by=order.by.login,
            trigger=order.trigger,
            assignees=present.assignees,
            said=order.said,
        )

    async def _decided(self, repository: Repository, earlier: Agent) -> None:
        """Nothing speaks against the retry: close the escalation issue of the one before, unless
        an agent of another role waits for a human there, too."""
        agents = await self._world.store.agents(
            repository=repository.full_name, issue=earlier.id.issue
        )
        newest = {agent.id.role: agent for agent in agents if agent.parent is None}
        numbers = {
            role: told.number
            for role, agent in newest.items()
            if agent.state is State.ESCALATED
            and (told := (await self._world.store.effects(agent.id)).get(EffectName.ISSUE))
        }
        number = numbers.pop(earlier.id.role, None)
        if number is not None and number not in numbers.values():
            await self._world.github.edit_issue(repository, number, close=True)

    async def _funded(self, order: Order, assignment: Assignment, plan: RepositoryPlan) -> Funded:
        """Raises `Unmeasurable`; may raise `GitHubFailed`."""
        name, role = order.repository.full_name, plan.roles.get(order.role)
        return await self._money.funded(
            order.repository,
            Started(name, order.issue, order.role, order.by.login),
            assignment.limits,
            tuple(filter(None, (assignment.model, assignment.planning_model))),
            plan.budgets_of(name),
            self._world.clock.now(),
            is_unbounded=role is not None and role.is_unbounded,
        )

    def _ready(self, reading: PlanReading, order: Order, task: Task) -> Assignment | CannotStart:
        """What an agent would work with, its limits raised as far as the order says."""
        ready = assignment_of(reading, order.role, task, self._world.default_model)
        if isinstance(ready, CannotStart):
            return ready
        try:
            limits, _ = at_start(ready.limits, order.raises, self._world.clock.now())
        except NotGranted as error:
            return CannotStart(str(error), ())
        return replace(ready, limits=limits)
