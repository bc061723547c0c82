"""With which options the CLI is started and a session is opened: nothing from the repository.

Each option is a default of the SDK's `mode="empty"`; said here, so that a change of a default
changes nothing. Facts, agent-runtimes, section 3.
"""

import os
import shutil
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from app.adapters.runtimes.copilot.installed import unpacking, with_node
from app.adapters.runtimes.copilot.relay import HOST, KEY
from app.adapters.runtimes.copilot.translating import cli_tools
from app.ports import ModelUnusable, SessionOrder

SESSION_VARIABLE: Final = "SQUADRON_SESSION"
"""By which all processes of one session are found, whatever they forked."""
_STATE: Final = "copilot"
_SESSIONS: Final = "session-state"
_SERVERS: Final = "mcp-config.json"

SAFE: Final[Mapping[str, Any]] = {
    "enable_file_hooks": False,
    "skip_custom_instructions": True,
    "enable_config_discovery": False,
    "enable_skills": False,
    "enable_on_demand_instruction_discovery": False,
    "enable_host_git_operations": False,
    "enable_session_store": False,
    "enable_session_telemetry": False,
    "enable_experimental_mode": False,
    "custom_agents_local_only": True,
    "coauthor_enabled": False,
    "manage_schedule_enabled": False,
    "mcp_servers": {},
    "memory": {"enabled": False},
}


def session_id(order: SessionOrder) -> str:
    """The same for the same agent, so that its conversation is found again."""
    return f"squadron-{blake2b(order.agent.encode(), digest_size=16).hexdigest()}"


def marker(order: SessionOrder) -> str:
    """Of the processes of this session: another Squadron may have an agent of the same name."""
    where = f"{order.agent}\0{order.session_directory.absolute()}"
    return blake2b(where.encode(), digest_size=16).hexdigest()


def base_directory(order: SessionOrder) -> Path:
    """Where the CLI keeps its state of this agent."""
    return order.session_directory / _STATE


def outputs(order: SessionOrder) -> Path:
    """Where the CLI keeps what is too long to be told."""
    return order.session_directory / "outputs"


def was_begun(order: SessionOrder) -> bool:
    """Whether an earlier process had a conversation there."""
    state = base_directory(order) / _SESSIONS / session_id(order)
    return (state / "events.jsonl").exists()


def forget_all_but_the_conversation(order: SessionOrder) -> None:
    """The CLI takes hooks, servers and instructions from its state too, which the agent can write.

    Raises `OSError`.
    """
    state = base_directory(order)
    for place, kept in ((state, _SESSIONS), (state / _SESSIONS, session_id(order))):
        place.mkdir(parents=True, exist_ok=True)
        for each in place.iterdir():
            if each.name == kept and each.is_dir() and not each.is_symlink():
                continue
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()


def without_servers(order: SessionOrder) -> Path:
    """The one file of its state that the CLI may read when the agent is at work already: it names
    programs that the CLI starts, and it is laid down with none. Raises `OSError`."""
    file = base_directory(order) / _SERVERS
    file.write_text('{"mcpServers": {}}\n')
    return file


def environment(order: SessionOrder, cache: Path) -> dict[str, str]:
    """All that the CLI and what it starts get; `cache` is where it unpacks itself, once."""
    return {
        **unpacking(cache),
        **order.environment,
        "PATH": with_node(order.environment.get("PATH", os.defpath)),
        SESSION_VARIABLE: marker(order),
    }


def session_options(order: SessionOrder, own_tools: list[str]) -> dict[str, Any]:
    """Everything but the hooks and the handlers; for a new session and for one that goes on."""
    provider, _, model = order.model.partition(":")
    names = [*cli_tools(order.tools), *(f"custom:{name}" for name in own_tools)]
    return {
        **SAFE,
        "model": model,
        "provider": _provider(order, provider),
        "working_directory": str(order.workspace),
        "available_tools": names,
        "system_message": {"mode": "append", "content": _system_prompt(order)},
        "large_output": {
            "enabled": True,
            "output_directory": str(outputs(order)),
        },
    }


def _provider(order: SessionOrder, provider: str) -> dict[str, Any]:
    if provider not in ("openai", "anthropic"):
        raise ModelUnusable(f"model {order.model!r}: the provider must be openai or anthropic")
    planning = order.planning_model
    if planning is not None and planning.partition(":")[0] != provider:
        raise ModelUnusable(
            f"planning_model {planning!r}: with the copilot runtime it must be of the provider"
            f" of {order.model!r}"
        )
    asked: dict[str, Any] = {"type": provider, "api_key": KEY, "base_url": f"http://{HOST}"}
    if provider == "openai":
        asked |= {"base_url": f"http://{HOST}/v1", "wire_api": "completions"}
    if order.most_output_tokens is not None:
        asked["max_output_tokens"] = order.most_output_tokens
    return asked


def _system_prompt(order: SessionOrder) -> str:
    return (
        f"{order.system_prompt}\n\nThe workspace is {order.workspace}: your shell starts there, and"
        " tools for files take absolute paths in it."
    )
