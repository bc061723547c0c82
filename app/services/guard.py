"""One thing's trouble in a pass of reconciliation is its own: it ends neither the pass nor what
comes after it."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from app.ports import GitHubFailed, StoreUnavailable

MOST_LISTED: Final = 100
"""What a pass lists of what has failed in it."""

log = logging.getLogger("squadron.reconcile")


class Guard:
    """What nobody has foreseen, thing by thing. For the passes of one process, one at a time."""

    def __init__(self) -> None:
        self._before: Mapping[tuple[str, str], int] = {}
        self._now: dict[tuple[str, str], int] = {}
        """In how many passes in a row something has failed with a kind of exception."""

    def begin(self) -> None:
        """A pass begins."""
        self._before, self._now = self._now, {}

    @property
    def failed(self) -> Mapping[str, str]:
        """What has failed in this pass, and with which kinds of exceptions; cut to
        `MOST_LISTED`."""
        kinds: dict[str, list[str]] = {}
        for what, kind in sorted(self._now):
            kinds.setdefault(what, []).append(kind)
        return {what: ", ".join(kinds[what]) for what in [*kinds][:MOST_LISTED]}

    def passes(self, what: str) -> int:
        """In how many passes in a row it has failed in the same way, this one included."""
        return max((passes for (each, _), passes in self._now.items() if each == what), default=0)

    @contextmanager
    def over(self, what: str) -> Iterator[None]:
        """Take note of an exception within the block, and go on after it. GitHub's failures and
        the database's say what is to be done, and are not for here."""
        try:
            yield
        except (GitHubFailed, StoreUnavailable):
            raise
        except Exception as error:
            self._note(what, error)

    async def attempt(self, what: str, action: Callable[[], Awaitable[object]]) -> None:
        """Do it; whatever goes wrong is logged and left to the next pass. Raises
        `StoreUnavailable`."""
        try:
            with self.over(what):
                await action()
        except GitHubFailed as error:
            log.warning("not reconciled: %s", error, extra={"what": what})

    def _note(self, what: str, error: Exception) -> None:
        kind = type(error).__name__
        failure = what, kind
        if failure not in self._now and failure not in self._before:  # else the log has it
            log.error("not reconciled: %s", kind, extra={"what": what}, exc_info=error)
        self._now[failure] = self._before.get(failure, 0) + 1
