"""The built-in roles: what a role is when a repository says nothing about it."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from app.config.agentfile import AgentFile, read_agent_file

BUILT_IN_ROLES: Final = ("bug-fix", "feat-dev", "pm", "pr-review", "researcher", "security-review")

READING_TOOLS: Final = ("view",)
"""All that a role may use whose agents review: no configuration lets them write."""


@cache
def built_in_roles() -> Mapping[str, AgentFile]:
    """The definitions that ship with Squadron, by role; their limits are seed 002's."""
    return MappingProxyType({role: _definition(role) for role in BUILT_IN_ROLES})


def _definition(role: str) -> AgentFile:
    read = read_agent_file((files(__package__) / "roles" / f"{role}.md").read_bytes())
    if not isinstance(read, AgentFile):
        raise AssertionError(f"the built-in role {role} is broken: {read}")
    return read
