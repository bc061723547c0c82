"""Tables of words, written as running text."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of `text`, which blanks and line ends separate."""
    return frozenset(text.split())
