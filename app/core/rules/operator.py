"""What the operator decides for all repositories, as the services need it."""

from dataclasses import dataclass, field

from app.core.budgets.budgets import Budget
from app.core.rules.caps import Caps
from app.core.rules.plan import Adaptive, Alerts, OnUnmeasurable


@dataclass(frozen=True, slots=True)
class HouseRules:
    """The operator's file beyond limits and models (EXAMPLES, `SQUADRON_CONFIG`)."""

    budgets: tuple[Budget, ...] = ()
    on_unmeasurable: OnUnmeasurable = "warn"
    """What becomes of an agent whose model has no price; under a money budget or ceiling it does
    not start either way."""
    starts_per_user_per_hour: int = 100
    max_starts_per_pass: int = 10
    """Agents that one pass of reconciliation starts of which no webhook told."""
    alerts: Alerts = field(default_factory=Alerts)
    adaptive: Adaptive = "off"
    min_free_mib: int = 1_024
    """Of the disk with the data directory; below it no agent begins to work."""
    caps: Caps = field(default_factory=Caps)
    artifact_mib_per_agent: int = 16
    """That are kept of an agent for other machines, compressed."""
    pack_after_days: int = 30
    """Days after an agent's end after which its log is packed."""
