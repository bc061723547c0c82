"""What the tests of the Copilot runtime share: the real CLI, opened on a world of the contract."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.adapters.modelproxy import Bounds as DoorBounds
from app.adapters.modelproxy import ModelProxy, Upstream
from app.adapters.processes import NoWalls, ProcessGroups
from app.adapters.runtimes.copilot import Bounds, CopilotRuntime
from app.ports import Gate, Session, SessionOrder, Walls
from app.scripted.script import Scripts
from app.scripted.server import ScriptedServer
from tests.contract.embedded import KEY, RecordingGate
from tests.support.clis import COPILOT_CLI

AGENT = "octo/demo#1/bug-fix/1"


@dataclass
class Bench:
    """A workspace and a gate, and sessions of the real CLI opened on them."""

    directory: Path
    server: ScriptedServer
    cache: Path
    """Where the CLI unpacks itself, for all tests of a run."""
    model: str = "openai:claude-haiku-4-5"
    """The CLI offers tools by a model's name: this one gets `create` and `edit`."""
    gate: Gate = field(default_factory=RecordingGate)
    cli: Path | None = COPILOT_CLI
    bounds: Bounds = field(default_factory=Bounds)
    door: DoorBounds = field(default_factory=lambda: DoorBounds(most_failures=3))
    walls: Walls = field(default_factory=NoWalls)
    more: dict[str, Any] = field(default_factory=dict)
    """Of the session's order."""

    @property
    def recording(self) -> RecordingGate:
        """The gate, where it is the usual one."""
        assert isinstance(self.gate, RecordingGate)
        return self.gate

    @property
    def workspace(self) -> Path:
        return self.directory / "workspace"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """A session in the same directories as the ones before; closed at the end."""
        runtime = CopilotRuntime(
            ProcessGroups(), self.walls, self.open_door, self.cache, self.cli, self.bounds
        )
        session = await runtime.open(self.order(), self.gate)
        try:
            yield session
        finally:
            await session.close()

    def open_door(self, order: SessionOrder, gate: Gate) -> ModelProxy:
        if order.model.startswith("anthropic:"):
            upstream = Upstream(self.server.url, SecretStr(KEY), "anthropic")
        else:
            upstream = Upstream(f"{self.server.url}/v1", SecretStr(KEY), "openai")
        return ModelProxy(upstream, gate, model=order.model, bounds=self.door)

    def order(self) -> SessionOrder:
        home = self.directory / "home"
        for directory in (self.workspace, home):
            directory.mkdir(exist_ok=True)
        given: dict[str, Any] = {
            "agent": AGENT,
            "system_prompt": "You are a test.",
            "model": self.model,
            "planning_model": None,
            "most_output_tokens": None,
            "workspace": self.workspace,
            "session_directory": self.directory / "session",
            "environment": {
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "LANG": "C.UTF-8",
                "SQUADRON_SEGMENT": f"{self.directory.name}:1",
            },
            "tools": None,
        }
        return SessionOrder(**{**given, **self.more})


def offered(server: ScriptedServer) -> set[str]:
    """Names of the tools that the model was offered in the first request."""
    tools: Any = server.requests[0].body["tools"]
    return {each["function"]["name"] for each in tools}


MakeBench = Callable[[Scripts], Bench]
"""A bench whose model follows these scripts."""


@pytest.fixture(scope="session")
def copilot_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the CLI unpacks itself, once a run."""
    return tmp_path_factory.mktemp("copilot-cache")


@pytest.fixture
def copilot(tmp_path: Path, copilot_cache: Path) -> Iterator[MakeBench]:
    """Makes a bench."""
    with ExitStack() as servers:

        def make(scripts: Scripts) -> Bench:
            server = servers.enter_context(ScriptedServer(scripts, api_key=KEY))
            return Bench(tmp_path, server, copilot_cache)

        yield make
