"""The stories' world for each runtime."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from app.adapters.processes import ProcessGroups
from app.adapters.runtimes.claude import Bounds as ClaudeBounds
from app.adapters.runtimes.claude import ClaudeRuntime
from app.adapters.runtimes.copilot import Bounds as CopilotBounds
from app.adapters.runtimes.copilot import CopilotRuntime
from app.adapters.runtimes.embedded import Bounds as EmbeddedBounds
from app.adapters.runtimes.embedded import EmbeddedRuntime, models_of
from app.core.rules.plan import RuntimeName
from app.ports import ModelAccess, Runtime, Session
from app.scripted.script import Call
from tests.contract.runtime_contract import (
    Bench,
    Story,
    a_killed_cli_fails_the_turn_and_the_next_session_goes_on,
    behind_walls_a_whole_cli_is_as_its_tools_are,
)
from tests.support.clis import COPILOT_CLI


class EmbeddedBench(Bench):
    provider = "openai"
    model = "openai:gpt-4o"
    bounds = EmbeddedBounds(gate_seconds=2.0, first_retry_seconds=0.01)

    def runtime(self) -> Runtime:
        access = ModelAccess(self.upstream.api_key, self.upstream.base_url)
        return EmbeddedRuntime(self.walls(), models_of({self.provider: access}), self.bounds)

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command})

    def write(self, path: str, content: str) -> Call:
        return Call("create", {"path": path, "text": content})

    def ours(self, tool: str, **args: object) -> Call:
        return Call(tool, args)

    def cli_pid(self, session: Session) -> int:
        raise NotImplementedError("it has none")


class ClaudeBench(Bench):
    provider = "anthropic"
    model = "anthropic:claude-haiku-4-5"
    program = "claude"
    bounds = ClaudeBounds(gate_seconds=2.0, start_seconds=60.0)
    cli: Path | None = None

    def runtime(self) -> Runtime:
        return ClaudeRuntime(ProcessGroups(), self.walls(), self.door, self.bounds, self.cli)

    def shell(self, command: str) -> Call:
        return Call("Bash", {"command": command})

    def write(self, path: str, content: str) -> Call:
        return Call("Write", {"file_path": str(self.workspace / path), "content": content})

    def ours(self, tool: str, **args: object) -> Call:
        return Call(f"mcp__squadron__{tool}", args)

    def cli_pid(self, session: Session) -> int:
        from app.adapters.runtimes.claude.session import ClaudeSession

        assert isinstance(session, ClaudeSession)
        assert session.cli_pid is not None
        return session.cli_pid


class CopilotBench(Bench):
    provider = "openai"
    model = "openai:claude-haiku-4-5"
    """The CLI offers tools by a model's name: this one gets `create` and `edit`."""
    program = "copilot"
    cache: Path

    def runtime(self) -> Runtime:
        bounds = CopilotBounds(gate_seconds=2.0, most_fruitless_calls=5)
        return CopilotRuntime(
            ProcessGroups(), self.walls(), self.door, self.cache, COPILOT_CLI, bounds
        )

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "as told"})

    def write(self, path: str, content: str) -> Call:
        return Call("create", {"path": str(self.workspace / path), "file_text": content})

    def ours(self, tool: str, **args: object) -> Call:
        return Call(tool, args)

    def cli_pid(self, session: Session) -> int:
        from app.adapters.runtimes.copilot.session import CopilotSession

        assert isinstance(session, CopilotSession)
        assert session.cli_pid is not None
        return session.cli_pid


BENCHES: Final[Mapping[RuntimeName, type[Bench]]] = {
    "embedded": EmbeddedBench,
    "copilot": CopilotBench,
    "claude": ClaudeBench,
}

CANNOT_BE_TOLD: Final[Mapping[RuntimeName, Mapping[Story, str]]] = {
    "embedded": {
        a_killed_cli_fails_the_turn_and_the_next_session_goes_on: "no CLI",
        behind_walls_a_whole_cli_is_as_its_tools_are: "no CLI: its tools alone",
    },
    "copilot": {},
    "claude": {},
}
"""The stories that mean nothing for a runtime, and why."""
