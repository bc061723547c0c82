"""Figures of an agent in tables of markdown: limits, test runs, sub-agents."""

from collections.abc import Iterable, Sequence
from typing import Final

from app.core.breaker.verdict import LimitUse, figure, money
from app.core.limits import CATALOGUE
from app.core.money import usd
from app.core.text.markdown import cut, in_one_line
from app.core.words.report import SubAgent, TestRun

_MONEY: Final = frozenset(name for name, info in CATALOGUE.items() if info.is_money)


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
