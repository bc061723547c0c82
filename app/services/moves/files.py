"""An agent's files count where it began last: all others are of an earlier day."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, FilesMoved, Lost
from app.core.agents.lost_files import calls_when_pushed, is_held, lost_of_conversation
from app.ports import (
    Artifact,
    ArtifactKind,
    CheckoutOrder,
    GitAway,
    StoreUnavailable,
    Whereabouts,
    WorkspaceFailed,
)
from app.services.moves.readiness import Readiness, discard_clone, note_readiness
from app.services.world import World

BYTES_PER_MIB: Final = 2**20

log = logging.getLogger("squadron.agents")


class Files:
    """One agent's files in this data directory."""

    def __init__(self, world: World, agent: Agent) -> None:
        """The agent as it was seen: who has gone on since then is not touched."""
        self._world = world
        self._agent = agent
        self._name = str(agent.id)
        self._kept_calls = -1
        """As of how many model calls its files were kept last."""

    async def elsewhere(self) -> Whereabouts | None:
        """Where newer ones are than here; None: these are the newest. Raises `WorkspaceFailed`."""
        noted = await self._world.store.whereabouts(self._agent.id)
        if noted is None or await self._world.workspace.has(self._name, noted):
            return None
        return noted

    async def is_work_kept(self, history: Sequence[AgentEvent]) -> bool:
        """Whether all of the agent's work was pushed, or kept for others."""
        kept = await self._world.artifacts.artifact(self._agent.id, ArtifactKind.WORK)
        return is_held(history, None if kept is None else kept.model_calls)

    async def claim(
        self,
        history: Sequence[AgentEvent],
        order: CheckoutOrder | None,
        record: Callable[[FilesMoved], Awaitable[None]] | None = None,
    ) -> tuple[Lost, ...] | None:
        """Make what lies in this data directory the agent's files; what of them is gone, which is
        in its log then: `record` puts it there where a segment runs, which alone writes its log.
        What another directory has newer is deleted here first, and taken from where it was kept.
        `order`: None for who has no work of its own that is pushed. None if the agent has gone on
        since it was seen. Raises `WorkspaceFailed`, and what `record` raises."""
        world, workspace = self._world, self._world.workspace
        before = await world.store.whereabouts(self._agent.id)
        moved = untold = None
        if before is not None and not await workspace.has(self._name, before):
            moved = untold = await self._taken(history, order)
        if moved is not None and record is not None:
            await record(moved)
            untold = None
        generation = 1 if before is None else before.generation + 1
        now = Whereabouts(await workspace.directory_id(), generation)
        # In this order: a process that dies in between has files that are newer than is known.
        await workspace.note(self._name, now)
        if not await world.store.note_whereabouts(self._agent, now, untold):
            return None
        return () if moved is None else moved.lost

    async def keep(self, order: CheckoutOrder | None, model_calls: int) -> None:
        """Keep the agent's files, as they are after so many calls of the model, where every worker
        reaches them: the conversation, and what of the work is not pushed. `order`: as `claim`."""
        if model_calls == self._kept_calls:
            return
        workspace = self._world.workspace
        left = self._world.house.artifact_mib_per_agent * BYTES_PER_MIB
        try:
            if order is not None:
                work = await workspace.packed_work(order, left)
                left -= len(work or b"")
                await self._keep(ArtifactKind.WORK, work, model_calls)
            conversation = await workspace.packed_session(self._name, left)
            await self._keep(ArtifactKind.CONVERSATION, conversation, model_calls)
        except (WorkspaceFailed, StoreUnavailable) as failed:
            log.warning("files are not kept: %s", failed, extra={"agent": self._name})
            return
        self._kept_calls = model_calls

    async def _keep(self, kind: ArtifactKind, content: bytes | None, model_calls: int) -> None:
        if content is not None:
            artifact = Artifact(content, model_calls)
            await self._world.artifacts.keep_artifact(self._agent, kind, artifact)

    async def _taken(
        self, history: Sequence[AgentEvent], order: CheckoutOrder | None
    ) -> FilesMoved:
        """Put what was kept in the place of what is here."""
        await discard_clone(self._world, self._agent)
        await self._world.workspace.forget_session(self._name)
        lost = [lost_of_conversation(history, await self._conversation_taken())]
        if order is not None and not is_held(history, await self._work_taken(history, order)):
            lost.append(Lost.WORK)
        gone = tuple(filter(None, lost))
        log.info("files are elsewhere", extra={"agent": self._name, "lost": ", ".join(gone)})
        return FilesMoved(at=self._world.clock.now(), lost=gone)

    async def _conversation_taken(self) -> int | None:
        """With how many model calls the conversation was put here; None: it was not kept."""
        kept = await self._world.artifacts.artifact(self._agent.id, ArtifactKind.CONVERSATION)
        if kept is None:
            return None
        try:
            await self._world.workspace.unpack_session(self._name, kept.content)
        except WorkspaceFailed as failed:
            log.warning("a conversation is lost: %s", failed, extra={"agent": self._name})
            await self._world.workspace.forget_session(self._name)
            return None
        return kept.model_calls

    async def _work_taken(self, history: Sequence[AgentEvent], order: CheckoutOrder) -> int | None:
        """As of how many model calls the work that is not pushed was put here."""
        kept = await self._world.artifacts.artifact(self._agent.id, ArtifactKind.WORK)
        if kept is None:
            return None
        if not kept.content or kept.model_calls <= calls_when_pushed(history):
            return kept.model_calls
        note_readiness(self._world, self._agent, Readiness.HOLDS_WORK)
        try:
            await self._world.workspace.unpack_work(order, kept.content)
        except GitAway:
            raise
        except WorkspaceFailed as failed:
            log.warning("work is lost: %s", failed, extra={"agent": self._name})
            await discard_clone(self._world, self._agent)
            return None
        return kept.model_calls
