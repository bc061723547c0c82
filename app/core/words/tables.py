"""Figures of an agent in tables of markdown: limits, test runs, sub-agents."""

from collections.abc import Iterator, Sequence
from typing import Final

from app.core.agents.counters import Counters
from app.core.breaker.verdict import LimitUse, figure, money
from app.core.limits import CATALOGUE
from app.core.money import usd
from app.core.text.markdown import cut, in_one_line
from app.core.words.report import Report, SubAgent, TestRun

_MONEY: Final = frozenset(name for name, info in CATALOGUE.items() if info.is_money)


def limits_table(report: Report) -> str:
    """Observed and maximum of each limit as a table, and what of it is an estimate."""
    estimated = estimate_words(report.counters)
    return "\n\n".join(filter(None, (uses_table(report.uses), estimated)))


def uses_table(uses: Sequence[LimitUse]) -> str:
    """Observed and maximum of these limits; empty: there are none."""
    rows = "\n".join(
        f"| `{use.name}` | {in_unit(use.name, use.observed)} | {in_unit(use.name, use.maximum)} |"
        f" {use.info.unit} |"
        for use in uses
    )
    return f"| limit | used | maximum | unit |\n| --- | ---: | ---: | --- |\n{rows}" if rows else ""


def estimate_words(counters: Counters) -> str:
    """What of the tokens and the cost is an estimate; empty: nothing."""
    if not counters.estimated_calls:
        return ""
    return (
        f"The model's endpoint did not report what {counters.estimated_calls} of"
        f" {counters.model_calls} model calls used. Their tokens and their cost are estimated from"
        " what was sent and received."
    )


def in_unit(limit: str, amount: float | None) -> str:
    """An amount beside the column, or the word, that names its unit."""
    return money(amount) if amount is not None and limit in _MONEY else figure(amount)


def aligned(rows: Sequence[Sequence[str]], most: int = 78) -> Iterator[str]:
    """Rows of equally many cells, for a fixed pitch: the first column to the left, the others to
    the right, each as wide as its widest cell; two blanks between them, or one where that would
    make more than `most` characters."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    gap = 2 if sum(widths) + 2 * (len(widths) - 1) <= most else 1
    for first, *rest in rows:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        yield (" " * gap).join((first.ljust(widths[0]), *cells))


def runs_table(runs: Sequence[TestRun]) -> str:
    """The latest test runs, each with what failed in it; empty: there are none."""
    if not runs:
        return ""
    lines = [
        f"| {number} | `{cut(_in_a_cell(run.command), 80)}` |"
        f" {(run.outcome or 'not finished').replace('_', ' ')} |"
        f" {cut(_in_a_cell(run.failures), 120)} | {'yes' if run.changed else 'no'} |"
        for number, run in enumerate(runs[-12:], max(len(runs) - 11, 1))
    ]
    head = "| # | test run | outcome | failures | changed before |\n"
    return head + "| ---: | --- | --- | --- | --- |\n" + "\n".join(lines)


def sub_agents_table(sub_agents: Sequence[SubAgent]) -> str:
    """The latest sub-agents, each with what it and all below it used; empty: there are none."""
    if not sub_agents:
        return ""
    head = "| sub-agent | tool calls | tokens | cost |\n| --- | ---: | ---: | ---: |\n"
    return head + "\n".join(_sub_agent_row(each) for each in sub_agents[-12:])


def _sub_agent_row(sub_agent: SubAgent) -> str:
    used = sub_agent.returned
    if sub_agent.is_at_work:
        return f"| `{sub_agent.id}` | at work | | |"
    about = "about " if any(part.estimated_calls for part in used) else ""
    nanousd = sum(part.cost_nanousd for part in used)
    is_unknown = any(part.unpriced_calls for part in used)
    cost = "unknown" if is_unknown else f"{about}{money(usd(nanousd))}"
    tokens = sum(part.input_tokens + part.output_tokens for part in used)
    paused = " (paused)" if used[-1].asks else ""
    calls = sum(part.tool_calls for part in used)
    return f"| `{sub_agent.id}`{paused} | {calls} | {tokens} | {cost} |"


def _in_a_cell(command: str) -> str:
    """A command line that can end neither its code span nor its cell."""
    return in_one_line(command).replace("|", "¦").replace("`", "'")
