"""What a pass of reconciliation has repaired."""

from dataclasses import dataclass, field

from app.core.agents.agent import Agent
from app.core.agents.steps import Cancel, Escalate, Finish, Requeue, Sleep, Step, TakeAway, WakeUp
from app.core.agents.stops import Trip


@dataclass(slots=True)
class Repairs:
    """What one pass did, for the log and for the test that a second pass does nothing."""

    done: list[str] = field(default_factory=list)

    def note(self, what: str, agent: Agent | None = None) -> None:
        """One repair."""
        self.done.append(f"{what}: {agent.id}" if agent is not None else what)

    def took(self, step: Step | None, agent: Agent) -> bool:
        """The step that a look at the agent has led to; whether there was one."""
        if step is not None:
            self.note(_words(step), agent)
        return step is not None


def _words(step: Step) -> str:
    match step:
        case WakeUp():
            return "woken"
        case TakeAway() | Cancel():
            return "cancelled"
        case Finish():
            return "review ended"
        case Requeue():
            return "requeued"
        case Sleep():
            return "stopped, for it lost access"
        case Escalate(stop=Trip(limit=what)):
            return f"escalated ({what})"
        case Escalate():
            return "escalated"
        case _:
            return type(step).__name__
