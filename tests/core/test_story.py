"""The story of a stop, as `squadron explain` tells it."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from hypothesis import given

from app.core.agents.agent import Agent, Effect, EffectName, EffectState
from app.core.agents.events import (
    DiffSize,
    Failed,
    HeldUp,
    Kept,
    ToolAsked,
    ToolEnded,
    Tripped,
    Waits,
)
from app.core.agents.lifecycle import State
from app.core.agents.stops import Cause, Failure, Layer, Trip
from app.core.limits import Action, LimitName, Limits
from app.core.words.report import report
from app.core.words.story import duration_words, quoted, story
from app.testruns import Outcome
from tests.core.life import Life, begun
from tests.core.onlooker import JUDGED
from tests.core.random_lives import Step, any_limits, lived, step_lists
from tests.core.strategies import EXAMPLES, START, agent, only

NO_EFFECTS: dict[EffectName, Effect] = {}


def told(life: Life, row: Agent, effects: dict[EffectName, Effect] = NO_EFFECTS) -> str:
    return "\n".join(story(report(row, life.log, life.now), life.log, effects, {}))


def stopped(life: Life) -> Agent:
    """The row of an agent whose life a limit has ended."""
    row = agent(State.ESCALATED, limits=life.limits, updated_at=life.now)
    return replace(row, stop=life.counters.trip, sha="5e1f" * 10, summary="I could not find it.")


def test_a_story_is_read_in_a_minute() -> None:
    """One agent from its start to the needs-human issue, every line of it."""
    life = begun(Limits(max_iterations=2))
    life.asks_turn()
    life.calls_model(cost_nanousd=12_000_000)
    for content in ("v1", "v2", "v3"):
        life.waits(60)
        life.edits(content)
        life.tests(Outcome.FAILED, content=content)
    life.waits(30)
    life.edits("v4")
    assert not life.tests(Outcome.FAILED, content="v4").allowed
    diff = DiffSize(files=1, added=4, deleted=2)
    life.happens(Kept(at=life.now, sha="5e1f" * 10, pushed=True, problem="", diff=diff))
    effects = {
        EffectName.CHECK: Effect(EffectName.CHECK, EffectState.DONE, url="https://gh/1"),
        EffectName.COMMENT: Effect(
            EffectName.COMMENT, error="503", attempts=2, due_at=START + timedelta(minutes=9)
        ),
        EffectName.ISSUE: Effect(EffectName.ISSUE, EffectState.REFUSED, error="403: no access"),
    }
    assert told(life, stopped(life), effects) == (
        "octo/demo#12/bug-fix/1 is ESCALATED.\n"
        "Started by mona (label squadron:bug-fix) at 2026-03-01 09:00:00.\n"
        "It worked for 3 min 30 s: 7 tool calls, 1 model call, 110 tokens, $0.012.\n"
        "Stopped at 09:03:30 by the hook layer: max_iterations reached: 2 of 2 fix cycles.\n"
        "\n"
        "Limits (used of maximum)\n"
        "  max_iterations             2 of 2 fix cycles: warned at 2 (09:03:00), stopped at 2"
        " (09:03:30)\n"
        "  max_tool_calls             7 of 200 tool calls\n"
        "  max_active_duration        210 of 7200 seconds\n"
        "  max_turns                  1 of 50 turns\n"
        "  not used: max_sleep_duration, max_repeated_errors, max_repeated_calls,"
        " max_unrunnable_tests, max_spawns, max_depth, max_idle_duration, max_review_rounds\n"
        "\n"
        "Test runs (3: 3 failed)\n"
        "  1. failed: pytest\n"
        "  2. failed after a change: pytest\n"
        "  3. failed after a change: pytest\n"
        "\n"
        "The last steps before it\n"
        "  3. 09:02:00 edit: README.md\n"
        "  4. 09:02:00 bash: pytest (tests: failed)\n"
        "  5. 09:03:00 edit: README.md\n"
        "  6. 09:03:00 bash: pytest (tests: failed)\n"
        "  7. 09:03:30 edit: README.md\n"
        "  then bash was refused: pytest\n"
        "\n"
        "Its work\n"
        "  branch squadron/bug-fix/issue-12 at 5e1f5e1f5e1f, as GitHub has it\n"
        "  1 file changed, +4 -2 lines\n"
        "  It says: I could not find it.\n"
        "\n"
        "On GitHub\n"
        "  check: done https://gh/1\n"
        "  comment: not yet, 2 attempts: 503; next attempt at 09:09:00\n"
        "  issue: GitHub refuses it: 403: no access\n"
        "\n"
        "What to do\n"
        "  - Mend what GitHub refuses (permissions of the App, a locked issue, protection).\n"
        "  - Look at the work: git fetch origin squadron/bug-fix/issue-12 && git log --stat"
        " origin/main..FETCH_HEAD\n"
        "  - Was the work good and the bound too narrow: raise max_iterations in"
        " .squadron/config.yaml (`squadron limits suggest --role bug-fix`).\n"
        "  - Resolve #12 by hand, or comment on it: /squadron retry bug-fix, with raise LIMIT"
        " +AMOUNT if it needs more. A fresh agent takes over the branch."
    )


def test_the_course_of_a_limit_that_humans_raised() -> None:
    life = begun(only(max_tool_calls=5, default_action=Action.REQUEST_INCREASE))
    for _ in range(6):
        life.asks_tool()
    paused = agent(State.PAUSED, waits_for=Waits.RAISE, limits=life.limits, updated_at=life.now)
    asked = told(life, paused)
    assert "PAUSED (waits for: raise)" in asked
    assert "Paused at 09:00:00: max_tool_calls reached: 5 of 5 tool calls." in asked
    assert "- Comment on #12: /squadron resume, or /squadron raise LIMIT +AMOUNT." in asked
    life.waits(86_400)
    life.is_granted(LimitName.MAX_TOOL_CALLS, 10)
    life.goes_on()
    for _ in range(11):
        life.asks_tool()
    assert (
        "  max_tool_calls             15 of 15 tool calls: warned at 4 (09:00:00), paused at 5"
        " (09:00:00), raised by 10 to 15 by mona (2026-03-02 09:00:00), warned at 12"
        " (2026-03-02 09:00:00), paused at 15 (2026-03-02 09:00:00)"
    ) in told(life, agent(State.PAUSED, limits=life.limits, updated_at=life.now))


def test_a_limit_that_let_the_agent_pass_says_why() -> None:
    life = begun(only(max_tool_calls=1, shadow=frozenset({LimitName.MAX_TOOL_CALLS})))
    life.asks_tool()
    life.asks_tool()
    shown = told(life, agent(limits=life.limits))
    assert "passed at 1 (09:00:00; only judged, in shadow)" in shown


def test_only_the_last_test_runs_are_told_and_the_others_counted() -> None:
    life = begun()
    for _ in range(14):
        life.tests(Outcome.PASSED)
    life.asks_tests()
    shown = told(life, agent(limits=life.limits))
    assert "Test runs (15: 14 passed, 1 not finished)\n  … 3 earlier ones\n  4. passed" in shown
    assert "  15. not finished without a change: pytest" in shown


def test_a_stop_that_is_no_limits_has_no_advice_about_limits() -> None:
    life = begun()
    life.crashes()
    life.begins_segment()
    reason = "The runtime died three times."
    failure = Failure(cause=Cause.RUNTIME_DIED, at=life.now, reason=reason)
    life.happens(Failed(at=life.now, failure=failure))
    shown = told(life, replace(agent(State.ESCALATED), stop=failure))
    assert f"Failed at 09:00:00 (runtime_died): {reason}" in shown
    assert "Its process died once." in shown
    assert "limits suggest" not in shown
    assert "The last steps" not in shown
    assert "nothing was written yet" in shown


def test_a_stop_has_one_instant_however_late_the_log_tells_of_it() -> None:
    """Reconciliation keeps the work before it writes that it has stopped somebody."""
    life = begun()
    trip = Trip(
        limit=LimitName.MAX_SLEEP_DURATION,
        observed=90000,
        maximum=86400,
        layer=Layer.RECONCILIATION,
        at=life.now,
        reason="It slept for too long.",
    )
    life.waits(60)
    life.happens(Tripped(at=life.now, trip=trip))
    shown = told(life, replace(agent(State.ESCALATED), stop=trip))
    assert "Stopped at 09:00:00 by the reconciliation layer" in shown
    assert "stopped at 90000 (09:00:00)" in shown and "09:01:00" not in shown


def test_work_that_could_not_be_pushed_is_told_to_be_on_disk() -> None:
    life = begun()
    life.happens(Kept(at=life.now, sha=None, pushed=False, problem="protected branch"))
    shown = told(life, agent(State.ESCALATED))
    assert "  protected branch\n  What is missing there is kept on Squadron's disk." in shown


def test_what_each_waiting_agent_waits_for_is_said() -> None:
    asleep = replace(agent(State.SLEEPING, waits_for=Waits.BLOCKER), blocked_by=(7, 9))
    assert "- Close #7, #9: it goes on by itself then." in told(begun(), asleep)
    review = replace(agent(State.SLEEPING, waits_for=Waits.REVIEW), pull_request=8)
    assert "- Review pull request #8." in told(begun(), review)
    answer = agent(State.SLEEPING, waits_for=Waits.ANSWER)
    assert "- Answer its question by a comment on #12." in told(begun(), answer)
    assert "- Nothing: it is done." in told(begun(), agent(State.COMPLETED))
    held_up = agent(State.QUEUED, waits_for=Waits.PROVIDER)
    away = begun()
    away.happens(HeldUp(at=away.now, waits_for=Waits.PROVIDER, why="openai answers 503."))
    story = told(away, replace(held_up, missing_provider="openai", retry_at=away.now))
    assert "openai answers 503. It looks again at 2026-03-01" in story
    assert "- See whether openai is away" in story


def test_nothing_that_others_wrote_can_move_a_cursor_or_make_a_line() -> None:
    life = begun()
    evil = "rm \x1b[2J\x1b]0;title\x07\n\rDone.\u202e" + "x" * 500
    life.happens(ToolAsked(at=life.now, call="1", tool=evil, what=evil))
    life.happens(ToolEnded(at=life.now, call="1", ok=False, failures=evil))
    failure = Failure(cause=Cause.SETUP_FAILED, at=life.now, reason=evil)
    life.happens(Failed(at=life.now, failure=failure))
    row = replace(agent(State.ESCALATED), stop=failure, summary=evil, sha="5e1f" * 10)
    for line in told(life, row).split("\n"):
        assert line.isprintable()
        assert len(line) < 700
    assert quoted(evil).startswith("rm ·[2J·]0;title· Done.·xxx")


@EXAMPLES
@given(any_limits(*JUDGED), step_lists)
def test_every_life_can_be_told(limits: Limits, steps: list[Step]) -> None:
    life = lived(limits, steps)
    for state in State:
        lines = story(
            report(agent(state, limits=life.limits), life.log, life.now), life.log, {}, {}
        )
        assert all(line == line.rstrip() and "\n" not in line for line in lines)
        assert lines[0].startswith("octo/demo#12/bug-fix/1 is ")
        assert ("", "") not in pairwise(lines), "an empty section has no line"


def test_durations_are_said_in_their_two_largest_units() -> None:
    said = [duration_words(timedelta(seconds=each)) for each in (0, 45, 60, 723, 3600, 7501)]
    assert said == ["0 s", "45 s", "1 min", "12 min 3 s", "1 h", "2 h 5 min"]
