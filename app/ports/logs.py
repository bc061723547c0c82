"""Parts of an agent's log, and what its work has cost in the course of time."""

from datetime import datetime
from typing import NamedTuple

from app.core.agents.events import AgentEvent


class Logged(NamedTuple):
    """An event of a log."""

    seq: int
    """From 1, without gaps."""
    event: AgentEvent


class SpentUntil(NamedTuple):
    """What an agent's own model calls had cost when one of them ended."""

    at: datetime
    nanousd: int
    """In all, from its first call on; of the calls whose price is known."""
