"""Triage: one short agent looks at several new issues, and says what it thinks of each."""

from collections.abc import Sequence
from typing import Final

from app.core.agents.agent import Agent, AgentId, Task
from app.core.agents.events import AgentEvent, Finished, Proposed
from app.core.effects.wanted import NEEDS_HUMAN
from app.core.rules.plan import TRIGGER_PREFIX
from app.core.text.harmless import defused
from app.core.text.markdown import cut, in_one_line
from app.core.text.redact import redact

MOST_AT_ONCE: Final = 10
"""Issues that one agent looks at, its own included."""
GATHERED_FOR_SECONDS: Final = 10.0
"""How long an agent that an event starts waits for others like it."""
WAITS_FOR_THE_FIRST_SECONDS: Final = 60.0
"""How long those others wait to be taken along, before they begin by themselves."""
MOST_LABELS: Final = 10
MOST_LABEL_CHARACTERS: Final = 50
MOST_WHY_CHARACTERS: Final = 2_000


def taken_along(by: AgentId) -> str:
    """Why an agent ended before it worked: another looks at its issue."""
    return f"Taken along by {by}."


def is_taken_along(log: Sequence[AgentEvent], by: AgentId) -> bool:
    """Whether the agent of that log was ended so."""
    why = taken_along(by)
    return any(isinstance(event, Finished) and event.why == why for event in log)


def to_set(agent: Agent, proposed: Proposed) -> tuple[str, ...]:
    """The proposed labels that the agent may set: none that starts an agent or calls a human,
    whatever the configuration says."""
    allowed = {label.casefold() for label in agent.assignment.may_label}
    rules = agent.assignment.escalation
    never = {label.casefold() for label in (NEEDS_HUMAN, rules.waiting_label or "", *rules.labels)}
    return tuple(
        label
        for label in proposed.labels
        if label.casefold() in allowed - never and not label.casefold().startswith(TRIGGER_PREFIX)
    )


def triage_marker(agent: AgentId, issue: int) -> str:
    """The hidden mark of an agent's one comment on an issue that is not its own."""
    return f"<!-- squadron:triage:{agent}:{issue} -->"


def proposal_lines(agent: Agent, proposed: Proposed) -> str:
    """One proposal, for people."""
    mine = to_set(agent, proposed)
    rest = [label for label in proposed.labels if label not in mine]
    parts = [
        f"Role: `{_name(proposed.role)}`." if proposed.role else "No role suits.",
        f"Labels proposed: {_names(rest)}." if rest else "",
        f"Labels set: {_names(mine)}." if mine else "",
        in_one_line(cut(redact(proposed.why), MOST_WHY_CHARACTERS)),
    ]
    return f"**#{proposed.issue}** " + " ".join(part for part in parts if part)


def triage_comment(agent: Agent, proposed: Proposed) -> str:
    """The one comment on an issue that the agent took along."""
    return (
        f"{triage_marker(agent.id, proposed.issue)}\n"
        f"[squadron:{agent.id.role}] {proposal_lines(agent, proposed)}\n\n"
        f"<sub>Agent `{agent.id}`. A person decides: set a label to start an agent.</sub>"
    )


def issues_of(agent: Agent, others: Sequence[Agent]) -> dict[int, Task]:
    """What the agent looks at, by number: its own issue first."""
    return {each.id.issue: each.assignment.task for each in (agent, *others)}


def _names(labels: Sequence[str]) -> str:
    return ", ".join(f"`{_name(label)}`" for label in labels)


def _name(text: str) -> str:
    return defused(in_one_line(text)).replace("`", "'")
