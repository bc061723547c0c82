"""Start an agent: who asked, may they, is the role sound, and does nobody hold the post."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent, Assignment, EffectName, Task
from app.core.agents.lifecycle import State
from app.core.breaker.raises import Grant, NotGranted, at_start
from app.core.budgets.budgets import Started
from app.core.budgets.ledger import Insufficient
from app.core.budgets.rates import Allowed, Refused
from app.core.effects.triage import GATHERED_FOR_SECONDS, WAITS_FOR_THE_FIRST_SECONDS
from app.core.limits import LimitName
from app.core.rules.brakes import Brake, Scope
from app.core.rules.plan import RepositoryPlan, RoleKind
from app.core.rules.trust import Permission, Sender
from app.core.steering.asks import is_answered, still_counts
from app.core.steering.concerns import branch_name, head_of_pull_request
from app.core.steering.ownership import LABEL_TRIGGER, RETRY_TRIGGER, is_withdrawn
from app.core.words.messages import cannot_start
from app.core.words.refusals import (
    ARCHIVED,
    CLOSED,
    CLOSED_SINCE,
    ESCALATED_BEFORE,
    GONE,
    STOPPING,
    WITHDRAWN,
    brake_words,
    budget_refused,
    budget_words,
    paused_words,
    rate_refused,
    rate_words,
    text_changed,
)
from app.ports import Funding, NewAgent, Repository, StartRefused, WaitingStart
from app.services.configuration.moved_repositories import Moving
from app.services.configuration.plans import Plans
from app.services.money.funding import Funded, Money, Unmeasurable
from app.services.moves.brakes import brake_at
from app.services.starting.predecessor import (
    CannotStart,
    assignment_of,
    ended_at,
    waits_for_a_human,
    when_stopped,
)
from app.services.starting.taken_back import is_taken_back, start_name
from app.services.starting.trust import ChangedBy, Trusting
from app.services.world import PlanReading, World

MOST_REASON_CHARACTERS: Final = 1_000

log = logging.getLogger("squadron.starts")


@dataclass(frozen=True, slots=True)
class Order:
    """That somebody asks for an agent of a role on an issue."""

    role: str
    by: Sender
    trigger: str
    """What set it in motion, for people."""
    task: Task | None
    """The issue as it was then; None: as it is now, if nobody else has changed it since."""
    at: datetime | None = None
    """When it was asked, if that is known; the delivery may have come much later."""
    raises: tuple[tuple[LimitName, float], ...] = ()
    """How much more it gets of which limits than its role has."""
    said: str = ""
    """Which words of a person ask for it, by the name that tells them from all others."""
    is_found: bool = False
    """Whether nobody told of it just now: it was found to be asked for still."""


class Starting:
    """Starts agents; every path that may start one ends here."""

    def __init__(
        self, world: World, plans: Plans, money: Money, trusting: Trusting, moving: Moving
    ) -> None:
        self._world = world
        self._plans = plans
        self._money = money
        self._trusting = trusting
        self._moving = moving

    async def is_trusted(self, repository: Repository, sender: Sender) -> bool:
        """Whether the sender may start, wake and steer. May raise `GitHubFailed`."""
        return await self._trusting.is_trusted(repository, sender)

    async def trusts(self, repository: Repository, permission: Permission) -> bool:
        """Whether whoever has that permission may start, wake and steer. May raise
        `GitHubFailed`."""
        plan = (await self._plans.of(repository)).plan or RepositoryPlan()
        return permission >= plan.trust.start

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

    async def start(self, repository: Repository, issue: int, order: Order) -> Agent | None:
        """Start a role on an issue; None if it may not, cannot, has to wait, or works already.

        Repeatable: a second call while the agent lives, or waits for money, does nothing. May
        raise `GitHubFailed`.
        """
        try:
            return await self.attempt(repository, issue, order)
        except NotYet:
            return None

    async def attempt(self, repository: Repository, issue: int, order: Order) -> Agent | None:
        """As `start`. Raises `NotYet` if it has to wait, after saying why."""
        where = {"repository": repository.full_name, "issue": issue, "role": order.role}
        reading = await self._plans.of(repository)
        earlier = await self._newest(repository, issue, order.role)
        if earlier is not None and (answered := await self._answered(order, earlier)):
            log.info("not started: %s", answered, extra={**where, "by": order.by.login})
            return None
        if await is_taken_back(self._world, repository, issue, order.role, order.at):
            log.info("not started: it was taken back", extra={**where, "by": order.by.login})
            return None
        if untrusted := await self._trusting.distrust(repository, order.by):
            await self._refuse(repository, issue, order, untrusted, "sender not trusted")
            return None
        if (
            earlier is not None
            and (await when_stopped(self._world, earlier)).state is State.STOPPING
        ):
            await self._refuse(repository, issue, order, STOPPING)
            await self._put_off(repository, issue, order, order.task, self._world.clock.now())
            raise NotYet
        if order.trigger != RETRY_TRIGGER:
            world, at = self._world, order.at
            if earlier is not None and await waits_for_a_human(world, repository, earlier, at):
                await self._refuse(repository, issue, order, ESCALATED_BEFORE)
                return None
            if await self._was_refused_while_a_human_was_called(repository, issue, order):
                return None
        if (brake := await brake_at(self._world, repository)) is not None:
            await self._put_under(brake, repository, issue, order)
            await self._put_off(repository, issue, order, order.task, self._world.clock.now())
            raise NotYet
        present = await self._world.github.issue(repository, issue)
        if present is None or not present.is_open:
            await self._refuse(repository, issue, order, GONE if present is None else CLOSED)
            return None
        if present.was_reopened and not await self._is_asked_still(repository, issue, order):
            await self._refuse(repository, issue, order, CLOSED_SINCE)
            return None
        plan = reading.plan or RepositoryPlan()
        is_ours = await self._world.github.bot_login() in present.assignees
        labels, role_of = present.labels, plan.role_of_label
        if is_withdrawn(order.trigger, order.role, labels, role_of, is_ours):
            await self._refuse(repository, issue, order, WITHDRAWN)
            return None
        info = await self._world.github.repository(repository)
        if await self._moving.arrived(info.id, repository):
            return await self.attempt(repository, issue, order)  # its agents are known here now
        if info.is_archived:
            await self._refuse(repository, issue, order, ARCHIVED)
            return None
        task = await self._trusting.task(repository, present, order.task, order.at)
        if isinstance(task, ChangedBy):
            await self._refuse(repository, issue, order, f"{task.login} has changed the text")
            asked = "" if order.at is None else f"{order.at:%Y%m%d%H%M%S}"
            words = text_changed(order.role, order.by.login, task.login)
            await self._say_once(repository, issue, f"changed:{order.role}:{asked}", words)
            return None
        ready = self._ready(reading, order, task)
        if isinstance(ready, CannotStart):
            await self._cannot_start(repository, issue, order, ready)
            return None
        if present.is_pull_request != (ready.kind is RoleKind.REVIEW):
            kind = "a pull request" if present.is_pull_request else "an issue"
            await self._refuse(repository, issue, order, f"the role does not work on {kind}")
            return None
        try:
            funded = await self._funded(repository, issue, order, ready, plan)
        except Unmeasurable as error:
            await self._cannot_start(repository, issue, order, CannotStart(str(error), ()))
            return None
        branch = branch_name(plan.branch_naming, order.role, issue, task.title)
        base = info.default_branch
        if ready.kind is RoleKind.REVIEW:
            branch = head_of_pull_request(issue)
            base = (await self._world.github.pull_request(repository, issue)).base
        new = NewAgent(
            repository=repository,
            repository_id=info.id,
            issue=issue,
            role=order.role,
            assignment=replace(ready, limits=funded.limits),
            branch=branch,
            default_branch=base,
            started_by=order.by.login,
            trigger=order.trigger,
            assignees=present.assignees,
            said=order.said,
        )
        if order.trigger == RETRY_TRIGGER and earlier is not None:
            await self._decided(repository, earlier)
        agent = await self._in_turn(new, funded.funding, order)
        log.info("started" if agent else "not started: already at work", extra=where)
        await self._world.store.forget_waiting(repository.full_name, issue, order.role)
        return agent

    async def is_short(self, repository: Repository, issue: int, order: Order, task: Task) -> bool:
        """Whether an agent could not be paid now, as far as that can be seen without asking
        GitHub about more than teams."""
        reading = await self._plans.of(repository)
        ready = self._ready(reading, order, task)
        if isinstance(ready, CannotStart):
            return False
        plan = reading.plan or RepositoryPlan()
        try:
            funded = await self._funded(repository, issue, order, ready, plan)
        except Unmeasurable:
            return False
        return await self._money.shortage(funded.funding) is not None

    async def is_within_rate(self, login: str, what: str | None = None) -> Allowed | Refused:
        """Count something that a user wants of an agent: a start, a command, a comment.

        `what` is its name, by which it counts once, whoever hears of it and however often.
        """
        most = self._world.house.starts_per_user_per_hour
        return await self._world.rates.hit(login, most, self._world.clock.now(), what)

    async def may_reach(self, repository: Repository, issue: int, login: str, what: str) -> bool:
        """As `is_within_rate`, and says on the issue if it is too much. May raise
        `GitHubFailed`."""
        answer = await self.is_within_rate(login, what)
        if isinstance(answer, Refused):
            await self.say_too_many(repository, issue, login, answer)
        return isinstance(answer, Allowed)

    async def say_too_many(
        self, repository: Repository, issue: int, login: str, refused: Refused
    ) -> None:
        """Say the first refusal of an hour, be silent about the others. May raise
        `GitHubFailed`."""
        log.warning("too many starts and commands", extra={"by": login, "first": refused.first})
        if refused.first:
            most = self._world.house.starts_per_user_per_hour
            key = f"rate:{login}:{refused.until:%Y%m%d%H%M%S}"
            await self._say_once(repository, issue, key, rate_refused(login, most, refused.until))

    async def _is_asked_still(self, repository: Repository, issue: int, order: Order) -> bool:
        """Whether an issue that is open again was not closed since it was asked for."""
        github = self._world.github
        marks = await github.marks(repository, issue)
        return still_counts(order.trigger, order.at, await github.bot_login(), marks)

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

    async def _put_under(
        self, brake: Brake, repository: Repository, issue: int, order: Order
    ) -> None:
        """Whoever asks while somebody has paused everything wonders, so it is said; a repository
        that switched itself off knows."""
        is_news = await self._refuse(repository, issue, order, brake_words(brake))
        is_unsaid = is_news or not order.is_found
        if is_unsaid and brake.place.scope is not Scope.CONFIGURATION:
            key = f"paused:{order.role}:{brake.since:%Y%m%d%H%M%S}"
            await self._say_once(repository, issue, key, paused_words(order.role, brake))

    async def _was_refused_while_a_human_was_called(
        self, repository: Repository, issue: int, order: Order
    ) -> bool:
        """A label from before the escalation issue was closed: closing that starts nothing."""
        if not order.is_found or order.at is None:
            return False
        post = (repository.full_name, issue, order.role)
        return any(
            (one.repository, one.issue, one.role) == post and one.reason == ESCALATED_BEFORE
            for one in await self._world.store.refused_starts(order.at)
        )

    async def _refuse(
        self, repository: Repository, issue: int, order: Order, why: str, in_short: str = ""
    ) -> bool:
        """Log and keep why it is not started; whether that is news."""
        name, login = repository.full_name, order.by.login
        at = order.at or self._world.clock.now()
        why = self._world.redact(why, MOST_REASON_CHARACTERS)
        start = StartRefused(name, issue, order.role, why, login, at, at, 1)
        is_news = await self._world.store.note_refused(start, is_asked=not order.is_found)
        where = {"repository": name, "issue": issue, "role": order.role}
        log.log(
            logging.INFO if is_news else logging.DEBUG,
            "not started: %s",
            in_short or why,
            extra={**where, "by": login, "why": why},
        )
        return is_news

    async def _in_turn(self, new: NewAgent, funding: Funding, order: Order) -> Agent | None:
        """As `_created`. Who triages new issues waits for others like it: the first for a short
        while, the others for so long that it finds them waiting."""
        is_triage = new.assignment.kind is RoleKind.TRIAGE
        if not is_triage or order.trigger.startswith(LABEL_TRIGGER):
            return await self._created(new, funding, order)
        name = new.repository.full_name
        async with self._world.exclusive(f"triage:{name}/{new.role}"):
            queued = await self._world.store.agents(
                repository=name, states=frozenset({State.QUEUED})
            )
            is_first = all(agent.id.role != new.role for agent in queued)
            delay = GATHERED_FOR_SECONDS if is_first else WAITS_FOR_THE_FIRST_SECONDS
            return await self._created(replace(new, delay_seconds=delay), funding, order)

    async def _created(self, new: NewAgent, funding: Funding, order: Order) -> Agent | None:
        """The agent; None if the post is taken. Raises `NotYet`, after saying why.

        Only what takes effect counts for the user's rate, and a start that is told of twice takes
        effect once: so one at a time for each post.
        """
        login, task, rate, agent = new.started_by, new.assignment.task, None, None
        here, issue, role = new.repository, new.issue, new.role
        async with self._world.exclusive(start_name(here, issue, role)):
            present = await self._newest(here, issue, role)
            if present is not None and await self._answered(order, present):
                return None
            if await is_taken_back(self._world, here, issue, role, order.at):
                return None
            short = await self._money.shortage(funding)
            if short is None:
                rate = await self.is_within_rate(login, _name_of_start(new, present))
            if isinstance(rate, Allowed):
                agent = await self._create(new, funding)
            if isinstance(agent, Insufficient):  # somebody else was quicker
                short, agent = agent, None
            if short is not None:
                # Whenever an agent ends there may be money again.
                now, budget = self._world.clock.now(), _id_of(short)
                await self._put_off(new.repository, new.issue, order, task, now, budget)
        if isinstance(rate, Refused):
            await self._refuse(new.repository, new.issue, order, rate_words(login, rate.until))
            await self.say_too_many(new.repository, new.issue, login, rate)
            await self._put_off(new.repository, new.issue, order, task, rate.until)
            raise NotYet
        if short is not None:
            await self._refuse(new.repository, new.issue, order, budget_words(short))
            key = f"budget:{new.role}:{_id_of(short)}"
            text = budget_refused(new.role, short)
            await self._say_once(new.repository, new.issue, key, text)
            raise NotYet
        return agent

    async def _create(self, new: NewAgent, funding: Funding) -> Agent | Insufficient | None:
        store, now = self._world.store, self._world.clock.now()
        if funding.accounts:
            return await store.create_funded(new, funding, now)
        return await store.create(new, now)

    async def _funded(
        self,
        repository: Repository,
        issue: int,
        order: Order,
        assignment: Assignment,
        plan: RepositoryPlan,
    ) -> Funded:
        """Raises `Unmeasurable`; may raise `GitHubFailed`."""
        role = plan.roles.get(order.role)
        return await self._money.funded(
            repository,
            Started(repository.full_name, issue, order.role, order.by.login),
            assignment.limits,
            tuple(filter(None, (assignment.model, assignment.planning_model))),
            plan.budgets_of(repository.full_name),
            self._world.clock.now(),
            is_unbounded=role is not None and role.is_unbounded,
        )

    async def _put_off(
        self,
        repository: Repository,
        issue: int,
        order: Order,
        task: Task | None,
        due_at: datetime,
        budget: str = "",
    ) -> None:
        """Keep the start until then, as it was asked for: `WaitingStarts` makes it."""
        waiting = WaitingStart(
            repository=repository,
            issue=issue,
            role=order.role,
            by=order.by,
            trigger=order.trigger,
            task=task,
            asked_at=order.at or self._world.clock.now(),
            due_at=due_at,
            budget=budget,
            raises=order.raises,
            said=order.said,
        )
        if await self._world.store.put_off_start(waiting):
            log.info("put off", extra={**waiting.where(), "budget": budget})

    async def _newest(self, repository: Repository, issue: int, role: str) -> Agent | None:
        agents = await self._world.store.agents(repository=repository.full_name, issue=issue)
        of_role = (agent for agent in reversed(agents) if agent.id.role == role)
        return next((agent for agent in of_role if agent.parent is None), None)

    async def _answered(self, order: Order, present: Agent) -> str:
        """Whether the newest agent of the post is what the order asks for, and how that is
        said."""
        ended = await ended_at(self._world, present)
        if not is_answered(order.at, present.created_at, ended):
            return ""
        return "already at work" if ended is None else "asked for before the last one ended"

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

    async def _cannot_start(
        self, repository: Repository, issue: int, order: Order, why: CannotStart
    ) -> None:
        """One clear comment for each distinct problem, not silence and not a stream."""
        places = "".join(f" {problem}" for problem in why.problems[:1])
        await self._refuse(repository, issue, order, f"{why.reason}{places}")
        text = cannot_start(order.role, why.problems, why.reason)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        await self._say_once(repository, issue, f"cannot-start:{order.role}:{digest}", text)

    async def _say_once(self, repository: Repository, issue: int, key: str, text: str) -> None:
        sign = f"<!-- squadron:{key} -->"
        async with self._world.exclusive(f"effects:{repository.full_name}#{issue}"):
            if not await self._world.github.comments(repository, issue, sign):
                await self._world.github.comment(repository, issue, f"{sign}\n{text}")


class NotYet(Exception):
    """Too little money, too much in the user's hour, or a brake: it is asked for again."""


def _name_of_start(new: NewAgent, before: Agent | None) -> str:
    """Names a start for the user's rate: each agent has one successor."""
    number = 0 if before is None else before.id.attempt
    return f"start {new.repository.full_name}#{new.issue}/{new.role} after {number}"


def _id_of(short: Insufficient) -> str:
    assert short.account is not None, "an agent without a parent is paid from accounts"
    return short.account.id
