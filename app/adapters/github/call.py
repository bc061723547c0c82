"""What is asked of GitHub, and what it answers, free of any HTTP library."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

Method = Literal["GET", "POST", "PATCH", "DELETE"]
Query = Mapping[str, str | int]
Document = Mapping[str, object]

OLDEST_FIRST: Query = {"sort": "created", "direction": "asc"}


def second(instant: datetime) -> str:
    """An instant as GitHub reads and tells it."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Call:
    """One request; the path is percent-encoded and starts at GitHub's root."""

    method: Method
    path: str
    query: Query = field(default_factory=dict)
    body: Document | None = None
    is_remembered: bool = False
    """Whether GitHub is asked only for what differs from its last answer."""

    @property
    def only_reads(self) -> bool:
        """A question of GraphQL is a POST that writes nothing."""
        return self.method == "GET" or self.path.endswith("/graphql")

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What GitHub said to a call that it did."""

    body: object
    """Parsed JSON; None if there was none."""
    next_page: Query | None = None
    """The query of the next page, None on the last."""
