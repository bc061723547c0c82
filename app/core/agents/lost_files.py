"""What is gone where an agent's files are."""

from collections.abc import Sequence

from app.core.agents.events import AgentEvent, Kept, Lost, ToolEnded


def lost_with_files(
    history: Sequence[AgentEvent], model_calls: int, kept_calls: int | None
) -> tuple[Lost, ...]:
    """What the agent loses without its clone and its conversation. What was pushed is safe; of a
    push that failed nobody else has what was to be pushed. `kept_calls`: with how many of its
    `model_calls` its conversation was kept; None: it was not."""
    has_work = False
    for event in history:
        match event:
            case ToolEnded():
                has_work = True
            case Kept():
                has_work = bool(event.problem)
            case _:
                pass
    lost = list[Lost]()
    if model_calls > (kept_calls or 0):
        lost.append(Lost.CONVERSATION if kept_calls is None else Lost.LATEST_WORDS)
    if has_work:
        lost.append(Lost.WORK)
    return tuple(lost)
