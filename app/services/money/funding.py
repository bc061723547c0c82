"""Money around an agent: what it may spend before it starts, and what it has spent when it stops.

The ledger is asked before an agent is created, in the same transaction (seed 003); it is told at
the end of each segment, and by each reconciliation: of who works for hours, and of who died untold.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.agents.counters import fold, maximum_of
from app.core.agents.events import AgentEvent, ModelCalled
from app.core.budgets.budgets import Account, Budget, Scope, Started, accounts, within_budget
from app.core.budgets.ledger import Insufficient, Spent
from app.core.limits import CATALOGUE, LimitName, Limits
from app.core.money import nanousd
from app.core.rules.plan import RepositoryPlan
from app.ports import Funding, Refused, Repository
from app.services.configuration.plans import Plans
from app.services.money.alerts import Alerting
from app.services.world import World, repository_of

_NEVER: Final = datetime.max.replace(tzinfo=UTC)

log = logging.getLogger("squadron.money")


class Unmeasurable(Exception):
    """What the work costs, or whose budget it counts in, would be unknown where it must be known;
    the text is for people."""


@dataclass(frozen=True, slots=True)
class Funded:
    """How an agent may start: with which limits, and out of which accounts."""

    limits: Limits
    funding: Funding


class Money:
    """Reserves, reports and releases."""

    def __init__(self, world: World, alerting: Alerting, plans: Plans) -> None:
        self._world = world
        self._alerting = alerting
        self._plans = plans

    async def funded(
        self,
        repository: Repository,
        started: Started,
        limits: Limits,
        models: Sequence[str],
        budgets: Sequence[Budget],
        now: datetime,
        *,
        is_unbounded: bool = False,
    ) -> Funded:
        """What a start needs. `budgets` are the repository's; the operator's are added.
        `is_unbounded`: nobody has set `max_cost_usd` for the role.

        Raises `Unmeasurable`; may raise `GitHubFailed` (a budget of a team).
        """
        counted = await self._accounts(repository, started, budgets, now)
        self._refuse_unmeasurable(limits, models, now, is_budgeted=bool(counted))
        if counted:
            limits = within_budget(limits, is_unbounded=is_unbounded)
        return Funded(limits, Funding(nanousd(limits.max_cost_usd or 0), counted))

    async def shortage(self, funding: Funding) -> Insufficient | None:
        """What is too empty for a start as it looks now; of several accounts the last to renew."""
        wanted = funding.amount_nanousd
        balances = [await self._world.ledger.balance(account) for account in funding.accounts]
        empty = [balance for balance in balances if balance.left_nanousd < wanted]
        if not empty:
            return None
        last = max(empty, key=lambda balance: balance.account.renews_at or _NEVER)
        return Insufficient(last.account, last.left_nanousd, wanted)

    async def raised(self, agent: Agent, maximum_usd: float) -> Insufficient | None:
        """Grant what a raise of `max_cost_usd` takes, out of the budgets that count the agent;
        None: it is granted, or no budget counts it. A repeat grants nothing more.

        Raises `Unmeasurable`; may raise `GitHubFailed`.
        """
        history = await self._world.store.log(agent.id)
        if await self._told(agent, history) is None:
            return None
        return await self._granted(agent, maximum_usd)

    async def taken_again(self, agent: Agent) -> Insufficient | None:
        """Grant again what the agent may spend and let go of while it waited; None: the agent
        holds it, or no budget counts the agent.

        Raises `Unmeasurable`; may raise `GitHubFailed`.
        """
        history = await self._world.store.log(agent.id)
        spent = await self._told(agent, history)
        if spent is None or spent.left_nanousd:
            return None
        maximum_usd = maximum_of(LimitName.MAX_COST_USD, agent.assignment.limits, fold(history))
        return None if maximum_usd is None else await self._granted(agent, maximum_usd)

    async def _told(self, agent: Agent, history: Sequence[AgentEvent]) -> Spent | None:
        now = self._world.clock.now()
        return await self._world.ledger.report(agent.id, own_nanousd(history), now)

    async def _granted(self, agent: Agent, maximum_usd: float) -> Insufficient | None:
        ledger, now, here = self._world.ledger, self._world.clock.now(), repository_of(agent)
        plan = (await self._plans.of(here)).plan or RepositoryPlan()
        started = Started(here.full_name, agent.id.issue, agent.id.role, agent.started_by)
        counted = await self._accounts(here, started, plan.budgets_of(here.full_name), now)
        answer = await ledger.reserve(agent.id, counted, nanousd(maximum_usd), now)
        return answer if isinstance(answer, Insufficient) else None

    async def settle(self, agent: Agent, history: Sequence[AgentEvent]) -> None:
        """Tell the ledger what the agent itself has spent; a final one lets go of the rest, and so
        does one that waits, and no clock runs: others may need the money meanwhile."""
        spent = await self._told(agent, history)
        if spent is None:
            return
        if agent.is_final or agent.waits_for is not None:
            await self._world.ledger.release(agent.id)
        await self._alerting.of_spending(agent, spent)

    async def open_reservations(self) -> Sequence[AgentId]:
        """Who holds money."""
        return await self._world.ledger.open_reservations()

    async def settle_open(self, agent_id: AgentId) -> bool:
        """Tell the ledger what one who holds money has spent up to now, and let go if it ended
        while nobody could tell it; whether it has ended."""
        agent = await self._world.store.agent(agent_id)
        if agent is None:
            await self._world.ledger.release(agent_id)
        else:
            await self.settle(agent, await self._world.store.log(agent_id))
        return agent is None or agent.is_final

    async def _accounts(
        self, repository: Repository, started: Started, budgets: Sequence[Budget], now: datetime
    ) -> tuple[Account, ...]:
        """What counts a start; `budgets` are the repository's."""
        every = (*self._world.house.budgets, *budgets)
        teams = await self._teams(repository, started.user, every)
        return accounts(every, replace(started, teams=teams), now)

    async def _teams(
        self, repository: Repository, login: str, budgets: Sequence[Budget]
    ) -> tuple[str, ...]:
        """Those of the teams that budgets name in which the user is."""
        owner = repository.full_name.partition("/")[0]
        named = {
            budget.name if "/" in budget.name else f"{owner}/{budget.name}"
            for budget in budgets
            if budget.scope is Scope.TEAM and budget.name is not None
        }
        return tuple(
            [team for team in sorted(named) if await self._is_member(repository, team, login)]
        )

    async def _is_member(self, repository: Repository, team: str, login: str) -> bool:
        try:
            return await self._world.github.is_team_member(repository, team, login)
        except Refused as error:
            log.warning("who is in %s cannot be seen: %s", team, error)
            raise Unmeasurable(
                f"there is a budget of the team {team}, and GitHub does not say who is in it."
                " Grant the App the organization permission `members: read`, or remove the budget."
            ) from error

    def _refuse_unmeasurable(
        self, limits: Limits, models: Sequence[str], now: datetime, *, is_budgeted: bool
    ) -> None:
        unknown = [model for model in models if self._world.price_of(model, now) is None]
        if not unknown:
            return
        bounded = [name for name in limits.ceilings if CATALOGUE[name].is_money]
        if is_budgeted:
            why = "a money budget applies"
        elif bounded:
            why = f"the operator's ceiling on {bounded[0]} applies"
        elif self._world.house.on_unmeasurable == "stop":
            why = "the operator wants no work whose cost is unknown (`on_unmeasurable: stop`)"
        else:
            return
        raise Unmeasurable(
            f"nobody knows the price of {', '.join(dict.fromkeys(unknown))}, and {why}. The"
            " operator can set it under `pricing` in the file that SQUADRON_CONFIG names."
        )


def own_nanousd(history: Sequence[AgentEvent]) -> int:
    """What the agent's own model calls have cost, its sub-agents' aside."""
    return sum(event.cost_nanousd or 0 for event in history if isinstance(event, ModelCalled))
