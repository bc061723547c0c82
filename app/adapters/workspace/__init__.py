"""Workspaces: real git between GitHub and an agent that is not trusted."""

from app.adapters.workspace.adapter import GitWorkspace
from app.adapters.workspace.places import agent_directory

__all__ = ["GitWorkspace", "agent_directory"]
