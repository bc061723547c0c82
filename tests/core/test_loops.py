"""Going round in circles: equal calls and cycles of calls, told from work."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.agents.events import Passed, Warned
from app.core.agents.loops import LONGEST_CYCLE, Loops, call_key
from app.core.breaker.verdict import Answer, Verdict
from app.core.limits import Action, LimitName
from app.testruns import Outcome
from tests.core.life import Life, begun, halted, no_limit_speaks
from tests.core.strategies import EVERYTHING, EXAMPLES, only

CALLS = LimitName.MAX_REPEATED_CALLS
ERRORS = LimitName.MAX_REPEATED_ERRORS
FIVE_CALLS = only(max_repeated_calls=5)
THREE_ERRORS = only(max_repeated_errors=3)


def in_turn(life: Life, keys: str, times: int) -> list[Verdict]:
    """Each letter is a call, always with the result it had before; the row is repeated."""
    return [life.does(key, f"result of {key}") for key in keys * times]


# --- equal calls with equal results -----------------------------------------------------------


@pytest.mark.parametrize("maximum", [1, 2, 5, 9])
def test_n_equal_calls_may_happen_and_the_next_one_trips(maximum: int) -> None:
    life = begun(only(max_repeated_calls=maximum))
    assert all(life.does("ls").allowed for _ in range(maximum))
    assert halted(life.does("ls"), CALLS, maximum, maximum)


def test_another_call_may_follow_the_last_equal_one() -> None:
    life = begun(FIVE_CALLS)
    in_turn(life, "a", 5)
    assert life.asks_turn().allowed and life.ticks().allowed and life.asks_model().allowed
    assert life.does("b").allowed
    assert life.does("a").allowed, "the row was broken"


def test_another_result_begins_a_new_row() -> None:
    life = begun(FIVE_CALLS)
    for _ in range(4):
        life.does("ls", "one file")
    life.does("ls", "two files")
    assert all(life.does("ls", "two files").allowed for _ in range(4))
    assert halted(life.does("ls", "two files"), CALLS, 5, 5)


def test_a_call_whose_result_always_differs_never_trips() -> None:
    life = begun(FIVE_CALLS)
    assert all(no_limit_speaks(life.does("status", f"{n} % done")) for n in range(50))


def test_other_arguments_are_another_call() -> None:
    life = begun(FIVE_CALLS)
    assert all(life.does(f"page {n}").answer is Answer.ALLOW for n in range(50))


def test_a_call_without_a_key_equals_nothing() -> None:
    life = begun(FIVE_CALLS)
    assert all(life.does("").answer is Answer.ALLOW for _ in range(50))
    in_turn(life, "a", 4)
    life.does("", "result of a")
    assert life.does("a").answer is Answer.ALLOW


def test_calls_of_two_tools_with_the_same_arguments_have_two_keys() -> None:
    assert call_key("view", {"path": "a"}) != call_key("edit", {"path": "a"})
    assert call_key("view", {"path": "a"}) != call_key("view", {"path": "b"})
    assert call_key("view", {"a": 1, "b": 2}) == call_key("view", {"b": 2, "a": 1})
    assert call_key("view", {"path": "a"}) == call_key("view", {"path": "a"})
    assert call_key("a", {"b": object}) != "", "whatever a model sends has a key"


def test_of_a_shell_only_what_it_reads_decides() -> None:
    """`ShellLine.text`: without comments; beside it models describe each call for people."""
    first = {"command": "ls # 1", "description": "Look", "timeout": 5}
    again = {"command": "ls # 2", "description": "Look again", "timeout": 5}
    assert call_key("Bash", first, "ls") == call_key("Bash", again, "ls")
    assert call_key("Bash", first, "ls") != call_key("Bash", {**first, "timeout": 9}, "ls")
    assert call_key("Bash", first, "ls") != call_key("Bash", first, "ls -a")
    assert call_key("note", first) != call_key("note", again), "of no shell all arguments do"


def test_the_agent_is_warned_at_the_third_round() -> None:
    """ "warns at 3": asked for the fourth time, three equal ones lie behind it."""
    life = begun(FIVE_CALLS)
    said = [life.does("ls").answer for _ in range(6)]
    allow, warn = Answer.ALLOW, Answer.WARN
    assert said == [allow, allow, allow, warn, allow, Answer.HALT]
    warned = [event for event in life.log if isinstance(event, Warned)]
    assert [(event.limit, event.observed, event.maximum) for event in warned] == [(CALLS, 3, 5)]


def test_the_warning_says_what_to_do_about_a_repetition() -> None:
    life = begun(FIVE_CALLS)
    verdict = [life.does("ls") for _ in range(4)][-1]
    assert verdict.reason.startswith("You repeat yourself: max_repeated_calls at 3 of 5 rounds.")
    assert "report_blocked" in verdict.reason


@pytest.mark.parametrize("maximum", [1, 2, 3])
def test_below_its_own_figure_there_is_no_warning(maximum: int) -> None:
    life = begun(only(max_repeated_calls=maximum))
    assert [life.does("ls").answer for _ in range(maximum)] == [Answer.ALLOW] * maximum
    assert life.does("ls").answer is Answer.HALT


@pytest.mark.parametrize("maximum", [1, 2, 5])
@pytest.mark.parametrize("beside", [2, 3, 7])
def test_equal_calls_beside_each_other_are_never_more_than_may_happen(
    maximum: int, beside: int
) -> None:
    """Whatever is asked beside them: nobody knows yet what comes of those that run, so one too many
    is refused, and the first ask after their ends trips."""
    life = begun(only(max_repeated_calls=maximum))
    happened = 0
    while happened < maximum:
        asked = [life.asks_tool("bash", "ls") for _ in range(beside)]
        allowed = min(beside, maximum - happened)
        answers = [verdict.answer for verdict in asked]
        assert Answer.DENY not in answers[:allowed] and Answer.HALT not in answers
        assert answers[allowed:] == [Answer.DENY] * (beside - allowed)
        for call in tuple(life.open_calls):
            life.tool_ends(call, "same")
        happened += allowed
    assert life.counters.tool_calls == maximum
    assert halted(life.does("ls"), CALLS, maximum, maximum)


def test_equal_calls_beside_each_other_of_which_another_result_comes_are_no_loop() -> None:
    life = begun(FIVE_CALLS)
    for number in range(20):
        for _ in range(4):
            assert life.asks_tool("bash", "ls").allowed
        for place, call in enumerate(tuple(life.open_calls)):
            life.tool_ends(call, f"{number}.{place}")


def test_calls_beside_each_other_of_which_the_same_error_comes_are_never_too_many() -> None:
    life = begun(THREE_ERRORS)
    answers = [life.asks_tool("bash", "cat none").answer for _ in range(4)]
    assert answers == [*[Answer.ALLOW] * 3, Answer.DENY]
    for call in tuple(life.open_calls):
        life.tool_ends(call, "1", "No such file")
    assert halted(life.does("cat none"), ERRORS, 3, 3)


def test_other_calls_may_run_beside_a_row_that_is_full() -> None:
    life = begun(only(max_repeated_calls=2, max_repeated_errors=2))
    assert all(life.asks_tool("bash", "ls").allowed for _ in range(2))
    assert life.asks_tool("bash", "ls -la").allowed and life.asks_tool("view", "a").allowed
    assert life.asks_tool("bash", "ls").answer is Answer.DENY


# --- cycles -----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ["ab", "abc", "abcd", "abcde", "aab", "abab", "aabb"])
@pytest.mark.parametrize("maximum", [2, 5])
def test_cycles_of_two_to_five_calls_count_in_rounds(row: str, maximum: int) -> None:
    life = begun(only(max_repeated_calls=maximum))
    rounds = maximum // 2 if row == "abab" else maximum  # two rounds of ab
    assert all(verdict.allowed for verdict in in_turn(life, row, rounds))
    if row == "abab" and maximum % 2:
        assert all(verdict.allowed for verdict in in_turn(life, "ab", 1))
    assert halted(life.does(row[0]), CALLS, maximum, maximum)


@pytest.mark.parametrize("row", ["abcdef", "abcdefg", "abcabd"])
def test_longer_cycles_are_no_cycles(row: str) -> None:
    life = begun(FIVE_CALLS)
    assert all(map(no_limit_speaks, in_turn(life, row, 12)))
    assert LONGEST_CYCLE == 5


def test_a_cycle_in_which_one_result_moves_on_is_work() -> None:
    """`edit`, `test`, `edit`, `test`: the edits are equal, what the tests say is not."""
    life = begun(FIVE_CALLS)
    for n in range(20):
        assert no_limit_speaks(life.does("edit"))
        assert no_limit_speaks(life.does("test", f"{n} failures"))


def test_a_cycle_begins_wherever_it_begins() -> None:
    life = begun(only(max_repeated_calls=2))
    life.does("x")
    life.does("y")
    assert all(verdict.allowed for verdict in in_turn(life, "abc", 2))
    assert halted(life.does("a", "result of a"), CALLS, 2, 2)


def test_a_round_that_is_not_whole_does_not_count() -> None:
    life = begun(only(max_repeated_calls=3))
    in_turn(life, "abc", 2)
    in_turn(life, "ab", 1)
    assert life.does("c", "result of c").allowed
    assert halted(life.does("a"), CALLS, 3, 3)


def test_leaving_the_cycle_is_always_allowed() -> None:
    life = begun(FIVE_CALLS)
    in_turn(life, "ab", 5)
    assert life.does("c").answer is Answer.ALLOW
    life = begun(FIVE_CALLS)
    in_turn(life, "ab", 5)
    assert life.does("b", "result of b").allowed, "b after b is another way"


@EXAMPLES
@given(st.lists(st.sampled_from("ab"), max_size=40), st.integers(1, 5))
@example(list("ababababab"), 5)
def test_rounds_are_what_can_be_seen_in_the_row_of_calls(calls: list[str], maximum: int) -> None:
    """The rounds of the longest-repeated block at the end of the row, read off the letters."""
    life = begun(only(max_repeated_calls=maximum))
    done = ""
    for call in calls:
        rounds = max(
            (
                times
                for length in range(1, 6)
                for times in range(1, 41)
                if len(done) >= length * times
                and done.endswith(done[-length:] * times)
                and done[-length] == call
            ),
            default=0,
        )
        verdict = life.does(call, f"result of {call}")
        assert (verdict.answer is Answer.HALT) is (rounds >= maximum)
        if not verdict.allowed:
            return
        done += call


# --- what has ended, and what has not ---------------------------------------------------------


def test_calls_count_when_they_have_ended() -> None:
    """Equal calls at once have no result yet; each ends in its own time."""
    life = begun(FIVE_CALLS)
    calls = []
    for _ in range(4):
        assert life.asks_tool("bash", "ls").answer is Answer.ALLOW
        calls.append(life.last_call)
    for call in reversed(calls):
        life.tool_ends(call, "same")
    assert life.asks_tool("bash", "ls").answer is Answer.WARN, "four are known to be equal"
    assert life.asks_tool("bash", "ls").answer is Answer.DENY, "of the fifth nothing is known"
    life.tool_ends(life.open_calls[0], "other")
    assert life.asks_tool("bash", "ls").answer is Answer.ALLOW


def test_a_result_that_comes_after_a_crash_is_nobodys() -> None:
    life = begun(FIVE_CALLS)
    for _ in range(4):
        life.does("ls")
    life.asks_tool("bash", "ls")
    cut_off = life.last_call
    life.crashes()
    life.begins_segment()
    life.open_calls.append(cut_off)
    life.tool_ends(cut_off, "same")
    assert life.does("ls").allowed
    assert halted(life.does("ls"), CALLS, 5, 5)


def test_what_is_cut_off_has_no_result_and_is_no_error() -> None:
    """Others that run beside it end as they end."""
    life = begun(THREE_ERRORS)
    for _ in range(9):
        assert life.asks_tool("bash", "make").allowed
        life.is_cut_off()
    for _ in range(2):
        life.does("make", error="no rule")
    assert life.asks_tool("bash", "make").allowed
    beside = life.last_call
    assert life.asks_tool("bash", "make clean").allowed
    life.is_cut_off()
    assert life.asks_tool("bash", "make all").allowed
    life.is_cut_off()
    life.tool_ends(beside, "same", "no rule")
    assert halted(life.asks_tool("bash", "make"), ERRORS, 3, 3)


def test_a_test_run_that_is_cut_off_has_not_passed() -> None:
    life = begun(only(max_iterations=3))
    assert life.asks_tests(content="v1").allowed
    life.is_cut_off()
    assert life.asks_tests(content="v2").allowed
    assert life.counters.fix_cycles == 1


def test_a_row_goes_on_over_a_crash_and_over_text() -> None:
    life = begun(FIVE_CALLS)
    in_turn(life, "a", 3)
    life.speaks()
    life.asks_turn()
    life.crashes()
    life.begins_segment()
    in_turn(life, "a", 2)
    assert halted(life.does("a"), CALLS, 5, 5)


@pytest.mark.parametrize("word", [Life.wakes, lambda life: life.is_granted(CALLS, 1)])
def test_a_humans_word_begins_a_new_row(word: object) -> None:
    assert callable(word)
    life = begun(replace(FIVE_CALLS, max_repeated_errors=3))
    for _ in range(2):
        life.does("make", "failed", "boom")
    in_turn(life, "a", 5)
    word(life)
    assert life.counters.loops == Loops()
    assert all(verdict.allowed for verdict in in_turn(life, "a", 5))
    assert life.does("make", "failed", "boom").allowed


def test_a_call_under_way_while_a_human_speaks_still_ends() -> None:
    life = begun(FIVE_CALLS)
    life.asks_tool("bash", "ls")
    life.wakes()
    life.tool_ends(life.last_call, "same")
    assert [each.result for each in life.counters.loops.recent] == ["same"]


def test_a_memory_of_calls_is_as_long_as_the_longest_cycle() -> None:
    life = begun()
    for key in "abcdefgh":
        life.does(key)
    assert len(life.counters.loops.recent) == 5


# --- tests ------------------------------------------------------------------------------------


def runs_again(life: Life, content: str, result: str = "1 failed") -> Verdict:
    """The same test command, on this content of the workspace."""
    verdict = life.asks_tests(content=content, key="pytest")
    if verdict.allowed:
        life.tests_end(life.last_call, Outcome.FAILED, result=result)
    return verdict


def test_a_failing_test_repeated_without_any_edit_is_a_loop() -> None:
    life = begun(FIVE_CALLS)
    assert all(runs_again(life, "v1").allowed for _ in range(5))
    assert halted(runs_again(life, "v1"), CALLS, 5, 5)


def test_the_same_tests_on_another_content_are_another_call() -> None:
    life = begun(FIVE_CALLS)
    assert all(no_limit_speaks(runs_again(life, f"v{n}")) for n in range(30))


def test_going_back_and_forth_between_two_contents_is_a_loop() -> None:
    life = begun(only(max_repeated_calls=3))
    for _ in range(3):
        for content in ("v1", "v2"):
            life.does(f"write {content}")
            assert runs_again(life, content).allowed
    assert halted(life.does("write v1"), CALLS, 3, 3)


def test_a_red_test_is_no_error() -> None:
    """Test-driven work begins with a failing test, and may have many of them in a row."""
    life = begun(THREE_ERRORS)
    assert all(no_limit_speaks(runs_again(life, f"v{n}")) for n in range(20))
    assert life.counters.loops.failing == ()


UNRUNNABLE = LimitName.MAX_UNRUNNABLE_TESTS
NO_COMMAND, NO_MODULE = "pytest: command not found", "No module named numpy"


def stopping_at(maximum: int) -> Life:
    """Whose `on_limit` says so; by itself it is a warning."""
    return begun(only(max_unrunnable_tests=maximum, actions={UNRUNNABLE: Action.ESCALATE}))


def cannot_run(life: Life, error: str = NO_COMMAND, content: str = "v1") -> Verdict:
    verdict = life.asks_tests(content=content)
    if verdict.allowed:
        life.tests_end(life.last_call, Outcome.DID_NOT_RUN, result=error)
    return verdict


@pytest.mark.parametrize("maximum", [1, 2, 3, 5])
@pytest.mark.parametrize("before", [Outcome.FAILED, Outcome.PASSED])
def test_n_test_runs_that_cannot_run_may_happen_and_the_next_one_trips(
    maximum: int, before: Outcome
) -> None:
    life = stopping_at(maximum)
    life.tests(before)
    assert all(cannot_run(life, content=f"v{n}").allowed for n in range(maximum))
    assert halted(life.asks_tests(content="anew"), UNRUNNABLE, maximum, maximum)


def test_another_error_than_before_is_progress() -> None:
    life = stopping_at(2)
    for _ in range(20):
        assert cannot_run(life, NO_COMMAND).allowed and cannot_run(life, NO_MODULE).allowed


def test_by_itself_it_is_a_warning_whatever_is_said_of_all_limits() -> None:
    life = begun(only(max_unrunnable_tests=3, default_action=Action.PAUSE))
    verdicts = [cannot_run(life) for _ in range(9)]
    assert [verdict.limit for verdict in verdicts] == [None, None, UNRUNNABLE, *[None] * 6]
    assert verdicts[2].answer is Answer.WARN and all(verdict.allowed for verdict in verdicts)
    passed = [each for each in life.log if isinstance(each, Passed)]
    assert [(each.limit, each.observed, each.how) for each in passed] == [(UNRUNNABLE, 3, "warn")]


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED, Outcome.UNKNOWN, None])
def test_any_test_run_that_ran_begins_anew(outcome: Outcome | None) -> None:
    life = stopping_at(3)
    cannot_run(life)
    cannot_run(life)
    life.asks_tests(EVERYTHING)
    life.tests_end(life.last_call, outcome)
    assert life.counters.tests.unrunnable == 0
    assert all(cannot_run(life).allowed for _ in range(3))
    assert life.asks_tests().answer is Answer.HALT


def test_who_cannot_run_tests_may_still_do_anything_else() -> None:
    life = stopping_at(3)
    for _ in range(3):
        cannot_run(life)
    assert life.asks_tool().allowed and life.asks_turn().allowed and life.ticks().allowed
    assert life.asks_tests().answer is Answer.HALT


def test_a_humans_word_lets_the_tests_be_tried_again() -> None:
    life = begun()
    for _ in range(3):
        life.tests(Outcome.DID_NOT_RUN)
    life.wakes()
    assert life.asks_tests().allowed


def test_a_crash_does_not_make_tests_run() -> None:
    life = stopping_at(3)
    for _ in range(3):
        cannot_run(life)
    life.crashes()
    life.begins_segment()
    assert life.asks_tests().answer is Answer.HALT
