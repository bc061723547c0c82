"""One thing's trouble in a pass of reconciliation is its own: it ends neither the pass nor what
comes after it."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from app.ports import GitHubFailed, StoreUnavailable

MOST_LISTED: Final = 100
"""What a pass lists of what has failed in it."""

log = logging.getLogger("squadron.reconcile")


@dataclass(frozen=True, slots=True)
class _Failed:
    kind: str
    passes: int
    """In a row."""


class Guard:
    """What nobody has foreseen, thing by thing. For the passes of one process, one at a time."""

    def __init__(self) -> None:
        self._before: Mapping[str, _Failed] = {}
        self._now: dict[str, _Failed] = {}

    def begin(self) -> None:
        """A pass begins."""
        self._before, self._now = self._now, {}

    @property
    def failed(self) -> Mapping[str, str]:
        """What has failed in this pass, and with what kind of exception; cut to `MOST_LISTED`."""
        listed = sorted(self._now)[:MOST_LISTED]
        return {what: self._now[what].kind for what in listed}

    def passes(self, what: str) -> int:
        """In how many passes in a row it has failed, this one included."""
        return self._now[what].passes if what in self._now else 0

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

    def _note(self, what: str, error: Exception) -> None:
        kind, before = type(error).__name__, self._before.get(what)
        if what not in self._now:
            self._now[what] = _Failed(kind, 1 if before is None else before.passes + 1)
        if before is None or before.kind != kind:  # else its traceback is in the log already
            log.error("not reconciled: %s", kind, extra={"what": what}, exc_info=error)
