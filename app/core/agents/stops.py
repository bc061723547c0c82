"""Why an agent stops: a limit that is reached, a failure, or a limit that asks a human first."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.core.limits import LimitName


class Layer(StrEnum):
    """Which enforcement layer saw a trip first."""

    HOOK = "hook"
    """Any check before a tool call, model call or turn."""
    TIMER = "timer"
    RECONCILIATION = "reconciliation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    """The one moment at which a limit stopped an agent for good."""

    limit: LimitName
    observed: float
    maximum: float
    layer: Layer
    at: datetime
    reason: str
    """One sentence for people."""


class Cause(StrEnum):
    """What stops an agent for good without a limit."""

    RUNTIME_DIED = "runtime_died"
    """By itself, while its worker lived."""
    WORKER_DIED = "worker_died"
    """The processes of Squadron that ran the agent ended under it, again and again."""
    SETUP_FAILED = "setup_failed"
    BLOCKED_IN_CIRCLE = "blocked_in_circle"
    WORKSPACE_FAILED = "workspace_failed"
    NO_ACCESS = "no_access"
    """Never a failure: the agent waits until the App is let in again."""
    MODEL_FAILED = "model_failed"
    """The model that the role names cannot be had."""
    RUNTIME_MISSING = "runtime_missing"
    """The runtime that the role names is not installed where the agent runs."""
    SESSION_DAMAGED = "session_damaged"
    """What was kept of its conversation cannot be read any more."""
    CONFLICT = "conflict"
    """The branch conflicts with its base, or with commits of others on it, and the agent was told
    of it once."""
    DISK_FULL = "disk_full"
    """The agent holds more of the disk than one agent may, and does not clear up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What stopped an agent for good without a limit. No enforcement layer has seen it."""

    cause: Cause
    at: datetime
    reason: str
    """One sentence for people."""


StopReason = Trip | Failure
"""Why an agent was stopped for good; an agent has at most one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A limit that pauses the agent and asks a human, instead of stopping it for good."""

    limit: LimitName
    observed: float
    maximum: float
    layer: Layer
    at: datetime
    reason: str
    """One sentence for people."""
    asks: bool = False
    """Whether more is asked for (`request_increase`); else it waits to be resumed."""
    amount: float | None = None
    """How much more is asked for; None: the limit's own amount once more."""
    claim: str = ""
    """What the agent says for itself when it asks early."""
