"""The story of a stop, part by part: what each says, and when it says nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.core.agents.agent import Agent, Effect, EffectName, EffectState
from app.core.agents.events import (
    AgentEvent,
    Decided,
    Held,
    HostRefused,
    Kept,
    Noticed,
    Passed,
    Raised,
    SetUp,
    ToolDenied,
    ToolEnded,
    Tripped,
    Waits,
    Warned,
)
from app.core.agents.lifecycle import State
from app.core.agents.signs import Sign
from app.core.agents.stops import Cause, Failure, Hold, Layer, Trip
from app.core.limits import Action, LimitName, Limits
from app.core.words.report import report
from app.core.words.story import command_words, quoted, story
from app.testruns import Outcome
from tests.core.life import Life, begun
from tests.core.strategies import START, agent, only

CALLS, TURNS = LimitName.MAX_TOOL_CALLS, LimitName.MAX_TURNS


def told(
    life: Life,
    row: Agent | None = None,
    effects: dict[EffectName, Effect] | None = None,
    stays: dict[str, str] | None = None,
) -> list[str]:
    row = row or agent(limits=life.limits)
    return story(report(row, life.log, life.now), life.log, effects or {}, stays or {})


def part(lines: list[str], head: str) -> list[str]:
    """The lines below a heading; none if it is not there."""
    if head not in lines:
        return []
    below = lines[lines.index(head) + 1 :]
    return below[: below.index("")] if "" in below else below


def stopped(at_limit: LimitName = CALLS) -> Trip:
    return Trip(
        limit=at_limit, observed=1, maximum=1, layer=Layer.TIMER, at=START, reason="It was enough."
    )


# --- who --------------------------------------------------------------------------------------


def test_who_started_it_why_and_after_whom() -> None:
    assert told(begun())[1] == ("Started by mona (label squadron:bug-fix) at 2026-03-01 09:00:00.")
    nobody_knows_why = Life()
    nobody_knows_why.begins_segment()
    again = replace(agent(), predecessor="octo/demo#12/bug-fix/0")
    assert told(nobody_knows_why, again)[1] == (
        "Started by mona at 2026-03-01 09:00:00, successor of octo/demo#12/bug-fix/0."
    )


def test_a_cost_that_nobody_knows_is_not_called_zero() -> None:
    life = begun()
    life.calls_model(cost_nanousd=None)
    assert told(life)[2].endswith("1 model call, 110 tokens, unknown cost.")


def test_deaths_are_counted() -> None:
    life = begun()
    assert "died" not in told(life)[2]
    for words in ("once", "2 times"):
        life.crashes()
        life.begins_segment()
        assert told(life)[2].endswith(f" Its process died {words}.")
    life.ends_segment()
    life.begins_segment()
    assert told(life)[2].endswith(" Its process died 2 times.")


@pytest.mark.parametrize("claim", ["", "Two of three tests pass."])
def test_what_an_agent_says_for_itself_is_quoted(claim: str) -> None:
    life = begun()
    hold = Hold(
        limit=CALLS, observed=1, maximum=1, layer=Layer.HOOK, at=life.now, reason="Enough.",
        claim=claim,
    )  # fmt: skip
    life.happens(Held(at=life.now, hold=hold))
    said = [
        line for line in told(life, agent(State.PAUSED)) if line.startswith("It says for itself")
    ]
    assert said == ([f"It says for itself: {claim}"] if claim else [])


@pytest.mark.parametrize(("length", "is_cut"), [(160, False), (161, True)])
def test_a_quotation_is_a_line_of_a_terminal_or_two(length: int, is_cut: bool) -> None:
    found = quoted("x" * length)
    assert (found != "x" * length) is is_cut
    assert len(found) <= 160


# --- limits -----------------------------------------------------------------------------------


def test_each_limit_has_its_own_course() -> None:
    life = begun(only(max_tool_calls=5, max_turns=4))
    at = life.now
    hold = Hold(limit=TURNS, observed=4, maximum=4, layer=Layer.HOOK, at=at, reason="Enough.")
    history: list[AgentEvent] = [
        Warned(at=at, limit=CALLS, observed=4, maximum=5),
        Passed(at=at, limit=CALLS, observed=5, maximum=5, shadow=True),
        Passed(at=at, limit=TURNS, observed=3, maximum=4, shadow=False),
        Passed(at=at, limit=TURNS, observed=0, maximum=0, shadow=False, refused=True),
        Noticed(at=at, sign=Sign.NOTHING_NEW),
        Held(at=at, hold=hold),
        Raised(at=at, limit=TURNS, amount=2, maximum=6, by="mona"),
        Tripped(at=at, trip=stopped(CALLS)),
    ]
    for event in history:
        life.happens(event)
    assert part(told(life), "Limits (used of maximum)") == [
        "  max_tool_calls             0 of 5 tool calls: warned at 4 (09:00:00), passed at 5"
        " (09:00:00; only judged, in shadow), stopped at 1 (09:00:00)",
        "  max_turns                  0 of 6 turns: passed at 3 (09:00:00; only warns), passed at 0"
        " (09:00:00; what it asked for was refused), paused at 4 (09:00:00), raised by 2 to 6 by"
        " mona (09:00:00)",
        "  told at 09:00:00: nothing new",
        "  not used: max_active_duration, max_sleep_duration",
    ]


def test_a_life_that_used_nothing_has_no_table() -> None:
    lines = told(begun(only(max_turns=1)))
    assert "Limits (used of maximum)" not in lines
    assert "  not used: max_turns, max_active_duration, max_sleep_duration" in lines


def test_a_life_that_used_everything_has_nothing_unused_and_the_nearest_limit_first() -> None:
    life = begun(only(max_tool_calls=5))
    life.asks_tool()
    life.waits(10)
    life.sleeps()
    life.waits(20)
    assert part(told(life), "Limits (used of maximum)") == [
        "  max_tool_calls             1 of 5 tool calls",
        "  max_sleep_duration         20 of 31536000 seconds",
        "  max_active_duration        10 of 31536000 seconds",
    ]


# --- steps ------------------------------------------------------------------------------------


def test_failures_of_the_tests_stand_below_their_run() -> None:
    life = begun()
    life.asks_tests()
    failed = ToolEnded(
        at=life.now, call=life.last_call, ok=False, outcome=Outcome.FAILED, failures="test_login"
    )
    life.happens(failed)
    assert part(told(life), "Test runs (1: 1 failed)") == ["  1. failed: pytest", "     test_login"]


def test_without_test_runs_and_without_a_stop_neither_is_told() -> None:
    life = begun()
    life.asks_tool()
    text = "\n".join(told(life))
    assert "Test runs" not in text
    assert "The last steps" not in text


def test_steps_before_a_stop_of_the_timer_are_told_with_how_they_ended() -> None:
    life = begun()
    life.does("fine")
    life.does("broken", error="no such file")
    life.asks_tool("bash")
    life.child_returns("octo/demo#12/bug-fix/2", tool_calls=7)
    life.happens(Tripped(at=life.now, trip=stopped()))
    assert part(told(life), "The last steps before it") == [
        "  1. 09:00:00 bash: README.md",
        "  2. 09:00:00 bash: README.md (failed)",
        "  3. 09:00:00 bash: README.md (did not end)",
        "  (and 7 tool calls of sub-agents)",
    ]


def test_the_first_call_of_all_may_be_the_one_that_was_refused() -> None:
    nothing_before = Life()
    nothing_before.happens(Tripped(at=START, trip=stopped()))
    assert part(told(nothing_before), "The last steps before it") == []
    denied_at_once = Life()
    denied_at_once.happens(ToolDenied(at=START, tool="bash", what="ls", reason="Enough."))
    denied_at_once.happens(Tripped(at=START, trip=stopped()))
    assert part(told(denied_at_once), "The last steps before it") == ["  then bash was refused: ls"]


def test_the_last_stop_is_the_one_whose_steps_are_told() -> None:
    life = begun(only(max_tool_calls=1, default_action=Action.PAUSE))
    life.does("one")
    life.does("two")
    life.is_granted(CALLS, 1)
    life.goes_on()
    life.does("three")
    life.does("four")
    assert part(told(life), "The last steps before it") == [
        "  1. 09:00:00 bash: README.md",
        "  2. 09:00:00 bash: README.md",
        "  then bash was refused: README.md",
    ]


# --- work -------------------------------------------------------------------------------------


def test_where_the_work_is() -> None:
    fresh = replace(agent(), sha=None)
    assert part(told(begun(), fresh), "Its work") == [
        "  branch squadron/bug-fix/issue-12: not created yet"
    ]
    handed_over = replace(agent(), pull_request=8)
    assert part(told(begun(), handed_over), "Its work") == [
        "  branch squadron/bug-fix/issue-12 at aaaaaaaaaaaa, as GitHub has it",
        "  pull request #8",
    ]


@pytest.mark.parametrize(
    ("pushed", "problem", "is_on_disk"),
    [
        (True, "", False),
        (True, "one file was too large", False),
        (False, "", False),
        (False, "protected branch", True),
    ],
)
def test_work_that_could_not_be_pushed_is_on_disk(
    pushed: bool, problem: str, is_on_disk: bool
) -> None:
    life = begun()
    life.happens(Kept(at=life.now, sha=None, pushed=pushed, problem=problem))
    lines = part(told(life), "Its work")
    assert ("  What is missing there is kept on Squadron's disk." in lines) is is_on_disk
    assert (f"  {problem}" in lines) is bool(problem)


# --- GitHub -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effect", "line"),
    [
        (Effect(EffectName.CHECK), "  check: not yet"),
        (Effect(EffectName.CHECK, attempts=1), "  check: not yet, 1 attempt"),
        (Effect(EffectName.CHECK, error="503"), "  check: not yet: 503"),
        (
            Effect(EffectName.CHECK, due_at=START + timedelta(hours=1)),
            "  check: not yet; next attempt at 10:00:00",
        ),
        (Effect(EffectName.CHECK, url="https://gh/1"), "  check: not yet https://gh/1"),
        (
            Effect(EffectName.CHECK, EffectState.REFUSED, url="https://gh/1", error="403"),
            "  check: GitHub refuses it: 403 https://gh/1",
        ),
        (Effect(EffectName.CHECK, EffectState.DONE), "  check: done"),
    ],
)
def test_what_became_of_what_is_written_to_github(effect: Effect, line: str) -> None:
    lines = told(begun(), effects={effect.name: effect})
    assert part(lines, "On GitHub") == [line]
    asks_to_mend = any(each.startswith("  - Mend what GitHub refuses") for each in lines)
    assert asks_to_mend is (effect.state is EffectState.REFUSED)


def test_nothing_is_written_to_github_for_a_sub_agent_and_its_parent_is_advised() -> None:
    child = replace(agent(State.ESCALATED), parent="octo/demo#12/bug-fix/1", stop=stopped())
    lines = told(begun(), child)
    assert "On GitHub" not in lines
    assert part(lines, "What to do") == [
        "  - Look at the agent that runs it: squadron explain 'octo/demo#12/bug-fix/1'"
    ]
    assert part(told(begun(), replace(child, parent=None)), "On GitHub") == [
        "  nothing was written yet"
    ]


# --- what to do -------------------------------------------------------------------------------


def advice(row: Agent) -> list[str]:
    """The first words of each piece of it."""
    return [line.split()[1] for line in part(told(begun(), row), "What to do")]


def test_what_to_do_about_a_stop_depends_on_what_there_is() -> None:
    row = agent(State.ESCALATED)
    assert advice(replace(row, stop=stopped(CALLS))) == ["Look", "Was", "Resolve"]
    failure = Failure(cause=Cause.RUNTIME_DIED, at=START, reason="It died.")
    assert advice(replace(row, stop=failure)) == ["Look", "Resolve"]
    assert advice(replace(row, stop=stopped(CALLS), sha=None)) == ["Was", "Resolve"]
    assert advice(replace(row, stop=None, sha=None)) == ["Resolve"]


@pytest.mark.parametrize(
    ("state", "waits_for", "first_word"),
    [
        (State.PAUSED, Waits.RAISE, ["Comment"]),
        (State.SLEEPING, Waits.BLOCKER, ["Close"]),
        (State.SLEEPING, Waits.REVIEW, ["Review"]),
        (State.SLEEPING, Waits.ANSWER, ["Answer"]),
        (State.SLEEPING, Waits.ACCESS, ["Let"]),
        (State.QUEUED, None, ["Nothing:"]),
        (State.QUEUED, Waits.ROOM, ["Free"]),
        (State.QUEUED, Waits.PROVIDER, ["See"]),
        (State.QUEUED, Waits.GIT, ["Nothing,"]),
        (State.QUEUED, Waits.BUDGET, ["Raise"]),
        (State.QUEUED, Waits.CAP, ["Nothing:"]),
        (State.ACTIVE, None, ["Nothing:"]),
        (State.STOPPING, None, ["Nothing:"]),
        (State.COMPLETED, None, ["Nothing:"]),
        (State.CANCELLED, None, ["Nothing."]),
    ],
)
def test_who_waits_says_for_what(
    state: State, waits_for: Waits | None, first_word: list[str]
) -> None:
    who = agent(state, waits_for=waits_for, limits=Limits())
    assert advice(replace(who, pull_request=20)) == first_word


@pytest.mark.parametrize(
    ("is_refused", "outcome"), [(False, "done"), (True, "not all of it was done")]
)
def test_who_told_what_is_one_line(is_refused: bool, outcome: str) -> None:
    lines = ["/squadron wake", "/squadron\nexplain"]
    words = command_words(START, "mo\tna", lines, is_refused=is_refused)
    at = f"{START:%Y-%m-%d %H:%M:%S}"
    assert words == f"{at} mo na: /squadron wake; /squadron explain ({outcome})"


def test_hosts_that_a_setup_did_not_reach_are_added_up_and_bounded() -> None:
    life = begun(Limits())
    for number in (*range(25), 0):
        host = f"h{number}:443"
        life.happens(HostRefused(at=life.now, host=host, why="is not listed", times=2))
    lines = part(told(life), "Hosts that its setup did not reach")
    assert lines[0] == "  h0:443 is not listed (4 times)"
    assert lines[19:] == ["  h19:443 is not listed (2 times)", "  … 5 more"]
    assert part(told(begun(Limits())), "Hosts that its setup did not reach") == []


def test_whose_setup_was_taken_is_told() -> None:
    said = "Its setup was taken from the one that ran at 2026-01-01 08:00:00."
    life = begun(Limits())
    life.happens(SetUp(at=life.now))
    assert said not in told(life)
    life.happens(SetUp(at=life.now, made_at=datetime(2026, 1, 1, 8, tzinfo=UTC)))
    assert said in told(life)


def test_dependencies_that_were_not_installed_are_told() -> None:
    said = "dependencies that its branch adds or changes were not installed"
    life = begun(Limits())
    life.happens(SetUp(at=life.now))
    assert said not in " ".join(told(life))
    life.happens(SetUp(at=life.now, lacks_dependencies=True))
    assert said in " ".join(told(life))


# --- decisions --------------------------------------------------------------------------------


def test_which_rule_moved_it_and_why_nothing_does_now() -> None:
    life = begun()
    life.log.append(Decided(at=START, rule="answered", reason="ada commented:\n\nBlue."))
    lines = told(life, stays={"unblocked": "not all of these are closed: #3"})
    assert part(lines, "What looks at it have decided")[0] == (
        "  09:00:00 answered: ada commented: Blue."
    )
    assert part(lines, "Why nothing moves it, as far as was seen") == [
        "  unblocked: not all of these are closed: #3"
    ]


def test_of_many_decisions_the_last_ones_are_told() -> None:
    life = begun()
    life.log += [Decided(at=START, rule=f"rule {n}", reason="x") for n in range(12)]
    shown = part(told(life), "What looks at it have decided")
    assert shown[0] == "  … 2 earlier"
    assert (len(shown), shown[-1]) == (11, "  09:00:00 rule 11: x")
