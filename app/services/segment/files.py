"""An agent's files count where it began last: all others are of an earlier day."""

import hashlib
import logging
from collections.abc import Sequence
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, FilesMoved, Lost
from app.core.agents.lost_files import lost_with_files
from app.ports import Artifact, ArtifactKind, Whereabouts, WorkspaceFailed
from app.services.segment.gate import BreakerGate, Superseded
from app.services.world import World

BYTES_PER_MIB: Final = 2**20

log = logging.getLogger("squadron.agents")


class Files:
    """One agent's files in this data directory."""

    def __init__(
        self, world: World, agent: Agent, history: Sequence[AgentEvent], gate: BreakerGate
    ) -> None:
        self._world = world
        self._agent = agent
        self._name = str(agent.id)
        self._history = history
        self._gate = gate
        self._most_bytes = world.house.artifact_mib_per_agent * BYTES_PER_MIB
        self._kept_digest = b""

    async def are_here(self) -> bool:
        """Whether no other data directory has newer ones. Raises `WorkspaceFailed`."""
        noted = await self._world.store.whereabouts(self._agent.id)
        return noted is None or await self._world.workspace.has(self._name, noted)

    async def claim(self) -> tuple[Lost, ...]:
        """Make what lies in this data directory the agent's files; what of them is gone, which is
        in its log then. What another directory has newer is deleted here first, and taken from
        where it was kept. Raises `WorkspaceFailed`, `Superseded`."""
        world, agent = self._world, self._agent
        workspace = world.workspace
        before = await world.store.whereabouts(agent.id)
        lost: tuple[Lost, ...] = ()
        if before is not None and not await workspace.has(self._name, before):
            await workspace.discard(self._name)
            await workspace.forget_session(self._name)
            lost = lost_with_files(
                self._history, self._gate.counters.model_calls, await self._restored()
            )
            log.info("files are elsewhere", extra={"agent": self._name, "lost": ", ".join(lost)})
            await self._gate.record([FilesMoved(at=world.clock.now(), lost=lost)])
        generation = 1 if before is None else before.generation + 1
        now = Whereabouts(await workspace.directory_id(), generation)
        # In this order: a process that dies in between has files that are newer than is known.
        await workspace.note(self._name, now)
        if not await world.store.note_whereabouts(agent, now):
            raise Superseded
        return lost

    async def _restored(self) -> int | None:
        """With how many model calls the conversation was put here; None: it was not kept."""
        kept = await self._world.store.artifact(self._agent.id, ArtifactKind.CONVERSATION)
        if kept is None:
            return None
        try:
            await self._world.workspace.unpack_session(self._name, kept.content)
        except WorkspaceFailed as failed:
            log.warning("a conversation is lost: %s", failed, extra={"agent": self._name})
            await self._world.workspace.forget_session(self._name)
            return None
        return kept.model_calls

    async def keep_conversation(self) -> None:
        """Keep what was said where every worker reaches it."""
        world, calls = self._world, self._gate.counters.model_calls
        try:
            content = await world.workspace.packed_session(self._name, self._most_bytes)
        except WorkspaceFailed as failed:
            log.warning("a conversation is not kept: %s", failed, extra={"agent": self._name})
            return
        digest = b"" if content is None else hashlib.sha256(content).digest()
        if content is None or digest == self._kept_digest:
            return
        artifact = Artifact(content, calls)
        await world.store.keep_artifact(self._agent, ArtifactKind.CONVERSATION, artifact)
        self._kept_digest = digest
