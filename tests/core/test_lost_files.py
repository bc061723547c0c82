"""What an agent loses without its clone and its conversation."""

from datetime import UTC, datetime

import pytest

from app.core.agents.events import AgentEvent, Kept, Lost, ToolEnded
from app.core.agents.lost_files import lost_with_files

AT = datetime(2026, 3, 1, tzinfo=UTC)
WORKED = ToolEnded(at=AT, call="1", ok=True)
PUSHED = Kept(at=AT, sha="a" * 40, pushed=True, problem="")
UNPUSHED = Kept(at=AT, sha="a" * 40, pushed=False, problem="GitHub refused it.")
NOTHING_TO_PUSH = Kept(at=AT, sha=None, pushed=False, problem="")


@pytest.mark.parametrize(
    ("history", "model_calls", "kept_calls", "lost"),
    [
        ([], 0, None, ()),
        ([], 0, 0, ()),
        ([], 1, None, (Lost.CONVERSATION,)),
        ([], 3, 2, (Lost.LATEST_WORDS,)),
        ([], 3, 3, ()),
        ([WORKED], 3, 3, (Lost.WORK,)),
        ([WORKED, PUSHED], 3, 3, ()),
        ([WORKED, NOTHING_TO_PUSH], 3, 3, ()),
        ([WORKED, PUSHED, WORKED], 3, 3, (Lost.WORK,)),
        ([WORKED, UNPUSHED], 3, 3, (Lost.WORK,)),
        ([WORKED, UNPUSHED, PUSHED], 3, 3, ()),
        ([WORKED], 3, None, (Lost.CONVERSATION, Lost.WORK)),
    ],
)
def test_what_is_lost(
    history: list[AgentEvent], model_calls: int, kept_calls: int | None, lost: tuple[Lost, ...]
) -> None:
    assert lost_with_files(history, model_calls, kept_calls) == lost
