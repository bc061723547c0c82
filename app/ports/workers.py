"""The processes that work on one database, as people see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.core.agents.agent import AgentId

FRESH_SECONDS: Final = 15.0
"""As long as it is no longer since a process was heard of, time passes for its agents."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A process from its start to its end."""

    name: str
    """Its machine, its number there, and what tells it from others of that number."""
    version: str
    """Of Squadron."""
    places: int
    """How many agents it runs at once; 0: it leaves them to others."""
    started_at: datetime
    heard_at: datetime
    quiet_seconds: float
    """Since then."""
    drain_asked_at: datetime | None
    """Since when it is to take no further agents."""
    agents: tuple[AgentId, ...]
    """At work there; sub-agents are at work where their agents are."""

    @property
    def is_silent(self) -> bool:
        """Whether it was not heard of for so long that it stands still, or is gone."""
        return self.quiet_seconds > FRESH_SECONDS

    @property
    def takes_agents(self) -> bool:
        """Whether it begins agents when it has a place for them."""
        return self.places > 0 and self.drain_asked_at is None and not self.is_silent
