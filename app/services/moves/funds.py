"""Money of agents that have waited: who waits holds none, and takes it again before it goes on.

What a budget has too little of then, the agent waits for in the queue, and no clock runs.
"""

import logging
from dataclasses import replace

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import HeldUp, LetOn, Waits
from app.core.agents.lifecycle import State
from app.core.agents.steps import HoldBack, LetGoOn
from app.core.budgets.ledger import Insufficient
from app.core.steering.github_away import GitHubAway, try_again_at
from app.core.words.refusals import budget_spent, budget_unseen, github_away
from app.ports import GitHubFailed
from app.services.money.funding import Money, Unmeasurable
from app.services.moves.moves import Moves, before_it_begins
from app.services.world import World

log = logging.getLogger("squadron.funds")


class Funds:
    """Holds agents up while a budget has too little for them, and lets them on."""

    def __init__(self, world: World, moves: Moves, money: Money) -> None:
        self._world = world
        self._moves = moves
        self._money = money

    async def hold_up(self, agent_id: AgentId, segment: int) -> bool:
        """Whether a segment must not begin now, since its agent cannot be paid; else the agent
        holds again what it may spend."""
        agent = await self._world.store.agent(agent_id)
        if agent is None or agent.segment != segment:
            return False
        if agent.state not in (State.QUEUED, State.ACTIVE):
            return False
        try:
            short = await self._money.taken_again(agent)
        except Unmeasurable as error:
            step = self._held_back(budget_unseen(str(error)))
        except GitHubFailed as error:
            step = await self._github_is_away(agent, GitHubAway(str(error)))
        else:
            if short is None:
                return False
            step = self._waits_for(short)
        if agent.waits_for is Waits.BUDGET and agent.retry_at == step.retry_at:
            return True  # it was told, and a pass of reconciliation lets it on
        if agent.waits_for is None:
            log.warning("held up: %s", step.told.why, extra={"agent": str(agent_id)})
        await self._moves.apply(agent, await before_it_begins(self._world, agent, step))
        return True

    async def let_on(self, agent: Agent) -> bool:
        """Queue an agent again that can be paid now; False if it waits on or for something else,
        or somebody else did. May raise `GitHubFailed`."""
        if agent.waits_for is not Waits.BUDGET:
            return False
        try:
            if await self._money.taken_again(agent) is not None:
                return False
        except Unmeasurable:
            return False
        step = LetGoOn(LetOn(at=self._world.clock.now()))
        return await self._moves.apply(agent, step) is not None

    def _waits_for(self, short: Insufficient) -> HoldBack:
        renews_at = short.account.renews_at if short.account is not None else None
        return replace(self._held_back(budget_spent(short)), retry_at=renews_at)

    def _held_back(self, why: str) -> HoldBack:
        return HoldBack(HeldUp(at=self._world.clock.now(), waits_for=Waits.BUDGET, why=why))

    async def _github_is_away(self, agent: Agent, away: GitHubAway) -> HoldBack:
        now, history = self._world.clock.now(), await self._world.store.log(agent.id)
        told = HeldUp(at=now, waits_for=Waits.GIT, why=github_away(away.reason))
        return HoldBack(told, retry_at=try_again_at(history, away, now))
