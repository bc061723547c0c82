"""A log in the words of people: a line for each thing that happened."""

from datetime import timedelta
from typing import Final, get_args

import pytest
from hypothesis import given

from app.core.agents.events import (
    AgentEvent,
    ClosingTool,
    Created,
    FilesMoved,
    HandedOver,
    Held,
    Known,
    Lost,
    ModelAsked,
    ModelCalled,
    Noticed,
    Passed,
    Phase,
    Raised,
    Reported,
    Returned,
    SegmentEnded,
    SegmentStarted,
    Slept,
    SpokenTo,
    Ticked,
    ToolAsked,
    ToolDenied,
    ToolEnded,
    Tripped,
    Verified,
    Waits,
    Warned,
    Woken,
)
from app.core.agents.signs import Sign
from app.core.agents.stops import Hold, Layer, Trip
from app.core.limits import LimitName
from app.core.words.timeline import Entry, Tone, timeline
from app.testruns import Outcome
from tests.core.strategies import FEWER_EXAMPLES, START
from tests.support.anything import values

SHA: Final = "b" * 40
CALLS, MONEY = LimitName.MAX_TOOL_CALLS, LimitName.MAX_COST_USD
UNTOLD: Final = (Ticked, ModelAsked)


@pytest.mark.parametrize("kind", get_args(AgentEvent), ids=lambda kind: kind.__name__)
def test_every_event_is_one_line_with_its_number_and_time(kind: type[AgentEvent]) -> None:
    @FEWER_EXAMPLES
    @given(values(kind))
    def is_told(event: AgentEvent) -> None:
        lines = timeline([(7, event)])
        assert len(lines) == (0 if isinstance(event, UNTOLD) else 1)
        for line in lines:
            assert (line.seq, line.at) == (7, event.at)
            assert line.what or isinstance(event, ToolAsked)

    is_told()


def test_no_two_kinds_of_events_are_told_in_the_same_words() -> None:
    said = [line.what for _, line in EXAMPLES]
    assert len({*said}) == len(said)


EXAMPLES: Final[list[tuple[AgentEvent, Entry]]] = [
    (
        Created(at=START, started_by="maria", trigger="label squadron:fixer"),
        Entry(1, START, "maria started it", "label squadron:fixer", Tone.PEOPLE),
    ),
    (
        SegmentStarted(at=START, segment=2, attempt=3, worker="w1"),
        Entry(1, START, "It went to work on w1, for the third time"),
    ),
    (
        SegmentEnded(at=START, why="gone", died=True),
        Entry(1, START, "Its process died", "gone", Tone.WARNING),
    ),
    (
        FilesMoved(at=START, lost=(Lost.CONVERSATION, Lost.WORK)),
        Entry(
            1,
            START,
            "It goes on elsewhere, without its conversation and what it did after its work was"
            " pushed last",
            tone=Tone.WARNING,
        ),
    ),
    (
        ModelCalled(
            at=START, model="m", input_tokens=1200, output_tokens=3, cost_nanousd=10_000_000,
            phase=Phase.PLANNING, is_estimate=True,
        ),
        Entry(
            1,
            START,
            "The model answered (it plans): 1,200 tokens in, 3 out, $0.01, estimated",
            tone=Tone.ROUTINE,
        ),
    ),
    (
        ToolDenied(at=START, tool="bash", what="rm -rf /", reason="no"),
        Entry(1, START, "bash was refused: no", "rm -rf /", Tone.WARNING),
    ),
    (
        SpokenTo(at=START, by="ada", text="Faster!", said="c1", written_at=START, link=""),
        Entry(1, START, "ada wrote to it", "Faster!", Tone.PEOPLE),
    ),
    (
        Reported(at=START, tool=ClosingTool.REPORT_BLOCKED, text="Which colour?"),
        Entry(1, START, "It says that it cannot go on", "Which colour?"),
    ),
    (
        Warned(at=START, limit=CALLS, observed=160, maximum=200),
        Entry(
            1,
            START,
            "Warned that a limit is close. max_tool_calls: 160 of 200 tool calls",
            tone=Tone.WARNING,
        ),
    ),
    (
        Passed(at=START, limit=MONEY, observed=2, maximum=1.5, shadow=True),
        Entry(
            1,
            START,
            "A limit was passed (only judged, in shadow). max_cost_usd: $2.00 of $1.50",
            tone=Tone.WARNING,
        ),
    ),
    (
        Noticed(at=START, sign=Sign.FAILING),
        Entry(
            1,
            START,
            "Told that it gets nowhere: nearly all of its calls fail",
            tone=Tone.WARNING,
        ),
    ),
    (
        Held(
            at=START,
            hold=Hold(
                limit=CALLS, observed=5, maximum=5, layer=Layer.HOOK, at=START,
                reason="Five.", claim="Nearly done.",
            ),
        ),
        Entry(
            1,
            START,
            "A limit pauses it",
            "Five. It says for itself: Nearly done.",
            Tone.BAD,
        ),
    ),
    (
        Raised(at=START, limit=MONEY, amount=0.5, maximum=2.0, by="maria"),
        Entry(1, START, "maria raised max_cost_usd by $0.50, to $2.00", tone=Tone.PEOPLE),
    ),
    (
        Tripped(
            at=START,
            trip=Trip(
                limit=CALLS, observed=5, maximum=5, layer=Layer.TIMER, at=START, reason="Enough."
            ),
        ),
        Entry(1, START, "Stopped for good, by the timer layer", "Enough.", Tone.BAD),
    ),
    (
        Returned(
            at=START, child="o/d#1/docs/1", tool_calls=1, model_calls=1, input_tokens=1,
            output_tokens=1, cost_nanousd=0, unpriced_calls=1, levels=0,
        ),
        Entry(1, START, "o/d#1/docs/1 ended (1 tool call, unknown cost)"),
    ),
    (
        Slept(at=START, waits_for=Waits.ANSWER, blocked_by=(), reason="Which colour?"),
        Entry(1, START, "It fell asleep, and waits for: an answer", "Which colour?"),
    ),
    (
        Woken(at=START, why="an answer", by="squadron"),
        Entry(1, START, "Woken by squadron", "an answer"),
    ),
    (
        Verified(at=START, sha=SHA, sound=Known.NO, why="make failed", output="no rule"),
        Entry(
            1,
            START,
            "Commit bbbbbbbbbbbb was checked in a clean checkout: it is not sound",
            "make failed",
            Tone.BAD,
            output="no rule",
        ),
    ),
    (
        HandedOver(at=START, pull_request=7),
        Entry(1, START, "Its work became pull request #7", tone=Tone.GOOD),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("event", "line"), EXAMPLES, ids=[type(event).__name__ for event, _ in EXAMPLES]
)
def test_words(event: AgentEvent, line: Entry) -> None:
    assert timeline([(1, event)]) == [line]


def ask(call: str, seconds: float = 0) -> ToolAsked:
    return ToolAsked(at=START + timedelta(seconds=seconds), call=call, tool="bash", what="pytest")


def end(call: str, seconds: float, *, ok: bool = True, outcome: Outcome | None = None) -> ToolEnded:
    at, failures = START + timedelta(seconds=seconds), "" if ok else "test_it"
    return ToolEnded(
        at=at, call=call, ok=ok, outcome=outcome, failures=failures, output="" if ok else "E\n1"
    )


@pytest.mark.parametrize(
    ("ended", "result", "tone", "output"),
    [
        (end("a", 2), "", Tone.ROUTINE, ""),
        (end("a", 2, outcome=Outcome.PASSED), "tests: passed", Tone.GOOD, ""),
        (
            end("a", 2, ok=False, outcome=Outcome.FAILED),
            "tests: failed: test_it", Tone.WARNING, "E\n1",
        ),
        (end("a", 2, ok=False, outcome=Outcome.DID_NOT_RUN), "tests: did not run: test_it",
         Tone.WARNING, "E\n1"),
        (end("a", 2, ok=False), "failed: test_it", Tone.WARNING, "E\n1"),
    ],
)  # fmt: skip
def test_a_call_and_its_end_are_one_line_where_the_call_began(
    ended: ToolEnded, result: str, tone: Tone, output: str
) -> None:
    lines = timeline([(3, ask("a")), (4, ask("b", 1)), (5, ended)])
    assert lines == [
        Entry(3, START, "bash", "pytest", tone, result, output, timedelta(seconds=2)),
        Entry(4, START + timedelta(seconds=1), "bash", "pytest", Tone.ROUTINE, is_open=True),
    ]


def test_a_call_is_open_as_long_as_its_segment_lasts() -> None:
    """Whoever ran it is gone then."""
    again = SegmentStarted(at=START, segment=1, attempt=1)
    for over in (again, SegmentEnded(at=START, why="gone", died=True)):
        call, _, later = timeline([(3, ask("a")), (4, over), (5, end("a", 2))])
        assert (call.is_open, call.result) == (False, "did not end")
        assert later.what == "A call that began before"


def test_a_call_that_was_cut_off_did_not_fail() -> None:
    cut_off = ToolEnded(at=START, call="a", ok=False, cut_off=True)
    [line] = timeline([(3, ask("a")), (4, cut_off)])
    assert (line.result, line.tone) == ("cut off when its turn was over", Tone.ROUTINE)


def test_the_end_of_a_call_that_began_on_the_page_before_is_a_line_of_its_own() -> None:
    [line] = timeline([(9, end("a", 2, outcome=Outcome.PASSED))])
    assert (line.what, line.result) == ("A call that began before", "tests: passed")
    assert line.took is None and not line.is_open


def test_a_model_call_takes_as_long_as_its_answer_needs() -> None:
    answered = ModelCalled(
        at=START + timedelta(seconds=3), model="m", input_tokens=1, output_tokens=1
    )
    [line] = timeline([(1, ModelAsked(at=START)), (2, answered)])
    assert line.took == timedelta(seconds=3)
    [alone] = timeline([(2, answered)])
    assert alone.took is None
