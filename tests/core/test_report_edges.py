"""What a report makes of logs that break off, or that begin in the middle."""

from app.core.agents.events import DiffSize, Kept, Raised, Slept, Summarised, Waits
from app.core.agents.lifecycle import State
from app.core.limits import LimitName
from app.core.words.report import report
from app.testruns import Outcome
from tests.core.life import Life, begun
from tests.core.strategies import EVERYTHING, START, agent

CALLS = LimitName.MAX_TOOL_CALLS


def test_a_sleep_is_shown_whatever_was_written_after_it() -> None:
    life = begun()
    life.sleeps()
    life.happens(Summarised(at=life.now, text="I wait."))
    found = report(agent(State.SLEEPING, waits_for=Waits.BLOCKER), life.log, life.now)
    assert isinstance(found.slept, Slept) and found.slept.reason == "needs #7"


def test_progress_counts_from_the_very_event_of_the_grant() -> None:
    granted = Raised(at=START, limit=CALLS, amount=1, maximum=4, by="mona")
    diff = DiffSize(files=1, added=2, deleted=3)
    life = Life()
    life.happens(granted)
    life.happens(Kept(at=START, sha="a" * 40, pushed=True, problem="", diff=diff))
    life.begins_segment()
    life.tests(Outcome.FAILED)
    progress = report(agent(), life.log, START).progress
    assert (progress.grant, progress.diff, progress.diff_before) == (granted, diff, None)
    assert len(progress.test_runs) == 1


def test_what_a_test_run_left_is_not_known_until_it_ends() -> None:
    life = begun()
    for content in ("v1", "v2", "v2"):
        life.asks_tests(EVERYTHING, content)
    found = report(agent(), life.log, life.now).test_runs
    assert [run.changed for run in found] == [False, True, False]
    assert [run.outcome for run in found] == [None, None, None]
