"""What people write to an agent that works: it is in the log from when the agent is told."""

import asyncio
import logging
from collections.abc import Sequence

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, SpokenTo
from app.core.steering.feedback import told
from app.core.words.prompts import words_prompt
from app.ports import StoreUnavailable
from app.services.segment.gate import BreakerGate, Superseded
from app.services.world import World

log = logging.getLogger("squadron.agents")


class Listening:
    """One segment's ear; whoever it tells hears the same words once."""

    def __init__(
        self, world: World, agent: Agent, gate: BreakerGate, history: Sequence[AgentEvent]
    ) -> None:
        self._world = world
        self._agent = agent
        self._gate = gate
        self._known = {*told(history)}
        """Names of the words that the agent was told of, or woken by."""
        self._one_at_a_time = asyncio.Lock()

    async def for_a_prompt(self) -> str:
        """All that the model has not answered yet. Raises `StoreUnavailable`."""
        async with self._one_at_a_time:
            await self._news()
            return await asyncio.to_thread(words_prompt, self._gate.counters.unheard)

    async def for_a_tool(self) -> str:
        """What is new since anybody asked; empty: nothing, or the database does not say."""
        async with self._one_at_a_time:
            try:
                news = await self._news()
            except StoreUnavailable as error:
                log.warning("not listened: %s", error, extra={"agent": str(self._agent.id)})
                return ""
            return await asyncio.to_thread(words_prompt, news) if news else ""

    async def _news(self) -> Sequence[SpokenTo]:
        now = self._world.clock.now()
        news = [
            SpokenTo(
                at=now,
                by=each.by,
                text=each.text,
                said=each.said,
                written_at=each.at,
                link=each.link,
            )
            for each in await self._world.store.written_to(self._agent.id)
            if each.said not in self._known
        ]
        if not news:
            return ()
        try:
            await self._gate.record(news)
        except Superseded:
            return ()  # whoever goes on with the agent tells it
        self._known |= {each.said for each in news}
        return news
