"""Which stops of the past were wrong: people took them back, and then they took the work."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.core.agents.agent import AgentId
from app.core.agents.events import AgentEvent, Finished, Held, Raised, SegmentStarted, Tripped
from app.core.agents.lifecycle import State
from app.core.agents.stops import Hold, Layer, Trip
from app.core.history.agent_history import History
from app.core.history.precision import TOLD_BY, Judged, Precision, precisions, stops
from app.core.history.stop_words import judged_words, precision_lines, violation_lines
from app.core.history.violations import Came, violations
from app.core.limits import Action, LimitName, Limits
from app.core.rules.plan import RoleKind
from tests.core.life import begun
from tests.core.strategies import START, agent

CALLS = LimitName.MAX_TOOL_CALLS


def tripped(limit: LimitName = CALLS) -> Tripped:
    when = START + timedelta(minutes=9)
    trip = Trip(limit=limit, observed=5, maximum=5, layer=Layer.HOOK, at=when, reason="It did.")
    return Tripped(at=when, trip=trip)


def held(minutes: float = 5, *, asks: bool = False, limit: LimitName = CALLS) -> Held:
    when = START + timedelta(minutes=minutes)
    layer = Layer.HOOK
    hold = Hold(
        limit=limit, observed=5, maximum=5, layer=layer, at=when, reason="It did.", asks=asks
    )
    return Held(at=when, hold=hold)


def raised(minutes: float = 6) -> Raised:
    when = START + timedelta(minutes=minutes)
    return Raised(at=when, limit=CALLS, amount=5, maximum=10, by="maria")


def resumed(minutes: float = 6) -> SegmentStarted:
    return SegmentStarted(at=START + timedelta(minutes=minutes), segment=1, attempt=1)


def merged(minutes: float = 20) -> Finished:
    when = START + timedelta(minutes=minutes)
    return Finished(at=when, why="#7 was merged.", since=when)


def waited(minutes: float = 20) -> Finished:
    return Finished(at=START + timedelta(minutes=minutes), why="The review was waited for.")


def lived(
    state: State,
    *log: AgentEvent,
    attempt: int = 1,
    pull_request: int | None = 7,
    kind: RoleKind = RoleKind.WORK,
    parent: str | None = None,
    retries: bool = False,
) -> History:
    """An agent of one post; `retries`: after the one before it."""
    row = agent(state)
    name = AgentId("octo/demo", 1, "bug-fix", attempt)
    before = str(AgentId("octo/demo", 1, "bug-fix", attempt - 1)) if retries else None
    row = replace(
        row,
        id=name,
        predecessor=before,
        pull_request=pull_request,
        parent=parent,
        assignment=replace(row.assignment, kind=kind),
    )
    return History(row, log)


def verdicts(*histories: History) -> list[Judged]:
    return [stop.judged for stop in stops(histories)]


@pytest.mark.parametrize(
    ("history", "judged"),
    [
        (lived(State.ESCALATED, tripped()), Judged.RIGHT),
        (lived(State.PAUSED, held()), Judged.OPEN),
        (lived(State.ACTIVE, held(), raised()), Judged.OPEN),
        (lived(State.COMPLETED, held(), raised(), merged()), Judged.WRONG),
        (lived(State.COMPLETED, held(), resumed(), merged()), Judged.WRONG),
        (lived(State.CANCELLED, held(), raised()), Judged.RIGHT),
        (lived(State.CANCELLED, held()), Judged.RIGHT),
        (lived(State.COMPLETED, held(), raised(), waited()), Judged.OPEN),
        (lived(State.COMPLETED, held(), raised(), merged(), pull_request=None), Judged.RIGHT),
    ],
)
def test_a_stop_is_wrong_that_was_taken_back_and_whose_work_was_taken(
    history: History, judged: Judged
) -> None:
    assert verdicts(history) == [judged]


@pytest.mark.parametrize("kind", [RoleKind.REVIEW, RoleKind.TRIAGE])
def test_what_opens_no_pull_request_is_taken_once_it_is_there(kind: RoleKind) -> None:
    ended = lived(State.COMPLETED, held(), raised(), pull_request=None, kind=kind)
    assert verdicts(ended) == [Judged.WRONG]


@pytest.mark.parametrize(
    ("last", "judged"),
    [
        (lived(State.COMPLETED, merged(), attempt=3, retries=True), Judged.WRONG),
        (lived(State.CANCELLED, attempt=3, retries=True), Judged.RIGHT),
        (lived(State.SLEEPING, attempt=3, retries=True), Judged.OPEN),
    ],
)
def test_a_retry_is_judged_by_the_last_of_those_that_follow(last: History, judged: Judged) -> None:
    first = lived(State.ESCALATED, tripped())
    second = lived(State.ESCALATED, tripped(LimitName.MAX_TURNS), attempt=2, retries=True)
    found = stops([first, second, last])
    assert [stop.judged for stop in found] == [judged, judged]
    assert [stop.taken_back for stop in found] == [
        "retried as octo/demo#1/bug-fix/2",
        "retried as octo/demo#1/bug-fix/3",
    ]


def test_a_pause_that_led_to_the_end_is_taken_back_by_a_retry_alone() -> None:
    ended = lived(State.ESCALATED, held(), tripped(LimitName.MAX_SLEEP_DURATION))
    assert verdicts(ended) == [Judged.RIGHT, Judged.RIGHT]
    retried = lived(State.COMPLETED, merged(), attempt=2, retries=True)
    assert verdicts(ended, retried) == [Judged.WRONG, Judged.WRONG]


def test_the_second_pause_is_not_taken_back_by_the_raise_of_the_first() -> None:
    paused_twice = lived(State.CANCELLED, held(5), raised(6), held(8))
    assert [stop.taken_back for stop in stops([paused_twice])] == ["raised by maria", ""]


def test_whoever_asks_by_itself_and_sub_agents_do_not_count() -> None:
    asks = lived(State.COMPLETED, held(asks=True), raised(), merged())
    child = lived(State.ESCALATED, tripped(), attempt=2, parent="octo/demo#1/bug-fix/1")
    assert verdicts(asks, child) == []


def test_precision_is_told_for_each_limit_and_role_the_worst_first() -> None:
    wrong = lived(State.COMPLETED, held(limit=LimitName.MAX_TURNS), raised(), merged())
    right = lived(State.ESCALATED, tripped(), attempt=2)
    still_open = lived(State.PAUSED, held(), attempt=3)
    found = stops([right, still_open, wrong])
    assert [*precisions(found).items()] == [
        ((LimitName.MAX_TURNS, "bug-fix"), Precision(right=0, wrong=1, open=0)),
        ((CALLS, "bug-fix"), Precision(right=1, wrong=0, open=1)),
    ]
    assert (Precision(3, 1, 5).ratio, Precision(open=2).ratio) == (0.75, None)
    assert list(precision_lines(found)) == [
        "limit              role  right  wrong  open  precision",
        "max_turns       bug-fix      0      1     0         0%",
        "max_tool_calls  bug-fix      1      0     1       100%",
        "all                          1      1     1        50%",
    ]


def test_the_events_that_are_named_say_all_there_is_to_judge() -> None:
    """What reads only these from a long log judges as who reads it all."""
    whole = lived(State.COMPLETED, tripped(), held(10), raised(11), resumed(12), merged())
    part = [event for event in whole.log if isinstance(event, TOLD_BY)]
    assert stops([History(whole.agent, part)]) == stops([whole])


def test_what_people_made_of_a_stop_is_told_in_words() -> None:
    told = {
        judged_words(stop)
        for history in (
            lived(State.COMPLETED, held(), raised(), merged()),
            lived(State.CANCELLED, held(), raised()),
            lived(State.ESCALATED, tripped()),
            lived(State.PAUSED, held()),
            lived(State.ACTIVE, held(), resumed()),
        )
        for stop in stops([history])
    }
    assert told == {
        "wrong: raised by maria, and the work was taken",
        "right: raised by maria, and the work was not taken",
        "right: nobody took it back",
        "open: nobody has answered yet",
        "open: resumed, and nobody has judged the work yet",
    }


# --- every violation, with its context --------------------------------------------------------


def test_a_violation_says_what_was_used_by_then_and_what_was_done_last() -> None:
    life = begun(replace(Limits(), max_tool_calls=2, default_action=Action.PAUSE))
    life.calls_model(cost_nanousd=500_000_000)
    for _ in range(3):
        life.asks_tool("bash")
    row = replace(agent(State.PAUSED, limits=life.limits), stop=None)
    [found] = violations([History(row, life.log)])
    assert (found.limit, found.came, found.observed, found.maximum) == (CALLS, Came.PAUSE, 2, 2)
    assert (found.used.tool_calls, found.used.model_calls) == (2, 1)
    assert (found.layer, found.last_call[:4]) == ("hook", "bash")
    assert found.stop is not None and found.stop.judged is Judged.OPEN
    lines = list(violation_lines(found))
    assert lines[1] == "  max_tool_calls, 2 of 2 tool calls: paused it (hook)"
    assert "2 tool calls, 1 model calls" in lines[3] and "$0.50" in lines[3]
    assert lines[-1] == "  open: nobody has answered yet"


@pytest.mark.parametrize(
    ("limits", "came"),
    [
        (Limits(max_tool_calls=2, shadow=frozenset({CALLS})), Came.SHADOW),
        (Limits(max_tool_calls=2, default_action=Action.WARN), Came.WARN),
        (Limits(max_tool_calls=2, default_action=Action.ESCALATE), Came.STOP),
    ],
)
def test_who_went_on_is_told_apart_from_who_was_stopped(limits: Limits, came: Came) -> None:
    life = begun(limits)
    for _ in range(4 if came is not Came.STOP else 3):
        life.asks_tool()
    found = violations([History(agent(State.ACTIVE, limits=limits), life.log)])
    assert [each.came for each in found] == [came]
    assert (found[0].stop is None) == (came is not Came.STOP)


def test_violations_of_many_agents_are_told_in_the_order_of_time() -> None:
    late = lived(State.ESCALATED, held(8), raised(8.5), tripped())
    early = lived(State.CANCELLED, held(5, asks=True), attempt=2)
    assert [each.came for each in violations([late, early])] == [Came.ASK, Came.PAUSE, Came.STOP]
