"""What is said of files that were lost with a data directory."""

from collections.abc import Iterable
from typing import Final

from app.core.agents.events import Lost

_WHAT: Final = {
    Lost.CONVERSATION: "its conversation",
    Lost.LATEST_WORDS: "the latest part of its conversation",
    Lost.WORK: "what it did after its work was pushed last",
}


def lost_words(lost: Iterable[Lost]) -> str:
    """What of an agent is gone, within a sentence."""
    return " and ".join(_WHAT[each] for each in lost)
