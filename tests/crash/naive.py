"""The control: `squadron` that takes whatever lies in its data directory for an agent's files."""

from app.adapters.workspace import GitWorkspace
from app.bootstrap import Adapters
from app.ports import Whereabouts
from tests.support.program import squadron


async def has(self: GitWorkspace, agent: str, whereabouts: Whereabouts) -> bool:
    """As if nobody had noted in which directory the files are, and of which turn."""
    return True


if __name__ == "__main__":
    GitWorkspace.has = has  # type: ignore[method-assign]
    squadron(Adapters())
