"""Issues that agents open: how deep they are, how they are found again, and the words in them."""

import hashlib
import re
from typing import Final

from app.core.agents.agent import Agent
from app.core.effects.calls import called_people
from app.core.effects.wanted import escalation_marker, needs_human_title
from app.core.text.markdown import MOST_TEXT, MOST_TITLE, cut, in_one_line, quoted

MOST_WORDS: Final = 20_000
"""Characters of a body that an agent may write."""

_MARK: Final = re.compile(r"<!-- squadron:opened:(?P<depth>\d{1,3}):\S+:[0-9a-f]{12} -->")


def opened_marker(agent: Agent, depth: int, title: str) -> str:
    """The hidden mark of an issue that an agent opened: how deep it is, and by which it is found
    again. An agent opens one issue of a title, however often it dies over it."""
    return f"<!-- squadron:opened:{depth}:{agent.id}:{_key(title)} -->"


def is_opened_by(body: str, agent: Agent, title: str) -> bool:
    """Whether an issue that our own App wrote is the one of that title."""
    found = _MARK.match(body)
    return found is not None and body.startswith(opened_marker(agent, int(found["depth"]), title))


def depth_of(body: str) -> int:
    """How many agents stand behind an issue that our own App wrote; 0: no agent opened it."""
    found = _MARK.match(body)
    return int(found["depth"]) if found is not None else 0


def opened_title(title: str) -> str:
    """The agent's title, without the power to call anybody."""
    return cut(in_one_line(title), MOST_TITLE)


def opened_body(agent: Agent, depth: int, title: str, body: str) -> str:
    """The agent's words as a quote, and where they come from."""
    return cut(
        "\n\n".join(
            (
                opened_marker(agent, depth, title),
                quoted(cut(body, MOST_WORDS)),
                f"<sub>Opened by the agent `{agent.id}` at work on #{agent.id.issue}, depth"
                f" {depth}. A label of somebody who may start agents starts one here.</sub>",
            )
        ),
        MOST_TEXT,
    )


def too_deep(depth: int, most: int) -> str:
    """Why an issue is not opened: too many agents stand behind it."""
    return f"it would be {depth} levels of agents deep, and `escalation.max_issue_depth` is {most}"


def too_many(most: int) -> str:
    """Why an issue is not opened: agents have opened enough of them."""
    return (
        "agents have opened as many issues in this repository within a day as"
        f" `escalation.max_issues_per_day` allows: {most}"
    )


def refused_words(why: str) -> str:
    """For the agent."""
    return f"Not opened: {why}. A human is asked instead. Go on without it, and do not ask again."


def asks_marker(agent: Agent) -> str:
    """The mark by which it is found that a human was asked: once for each agent."""
    return f"<!-- squadron:effect:{agent.id}:asks-to-open -->"


def asks_title(agent: Agent) -> str:
    """Of the needs-human issue."""
    return needs_human_title(agent, "it asks to open an issue")


def asks_body(agent: Agent) -> str:
    """What a needs-human issue begins with, so that there is one for each original issue."""
    head = escalation_marker(agent.repository_id, agent.id.issue)
    return "\n\n".join(filter(None, (head, called_people(agent))))


def asks_section(agent: Agent, title: str, body: str, why: str) -> str:
    """What the agent wanted to open, and why a human is asked."""
    parts = (
        asks_marker(agent),
        "**What to do**\n\nOpen the issue below yourself if it is worth it; then close this one."
        " The agent goes on without it.",
        f"**What happened**\n\nThe agent `{agent.id.role}` of #{agent.id.issue} wanted to open an"
        f" issue, and Squadron did not let it: {why}. This is what it wanted to say:",
        f"**{opened_title(title)}**",
        quoted(cut(body, MOST_WORDS)),
        f"<sub>Agent `{agent.id}`.</sub>",
    )
    return cut("\n\n".join(parts), MOST_TEXT)


def _key(title: str) -> str:
    words = " ".join(title.casefold().split())
    return hashlib.sha256(words.encode(errors="replace")).hexdigest()[:12]
