"""Alerts: found out from the database at each reconciliation, each told by one process once."""

from collections.abc import Sequence
from datetime import datetime

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.budgets.ledger import Spent
from app.core.budgets.rates import Allowed
from app.core.effects.retry import failing_since
from app.core.words import alerts
from app.core.words.alerts import Alert
from app.services.figures import spent_since, trips_since
from app.services.world import World


class Alerting:
    """Looks, and tells what is new."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def look(self) -> None:
        """Spending, trips and warnings of the last hour."""
        world, now = self._world, self._world.clock.now()
        bounds, since = world.house.alerts, now - alerts.HOUR
        spent = await spent_since(world.ledger, since)
        tripped = await trips_since(world.store, since)
        await self.tell(alerts.spending(spent, bounds.cost_usd_per_hour, now))
        await self.tell(alerts.trips(tripped, bounds.trips_per_hour, now))
        for agent, event in await world.store.warned(since):
            await self.tell(alerts.warned(agent, event, now))
        await self.tell(alerts.unwritten(await self._unwritten(now - alerts.A_DAY), now))

    async def _unwritten(self, before: datetime) -> Sequence[tuple[str, datetime]]:
        found = [
            (f"the {effect.name.replace('_', ' ')} of {agent}", failing_since(effect))
            for agent, effect in await self._world.store.failing_effects()
        ]
        return [(what, since) for what, since in found if since is not None and since <= before]

    async def of_spending(self, agent: Agent, spent: Spent) -> None:
        """What an agent's spending did to its grant, and to the budgets that count it."""
        now = self._world.clock.now()
        await self.tell(alerts.nearly_spent(spent.balances, now))
        if agent.state is not State.ACTIVE:  # one sum at the end, not one for each look
            await self.tell(alerts.overspent(str(agent.id), spent.overspent_nanousd, now))

    async def tell(self, found: Sequence[Alert]) -> None:
        """Tell what was not told within its time of silence."""
        for alert in found:
            # No login holds a colon, so alerts and users share the counting.
            who = f"alert:{alert.key}"
            news = await self._world.rates.hit(who, 1, alert.at, window=alert.silence)
            if isinstance(news, Allowed):
                await self._world.alarms.tell(alert)
