"""What Squadron itself saw of an agent's tests (promise 13): a run counts for just the content that
it ran on, and an agent's report never counts."""

from collections.abc import Callable

import pytest

from app.core.agents.events import DiffSize, Kept, Known
from app.core.agents.evidence import Evidence, evidence
from app.testruns import Outcome, Suite
from tests.core.life import Life, begun
from tests.core.strategies import ELSEWHERE, EVERYTHING, FOLDER, ONE_FILE, START

YES, NO, UNKNOWN = Known
PASSED, FAILED, UNCLEAR = Outcome.PASSED, Outcome.FAILED, Outcome.UNKNOWN
SIZE = DiffSize(files=2, added=30, deleted=4)


def handed_over(life: Life, content: str | None, withheld: tuple[str, ...] = ()) -> None:
    """GitHub holds this content of the workspace; None: none that the workspace has."""
    life.happens(
        Kept(
            at=START,
            sha="a" * 40,
            pushed=True,
            problem="",
            diff=SIZE,
            content=content,
            withheld=withheld,
        )
    )


def saw(life: Life, content: str | None = "v1") -> tuple[Known, Known]:
    """What is known of a hand-over of this content: whether tests ran, whether they passed."""
    handed_over(life, content)
    seen = evidence(life.log, life.counters)
    assert seen is not None
    return seen.tests_run, seen.tests_passed


def runs(
    life: Life,
    before: str,
    after: str,
    outcome: Outcome = PASSED,
    suite: Suite = EVERYTHING,
    *,
    may_change: bool = False,
    may_restore: bool = False,
) -> None:
    """A test run from its ask to its end, alone."""
    life.asks_tests(suite, before, may_change=may_change, may_restore=may_restore)
    life.tests_end(life.last_call, outcome, left=after)


def nothing(life: Life) -> None:
    del life


def words_only(life: Life) -> None:
    life.does("echo 'all tests pass'", result="all tests pass")


def passes(life: Life) -> None:
    life.tests(PASSED)


def fails(life: Life) -> None:
    life.tests(FAILED)


def edits_after_the_tests(life: Life) -> None:
    life.tests(PASSED, content="v0")
    life.edits("a.py")


def resets_after_the_tests(life: Life) -> None:
    """The tests saw a fix that is gone."""
    life.tests(PASSED, content="fixed")
    life.does("git reset --hard origin/main")


def is_pulled_onto_others_work(life: Life) -> None:
    life.tests(PASSED, content="only mine")


def changes_it_back(life: Life) -> None:
    life.tests(PASSED)
    life.tests(FAILED, content="an experiment")
    life.tests(PASSED)


def fails_at_an_experiment_last(life: Life) -> None:
    """What it was put back to has passed, but is the failure over? Nobody ran the tests since."""
    life.tests(PASSED)
    life.tests(FAILED, content="an experiment")


def passes_one_file_only(life: Life) -> None:
    """The failure of all tests stands until all of them pass."""
    life.tests(FAILED)
    life.tests(PASSED, suite=ONE_FILE)


def passes_one_file_after_an_edit(life: Life) -> None:
    life.tests(FAILED, content="v0")
    life.edits("a.py")
    life.tests(PASSED, suite=ONE_FILE)


def passes_more_than_failed(life: Life) -> None:
    life.tests(FAILED, suite=ONE_FILE)
    life.tests(PASSED, suite=FOLDER)


def passes_elsewhere(life: Life) -> None:
    life.tests(FAILED, suite=FOLDER)
    life.tests(PASSED, suite=ELSEWHERE)


def finds_no_tests(life: Life) -> None:
    life.tests(Outcome.DID_NOT_RUN)


def shows_nothing(life: Life) -> None:
    life.tests(UNCLEAR)


def shows_nothing_and_passes(life: Life) -> None:
    life.tests(UNCLEAR)
    life.tests(PASSED)


def fixes_and_tests_in_one_line(life: Life) -> None:
    """`sed -i … && pytest`: before or after the edit?"""
    runs(life, "v0", "v1", may_change=True, may_restore=True)


def formats_on_the_way(life: Life) -> None:
    """The tests wrote a snapshot or a cache; nothing else ran."""
    runs(life, "v0", "v1")


def stashes_for_the_tests(life: Life) -> None:
    """`git stash; pytest; git stash pop`: the same content before and after, and not tested."""
    runs(life, "v1", "v1", may_change=True, may_restore=True)


def installs_for_the_tests(life: Life) -> None:
    """`pip install -e . && pytest`: it puts nothing back."""
    runs(life, "v1", "v1", may_change=True)


def never_sees_the_end(life: Life) -> None:
    life.asks_tests()


def is_cut_off(life: Life) -> None:
    life.asks_tests()
    life.is_cut_off()


def dies_in_the_middle(life: Life) -> None:
    life.asks_tests()
    life.crashes()
    life.begins_segment()


def edits_beside_the_tests(life: Life) -> None:
    """Two calls at once: the edit may have been there and gone while the tests ran."""
    life.asks_tests()
    tests = life.last_call
    life.edits("a.py")
    life.tests_end(tests, PASSED)


def begins_tests_beside_an_edit(life: Life) -> None:
    life.asks_tool("edit", "a.py")
    edit = life.last_call
    life.tests(PASSED)
    life.tool_ends(edit, changed=True)


def reads_beside_the_tests(life: Life) -> None:
    life.asks_tests()
    tests = life.last_call
    life.does("a.py", tool="view")
    life.tests_end(tests, PASSED)


def has_a_sub_agent(life: Life) -> None:
    """Its tests are in a log of its own."""
    life.spawned("octo/demo#12/test/1")


CASES: list[tuple[Callable[[Life], None], Known, Known]] = [
    (nothing, NO, UNKNOWN),
    (words_only, NO, UNKNOWN),
    (passes, YES, YES),
    (fails, YES, NO),
    (edits_after_the_tests, NO, UNKNOWN),
    (resets_after_the_tests, NO, UNKNOWN),
    (is_pulled_onto_others_work, NO, UNKNOWN),
    (changes_it_back, YES, YES),
    (fails_at_an_experiment_last, YES, UNKNOWN),
    (passes_one_file_only, YES, NO),
    (passes_one_file_after_an_edit, YES, UNKNOWN),
    (passes_more_than_failed, YES, YES),
    (passes_elsewhere, YES, NO),
    (finds_no_tests, NO, UNKNOWN),
    (shows_nothing, YES, UNKNOWN),
    (shows_nothing_and_passes, YES, YES),
    (fixes_and_tests_in_one_line, UNKNOWN, UNKNOWN),
    (formats_on_the_way, YES, YES),
    (stashes_for_the_tests, UNKNOWN, UNKNOWN),
    (installs_for_the_tests, YES, YES),
    (never_sees_the_end, UNKNOWN, UNKNOWN),
    (is_cut_off, UNKNOWN, UNKNOWN),
    (dies_in_the_middle, UNKNOWN, UNKNOWN),
    (edits_beside_the_tests, UNKNOWN, UNKNOWN),
    (begins_tests_beside_an_edit, UNKNOWN, UNKNOWN),
    (reads_beside_the_tests, YES, YES),
    (has_a_sub_agent, UNKNOWN, UNKNOWN),
]


@pytest.mark.parametrize(
    ("happens", "tests_run", "tests_passed"), CASES, ids=[each.__name__ for each, _, _ in CASES]
)
def test_what_is_known_of_the_tests(
    happens: Callable[[Life], None], tests_run: Known, tests_passed: Known
) -> None:
    life = begun()
    happens(life)
    assert saw(life) == (tests_run, tests_passed)


def test_nothing_is_known_of_content_that_the_workspace_never_had() -> None:
    """Something was withheld, or others pushed: what ran was not this."""
    life = begun()
    assert saw(life, None) == (NO, UNKNOWN)
    life.tests(PASSED)
    assert saw(life, None) == (UNKNOWN, UNKNOWN)


def test_what_is_handed_over_last_counts() -> None:
    life = begun()
    life.tests(PASSED, content="v1")
    assert saw(life, "v1") == (YES, YES)
    assert saw(life, "v2") == (NO, UNKNOWN)
    life.tests(PASSED, content="v2")
    assert saw(life, "v2") == (YES, YES)


def test_the_size_of_the_work_and_what_was_withheld_are_evidence_too() -> None:
    life = begun()
    assert evidence(life.log, life.counters) is None, "nothing is on GitHub yet"
    life.happens(Kept(at=START, sha=None, pushed=False, problem="GitHub is away"))
    assert evidence(life.log, life.counters) is None
    handed_over(life, "v1", ("big.bin",))
    assert evidence(life.log, life.counters) == Evidence(NO, UNKNOWN, SIZE, ("big.bin",))
    life.happens(Kept(at=START, sha=None, pushed=False, problem="GitHub is away"))
    assert evidence(life.log, life.counters) == Evidence(NO, UNKNOWN, SIZE, ("big.bin",))
