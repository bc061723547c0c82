"""Check runs and commit statuses of other Apps that have failed."""

from dataclasses import dataclass
from typing import Final

FAILED: Final = frozenset({"failure", "timed_out", "startup_failure"})
"""Conclusions of a check run that ask for another try; the others ask for nothing, or a human."""
FAILED_STATES: Final = frozenset({"failure", "error"})
"""States of a commit status that ask for another try."""


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check run of another App that has failed, or a commit status that says so."""

    name: str
    """Of a status: its context."""
    app: str | None
    """None: it is a status, and GitHub's summary of those does not say whose."""
    conclusion: str
    """Of a status: its state."""
    title: str
    """Of a status: its description."""
    summary: str
    """Of a status: the page that tells more."""

    @property
    def is_status(self) -> bool:
        """Whether whoever may push has set it, rather than an App."""
        return self.app is None
