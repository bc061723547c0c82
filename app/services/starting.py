"""Start an agent: who asked, may they, is the role sound, and does nobody hold the post."""

import hashlib
import logging
from dataclasses import dataclass
from datetime import datetime

from app.core.agent import Agent, Assignment, EffectName, EffectState, Task
from app.core.assignment import branch_name
from app.core.escalation import NEEDS_HUMAN, escalation_marker
from app.core.lifecycle import State
from app.core.messages import cannot_start
from app.core.plan import ConfigProblem, RepositoryPlan
from app.core.trust import Sender, may_ask, trusted
from app.ports import NewAgent, Repository
from app.services.plans import Plans
from app.services.world import PlanReading, World

log = logging.getLogger("squadron.starts")


@dataclass(frozen=True, slots=True)
class Order:
    """That somebody asks for an agent of a role on an issue."""

    role: str
    by: Sender
    trigger: str
    """What set it in motion, for people."""
    task: Task
    at: datetime | None = None
    """When it was asked, if that is known; the delivery may have come much later."""


class Starting:
    """Starts agents; every path that may start one ends here."""

    def __init__(self, world: World, plans: Plans) -> None:
        self._world = world
        self._plans = plans

    async def is_trusted(self, repository: Repository, sender: Sender) -> bool:
        """Whether the sender may start, wake and steer, as of now. May raise `GitHubFailed`."""
        plan = (await self._plans.of(repository)).plan or RepositoryPlan()
        if not may_ask(plan.trust, sender):
            return False
        permission = await self._world.github.permission(repository, sender.login)
        return trusted(plan.trust, sender, permission)

    async def role_of_label(self, repository: Repository, label: str) -> str | None:
        """The role that a label starts in this repository. May raise `GitHubFailed`."""
        reading = await self._plans.of(repository)
        return (reading.plan or RepositoryPlan()).role_of_label(label)

    async def start(self, repository: Repository, issue: int, order: Order) -> Agent | None:
        """Start a role on an issue; None if it may not, cannot, or works on it already.

        Repeatable: a second call while the agent lives does nothing. May raise `GitHubFailed`.
        """
        role, task = order.role, order.task
        where = {"repository": repository.full_name, "issue": issue, "role": role}
        if not await self.is_trusted(repository, order.by):
            log.info("not started: sender not trusted", extra={**where, "by": order.by.login})
            return None
        reading = await self._plans.of(repository)
        if reading.plan is not None and not reading.plan.enabled:
            log.info("not started: switched off by `enabled: false`", extra=where)
            return None
        ready = self._assignment(reading, role, task)
        if isinstance(ready, CannotStart):
            await self._say_once(repository, issue, role, ready)
            return None
        if (earlier := await self._newest(repository, issue, role)) is not None:
            if order.at is not None and order.at < earlier.created_at:
                log.info("not started: this was heard before, by another way", extra=where)
                return None
            if await self._waits_for_a_human(repository, earlier):
                log.info("not started: its escalation issue is still open", extra=where)
                return None
        present = await self._world.github.issue(repository, issue)
        if present is None or not present.is_open:
            log.info("not started: the issue is closed or gone", extra=where)
            return None
        info = await self._world.github.repository(repository)
        if info.is_archived:
            log.info("not started: the repository is archived", extra=where)
            return None
        plan = reading.plan or RepositoryPlan()
        new = NewAgent(
            repository=repository,
            issue=issue,
            role=role,
            assignment=ready,
            branch=branch_name(plan.branch_naming, role, issue, task.title),
            default_branch=info.default_branch,
            started_by=order.by.login,
            trigger=order.trigger,
        )
        agent = await self._world.store.create(new, self._world.clock.now())
        log.info("started" if agent else "not started: already at work", extra=where)
        return agent

    async def _newest(self, repository: Repository, issue: int, role: str) -> Agent | None:
        agents = await self._world.store.agents(repository=repository.full_name, issue=issue)
        return next((agent for agent in reversed(agents) if agent.id.role == role), None)

    async def _waits_for_a_human(self, repository: Repository, earlier: Agent) -> bool:
        """A stopped agent gets no fresh budget until a person has closed the escalation issue."""
        if earlier.state is not State.ESCALATED:
            return False
        effects = await self._world.store.effects(earlier.id)
        told = effects.get(EffectName.ISSUE)
        if told is None or told.state is EffectState.WANTED:
            return True  # it is still being written
        sign = escalation_marker(repository.full_name, earlier.id.issue)
        found = await self._world.github.marked_issues(repository, NEEDS_HUMAN, sign)
        return any(posted.is_open for posted in found)

    def _assignment(
        self, reading: PlanReading, role: str, task: Task
    ) -> "Assignment | CannotStart":
        plan = reading.plan
        if plan is None:
            return CannotStart("the repository's configuration has errors.", reading.problems)
        if role in plan.broken:
            return CannotStart("the role's configuration has errors.", plan.broken[role])
        chosen = plan.roles.get(role)
        if chosen is None:
            known = ", ".join(f"`{name}`" for name in sorted(plan.roles)) or "none"
            return CannotStart(
                f"there is no role `{role}`: neither `.squadron/agents/{role}.md` nor a built-in"
                f" definition. Known roles: {known}.",
                (),
            )
        model = chosen.model or self._world.default_model
        if model is None:
            return CannotStart(
                "no model is set: name one under `roles` in `.squadron/config.yaml`, or let the"
                " operator set `SQUADRON_MODEL`.",
                (),
            )
        return Assignment(
            limits=chosen.limits,
            prompt=chosen.prompt,
            model=model,
            tools=chosen.tools,
            setup=chosen.setup,
            escalation=plan.escalation,
            suites=plan.suites,
            task=task,
        )

    async def _say_once(
        self, repository: Repository, issue: int, role: str, why: "CannotStart"
    ) -> None:
        """One clear comment for each distinct problem, not silence and not a stream."""
        text = cannot_start(role, why.problems, why.reason)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        sign = f"<!-- squadron:cannot-start:{role}:{digest} -->"
        async with self._world.exclusive(f"effects:{repository.full_name}#{issue}"):
            if not await self._world.github.comments(repository, issue, sign):
                await self._world.github.comment(repository, issue, f"{sign}\n{text}")
        log.warning("not started: %s", why.reason, extra={"role": role, "issue": issue})


@dataclass(frozen=True, slots=True)
class CannotStart:
    """Why a role cannot work, in words and with the places of the mistakes."""

    reason: str
    problems: tuple[ConfigProblem, ...]
