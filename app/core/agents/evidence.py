"""What Squadron itself saw of an agent's work: what tests said of it, how large it is, and what of
it was withheld. An agent's words are never evidence (promise 13).

A test run counts for just the content that it ran on. So what was changed after it, also by `git
reset` or by others, has not been tested, and what was changed back has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.agents.counters import Counters
from app.core.agents.events import (
    AgentEvent,
    DiffSize,
    Kept,
    Known,
    MadeFiles,
    SegmentEnded,
    SegmentStarted,
    Spawned,
    SuiteAsked,
    ToolAsked,
    ToolEnded,
    ToolKind,
    Verified,
)
from app.testruns import Outcome, Suite, Tally, covers


@dataclass(frozen=True, slots=True)
class Evidence:
    """Of the work as GitHub holds it."""

    tests_run: Known
    """Whether tests have run since the last edit: on just this content."""
    tests_passed: Known
    """Whether they passed; UNKNOWN if they did not run."""
    diff: DiffSize | None
    """Of the whole branch; None: not measured."""
    withheld: tuple[str, ...]
    """Paths in the workspace that GitHub does not hold, as people read them."""
    verified: Verified | None = None
    """What Squadron itself found out of the very commit that GitHub holds; None: nothing."""
    deleted_tests: tuple[str, ...] = ()
    """Files with tests that the branch takes away, as people read them."""
    steering: tuple[str, ...] = ()
    """Changed files that steer tools of whoever opens the work, as people read them."""
    made: tuple[MadeFiles, ...] = ()
    """What no commit holds, since nobody wrote it."""

    @property
    def is_less_tested(self) -> bool:
        """Whether something that was tested on the default branch may not be any more."""
        return bool(self.deleted_tests) or self.has_fewer_tests or self.has_more_skipped

    @property
    def has_fewer_tests(self) -> bool:
        """Whether fewer tests ran of the commit than of where it left the default branch, as far
        as the commands say: what stops saying it is not believed."""
        compared = self._compared
        return compared is not None and compared[0].ran < compared[1].ran

    @property
    def has_more_skipped(self) -> bool:
        """The same of tests that were left out: more."""
        compared = self._compared
        return compared is not None and compared[0].skipped > compared[1].skipped

    @property
    def _compared(self) -> tuple[Tally, Tally] | None:
        verified = self.verified
        if verified is None or verified.base is None:
            return None
        return verified.tests or Tally(0, 0), verified.base

    @property
    def is_tested(self) -> bool:
        """Whether tests have run on just this content, and passed."""
        return self.tests_run is Known.YES and self.tests_passed is Known.YES


@dataclass(frozen=True, slots=True)
class _Run:
    """One test run."""

    suite: Suite
    before: str
    """What it began on, as a fingerprint of the workspace."""
    after: str | None
    """What it left; None: that was not seen."""
    outcome: Outcome | None
    """None: nobody saw its end."""
    is_alone: bool
    """Whether nothing but the tests can have changed the workspace while it ran."""
    may_restore: bool
    """Whether something else can have changed it, and have changed it back."""

    def is_of(self, content: str) -> bool:
        """Whether it is sure that the tests ran on this content. What they write themselves while
        they run belongs to it."""
        if self.after is None or self.before == self.after:
            return self.before == content and not self.may_restore
        return self.after == content and self.is_alone

    def may_be_of(self, content: str) -> bool:
        """Whether they may have run on it: the same call changed files, before or after them."""
        return content in (self.before, self.after)


def evidence(log: Sequence[AgentEvent], counters: Counters) -> Evidence | None:
    """What the log of an agent tells; None: nothing of it was pushed yet. `counters`: the fold of
    the log."""
    pushed = [event for event in log if isinstance(event, Kept) and event.pushed]
    if not pushed:
        return None
    kept, runs = pushed[-1], [*_runs(log)]
    tests_run = _tests_run(kept.content, runs, log)
    of_it = [run for run in runs if kept.content is not None and run.is_of(kept.content)]
    verified = [each for each in log if isinstance(each, Verified) and each.sha == kept.sha]
    return Evidence(
        tests_run=tests_run,
        tests_passed=_passed(of_it, counters) if tests_run is Known.YES else Known.UNKNOWN,
        diff=kept.diff,
        withheld=kept.withheld,
        verified=verified[-1] if verified else None,
        deleted_tests=kept.deleted_tests,
        steering=kept.steering,
        made=kept.made,
    )


def _tests_run(content: str | None, runs: Sequence[_Run], log: Sequence[AgentEvent]) -> Known:
    """Sub-agents run tests in the same workspace, and their logs are their own."""
    has_sub_agents = any(isinstance(event, Spawned) for event in log)
    if content is None:
        return Known.UNKNOWN if runs or has_sub_agents else Known.NO
    of_it = [run for run in runs if run.is_of(content)]
    if any(run.outcome not in (None, Outcome.DID_NOT_RUN) for run in of_it):
        return Known.YES
    is_doubtful = any(run.outcome is None for run in of_it) or any(
        run.may_be_of(content) and run not in of_it for run in runs
    )
    return Known.UNKNOWN if is_doubtful or has_sub_agents else Known.NO


def _passed(runs: Sequence[_Run], counters: Counters) -> Known:
    """What runs on one content, oldest first, say of it. A failure stands until the same tests, or
    more, pass; so does one from before the last edit, of which nobody knows whether it is over."""
    failed, unclear = set[Suite](), set[Suite]()
    for run in runs:
        match run.outcome:
            case Outcome.PASSED:
                failed = {suite for suite in failed if not covers(run.suite, suite)}
                unclear = {suite for suite in unclear if not covers(run.suite, suite)}
            case Outcome.FAILED:
                failed.add(run.suite)
            case _:
                unclear.add(run.suite)
    if failed:
        return Known.NO
    return Known.UNKNOWN if unclear or counters.tests.red else Known.YES


def _runs(log: Sequence[AgentEvent]) -> Iterator[_Run]:
    """In the order in which they ended; with a segment everything ends that runs in it."""
    at_work = set[str]()
    suites, beside = dict[str, SuiteAsked](), set[str]()
    for event in log:
        match event:
            case ToolAsked(call=call, kind=kind, suite=suite) if kind is not ToolKind.READ:
                beside |= {*suites}
                if suite is not None:
                    suites[call] = suite
                    beside |= {call} if at_work else set()
                at_work.add(call)
            case ToolEnded(call=call):
                at_work.discard(call)
                if call in suites:
                    yield _run(suites.pop(call), event, is_beside=call in beside)
            case SegmentStarted() | SegmentEnded():
                yield from (_run(each, None, is_beside=True) for each in suites.values())
                suites.clear()
                at_work.clear()
            case _:
                pass
    yield from (_run(each, None, is_beside=True) for each in suites.values())


def _run(asked: SuiteAsked, end: ToolEnded | None, *, is_beside: bool) -> _Run:
    return _Run(
        suite=asked.suite,
        before=asked.fingerprint,
        after=None if end is None else end.fingerprint,
        outcome=None if end is None else end.outcome,
        is_alone=not asked.may_change and not is_beside,
        may_restore=is_beside or (asked.may_change and asked.may_restore),
    )
