"""What an operator's monitoring shows of the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.core.agents.agent import EffectName, EffectState
from app.core.agents.lifecycle import State
from app.core.budgets.ledger import Balance
from app.core.history.precision import Stop
from app.ports.passes import Pass


@dataclass(frozen=True, slots=True)
class RegistryFigures:
    """As of one instant. Roles and providers label them, agents never do: there are ever more."""

    agents: Mapping[tuple[State, str], int] = field(default_factory=dict)
    """How many agents are in each state, by role; sub-agents are left out."""
    queued_since: datetime | None = None
    """Since when the first of those waits that only wait for a worker; None: nobody does."""
    unwritten: Mapping[tuple[EffectName, EffectState], int] = field(default_factory=dict)
    """What is to be written on GitHub and is not there: wanted, or refused."""
    waiting_for_provider: Mapping[str, int] = field(default_factory=dict)
    """Agents that wait until a provider of models answers, by its name."""


@dataclass(frozen=True, slots=True)
class Figures:
    """All of it, as of `at`."""

    at: datetime
    registry: RegistryFigures
    trips_last_hour: int
    spent_last_hour_nanousd: int
    balances: Sequence[Balance]
    stops: Sequence[Stop]
    last_pass: Pass | None
