"""One text, and what it has to be."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Something that people read."""

    where: str
    """What kind of text it is."""
    when: str
    """What has happened."""
    render: Callable[[], str]
    expected: str
    """A snapshot."""
