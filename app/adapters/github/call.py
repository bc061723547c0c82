"""What is asked of GitHub, and what it answers, free of any HTTP library."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Method = Literal["GET", "POST", "PATCH", "DELETE"]
Query = Mapping[str, str | int]
Document = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Call:
    """One request; the path is percent-encoded and starts at GitHub's root."""

    method: Method
    path: str
    query: Query = field(default_factory=dict)
    body: Document | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What GitHub said to a call that it did."""

    body: object
    """Parsed JSON; None if there was none."""
    next_page: Query | None = None
    """The query of the next page, None on the last."""
