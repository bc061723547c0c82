"""What is kept of agents where every worker reaches it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from app.core.agents.agent import Agent, AgentId


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


class Artifacts(Protocol):
    """Where artifacts are kept. All of it raises `StoreUnavailable`."""

    async def artifact(self, agent: AgentId, kind: ArtifactKind) -> Artifact | None:
        """What was kept of it last; None: nothing."""
        ...

    async def keep_artifact(self, agent: Agent, kind: ArtifactKind, artifact: Artifact) -> bool:
        """In the place of what was kept before, unless it has gone on since it was seen; then
        False."""
        ...

    async def forget_artifacts(self, agent: AgentId) -> None:
        """Keep nothing of it any longer."""
        ...
