"""What Squadron answers to commands that are not about limits. Pure: facts in, markdown out."""

from collections.abc import Collection, Mapping, Sequence

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.commands.grammar import MOST_SHOWN_CHARACTERS, USAGE
from app.core.text.markdown import MOST_TEXT, cut, in_one_line
from app.core.words.pauses import unknown_agent_words
from app.core.words.refusals import CLOSED
from app.core.words.report import Report
from app.core.words.tables import limits_table


def which_of_words(verb: str, roles: Collection[str]) -> str:
    """A command that could be meant for several."""
    each = " or ".join(f"`/squadron {verb} {role}`" for role in sorted(roles))
    return f"Several agents are here; say which one, as in {each}. Nothing was changed."


def interrupted_words(line: str) -> str:
    """A command that was refused, when nobody knows any more why."""
    shown = in_one_line(cut(line, MOST_SHOWN_CHARACTERS)).replace("`", "'")
    return (
        f"Squadron could not obey `{shown}` when its turn came, and was interrupted before it could"
        " say why. Nothing was changed by that line."
    )


def has_ended_words(agent: Agent) -> str:
    """A command that only an agent can obey that has not ended."""
    return f"`{agent.id.role}` has ended ({agent.state.lower()}) already. Nothing was changed."


def not_asleep_words(agent: Agent) -> str:
    """Who does not sleep cannot be woken."""
    return f"`{agent.id.role}` does not sleep, it is {agent.state.lower()}. Nothing was changed."


def not_ended_words(agent: Agent) -> str:
    """A fresh agent starts only where none works."""
    if agent.state is State.STOPPING:
        return (
            f"`{agent.id.role}` stops, and Squadron still keeps its work."
            " Nothing was changed: say it again when the agent has ended."
        )
    return f"`{agent.id.role}` has not ended, it is {agent.state.lower()}. Nothing was changed."


def not_retried_words(agent: Agent, why: str, *, waits: bool = False) -> str:
    """No fresh agent has started; `why`: a clause. `waits`: it starts by itself."""
    role, issue = agent.id.role, agent.id.issue
    if waits:
        return f"No fresh `{role}` has started on #{issue} yet: {why}. It starts by itself."
    then = f" Open #{issue}, and write this again." if why == CLOSED else ""
    return f"No fresh `{role}` has started on #{issue}: {why}.{then}"


def help_words() -> str:
    """All commands, with what they do."""
    lines = "\n".join(f"- `{usage}`: {what}" for usage, what in USAGE.items())
    return f"Write one of these at the start of a line:\n\n{lines}"


def never_begins_words(role: str) -> str:
    """A start that waited was taken back."""
    return f"`{role}` had not begun: the agent waited to start, and does not start any more."


def status_words(
    reports: Sequence[Report], sentences: Sequence[str], waiting: Mapping[str, str]
) -> str:
    """How agents are; `sentences` say it in one line each. `waiting`: why roles do not start yet,
    by role."""
    if not reports and not waiting:
        return unknown_agent_words(None, ())
    parts = [
        f"**`{report.agent.id.role}`**: {sentence}\n\n{limits_table(report)}"
        for report, sentence in zip(reports, sentences, strict=True)
    ]
    parts += [
        f"**`{role}`**: The agent waits to start: {why}." for role, why in sorted(waiting.items())
    ]
    return cut("\n\n".join(parts), MOST_TEXT // 2)


def story_words(lines: Sequence[str]) -> str:
    """The story of an agent, as a block that none of its words can end."""
    return cut("The story:\n\n" + "\n".join(f"    {line}" for line in lines), MOST_TEXT // 2)
