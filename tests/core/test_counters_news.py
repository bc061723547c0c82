"""What silence, a human's word and the return of a sub-agent do to the counters."""

from app.core.agents.counters import Counters, used_of
from app.core.agents.events import Finished, Returned
from app.core.agents.loops import error_key
from app.core.limits import Action, LimitName, Limits
from app.testruns import Outcome
from tests.core.life import Life, begun, halted
from tests.core.strategies import only


def idle_seconds(life: Life) -> float:
    return used_of(LimitName.MAX_IDLE_DURATION, Limits(), life.counters, life.now)


def test_who_waits_for_a_sub_agent_is_not_idle() -> None:
    life = begun(only(max_idle_duration=10))
    life.spawned("child")
    life.waits(100)
    assert life.ticks().allowed
    life.child_returns("child")
    life.waits(9)
    assert idle_seconds(life) == 9
    life.waits(1)
    assert halted(life.ticks(), LimitName.MAX_IDLE_DURATION, 10, 10)


def test_nobody_is_idle_while_no_session_runs() -> None:
    ended, asleep, finished, never = begun(), begun(), begun(), Life()
    ended.ends_segment()
    asleep.sleeps()
    finished.happens(Finished(at=finished.now, why="merged"))
    for life in (ended, asleep, finished, never):
        life.waits(100)
        assert idle_seconds(life) == 0


def test_a_humans_word_gives_the_tests_another_chance() -> None:
    life = begun(
        only(max_unrunnable_tests=3, actions={LimitName.MAX_UNRUNNABLE_TESTS: Action.PAUSE})
    )
    for _ in range(2):
        for _ in range(3):
            assert life.tests(Outcome.DID_NOT_RUN).allowed
        assert not life.tests(Outcome.DID_NOT_RUN).allowed
        life.counters = life.counters._replace(hold=None)
        life.wakes()
        assert life.counters.tests.unrunnable == 0


def test_test_runs_that_nothing_names_are_not_equal() -> None:
    life = begun(only(max_repeated_calls=2))
    for _ in range(4):
        assert life.tests(Outcome.PASSED).allowed


def test_a_call_that_nothing_names_breaks_a_cycle() -> None:
    life = begun(only(max_repeated_calls=2))
    for _ in range(6):
        assert life.does("look").allowed
        assert life.does("").allowed


def test_an_error_of_which_nothing_stays_but_a_time_is_an_error() -> None:
    assert error_key("09:00:01") == error_key("10:30:00") != ""
    assert error_key(" \n") == ""


def test_what_a_sub_agent_used_is_used() -> None:
    life = begun()
    life.spawned("child")
    life.spawned("other")
    life.happens(
        Returned(
            at=life.now, child="child", tool_calls=2, model_calls=3, input_tokens=40,
            output_tokens=5, cost_nanousd=6, unpriced_calls=7, levels=1,
        )
    )  # fmt: skip
    used = life.counters
    assert (used.tool_calls, used.model_calls) == (2, 3)
    assert (used.input_tokens, used.output_tokens) == (40, 5)
    assert (used.cost_nanousd, used.unpriced_calls, used.levels) == (6, 7, 2)
    assert [child.agent for child in used.children] == ["other"]
    assert Counters().levels == 0
