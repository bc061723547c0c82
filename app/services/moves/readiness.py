"""Whether an agent's clone was made ready to be worked in, as noted beside it."""

from enum import StrEnum
from pathlib import Path

from app.core.agents.agent import Agent
from app.services.world import World


class Readiness(StrEnum):
    """Of a clone in which somebody may have worked."""

    READY = "ready"
    HOLDS_WORK = "holds work"
    """It was made of work that was done elsewhere, and its setup has not run."""


def readiness(world: World, agent: Agent) -> Readiness | None:
    """None: nobody has worked in the clone, and its setup may have been cut off. What a power cut
    has left unreadable may hold work."""
    file = _file(world, agent)
    if not file.exists():
        return None
    is_ready = file.read_text() == Readiness.READY
    return Readiness.READY if is_ready else Readiness.HOLDS_WORK


def note_readiness(world: World, agent: Agent, now: Readiness) -> None:
    """Remember it for the next process."""
    file = _file(world, agent)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(now)
    new.replace(file)


async def discard_clone(world: World, agent: Agent) -> None:
    """Delete what was noted of the agent's clone, then the clone: no other clone is ever taken for
    one that was made ready. Raises `WorkspaceFailed`."""
    _file(world, agent).unlink(missing_ok=True)
    await world.workspace.discard(str(agent.id))


def _file(world: World, agent: Agent) -> Path:
    return world.agents_directory(str(agent.id)) / "readiness"
