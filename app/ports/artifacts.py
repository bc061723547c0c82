"""What is kept of agents where every worker reaches it."""

from dataclasses import dataclass
from enum import StrEnum


class ArtifactKind(StrEnum):
    """What an artifact holds."""

    CONVERSATION = "conversation"
    WORK = "work"
    """What of its clone was not pushed; empty: all was."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A packed part of an agent's files, as it was once."""

    content: bytes
    model_calls: int
    """How many the agent had made by then: by that it is known what is not in it."""
