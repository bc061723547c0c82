"""An agent is created: when its turn is, if it can be paid, and its user is within the rate."""

from dataclasses import replace

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.budgets.ledger import Insufficient
from app.core.budgets.rates import Allowed, Refused
from app.core.effects.triage import GATHERED_FOR_SECONDS, WAITS_FOR_THE_FIRST_SECONDS
from app.core.rules.plan import RoleKind
from app.core.steering.ownership import LABEL_TRIGGER
from app.core.words.refusals import AT_WORK, TAKEN_BACK
from app.ports import Funding, NewAgent, Order
from app.services.money.funding import Money
from app.services.starting.posts import answered_by, newest_of
from app.services.starting.rates import UserRates
from app.services.starting.refusing import Refusing
from app.services.starting.taken_back import is_taken_back, start_name
from app.services.starting.verdict import NotStarted, Refusal
from app.services.world import World


class Creating:
    """The last step of a start, nothing of which asks GitHub for anything."""

    def __init__(self, world: World, money: Money, rates: UserRates, refusing: Refusing) -> None:
        self._world = world
        self._money = money
        self._rates = rates
        self._refusing = refusing

    async def create(self, new: NewAgent, funding: Funding, order: Order) -> Agent | NotStarted:
        """The agent, unless the post is taken or the order has to wait. Who triages new issues
        waits for others like it: the first for a short while, the others for so long that it finds
        them waiting. May raise `GitHubFailed`."""
        order = replace(order, task=new.assignment.task)
        is_triage = new.assignment.kind is RoleKind.TRIAGE
        if not is_triage or order.trigger.startswith(LABEL_TRIGGER):
            return await self._one_at_a_time(new, funding, order)
        name = new.repository.full_name
        async with self._world.exclusive(f"triage:{name}/{new.role}"):
            queued = await self._world.store.agents(
                repository=name, states=frozenset({State.QUEUED})
            )
            is_first = all(agent.id.role != new.role for agent in queued)
            delay = GATHERED_FOR_SECONDS if is_first else WAITS_FOR_THE_FIRST_SECONDS
            return await self._one_at_a_time(replace(new, delay_seconds=delay), funding, order)

    async def _one_at_a_time(
        self, new: NewAgent, funding: Funding, order: Order
    ) -> Agent | NotStarted:
        """Only what takes effect counts for the user's rate, and a start that is told of twice
        takes effect once: so one at a time for each post."""
        async with self._world.exclusive(start_name(order.repository, order.issue, order.role)):
            made = await self._made(new, funding, order)
            if isinstance(made, Insufficient):
                # Whenever an agent ends there may be money again: put off before the post is free.
                budget, now = made.account.id if made.account else "", self._world.clock.now()
                await self._refusing.put_off(order, now, budget)
        match made:
            case Insufficient():
                return await self._refusing.too_poor(order, made)
            case Refused():
                await self._rates.say_too_many(order.repository, order.issue, order.by.login, made)
                return await self._refusing.too_many(order, made.until)
            case _:
                return made

    async def _made(
        self, new: NewAgent, funding: Funding, order: Order
    ) -> Agent | NotStarted | Insufficient | Refused:
        world = self._world
        newest = await newest_of(world, order)
        if why := await answered_by(world, order, newest):
            return NotStarted(Refusal.ANSWERED, why)
        if await is_taken_back(world, order.repository, order.issue, order.role, order.at):
            return NotStarted(Refusal.ANSWERED, TAKEN_BACK)
        short = await self._money.shortage(funding)
        if short is not None:
            return short
        rate = await self._rates.is_within(order.by.login, _name_of_start(new, newest))
        match rate:
            case Refused():
                return rate
            case Allowed():
                row = await self._row(new, funding)
                return row or NotStarted(Refusal.ANSWERED, AT_WORK)

    async def _row(self, new: NewAgent, funding: Funding) -> Agent | Insufficient | None:
        store, now = self._world.store, self._world.clock.now()
        if funding.accounts:
            return await store.create_funded(new, funding, now)
        return await store.create(new, now)


def _name_of_start(new: NewAgent, before: Agent | None) -> str:
    """Names a start for the user's rate: each agent has one successor."""
    number = 0 if before is None else before.id.attempt
    return f"start {new.repository.full_name}#{new.issue}/{new.role} after {number}"
