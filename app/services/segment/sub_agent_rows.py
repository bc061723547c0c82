"""Sub-agents in the registry and the ledger: how one starts, and how it ends.

A sub-agent is an agent row of its own, with limits that are a part of what its parent has left
(seed 003, "Limit Resolution Order"). It holds no post, and GitHub hears of it only through its
parent. When it has ended, what it used is used by its parent too: its row is final before its
parent's log says `Returned`, so a death in between loses and doubles nothing.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.core.agents.agent import Agent, AgentId, Assignment, Task
from app.core.agents.counters import Counters, fold, stops_at
from app.core.agents.events import AgentEvent, Raised, Returned, Spawned, SpawnRefused
from app.core.agents.lifecycle import LIVE, State
from app.core.agents.steps import Abandon, Escalate, Finish, Pause, RaiseLimits
from app.core.breaker.raises import NotGranted
from app.core.breaker.running_tools import tool_wait_seconds
from app.core.breaker.sub_agent_limits import (
    NothingLeft,
    Standing,
    child_limits,
    equal_part,
    overridden,
    reservation,
    terms,
)
from app.core.breaker.verdict import money
from app.core.budgets.budgets import Started, within_budget
from app.core.budgets.ledger import Insufficient
from app.core.limits import LEAST_USD, LimitName, Limits
from app.core.money import nanousd, usd
from app.core.rules.plan import RepositoryPlan
from app.core.words.pauses import raised_words
from app.ports import (
    Continuation,
    Delegation,
    Funding,
    GitHubFailed,
    NewAgent,
    StoreUnavailable,
)
from app.services.configuration.plans import Plans
from app.services.money.funding import Money, Unmeasurable, own_nanousd
from app.services.moves.moves import Moves
from app.services.segment.gate import BreakerGate, Superseded
from app.services.starting.predecessor import CannotStart, assignment_of
from app.services.world import World, repository_of

MOST_TITLE_CHARACTERS: Final = 200
MOST_WHY_CHARACTERS: Final = 500

log = logging.getLogger("squadron.agents")


class NoSubAgent(Exception):
    """Why a sub-agent does not start; the text is for its parent."""


class SubAgents:
    """Starts sub-agents, and settles those whose process has died."""

    def __init__(self, world: World, plans: Plans, money: Money, moves: Moves) -> None:
        self._world = world
        self._plans = plans
        self._money = money
        self._moves = moves

    async def settle(
        self, parent: Agent, counters: Counters, why: str, *, keeps_paused: bool = False
    ) -> Sequence[Returned]:
        """End the sub-agents that nobody runs any more, and count what all of them have used.

        `counters` are the parent's. What is answered belongs into the parent's log.
        `keeps_paused`: those that have asked their parent for more go on waiting.
        """
        for child in await self._world.store.agents(parent=parent.id, states=LIVE):
            if not (keeps_paused and child.state is State.PAUSED):
                await self.abandon(child, why)
        returned = [await self.returned(parent.id, each.agent) for each in counters.children]
        return [
            each
            for each, known in zip(returned, counters.children, strict=True)
            if not each.asks or not known.asks
        ]

    async def abandon(self, child: Agent, why: str) -> Agent | None:
        """End a sub-agent that nobody runs any more, its own first; None if it has ended.

        It worked until it was last heard of: the time without a process is not counted.
        """
        store, now = self._world.store, self._world.clock.now()
        history = await store.log(child.id)
        counters = fold(history)
        died_at = counters.clock or now
        below = [replace(each, at=died_at) for each in await self.settle(child, counters, why)]
        # Appended by themselves: a process that still writes there is superseded, or we are.
        if below and not await store.append(child.id, child.segment, len(history) + 1, below):
            return None
        if counters.stop is not None:
            return await self._moves.apply(child, Escalate(counters.stop, is_told=True))
        return await self._moves.apply(child, Abandon(why, died=True, ended_at=died_at))

    async def end(self, child: Agent, step: Finish | Escalate | Abandon | Pause) -> Agent | None:
        """Give a sub-agent the state in which it stops, and the money back that it does not need
        any more; None if somebody else did."""
        return await self._moves.apply(child, step)

    async def returned(self, parent: AgentId, child: str) -> Returned:
        """What a sub-agent and all below it have used since the parent's log told of it last."""
        store, now, name = self._world.store, self._world.clock.now(), AgentId.parse(child)
        row, used = await store.agent(name), fold(await store.log(name))
        is_paused = row is not None and row.state is State.PAUSED and used.hold is not None
        told = fold(
            event
            for event in await store.log(parent)
            if isinstance(event, Returned) and event.child == child
        )
        return Returned(
            at=now,
            child=child,
            tool_calls=used.tool_calls - told.tool_calls,
            model_calls=used.model_calls - told.model_calls,
            input_tokens=used.input_tokens - told.input_tokens,
            output_tokens=used.output_tokens - told.output_tokens,
            cost_nanousd=used.cost_nanousd - told.cost_nanousd,
            unpriced_calls=used.unpriced_calls - told.unpriced_calls,
            levels=used.levels,
            estimated_calls=used.estimated_calls - told.estimated_calls,
            asks=used.hold.reason if is_paused and used.hold is not None else "",
        )

    async def more(self, parent: Agent, gate: BreakerGate, asked: Continuation) -> Agent:
        """A paused sub-agent that is ACTIVE again, with more out of what its parent has left.

        Raises `NoSubAgent`, `Superseded`; then it is paused still, or somebody ends it.
        """

        async def grant(counters: Counters) -> Sequence[AgentEvent]:
            return [await self._grant(parent, counters, asked)]

        await gate.record_next(grant)
        queued = await self._world.store.agent(AgentId.parse(asked.agent))
        begun = queued and await self._moves.begin_sub_agent(queued.id, queued.segment)
        if begun is None:
            raise NoSubAgent("The sub-agent was ended before it went on.")
        log.info("sub-agent goes on", extra={"agent": str(begun.id), "parent": begun.parent})
        return begun

    async def _grant(self, parent: Agent, counters: Counters, asked: Continuation) -> Spawned:
        """Queue it with its new limits. Nobody else may take of what the parent has meanwhile."""
        store, now = self._world.store, self._world.clock.now()
        child = await self._paused(parent, asked.agent)
        used, limits = fold(await store.log(child.id)), child.assignment.limits
        try:
            own = parent.assignment.limits
            agreed = terms(Standing(limits, used), Standing(own, counters), asked.limits, now)
        except (NothingLeft, NotGranted, ValueError) as error:
            raise NoSubAgent(str(error)) from error
        by = str(parent.id)
        raises = tuple(
            Raised(at=now, limit=each.limit, amount=each.amount, maximum=each.maximum, by=by)
            for each in agreed.grants
        )
        goes_on = fold([*raises, *agreed.lowered], used)
        await self._paid(child, stops_at(LimitName.MAX_COST_USD, limits, goes_on))
        why = raised_words(by, agreed.grants, self._world.redact(asked.prompt.strip()))
        step = RaiseLimits((*raises, *agreed.lowered), why, by)
        if await self._moves.apply(child, step) is None:
            raise NoSubAgent("It is just being ended.")
        reserved = reservation(limits, goes_on, now)
        return Spawned(at=now, child=str(child.id), reserved=reserved, goes_on=True)

    async def _paid(self, child: Agent, maximum_usd: float | None) -> None:
        """Take what it may spend out of its parent's grant again: who is paused holds no money."""
        if maximum_usd is None:
            return
        try:
            short = await self._money.raised(child, maximum_usd)
        except (Unmeasurable, GitHubFailed) as error:
            raise NoSubAgent(str(error)) from error
        if short is not None:
            raise NoSubAgent(_too_poor(short))

    async def _paused(self, parent: Agent, name: str) -> Agent:
        paused = await self._world.store.agents(parent=parent.id, states=frozenset({State.PAUSED}))
        for child in paused:
            if str(child.id) == name:
                return child
        waiting = ", ".join(str(child.id) for child in paused) or "none"
        raise NoSubAgent(f"{name[:200]!r} is no paused sub-agent of yours; there are: {waiting}.")

    async def start(self, parent: Agent, gate: BreakerGate, asked: Delegation) -> Agent:
        """A sub-agent that is ACTIVE, its part set aside. Raises `NoSubAgent`, `Superseded`."""
        try:
            child = await self._created(parent, gate, asked)
        except (NoSubAgent, StoreUnavailable) as refusal:
            why = self._world.redact(str(refusal), MOST_WHY_CHARACTERS)
            await gate.note(SpawnRefused(at=self._world.clock.now(), why=why))
            raise
        begun = await self._moves.begin_sub_agent(child.id, 0)
        if begun is None:
            raise NoSubAgent("The sub-agent was ended before it began.")
        log.info("sub-agent started", extra={"agent": str(begun.id), "parent": begun.parent})
        return begun

    async def _created(self, parent: Agent, gate: BreakerGate, asked: Delegation) -> Agent:
        """Its row is in the registry, and its parent's log says so."""
        try:
            plan, assignment = await self._assignment(parent, asked)
            wanted = overridden(assignment.limits, asked.limits)
            funded = await self._money.funded(
                repository_of(parent),
                Started(parent.repository, parent.id.issue, asked.role, parent.started_by),
                wanted,
                tuple(filter(None, (assignment.model, assignment.planning_model))),
                plan.budgets_of(parent.repository),
                self._world.clock.now(),
            )
        except (ValueError, Unmeasurable, GitHubFailed) as error:
            raise NoSubAgent(str(error)) from error
        order = _Order(parent, asked, replace(assignment, limits=funded.limits), funded.funding)
        started: list[Agent] = []

        async def spawn(counters: Counters) -> Sequence[AgentEvent]:
            child, spawned = await self._spawn(order, counters)
            started.append(child)
            return [spawned]

        try:
            await gate.record_next(spawn)
        except Superseded:
            for child in started:
                await self.abandon(child, "its parent was taken over")
            raise
        return started[0]

    async def _assignment(
        self, parent: Agent, asked: Delegation
    ) -> tuple[RepositoryPlan, Assignment]:
        """What the role says as of now. Raises `NoSubAgent`; may raise `GitHubFailed`."""
        text = self._world.redact(asked.prompt.strip())
        if not text:
            raise NoSubAgent("`prompt` is empty: say what the sub-agent has to do.")
        reading = await self._plans.of(repository_of(parent))
        task = Task(text.splitlines()[0][:MOST_TITLE_CHARACTERS], text)
        ready = assignment_of(reading, asked.role, task, self._world.default_model)
        if isinstance(ready, CannotStart):
            places = "".join(f"\n- {problem}" for problem in ready.problems)
            raise NoSubAgent(f"`{asked.role}` cannot start: {ready.reason}{places}")
        plan = reading.plan or RepositoryPlan()
        if not plan.enabled:
            raise NoSubAgent("Nothing starts here now: the repository says `enabled: false`.")
        return plan, ready

    async def _spawn(self, order: "_Order", counters: Counters) -> tuple[Agent, Spawned]:
        """Create the row out of what the parent has left; nobody else may take of it meanwhile."""
        now, parent = self._world.clock.now(), order.parent
        own = parent.assignment.limits
        if counters.stop is not None and tool_wait_seconds(counters.stop, own) == 0:
            raise NoSubAgent("You were stopped; no sub-agent starts any more.")
        try:
            limits = child_limits(order.assignment.limits, own, counters, now)
        except NothingLeft as error:
            raise NoSubAgent(
                f"{error} Wait until a running sub-agent has ended, give each a smaller part by"
                " `limits`, or do it yourself."
            ) from error
        limits, is_funded = await self._within_grant(parent, limits, counters)
        if is_funded:
            limits = within_budget(limits, is_unbounded=False)
        new = NewAgent(
            repository=repository_of(parent),
            repository_id=parent.repository_id,
            issue=parent.id.issue,
            role=order.asked.role,
            assignment=replace(order.assignment, limits=limits),
            branch=parent.branch,
            default_branch=parent.default_branch,
            started_by=parent.started_by,
            trigger=f"task of {parent.id}",
            parent=parent.id,
            depth=parent.depth + 1,
        )
        if is_funded or order.funding.accounts:
            amount = nanousd(limits.max_cost_usd or 0)
            funding = replace(order.funding, amount_nanousd=amount)
            child = await self._world.store.create_funded(new, funding, now)
        else:
            child = await self._world.store.create(new, now)
        if isinstance(child, Insufficient):
            raise NoSubAgent(_too_poor(child))
        assert child is not None, "a sub-agent holds no post that could be taken"
        reserved = reservation(limits, Counters(), now)
        return child, Spawned(at=now, child=str(child.id), reserved=reserved)

    async def _within_grant(
        self, parent: Agent, limits: Limits, counters: Counters
    ) -> tuple[Limits, bool]:
        """The limits, with no more money than the parent holds in the ledger, if it is in there."""
        history = await self._world.store.log(parent.id)
        now = self._world.clock.now()
        spent = await self._world.ledger.report(parent.id, own_nanousd(history), now)
        if spent is None:
            return limits, False
        granted, wanted = usd(spent.left_nanousd), limits.max_cost_usd
        left = equal_part(LimitName.MAX_COST_USD, granted, counters)
        if wanted is not None and wanted <= left:
            return limits, True
        if left < LEAST_USD:
            raise NoSubAgent(f"Only {money(left)} of your grant is left for a sub-agent.")
        return replace(limits, max_cost_usd=left), True


@dataclass(frozen=True, slots=True)
class _Order:
    """A sub-agent as it was asked for, before its parent's limits had their say."""

    parent: Agent
    asked: Delegation
    assignment: Assignment
    funding: Funding


def _too_poor(short: Insufficient) -> str:
    whose = f"the budget `{short.account.key}`" if short.account is not None else "your grant"
    return (
        f"The sub-agent may need up to {money(usd(short.asked_nanousd))}, and {whose} has"
        f" {money(usd(short.left_nanousd))} left."
    )
