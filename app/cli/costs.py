"""`squadron costs`: what the agents have cost, and whom that is put down to."""

import json
from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.table import Column, Table

from app.adapters.clock import SystemClock
from app.adapters.store.ledger import SqlLedger
from app.cli.registry import answered, open_ledger, opened
from app.cli.terminal import cell, say
from app.core.breaker.verdict import money
from app.core.budgets.ledger import Balance, Holding
from app.core.money import CostsBy, usd
from app.core.words.budget import holding_words
from app.core.words.refusals import account_words
from app.ports import Cost
from app.services.views import budgets_json, cost_json, total_json


def show_costs(by: CostsBy, days: int | None, *, as_json: bool) -> None:
    """What model calls have cost."""
    since = None if days is None else SystemClock().now() - timedelta(days=days)
    found = answered(opened(open_ledger).costs(by, since))
    if as_json:
        costs = [cost_json(cost) for cost in found]
        shown = {"by": by.value, "costs": costs, "total": total_json(found)}
        say(json.dumps(shown, indent=2))
        return
    table = Table(Column(by.value, overflow="fold"), "cost", "tokens in", "out", "agents")
    for cost in found:
        tokens = (str(cost.input_tokens), str(cost.output_tokens))
        table.add_row(cell(cost.key), _words([cost]), *tokens, str(cost.agents))
    console = Console()
    console.print(table)
    console.print(f"total: {_words(found)}", highlight=False)


def show_budgets(*, as_json: bool) -> None:
    """What is left of each budget, and who holds money of it."""
    balances, holdings = answered(_budgets(opened(open_ledger)))
    if as_json:
        say(json.dumps(budgets_json(balances, holdings), indent=2))
        return
    console = Console()
    if not balances:
        console.print("No budget has counted an agent lately.")
        return
    table = Table(Column("budget", overflow="fold"), "spent", "reserved", "left", "renews")
    for balance in balances:
        amounts = (balance.actual_nanousd, balance.unspent_nanousd, balance.left_nanousd)
        renews_at = balance.account.renews_at
        renews = "never" if renews_at is None else f"{renews_at:%Y-%m-%d} 00:00 UTC"
        words = account_words(balance.account).replace("`", "")
        table.add_row(cell(words), *(money(usd(each)) for each in amounts), renews)
    console.print(table)
    for page in holdings:
        say(f"{page.agent}: {holding_words(page)}")


async def _budgets(ledger: SqlLedger) -> tuple[Sequence[Balance], Sequence[Holding]]:
    return await ledger.balances(SystemClock().now()), await ledger.holdings()


def _words(costs: Sequence[Cost]) -> str:
    """A cost is unknown, never $0.00, as soon as the price of one call is unknown."""
    nanousd, unknown_calls = sum(cost.nanousd for cost in costs), _unknown_calls(costs)
    estimated_calls = _estimated_calls(costs)
    estimated = f", {_calls(estimated_calls)} estimated" if estimated_calls else ""
    if not unknown_calls:
        return f"{money(usd(nanousd))}{estimated}"
    more = f"{money(usd(nanousd))} and more, " if nanousd else ""
    return f"unknown: {more}{_calls(unknown_calls)} without a price{estimated}"


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def _unknown_calls(found: Sequence[Cost]) -> int:
    return sum(cost.unknown_calls for cost in found)


def _estimated_calls(found: Sequence[Cost]) -> int:
    return sum(cost.estimated_calls for cost in found)
