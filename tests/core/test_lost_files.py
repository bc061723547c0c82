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
from app.core.agents.lost_files import calls_when_pushed, is_held, lost_of_conversation

AT = datetime(2026, 3, 1, tzinfo=UTC)
MOVED_WITH, MOVED_WITHOUT = (FilesMoved(at=AT, lost=lost) for lost in ((), (Lost.WORK,)))
CALLED = ModelCalled(at=AT, model="openai:scripted", input_tokens=1, output_tokens=1)
ASKED = TurnAsked(at=AT)
WORKED = ToolEnded(at=AT, call="1", ok=True)
PUSHED = Kept(at=AT, sha="a" * 40, pushed=True, problem="")
UNPUSHED = Kept(at=AT, sha="a" * 40, pushed=False, problem="GitHub refused it.")
NOTHING_TO_PUSH = Kept(at=AT, sha=None, pushed=False, problem="")


@pytest.mark.parametrize(
    ("history", "kept", "lost"),
    [
        ([], None, None),
        ([], 0, None),
        ([CALLED], None, Lost.CONVERSATION),
        ([CALLED, CALLED], 1, Lost.LATEST_WORDS),
        ([CALLED, CALLED], 2, None),
    ],
)
def test_what_is_lost_of_a_conversation(
    history: list[AgentEvent], kept: int | None, lost: Lost | None
) -> None:
    assert lost_of_conversation(history, kept) == lost


@pytest.mark.parametrize(
    ("history", "kept", "is_safe"),
    [
        ([], None, True),
        ([CALLED, WORKED], None, False),
        ([CALLED, WORKED], 1, True),
        ([CALLED, WORKED, CALLED], 1, True),
        ([CALLED, WORKED, CALLED, WORKED], 1, False),
        ([CALLED, WORKED, PUSHED], None, True),
        ([CALLED, WORKED, NOTHING_TO_PUSH], None, True),
        ([CALLED, WORKED, PUSHED, CALLED, WORKED], 1, False),
        ([CALLED, WORKED, UNPUSHED], None, False),
        ([CALLED, WORKED, UNPUSHED], 1, True),
        ([CALLED, WORKED, UNPUSHED, PUSHED], None, True),
        ([CALLED, WORKED], None, False),
        ([CALLED, WORKED, MOVED_WITHOUT], None, False),
        ([CALLED, WORKED, MOVED_WITHOUT, ASKED], None, True),
        ([CALLED, WORKED, MOVED_WITH], None, False),
    ],
)
def test_whether_work_is_safe(history: list[AgentEvent], kept: int | None, is_safe: bool) -> None:
    assert is_held(history, kept) == is_safe


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
