"""Providers of models that are away: who needs one waits in the queue, and no clock runs.

One agent at a time asks again, after a pause that grows; when it has an answer, all others are let
on.
"""

import logging
from collections.abc import Sequence
from datetime import datetime

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import HeldUp, LetOn, Waits
from app.core.agents.lifecycle import State
from app.core.agents.steps import HoldBack, LetGoOn
from app.core.rules.outages import Outage, ProviderFailure, look_again_at, may_ask, providers_of
from app.core.words.alerts import refused_key
from app.core.words.refusals import provider_away
from app.ports import Reconcile
from app.services.money.alerts import Alerting
from app.services.moves.moves import Moves, before_it_begins
from app.services.world import World

BACK = "back"
"""Why a pass of reconciliation runs after a provider has answered again."""

log = logging.getLogger("squadron.providers")


class Providers:
    """Holds agents up while one is away that they need, and lets them on."""

    def __init__(self, world: World, moves: Moves, alerting: Alerting) -> None:
        self._world = world
        self._moves = moves
        self._alerting = alerting

    async def hold_up(self, agent_id: AgentId, segment: int) -> bool:
        """Whether a segment must not begin now. If not, its agent is who asks a provider that is
        away, and nobody else does meanwhile."""
        world = self._world
        agent = await world.store.agent(agent_id)
        if agent is None or agent.segment != segment:
            return False
        if agent.state not in (State.QUEUED, State.ACTIVE):
            return False
        now, outages = world.clock.now(), await self._outages(agent)
        if blocking := await self._kept_from_asking(agent, outages):
            step = self._held_back(blocking[0], blocking, now)
            await self._moves.apply(agent, await before_it_begins(world, agent, step))
        return bool(blocking)

    async def failed(self, agent: Agent, failure: ProviderFailure) -> None:
        """End the running segment of an agent that asked in vain, its work kept: it waits."""
        now = self._world.clock.now()
        outage = await self._world.store.provider_failed(failure, str(agent.id), now)
        log.warning(
            "the model's provider is away: %s",
            failure.reason,
            extra={"agent": str(agent.id), "provider": failure.provider, "tries": outage.tries},
        )
        if failure.is_refused:
            await self._alerting.tell(refused_key(outage, now))
        await self._moves.apply(agent, self._held_back(outage, [outage], now))

    async def answered(self, provider: str) -> None:
        """It has answered: whoever waits for it is let on soon."""
        outage = await self._world.store.provider_answered(provider)
        if outage is None:
            return
        log.info("the model's provider is back", extra={"provider": provider})
        occasion = f"{BACK}:{provider}:{outage.since.timestamp()}"
        await self._world.engine.enqueue(Reconcile(BACK, occasion))

    async def ask_at_once(self) -> None:
        """A process has started, perhaps with another key: nobody waits for the next try."""
        await self._world.store.ask_providers_at_once(self._world.clock.now())

    async def let_on(self, agent: Agent) -> bool:
        """Queue an agent again whose provider is back, or who is to ask it before its own time has
        come; False if it waits on, or somebody else did."""
        if agent.waits_for is not Waits.PROVIDER:
            return False
        outages = await self._outages(agent)
        is_due = agent.retry_at is None or agent.retry_at <= self._world.clock.now()
        if outages and (is_due or await self._kept_from_asking(agent, outages)):
            return False
        return await self.go_on(agent)

    async def go_on(self, agent: Agent) -> bool:
        """Queue an agent again whatever its provider does: its next segment looks at that."""
        step = LetGoOn(LetOn(at=self._world.clock.now()))
        return await self._moves.apply(agent, step) is not None

    async def _kept_from_asking(self, agent: Agent, outages: Sequence[Outage]) -> Sequence[Outage]:
        """The ones in which it is not this agent's turn; none: it asks, and nobody else does."""
        asker, now = str(agent.id), self._world.clock.now()
        if early := [one for one in outages if not may_ask(one, asker, now)]:
            return early
        asks = [one.failure.provider for one in outages]
        taken = [await self._world.store.ask_provider(one, asker, now) for one in asks]
        return [one for one in taken if one is not None]

    async def _outages(self, agent: Agent) -> Sequence[Outage]:
        assignment, outages = agent.assignment, await self._world.store.outages()
        needed = providers_of(assignment.model, assignment.planning_model)
        if agent.missing_provider is not None:
            needed |= {agent.missing_provider}
        return [outage for name, outage in sorted(outages.items()) if name in needed]

    def _held_back(self, outage: Outage, blocking: Sequence[Outage], now: datetime) -> HoldBack:
        told = HeldUp(at=now, waits_for=Waits.PROVIDER, why=provider_away(outage.failure))
        return HoldBack(
            told,
            retry_at=look_again_at(blocking, now),
            missing_provider=outage.failure.provider,
        )
