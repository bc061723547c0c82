"""What a pass of reconciliation has repaired."""

from dataclasses import dataclass, field

from app.core.agents.agent import Agent


@dataclass(slots=True)
class Repairs:
    """What one pass did, for the log and for the test that a second pass does nothing."""

    done: list[str] = field(default_factory=list)

    def note(self, what: str, agent: Agent | None = None) -> None:
        """One repair."""
        self.done.append(f"{what}: {agent.id}" if agent is not None else what)
