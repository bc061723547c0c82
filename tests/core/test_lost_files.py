"""What an agent loses without its clone and its conversation."""

from datetime import UTC, datetime

import pytest

from app.core.agents.events import (
    AgentEvent,
    FilesMoved,
    Kept,
    Lost,
    ModelCalled,
    ToolEnded,
    TurnAsked,
)
from app.core.agents.lost_files import calls_when_pushed, lost_with_files

AT = datetime(2026, 3, 1, tzinfo=UTC)
MOVED_WITH, MOVED_WITHOUT = (FilesMoved(at=AT, lost=lost) for lost in ((), (Lost.WORK,)))
CALLED = ModelCalled(at=AT, model="openai:scripted", input_tokens=1, output_tokens=1)
ASKED = TurnAsked(at=AT)
WORKED = ToolEnded(at=AT, call="1", ok=True)
PUSHED = Kept(at=AT, sha="a" * 40, pushed=True, problem="")
UNPUSHED = Kept(at=AT, sha="a" * 40, pushed=False, problem="GitHub refused it.")
NOTHING_TO_PUSH = Kept(at=AT, sha=None, pushed=False, problem="")


@pytest.mark.parametrize(
    ("history", "conversation", "work", "lost"),
    [
        ([], None, None, ()),
        ([], 0, 0, ()),
        ([CALLED], None, None, (Lost.CONVERSATION,)),
        ([CALLED, CALLED], 1, None, (Lost.LATEST_WORDS,)),
        ([CALLED, CALLED], 2, None, ()),
        ([CALLED, WORKED], 1, None, (Lost.WORK,)),
        ([CALLED, WORKED], 1, 1, ()),
        ([CALLED, WORKED, CALLED], 2, 1, ()),
        ([CALLED, WORKED, CALLED, WORKED], 2, 1, (Lost.WORK,)),
        ([CALLED, WORKED, PUSHED], 1, None, ()),
        ([CALLED, WORKED, NOTHING_TO_PUSH], 1, None, ()),
        ([CALLED, WORKED, PUSHED, CALLED, WORKED], 2, 1, (Lost.WORK,)),
        ([CALLED, WORKED, UNPUSHED], 1, None, (Lost.WORK,)),
        ([CALLED, WORKED, UNPUSHED], 1, 1, ()),
        ([CALLED, WORKED, UNPUSHED, PUSHED], 1, None, ()),
        ([CALLED, WORKED], None, None, (Lost.CONVERSATION, Lost.WORK)),
        ([CALLED, WORKED, MOVED_WITHOUT], 1, None, (Lost.WORK,)),
        ([CALLED, WORKED, MOVED_WITHOUT, ASKED], 1, None, ()),
        ([CALLED, WORKED, MOVED_WITH], 1, None, (Lost.WORK,)),
    ],
)
def test_what_is_lost(
    history: list[AgentEvent],
    conversation: int | None,
    work: int | None,
    lost: tuple[Lost, ...],
) -> None:
    assert lost_with_files(history, conversation, work) == lost


@pytest.mark.parametrize(
    ("history", "calls"),
    [
        ([], 0),
        ([CALLED, WORKED], 0),
        ([CALLED, PUSHED, CALLED], 1),
        ([CALLED, PUSHED, CALLED, UNPUSHED], 1),
        ([CALLED, PUSHED, CALLED, NOTHING_TO_PUSH, CALLED], 2),
    ],
)
def test_how_old_the_pushed_work_is(history: list[AgentEvent], calls: int) -> None:
    assert calls_when_pushed(history) == calls
