"""Passes of reconciliation."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of reconciliation, and what it has cost."""

    why: str
    """What caused it: the schedule, a start of the service, a delivery."""
    ended_at: datetime
    seconds: float
    agents: int
    """That are live as it ends, sub-agents left out."""
    repositories: int
    looked_at_fully: int
    """Of these; the others for what was new."""
    repairs: int
    requests: int
    """To GitHub, token requests left out."""
    unchanged: int
    """Of these: answered with 304, which count against no rate limit."""
    token_requests: int
    put_off: Mapping[str, int]
    """What had no turn in it, by kind (`services/reconciling/request_budget.py`); the passes after
    it go on there."""
    failed: Mapping[str, str]
    """What has failed in it as nobody has foreseen, and with which kinds of exceptions; the log has
    more. The passes after it try again."""
