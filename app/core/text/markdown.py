"""How words and figures are put before people: bounded, defused, in tables. Pure markdown."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from app.core.breaker.verdict import LimitUse, figure, money
from app.core.limits import CATALOGUE
from app.core.money import usd
from app.core.words.report import SubAgent, TestRun

MOST_TEXT: Final = 60_000
"""GitHub takes 65,536 characters in a body; the rest is for what we add."""
MOST_TITLE: Final = 250

_MONEY: Final = frozenset(name for name, info in CATALOGUE.items() if info.is_money)
_CALLS: Final = re.compile(r"@(?=\w)|<(?=[/?!a-zA-Z])")
"""What calls people, and what begins a tag or a comment, which could hide all that follows."""
_CLOSES: Final = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?=:?\s+(?:#|GH-|https?:|[\w.-]+/[\w.-]+#))",
    re.IGNORECASE,
)
"""GitHub's words that close an issue when a pull request or a commit that says them is merged."""
_NOTHING: Final = "\u200b"
"""A space without width: nobody sees it, and GitHub no longer reads the word as its own."""


def cut(text: str, most: int) -> str:
    """At most `most` characters, saying so when something is missing."""
    return text if len(text) <= most else text[: most - 15].rstrip() + " … (shortened)"


def defused(text: str) -> str:
    """Words that others wrote, without the power to call people, hide text or close issues."""
    calmed = _CALLS.sub(lambda found: found[0] + _NOTHING, text)
    return _CLOSES.sub(lambda found: found[0][0] + _NOTHING + found[0][1:], calmed)


def in_one_line(text: str) -> str:
    """Words that others wrote, for a place that only one line fits into."""
    return " ".join(defused(text).split())


def said(text: str) -> str:
    """An agent's words behind a label: what is longer than a line must not swallow the rest."""
    return defused(text) if "\n" not in text.strip() else f"\n\n{quoted(text.strip())}"


def quoted(text: str) -> str:
    """An agent's words as a block quote."""
    return "\n".join(f"> {line}".rstrip() for line in defused(text).splitlines())


def instant(at: datetime) -> str:
    """To the minute, for people anywhere."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def limits_table(uses: Iterable[LimitUse]) -> str:
    """Observed and maximum of each limit as a table."""
    rows = "\n".join(
        f"| `{use.name}` | {in_unit(use.name, use.observed)} | {in_unit(use.name, use.maximum)} |"
        f" {CATALOGUE[use.name].unit} |"
        for use in uses
    )
    return f"| limit | used | maximum | unit |\n| --- | ---: | ---: | --- |\n{rows}"


def in_unit(limit: str, amount: float | None) -> str:
    """An amount beside the column, or the word, that names its unit."""
    return money(amount) if amount is not None and limit in _MONEY else figure(amount)


def runs_table(runs: Sequence[TestRun]) -> str:
    """The latest test runs, each with what failed in it."""
    lines = [
        f"| {number} | `{cut(_in_a_cell(run.command), 80)}` |"
        f" {(run.outcome or 'not finished').replace('_', ' ')} |"
        f" {cut(_in_a_cell(run.failures), 120)} | {'yes' if run.changed else 'no'} |"
        for number, run in enumerate(runs[-12:], max(len(runs) - 11, 1))
    ]
    head = "| # | test run | outcome | failures | changed before |\n"
    return head + "| ---: | --- | --- | --- | --- |\n" + "\n".join(lines)


def sub_agents_table(sub_agents: Sequence[SubAgent]) -> str:
    """The latest sub-agents, each with what it and all below it used."""
    head = "| sub-agent | tool calls | tokens | cost |\n| --- | ---: | ---: | ---: |\n"
    return head + "\n".join(_sub_agent_row(each) for each in sub_agents[-12:])


def _sub_agent_row(sub_agent: SubAgent) -> str:
    used = sub_agent.returned
    if used is None:
        return f"| `{sub_agent.id}` | at work | | |"
    cost = "unknown" if used.unpriced_calls else money(usd(used.cost_nanousd))
    tokens = used.input_tokens + used.output_tokens
    return f"| `{sub_agent.id}` | {used.tool_calls} | {tokens} | {cost} |"


def _in_a_cell(command: str) -> str:
    """A command line that can end neither its code span nor its cell."""
    return in_one_line(command).replace("|", "¦").replace("`", "'")
