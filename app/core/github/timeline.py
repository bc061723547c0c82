"""What people did to an issue or a pull request, as its timeline on GitHub keeps it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Happening = Literal[
    "labeled", "unlabeled", "assigned", "unassigned", "closed", "reopened", "ready_for_review"
]


@dataclass(frozen=True, slots=True)
class Mark:
    """That somebody set a label or assigned somebody, took that back, closed an issue or a pull
    request, opened it again, or said that a pull request is no draft any more."""

    what: Happening
    about: str
    """The label's name, or the login of who is meant by an assignment; empty otherwise."""
    by: str
    """Login."""
    at: datetime
    """To the second."""
