"""What is said of work when it is taken out of a workspace, on the branch and in the log."""

from datetime import datetime

from app.core.agents.agent import Agent
from app.core.agents.events import Kept
from app.core.text.redact import redact
from app.ports import KeptWork


def kept_message(agent: Agent) -> str:
    """Of the commit that holds what the agent has not committed."""
    return f"Work in progress on #{agent.id.issue} ({agent.id.role})"


def taken_out(kept: KeptWork, at: datetime) -> Kept:
    """The event of it."""
    return Kept(
        at=at,
        sha=kept.verified,
        pushed=kept.is_pushed,
        problem=redact(kept.problem),
        commits=kept.commits,
        diff=kept.diff,
    )
