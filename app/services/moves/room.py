"""Room on the disk: with as good as none, nobody begins to work, and people are told.

Who works already goes on. A clone, an agent's files and the database take the same disk, and when
that is full, nothing can be kept any more.
"""

import logging

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import HeldUp, LetOn, Waits
from app.core.agents.lifecycle import State
from app.core.agents.steps import HoldBack, LetGoOn
from app.core.words.refusals import no_room
from app.services.moves.moves import Moves, before_it_begins
from app.services.world import World

log = logging.getLogger("squadron.room")


class Room:
    """Holds agents up while there is none, and lets them on."""

    def __init__(self, world: World, moves: Moves) -> None:
        self._world = world
        self._moves = moves

    def is_lacking(self) -> bool:
        """Whether less is free than the operator wants for a start. May raise `OSError`."""
        least = self._world.house.min_free_mib
        return least > 0 and self._world.free_mib() < least

    async def hold_up(self, agent_id: AgentId, segment: int) -> bool:
        """Whether a segment must not begin now; its agent is told why, once."""
        agent = await self._world.store.agent(agent_id)
        if agent is None or agent.segment != segment:
            return False
        if agent.state not in (State.QUEUED, State.ACTIVE) or not self.is_lacking():
            return False
        if agent.waits_for is not Waits.ROOM:
            why = no_room(self._world.house.min_free_mib)
            told = HeldUp(at=self._world.clock.now(), waits_for=Waits.ROOM, why=why)
            step = await before_it_begins(self._world, agent, HoldBack(told))
            await self._moves.apply(agent, step)
            log.warning(
                "held up: less than min_free_mib is free on the disk",
                extra={"agent": str(agent_id), "min_free_mib": self._world.house.min_free_mib},
            )
        return True

    async def let_on(self, agent: Agent) -> bool:
        """Queue an agent again that was held up; False if it was not, or somebody else did."""
        if agent.waits_for is not Waits.ROOM or self.is_lacking():
            return False
        step = LetGoOn(LetOn(at=self._world.clock.now()))
        return await self._moves.apply(agent, step) is not None
