"""What ended agents have left in this worker's data directory is deleted after some time.

Each worker tidies its own directory: nobody else reaches it.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.ports import WorkspaceFailed
from app.services.guard import Guard
from app.services.moves.files import Files
from app.services.moves.readiness import discard_clone
from app.services.world import World

TIDIED_EVERY: Final = timedelta(days=1)
CLONES_KEPT_FOR: Final = timedelta(days=7)
SESSIONS_KEPT_FOR: Final = timedelta(days=30)
"""Conversations of agents that have ended, for whoever triages."""

log = logging.getLogger("squadron.housekeeping")


class Housekeeping:
    """Tidies this data directory."""

    def __init__(self, world: World, guard: Guard) -> None:
        self._world = world
        self._guard = guard

    async def tidy_if_due(self) -> None:
        """Once a day, whatever process it is that day; one thing's trouble keeps nothing else."""
        workspace, now = self._world.workspace, self._world.clock.now()
        try:
            before = await workspace.tidied_at()
            if before is not None and before <= now < before + TIDIED_EVERY:
                return
            agents = await workspace.agents()
            await self._tidy(agents, now)
            await workspace.note_tidied(now)
        except WorkspaceFailed as failed:
            log.warning("not tidied: %s", failed)
        else:
            log.info("tidied", extra={"agents": len(agents)})

    async def _tidy(self, agents: Sequence[str], now: datetime) -> None:
        self._guard.begin()
        with self._guard.over("kept setups"):
            await self._world.setups.tidy(now)
        for name in agents:
            with self._guard.over(f"files of {name}"):
                await self._tidy_up_after(name, now)

    async def _tidy_up_after(self, name: str, now: datetime) -> None:
        agent = await self._world.store.agent(AgentId.parse(name))
        if agent is None:
            log.warning("files of an agent that is not in the registry", extra={"agent": name})
        elif agent.updated_at < now - CLONES_KEPT_FOR:
            if await Files(self._world, agent).elsewhere() is not None:
                await self._delete_stale(agent)
            elif agent.is_final:
                await self._delete_ended(agent, now)

    async def _delete_stale(self, agent: Agent) -> None:
        """Newer files are elsewhere: nobody takes these for the agent's any more."""
        await discard_clone(self._world, agent)
        await self._world.workspace.forget_session(str(agent.id))

    async def _delete_ended(self, agent: Agent, now: datetime) -> None:
        """The clone if all of the work is pushed, later the session too."""
        name = str(agent.id)
        if not await self._world.workspace.remove(name):
            log.warning("workspace kept: not all is pushed", extra={"agent": name})
        if agent.updated_at < now - SESSIONS_KEPT_FOR:
            await self._world.workspace.forget_session(name)
