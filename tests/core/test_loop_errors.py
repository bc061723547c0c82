"""Equal errors, and what makes two results equal: times, processes and scratch paths aside.

`bash` and `zsh` are shells, `view` reads, `edit` writes; `calendar` and `mail` are none of these.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.events import ToolAsked, ToolEnded, ToolKind
from app.core.agents.loops import MOST_SHELLS, call_key, error_key, normalised, result_key
from app.core.breaker.verdict import Answer, Verdict
from app.core.limits import LimitName
from tests.core.life import Life, begun, halted
from tests.core.strategies import EXAMPLES, START, only

ERRORS = LimitName.MAX_REPEATED_ERRORS
THREE_ERRORS = only(max_repeated_errors=3)


# --- equal errors -----------------------------------------------------------------------------


def fails(life: Life, error: str = "boom", tool: str = "bash") -> Verdict:
    """A call with arguments of its own each time, that ends in this error."""
    return life.does(f"try {len(life.log)}", "failed", error, tool=tool)


# --- shells: the same words are the same wall, whatever the command ---------------------------


@pytest.mark.parametrize("maximum", [1, 2, 3, 7])
def test_n_equal_errors_may_happen_and_the_shell_may_not_be_used_again(maximum: int) -> None:
    """Seed 001, "How Limits Work": the same tool with the same error three times aborts."""
    life = begun(only(max_repeated_errors=maximum))
    assert all(fails(life).allowed for _ in range(maximum))
    assert halted(fails(life), ERRORS, maximum, maximum)


def test_other_tools_go_on_after_the_last_equal_error() -> None:
    life = begun(THREE_ERRORS)
    for _ in range(3):
        fails(life)
    assert life.asks_tool("view").allowed and life.asks_turn().allowed and life.ticks().allowed


def test_another_error_begins_a_new_row() -> None:
    life = begun(THREE_ERRORS)
    for _ in range(2):
        fails(life, "boom")
    for _ in range(3):
        assert fails(life, "bang").allowed
    assert halted(fails(life, "bang"), ERRORS, 3, 3)


def test_the_same_error_with_another_result_is_another_one() -> None:
    """The result has the exit status besides the words."""
    life = begun(THREE_ERRORS)
    for _ in range(10):
        assert life.does("a", "exit 1", "boom").allowed
        assert life.does("a", "exit 2", "boom").allowed


def test_a_success_of_the_same_shell_ends_the_row() -> None:
    life = begun(THREE_ERRORS)
    for _ in range(10):
        fails(life)
        fails(life)
        assert life.does("ls").answer is Answer.ALLOW


def test_a_look_at_something_else_does_not() -> None:
    life = begun(THREE_ERRORS)
    for _ in range(3):
        assert fails(life).allowed
        life.does("look", tool="view")
    assert halted(fails(life), ERRORS, 3, 3)


def test_each_shell_has_its_own_row() -> None:
    life = begun(THREE_ERRORS)
    for _ in range(3):
        assert fails(life, tool="bash").allowed
        assert fails(life, tool="zsh").allowed
    assert halted(fails(life, tool="zsh"), ERRORS, 3, 3)


# --- tools that are no shell, and neither read nor edit: the same wall, in a straight row ------


@pytest.mark.parametrize("maximum", [1, 3, 7])
def test_a_tool_that_always_fails_alike_is_stopped_whatever_it_was_asked(maximum: int) -> None:
    life = begun(only(max_repeated_errors=maximum))
    assert all(fails(life, "not signed in", "calendar").allowed for _ in range(maximum))
    assert halted(fails(life, "not signed in", "calendar"), ERRORS, maximum, maximum)


def test_it_needs_no_key_to_fail_alike() -> None:
    life = begun(THREE_ERRORS)
    for _ in range(3):
        assert life.does("", "failed", "boom", tool="calendar").allowed
    assert halted(life.does("", tool="calendar"), ERRORS, 3, 3)


@pytest.mark.parametrize("tool", ["bash", "view", "edit", "mail", "task"])
@pytest.mark.parametrize("error", ["", "boom"])
def test_whatever_else_is_tried_in_between_ends_its_row(tool: str, error: str) -> None:
    life = begun(THREE_ERRORS)
    for n in range(5):
        assert fails(life, tool="calendar").allowed
        assert fails(life, tool="calendar").allowed
        assert life.does(f"x {n}", f"result {n}", error and f"{error} {n}", tool=tool).allowed


def test_another_error_or_a_success_begins_its_row_anew() -> None:
    life = begun(THREE_ERRORS)
    for error in ["boom", "boom", "bang", "boom", "boom", "", "boom", "boom", "boom"]:
        assert fails(life, error, "calendar").allowed
    assert halted(fails(life, tool="calendar"), ERRORS, 3, 3)


# --- tools that read or edit: other arguments are another try ---------------------------------


@pytest.mark.parametrize("tool", ["view", "edit"])
def test_the_same_failing_call_in_a_straight_row_trips(tool: str) -> None:
    life = begun(THREE_ERRORS)
    for _ in range(3):
        assert life.does("a.py", "no such file", "boom", tool=tool).allowed
    assert halted(life.does("a.py", tool=tool), ERRORS, 3, 3)


@pytest.mark.parametrize("tool", ["view", "edit"])
def test_other_arguments_may_fail_in_the_same_words(tool: str) -> None:
    life = begun(THREE_ERRORS)
    for n in range(20):
        assert life.does(f"{n}.py", "no such file", "boom", tool=tool).allowed
    for _ in range(2):
        assert life.does("a.py", "no such file", "boom", tool=tool).allowed


@pytest.mark.parametrize("tool", ["bash", "calendar", "edit"])
def test_any_other_call_in_between_ends_the_row(tool: str) -> None:
    life = begun(THREE_ERRORS)
    for _ in range(5):
        for _ in range(2):
            assert life.does("a.py", "no such file", "boom", tool="view").allowed
        assert life.does("x", tool=tool).allowed


def test_a_call_without_a_key_fails_like_no_other() -> None:
    life = begun(THREE_ERRORS)
    for _ in range(20):
        assert life.does("", "no such file", "boom", tool="view").allowed
    assert life.counters.loops.failing == ()


def test_two_failing_calls_in_turn_are_a_cycle_and_no_row() -> None:
    life = begun(THREE_ERRORS)
    for _ in range(10):
        assert life.does("a.py", "no such file", "boom", tool="view").allowed
        assert life.does("b.py", "no such file", "boom", tool="view").allowed


# --- edits ------------------------------------------------------------------------------------


def test_a_successful_edit_ends_every_row() -> None:
    life = begun(THREE_ERRORS)
    for n in range(10):
        assert fails(life).allowed
        assert fails(life).allowed
        life.edits(f"edit {n}")
    assert life.counters.loops.failing == ()


def test_an_edit_that_failed_ends_no_row() -> None:
    life = begun(THREE_ERRORS)
    for n in range(3):
        assert fails(life).allowed
        life.edits(f"edit {n}", "no such text", f"error {n}")
    assert halted(fails(life), ERRORS, 3, 3)


def test_an_edit_that_was_just_made_before_is_no_news() -> None:
    """Writing the same line again and again is no progress."""
    life = begun(THREE_ERRORS)
    life.edits("edit", "done")
    for _ in range(3):
        assert fails(life).allowed
        life.edits("edit", "done")
    assert halted(fails(life), ERRORS, 3, 3)


def test_only_so_many_shells_are_remembered() -> None:
    def life_with(others: int) -> Life:
        """Three errors of the first shell, then one of each of the others."""
        life = begun(THREE_ERRORS)
        for shell in [*["sh 0"] * 3, *(f"sh {n}" for n in range(1, others + 1))]:
            ask = ToolAsked(at=START, call=shell, tool=shell, what="ls", kind=ToolKind.SHELL)
            assert life.judged(ask).allowed
            life.happens(ToolEnded(at=START, call=shell, ok=False, result="x", error="boom"))
        return life

    again = ToolAsked(at=START, call="again", tool="sh 0", what="ls", kind=ToolKind.SHELL)
    remembered = life_with(MOST_SHELLS - 1)
    assert len(remembered.counters.loops.failing) == MOST_SHELLS
    assert halted(remembered.judged(again), ERRORS, 3, 3)
    forgotten = life_with(MOST_SHELLS)
    assert len(forgotten.counters.loops.failing) == MOST_SHELLS
    assert forgotten.judged(again).allowed


# --- what makes two results equal -------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1 failed in 0.12s", "1 failed in 3.4s"),
        ("took 120 ms", "took 7 ms"),
        ("done in 2 minutes", "done in 1 minute"),
        ("2026-03-01T09:00:00Z ready", "2026-03-02T10:11:12.345+01:00 ready"),
        ("2026-03-01 ok", "2027-12-31 ok"),
        ("[09:00:01] start", "[23:59:59.123] start"),
        ("<object at 0x7f00dead>", "<object at 0x55beef01>"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-0000-4000-8000-000000000000"),
        ("killed pid 4711", "killed pid 12"),
        ("process=4711 died", "process=12 died"),
        ("wrote /tmp/tmpabc123/log", "wrote /tmp/pytest-of-root/pytest-3/log"),
        ("see /private/var/tmp/x", "see /var/tmp/y"),
    ],
)
def test_times_processes_addresses_and_scratch_paths_are_left_aside(
    first: str, second: str
) -> None:
    assert normalised(first) == normalised(second)
    assert result_key(True, 0, first) == result_key(True, 0, second)
    assert error_key(first) == error_key(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1 failed", "2 failed"),
        ("line 10", "line 11"),
        ("assert 3 == 4", "assert 3 == 5"),
        ("src/a.py", "src/b.py"),
        ("v1.2.3", "v1.2.4"),
        ("12 % done", "13 % done"),
        ("3 items", "4 items"),
    ],
)
def test_everything_else_counts(first: str, second: str) -> None:
    assert normalised(first) != normalised(second)
    assert result_key(True, 0, first) != result_key(True, 0, second)
    assert error_key(first) != error_key(second)


def test_a_waiting_command_is_compared_to_the_letter() -> None:
    """Waiting is no loop as long as anything changes, and be it the time that is left."""
    first, second = "still running after 30s", "still running after 60s"
    assert result_key(True, 0, first) == result_key(True, 0, second)
    assert result_key(True, 0, first, waits=True) != result_key(True, 0, second, waits=True)
    assert result_key(True, 0, first, waits=True) == result_key(True, 0, first, waits=True)


def test_the_same_words_with_another_ending_are_another_result() -> None:
    assert result_key(True, 0, "x") != result_key(False, 0, "x")
    assert result_key(False, 1, "x") != result_key(False, 2, "x")
    assert result_key(False, None, "x") != result_key(False, 0, "x")


def test_a_failure_without_a_word_equals_no_other() -> None:
    assert error_key("") == ""
    assert error_key(" \n ") == ""
    assert error_key("boom") != ""
    assert error_key("boom\n") == error_key("boom")


def test_of_a_long_result_both_ends_are_compared() -> None:
    long = "x" * 100_000
    assert normalised("a" + long) != normalised("b" + long)
    assert normalised(long + "a") != normalised(long + "b")
    middle = "x" * 50_000
    assert normalised(middle + "a" + middle) == normalised(middle + "b" + middle)
    assert len(normalised(long)) == 64_000
    assert len(normalised("y" * 64_000)) == 64_000
    assert normalised("y" * 63_999 + "z").endswith("z")


@EXAMPLES
@given(st.text(), st.text())
def test_keys_are_short_and_never_fail(tool: str, output: str) -> None:
    assert len(call_key(tool, {"output": output})) == 16
    assert len(result_key(True, None, output)) == 16
    assert len(error_key(output)) in (0, 16)
    assert call_key("\ud800", {}) != "", "a lone surrogate is text too"
