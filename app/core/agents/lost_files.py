"""What is gone where an agent's files are not."""

from collections.abc import Sequence

from app.core.agents.counters import fold
from app.core.agents.events import AgentEvent, FilesMoved, Kept, Lost, ToolEnded, TurnAsked


def lost_of_conversation(history: Sequence[AgentEvent], kept_calls: int | None) -> Lost | None:
    """What the agent loses with its conversation, if that was kept as of so many calls of the
    model (None: it was not kept). The answer None: nothing."""
    if fold(history).model_calls <= (kept_calls or 0):
        return None
    return Lost.CONVERSATION if kept_calls is None else Lost.LATEST_WORDS


def is_held(history: Sequence[AgentEvent], work_calls: int | None) -> bool:
    """Whether all of the agent's work was pushed, or kept as of so many calls of the model;
    `work_calls` None: it was not kept."""
    unpushed = unpushed_calls(history)
    return unpushed is None or (work_calls is not None and unpushed <= work_calls)


def unpushed_calls(history: Sequence[AgentEvent]) -> int | None:
    """How many calls of the model there had been when the agent's tools last did what nobody else
    has; None: they did no such thing. Of a push that failed nobody has what was to be pushed. What
    is lost is lost once the agent was told."""
    is_told = False
    for position, event in reversed(list(enumerate(history))):
        match event:
            case ToolEnded():
                return fold(history[:position]).model_calls
            case Kept() if not event.problem:
                return None
            case TurnAsked():
                is_told = True
            case FilesMoved() if is_told and Lost.WORK in event.lost:
                return None
            case _:
                pass
    return None


def calls_when_pushed(history: Sequence[AgentEvent]) -> int:
    """How many calls of the model there had been when all of the work was pushed last."""
    for position, event in reversed(list(enumerate(history))):
        if isinstance(event, Kept) and not event.problem:
            return fold(history[:position]).model_calls
    return 0
