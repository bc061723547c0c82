"""Iterations: a fix cycle is a test run asked for after one that did not pass and a change."""

import pytest
from hypothesis import given

from app.core.agents.counters import fold
from app.core.agents.events import SegmentStarted, ToolEnded
from app.core.breaker.verdict import Answer, Verdict
from app.core.limits import LimitName
from app.testruns import Outcome, Suite, covers
from tests.core.life import Life, begun
from tests.core.onlooker import fix_cycles, runs_of
from tests.core.random_lives import Step, lived, step_lists, suite_lists
from tests.core.strategies import (
    ELSEWHERE,
    EVERYTHING,
    EXAMPLES,
    FOLDER,
    NO_LIMITS,
    NOT_PASSED,
    ONE_FILE,
    OTHER_RUNNER,
    SUITES,
    WIDER_OR_SAME,
    only,
)

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


def cycles(life: Life) -> int:
    return life.counters.fix_cycles


# --- stories in plain values ------------------------------------------------------------------


@pytest.mark.parametrize("outcome", NOT_PASSED)
def test_the_first_run_that_does_not_pass_is_the_baseline(outcome: Outcome) -> None:
    life = begun()
    life.tests(outcome, content="v1")
    assert cycles(life) == 0
    life.tests(outcome, content="v2")
    assert cycles(life) == 1


def test_a_repeat_without_a_change_does_not_count() -> None:
    life = begun()
    for _ in range(10):
        life.tests(FAILED, content="v1")
    assert (cycles(life), life.counters.test_runs) == (0, 10)


def test_what_the_run_itself_wrote_is_no_change() -> None:
    """Caches and reports of the test runner: the workspace as the run left it is compared."""
    life = begun()
    life.asks_tests(content="v1")
    life.tests_end(life.last_call, FAILED, left="v1 and a cache")
    life.tests(FAILED, content="v1 and a cache")
    assert cycles(life) == 0


def edits_and_tests(life: Life, before: str, after: str, outcome: Outcome = FAILED) -> Verdict:
    """`sed -i … && pytest`: the change is made by the same command line."""
    verdict = life.asks_tests(content=before, may_change=True)
    if verdict.allowed:
        life.tests_end(life.last_call, outcome, left=after)
    return verdict


def test_an_edit_and_a_test_run_in_one_command_line_are_a_cycle() -> None:
    life = begun(only(max_iterations=3))
    for version in range(4):
        assert edits_and_tests(life, f"v{version}", f"v{version + 1}").allowed
    verdict = edits_and_tests(life, "v4", "v5")
    assert (verdict.answer, verdict.observed, verdict.maximum) == (Answer.HALT, 3, 3)


def test_a_command_line_that_changed_nothing_after_all_was_no_cycle() -> None:
    life = begun()
    life.tests(FAILED, content="v1")
    edits_and_tests(life, "v1", "v1")
    assert cycles(life) == 0
    edits_and_tests(life, "v2", "v2")
    assert cycles(life) == 1, "it was changed before that command line"


def test_an_edit_and_a_test_run_in_one_command_line_are_given_back_when_they_pass() -> None:
    life = begun()
    life.tests(FAILED, content="v1")
    edits_and_tests(life, "v1", "v2", PASSED)
    assert cycles(life) == 0


def test_going_back_to_older_content_is_a_change() -> None:
    life = begun()
    life.tests(FAILED, content="v1")
    life.tests(FAILED, content="v2")
    life.tests(FAILED, content="v1")
    assert cycles(life) == 2


def test_a_cycle_counts_when_it_is_asked_and_is_given_back_when_it_passes() -> None:
    life = begun()
    life.tests(FAILED, content="v1")
    life.asks_tests(content="v2")
    assert cycles(life) == 1
    life.tests_end(life.last_call, PASSED)
    assert cycles(life) == 0


@pytest.mark.parametrize("outcome", [*NOT_PASSED, None])
def test_only_a_visible_pass_gives_back(outcome: Outcome | None) -> None:
    life = begun()
    life.tests(FAILED, content="v1")
    life.asks_tests(content="v2")
    life.tests_end(life.last_call, outcome)
    assert cycles(life) == 1


@pytest.mark.parametrize(("ok", "outcome", "left"), [(True, FAILED, 1), (False, PASSED, 0)])
def test_the_outcome_of_the_tests_decides_not_that_of_the_command(
    ok: bool, outcome: Outcome, left: int
) -> None:
    """`pytest | tail` ends well whatever the tests did; `pytest && deploy` may end badly."""
    life = begun()
    life.tests(FAILED, content="v1")
    life.asks_tests(content="v2")
    life.happens(
        ToolEnded(at=life.now, call=life.last_call, ok=ok, outcome=outcome, fingerprint="v2")
    )
    assert cycles(life) == left
    assert len(life.counters.tests.red) == left


def test_a_repeat_that_passes_gives_nothing_back() -> None:
    """What was not counted cannot be returned."""
    life = begun()
    life.tests(FAILED, content="v1")
    life.tests(FAILED, content="v2")
    life.tests(PASSED, content="v2")
    assert cycles(life) == 1


def test_after_a_pass_the_next_failure_is_a_new_baseline() -> None:
    life = begun()
    life.tests(FAILED, content="v1")
    life.tests(PASSED, content="v2")
    life.tests(FAILED, content="v3")
    assert cycles(life) == 0
    life.tests(FAILED, content="v4")
    assert cycles(life) == 1


def test_passes_count_nothing_however_often_the_code_changes() -> None:
    life = begun(only(max_iterations=1))
    for n in range(20):
        assert life.tests(PASSED, content=f"v{n}").answer is Answer.ALLOW
    assert cycles(life) == 0


def test_a_pass_does_not_close_the_failure_of_a_wider_run() -> None:
    """`pytest one_easy_test` closes nothing that `pytest` opened."""
    life = begun(only(max_iterations=2))
    life.tests(FAILED, EVERYTHING, "v1")
    for n in (2, 3):
        life.tests(PASSED, ONE_FILE, f"v{n} easy")
        assert life.tests(FAILED, EVERYTHING, f"v{n}").allowed
        assert cycles(life) == n - 1
    verdict = life.asks_tests(EVERYTHING, "v4")
    assert (verdict.answer, verdict.limit) == (Answer.HALT, LimitName.MAX_ITERATIONS)


def test_a_narrow_pass_leaves_the_content_that_failed_wide_as_it_was() -> None:
    """The narrow pass on v2 is no excuse: v2 is a change since `pytest` failed on v1."""
    life = begun()
    life.tests(FAILED, EVERYTHING, "v1")
    life.tests(PASSED, ONE_FILE, "v2")
    life.tests(FAILED, EVERYTHING, "v2")
    assert cycles(life) == 1


def test_a_pass_clears_the_same_and_narrower_selections_only() -> None:
    for wide in SUITES:
        for narrow in SUITES:
            life = begun()
            life.tests(FAILED, narrow, "v1")
            life.tests(PASSED, wide, "v2")
            cleared = wide in WIDER_OR_SAME[narrow]
            assert (life.counters.tests.red == frozenset()) is cleared, (wide, narrow)
            assert (life.counters.tests.red_fingerprint is None) is cleared
            assert covers(wide, narrow) is cleared


def test_a_pass_clears_one_failure_and_leaves_another() -> None:
    life = begun()
    life.tests(FAILED, FOLDER, "v1")
    life.tests(FAILED, ELSEWHERE, "v1")
    life.tests(PASSED, FOLDER, "v2")
    assert life.counters.tests.red == {ELSEWHERE}
    life.tests(PASSED, OTHER_RUNNER, "v3")
    assert life.counters.tests.red == {ELSEWHERE}
    life.tests(PASSED, EVERYTHING, "v4")
    assert life.counters.tests.red == frozenset()
    assert cycles(life) == 0


def test_runs_that_hide_their_status_are_the_same_selection() -> None:
    """`pytest | tail` failed; `pytest` passes: nothing is left open."""
    life = begun()
    hidden = Suite("pytest", (), status_visible=False)
    life.tests(Outcome.UNKNOWN, hidden, "v1")
    life.tests(PASSED, EVERYTHING, "v1")
    assert life.counters.tests.red == frozenset()


def test_two_runs_at_once_each_count_and_each_is_given_back() -> None:
    life = begun()
    life.tests(FAILED, EVERYTHING, "v1")
    life.asks_tests(FOLDER, "v2")
    first = life.last_call
    life.asks_tests(ELSEWHERE, "v2")
    second = life.last_call
    assert cycles(life) == 2
    life.tests_end(second, PASSED)
    assert cycles(life) == 1
    life.tests_end(first, FAILED)
    assert cycles(life) == 1
    assert life.counters.tests.red == {EVERYTHING, FOLDER}
    assert life.counters.tests.running == ()


def test_two_runs_at_once_cannot_pass_the_maximum_together() -> None:
    life = begun(only(max_iterations=1))
    life.tests(FAILED, EVERYTHING, "v1")
    assert life.asks_tests(FOLDER, "v2").allowed
    assert life.asks_tests(ELSEWHERE, "v2").answer is Answer.HALT


def test_a_run_that_is_under_way_has_not_failed_yet() -> None:
    life = begun()
    life.asks_tests(EVERYTHING, "v1")
    life.asks_tests(EVERYTHING, "v2")
    assert cycles(life) == 0


def test_a_run_that_a_crash_cut_off_has_not_passed() -> None:
    life = begun()
    life.asks_tests(EVERYTHING, "v1")
    life.crashes()
    life.begins_segment()
    assert life.counters.tests.red == {EVERYTHING}
    life.tests(FAILED, EVERYTHING, "v1")
    assert cycles(life) == 0, "the same again is a repeat"
    life.tests(FAILED, EVERYTHING, "v2")
    assert cycles(life) == 1


def test_a_cycle_that_a_crash_cut_off_stays_counted() -> None:
    life = begun()
    life.tests(FAILED, EVERYTHING, "v1")
    life.asks_tests(FOLDER, "v2")
    cut_off = life.last_call
    life.crashes()
    life.begins_segment()
    life.happens(ToolEnded(at=life.now, call=cut_off, ok=True, outcome=PASSED, fingerprint="v2"))
    assert cycles(life) == 1, "an answer from before the crash clears nothing"
    assert life.counters.tests.red == {EVERYTHING, FOLDER}


def test_what_failed_before_a_sleep_is_remembered_after_it() -> None:
    life = begun()
    life.tests(FAILED, content="v1")
    life.sleeps()
    life.wakes()
    life.begins_segment()
    life.tests(FAILED, content="v2")
    assert cycles(life) == 1


def test_a_fingerprint_that_could_not_be_had_at_the_end_is_the_one_of_the_ask() -> None:
    life = begun()
    life.asks_tests(content="v1")
    life.happens(ToolEnded(at=life.now, call=life.last_call, ok=False, outcome=FAILED))
    life.tests(FAILED, content="v1")
    assert cycles(life) == 0


def test_the_mode_test_runs_counts_every_run_and_gives_nothing_back() -> None:
    life = begun(only(max_iterations=3, iteration_mode="test_runs"))
    life.tests(PASSED, content="v1")
    life.tests(FAILED, content="v1")
    life.tests(FAILED, content="v1")
    verdict = life.asks_tests(content="v1")
    assert (verdict.answer, verdict.observed, verdict.maximum) == (Answer.HALT, 3, 3)


# --- a second opinion -------------------------------------------------------------------------


@EXAMPLES
@given(step_lists | suite_lists)
def test_the_fold_counts_as_an_onlooker_counts(steps: list[Step]) -> None:
    life = lived(NO_LIMITS, steps)
    for cut in range(len(life.log) + 1):
        counters = fold(life.log[:cut])
        runs = runs_of(life.log[:cut])
        assert (counters.fix_cycles, counters.test_runs) == (fix_cycles(runs), len(runs))


@EXAMPLES
@given(step_lists)
def test_a_restart_only_turns_runs_under_way_red(steps: list[Step]) -> None:
    life = lived(NO_LIMITS, steps)
    before = life.counters
    after = fold([SegmentStarted(at=life.now, segment=9, attempt=1)], before)
    assert after.tests.running == ()
    assert after.tests.red == before.tests.red | {run.asked.suite for run in before.tests.running}
    assert after.fix_cycles == before.fix_cycles
