"""Triage: which issues one agent takes along, and the tool by which it proposes."""

import logging
from collections.abc import Mapping
from typing import Final

from app.core.agents.agent import Agent, Task
from app.core.agents.events import Proposed
from app.core.agents.lifecycle import State
from app.core.agents.steps import Finish
from app.core.effects.triage import (
    MOST_AT_ONCE,
    is_taken_along,
    issues_of,
    taken_along,
)
from app.core.rules.plan import RoleKind
from app.ports import ToolResult, Triage
from app.services.moves.moves import Moves
from app.services.segment.gate import BreakerGate
from app.services.world import World

_WAITING: Final = frozenset({State.QUEUED})
_TAKEN: Final = frozenset({State.COMPLETED})

log = logging.getLogger("squadron.agents")


async def gathered(world: World, moves: Moves, agent: Agent) -> Mapping[int, Task]:
    """The issues that the agent looks at: its own, and those whose agents have not begun yet.

    Whom it has taken along before a crash stays with it; each is taken by one agent only.
    """
    here = agent.repository
    with_it = [
        each
        for each in await world.store.agents(
            repository=here, states=_TAKEN, changed_since=agent.created_at
        )
        if _is_alike(each, agent) and is_taken_along(await world.store.log(each.id), agent.id)
    ]
    for each in await world.store.agents(repository=here, states=_WAITING):
        if len(with_it) + 1 >= MOST_AT_ONCE:
            break
        if (
            _is_alike(each, agent)
            and each.segment == 0
            and await moves.apply(each, Finish(taken_along(agent.id)))
        ):
            with_it.append(each)
            log.info("taken along", extra={"agent": str(each.id), "by": str(agent.id)})
    return issues_of(agent, with_it)


def _is_alike(other: Agent, agent: Agent) -> bool:
    """Whether another agent of the same role, in the same repository, triages by itself."""
    return (
        other.id != agent.id
        and other.id.role == agent.id.role
        and other.parent is None
        and other.assignment.kind is RoleKind.TRIAGE
    )


class Proposals:
    """The tool `propose_triage` of one session."""

    def __init__(self, world: World, gate: BreakerGate, issues: Mapping[int, Task]) -> None:
        self._world = world
        self._gate = gate
        self.issues = issues

    async def propose(self, triage: Triage) -> ToolResult:
        """Note it; it is written on GitHub when the agent ends."""
        if triage.issue not in self.issues:
            given = ", ".join(f"#{number}" for number in self.issues)
            return ToolResult(False, None, f"#{triage.issue} is not yours; yours are {given}.")
        proposed = Proposed(
            at=self._world.clock.now(),
            issue=triage.issue,
            role=triage.role,
            labels=triage.labels,
            why=self._world.redact(triage.why),
        )
        await self._gate.note(proposed)
        return ToolResult(True, None, f"Noted for #{triage.issue}.")
