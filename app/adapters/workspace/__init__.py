"""Workspaces: real git between GitHub and an agent that is not trusted."""

from app.adapters.workspace.adapter import GitWorkspace
from app.adapters.workspace.packed import TooMuch, unpack
from app.adapters.workspace.places import Place, agent_directory, holds

__all__ = ["GitWorkspace", "Place", "TooMuch", "agent_directory", "holds", "unpack"]
