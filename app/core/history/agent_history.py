"""One agent, and all that happened to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, Finished
from app.core.agents.lifecycle import State
from app.core.rules.plan import RoleKind


@dataclass(frozen=True, slots=True)
class History:
    """One agent and its log, or those events of it that are asked about."""

    agent: Agent
    log: Sequence[AgentEvent]

    @property
    def is_accepted(self) -> bool | None:
        """Whether people took the work: its pull request was merged. What a role brings about
        that hands over no branch is taken once it is there. None: nobody has said yet."""
        if not self.agent.is_final:
            return None
        if self.agent.state is not State.COMPLETED:
            return False
        if self.agent.assignment.kind is not RoleKind.WORK:
            return True
        if self.agent.pull_request is None:
            return False
        ends = (event for event in self.log if isinstance(event, Finished))
        return True if any(end.since is not None for end in ends) else None
