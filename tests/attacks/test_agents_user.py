"""Which user agents are: where the service is root, another one, who owns what is theirs."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from app.adapters.processes import ProcessGroups
from app.adapters.runtimes.embedded.files import create, edit
from app.adapters.sandbox import SMALL, SandboxedProcesses
from app.adapters.sandbox.counting import held_in
from app.adapters.sandbox.user import (
    NEEDED,
    UNPRIVILEGED,
    agents_user,
    is_root,
    missing_capabilities,
)
from app.ports import SEGMENT_VARIABLE, Stay
from tests.support.sandbox import BUBBLEWRAP
from tests.support.waiting import MOST_SECONDS

ROOT = pytest.mark.skipif(not is_root(), reason="an ordinary user's agents are that user")
MARKER = "agents-user:0"


def users_of_marked() -> set[int]:
    """Of the shells that carry the marker, whoever they are inside."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_marked = (
                f"{SEGMENT_VARIABLE}={MARKER}".encode() in (process / "environ").read_bytes()
            )
            if is_marked and (process / "comm").read_text() == "bash\n":
                found.add(process.stat().st_uid)
    return found


class Agent:
    """An agent's directories below one that the service shuts for everybody else."""

    def __init__(self, data: Path) -> None:
        self.processes = ProcessGroups()
        self.walls = SandboxedProcesses(self.processes, data / "accounts", (), SMALL)
        self.root = data / "agents/one"
        self.workspace, self.home = self.root / "workspace", self.root / "home"
        self.workspace.mkdir(parents=True)
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": str(self.home), SEGMENT_VARIABLE: MARKER
        }  # fmt: skip

    async def runs(self, command: str) -> str:
        """A command's output; it has to succeed."""
        ended = await self.walls.run(
            ["bash", "-c", command],
            cwd=self.workspace,
            environment=self.environment,
            timeout_seconds=MOST_SECONDS,
        )
        assert ended.exit_code == 0, ended.output
        return ended.output

    def owners(self, directory: Path) -> set[int]:
        """Of all that lies there."""
        return {path.lstat().st_uid for path in (directory, *directory.rglob("*"))}


@pytest.fixture
def agent() -> Iterator[Agent]:
    with TemporaryDirectory(prefix="squadron-test-", dir="/var/tmp") as directory:
        assert Path(directory).stat().st_mode & 0o77 == 0
        yield Agent(Path(directory))


@BUBBLEWRAP
async def test_what_an_agent_starts_and_writes_belongs_to_nobody_else(agent: Agent) -> None:
    """Looked at from outside, while it runs."""
    os.mkfifo(agent.workspace / "goes-on")
    (agent.workspace / "cloned").mkdir()
    (agent.workspace / "cloned/file").write_text("by the service\n")
    running = asyncio.create_task(agent.runs("echo x >>cloned/file; echo y >own; read <goes-on"))
    fifo = await asyncio.to_thread(os.open, agent.workspace / "goes-on", os.O_WRONLY)
    try:
        found = await asyncio.to_thread(users_of_marked)
    finally:
        os.close(fifo)
        await asyncio.wait([running])
    assert found == {agents_user()} != {0}
    assert agent.owners(agent.workspace) == agent.owners(agent.home) == {agents_user()}
    assert (agent.workspace / "cloned/file").read_text() == "by the service\nx\n"


@BUBBLEWRAP
async def test_what_the_service_writes_for_an_agent_is_the_agents(agent: Agent) -> None:
    """Its tools for files do the work of the agent's own commands."""
    await agent.runs("mkdir made; echo one >made/by-command")
    create(agent.workspace, "made/deeper/by-tool", "one\n")
    edit(agent.workspace, "made/by-command", "one", "two")
    said = await agent.runs("echo two >>made/deeper/by-tool; rm made/by-command; ls -R made")
    assert "by-tool" in said
    assert (agent.workspace / "made/deeper/by-tool").read_text() == "one\ntwo\n"
    assert agent.owners(agent.workspace) == {agents_user()}


@BUBBLEWRAP
async def test_a_program_may_write_what_the_service_laid_down_since(agent: Agent) -> None:
    """Before each of its starts, and also below a directory that is its own already."""
    state = agent.root / "session/state"
    state.mkdir(parents=True)
    for name in ("first", "second"):
        (state / name).write_text("by the service\n")
        stay = Stay(agent.workspace, agent.environment, writable=(state,))
        async with agent.walls.around(stay) as entered:
            ended = await agent.processes.run(
                [*entered.before, "bash", "-c", f"echo x >>{state}/{name}"],
                cwd=agent.workspace,
                environment=agent.environment,
                timeout_seconds=MOST_SECONDS,
            )
        assert ended.exit_code == 0, ended.output
        assert (state / name).read_text() == "by the service\nx\n"


@BUBBLEWRAP
async def test_what_an_agent_shuts_is_counted_all_the_same(agent: Agent) -> None:
    await agent.runs("mkdir shut; head -c 500000 /dev/zero >shut/large; chmod 0 shut")
    held = await held_in([agent.workspace], agent.processes)
    assert held.size_bytes >= 500_000
    assert held.files == 4, "the directory that holds it all, two directories, a file"


@ROOT
@BUBBLEWRAP
async def test_an_agent_of_roots_cannot_open_what_is_roots(agent: Agent) -> None:
    """Not even where the service bound it to be written."""
    secret = agent.workspace / "of-root"
    await agent.runs("true")
    secret.write_text("secret\n")
    secret.chmod(0o600)
    assert await agent.runs("cat of-root 2>&1 || true") == "cat: of-root: Permission denied\n"


def test_root_without_its_rights_is_found_out() -> None:
    """A container may have taken them."""
    everything = sum(1 << number for number in NEEDED.values())
    assert missing_capabilities(["Name:\tx", f"CapEff:\t{everything:016x}"]) == []
    assert missing_capabilities([f"CapEff:\t{everything & ~(1 << 21):016x}"]) == ["SYS_ADMIN"]
    assert len(missing_capabilities(["CapEff:\t0000000000000000"])) == len(NEEDED)
    assert 60706 <= UNPRIVILEGED <= 61183
