"""The tests, collected once by pytest, and how some of them are run in forked processes.

The process that has collected them never runs one, so that every fork begins with the same,
untouched modules. Properties try fewer examples here than in `make test`, and never shrink.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Never

import pytest
from hypothesis import Phase, settings

MOST_EXAMPLES: Final = 15
"""Examples of a property in one run."""
MOST_MEMORY_BYTES: Final = 4 * 2**30
TOOL_FAILED: Final = 70
"""Exit status of a fork in which not a test but this tool failed."""


class Session:
    """A pytest plugin: it collects, and then does what it is told instead of running all tests."""

    def __init__(self) -> None:
        self.items: dict[str, pytest.Item] = {}
        self._failed: list[str] = []
        self._work: Callable[[], None] = self._nothing

    def collect(self, paths: Sequence[str], work: Callable[[], None]) -> bool:
        """Collect the tests, then `work`. False if they could not be collected."""
        self._work = work
        quiet = ["-q", "--no-header", "-s", "-p", "no:cacheprovider"]
        early = ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
        status = pytest.main([*quiet, *early, *paths], plugins=[self])
        return status is pytest.ExitCode.OK

    def run(self, tests: Sequence[str], limits: Mapping[str, float]) -> Iterator[tuple[str, bool]]:
        """Run tests in this order, each at most so many seconds; it and whether it passed.

        The process dies of a test that takes longer.
        """
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        items = [self.items[test] for test in tests]
        for item, following in zip(items, [*items[1:], None], strict=True):
            signal.setitimer(signal.ITIMER_REAL, limits[item.nodeid])
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            signal.setitimer(signal.ITIMER_REAL, 0)
            yield item.nodeid, not self._failed
            self._failed.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Called by pytest when everything is collected."""
        if session.testsfailed:
            raise session.Failed("the tests could not be collected")
        for item in session.items:
            _calm(item)
            self.items[item.nodeid] = item
        self._work()
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest for each part of each test."""
        if report.failed:
            self._failed.append(report.nodeid)

    def _nothing(self) -> None: ...


def forked(work: Callable[[], int]) -> int:
    """Do `work` in a process of its own, without a word; what it returns is its exit status.

    Returns the process id.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        _live(work)
    return pid


def _live(work: Callable[[], int]) -> Never:
    status = TOOL_FAILED
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        status = work()
    finally:
        os._exit(status)


def _calm(item: pytest.Item) -> None:
    """Fewer examples of each property, the same ones every time, and no shrinking."""
    test = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    for owner, name in (
        (test, "_hypothesis_internal_use_settings"),
        (getattr(item, "cls", None), "settings"),  # of a state machine
    ):
        own = getattr(owner, name, None)
        if isinstance(own, settings):
            setattr(owner, name, _calmed(own))


def _calmed(own: settings) -> settings:
    return settings(
        own,
        max_examples=min(own.max_examples, MOST_EXAMPLES),
        phases=(Phase.explicit, Phase.generate),
        derandomize=True,
        database=None,
    )
