"""When people are called, and when not again (docs/design.md, promise 14)."""

from datetime import timedelta

import pytest

from app.core.agents.agent import AgentId
from app.core.agents.events import ClosingTool, Slept, Waits
from app.core.effects.calls import Call, Called, Telling, call_marker, reminds_at, telling
from tests.core.strategies import START

HOUR = timedelta(hours=1)


def call(hours: int = 0, *, is_over: bool = False) -> Call:
    at = START + hours * HOUR
    asks = Slept(at=at, waits_for=Waits.ANSWER, blocked_by=(), reason="Which?")
    return Call(asks, ClosingTool.REPORT_BLOCKED, is_over=is_over, ended=None)


def called(of: Call, hours: int, calls: int = 1) -> Called:
    return Called(of.key, START + hours * HOUR, calls)


@pytest.mark.parametrize(
    ("latest", "told", "hours", "expected"),
    [
        (None, None, 1, Telling.NOTHING),
        (call(), None, 1, Telling.NEW),
        (call(), called(call(), 1), 24, Telling.IN_PLACE),
        (call(), called(call(), 1), 25, Telling.AGAIN),
        (call(5), called(call(), 1, 2), 6, Telling.NEW),
        (call(5), called(call(), 1, 3), 12, Telling.IN_PLACE),
        (call(5), called(call(), 1, 3), 13, Telling.NEW),
        (call(is_over=True), None, 1, Telling.NOTHING),
        (call(is_over=True), called(call(), 1), 25, Telling.NOTHING),
        (call(5, is_over=True), called(call(), 1), 25, Telling.NOTHING),
    ],
)
def test_people_are_called_anew_only_by_what_waits_and_is_news_or_late(
    latest: Call | None, told: Called | None, hours: int, expected: Telling
) -> None:
    assert telling(latest, told, START + hours * HOUR) is expected


def test_what_only_the_last_comment_says_is_reminded_of_earlier() -> None:
    assert reminds_at(call(), called(call(), 1)) == START + 25 * HOUR
    assert reminds_at(call(5), called(call(), 1)) == START + 13 * HOUR


def test_the_comment_of_one_call_is_told_from_that_of_another() -> None:
    agent = AgentId("octo/demo", 12, "fixer", 1)
    marks = {call_marker(agent, call(hours).key) for hours in (0, 5)}
    assert len(marks) == 2
    assert call_marker(agent, call().key) == (
        "<!-- squadron:call:octo/demo#12/fixer/1:2026-03-01T09:00:00.000+00:00 -->"
    )
