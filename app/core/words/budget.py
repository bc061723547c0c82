"""What people read of the money that budgets have given to an agent."""

from app.core.breaker.verdict import money
from app.core.budgets.ledger import Holding
from app.core.money import usd


def holding_words(page: Holding) -> str:
    """What was granted to an agent and what became of it, its sub-agents' part apart."""
    spent = f"{money(usd(page.actual_nanousd))} spent"
    if page.children_actual_nanousd:
        spent += f" ({money(usd(page.children_actual_nanousd))} of it by sub-agents)"
    if not page.is_open:
        return f"{spent}; it holds nothing now"
    held = page.children_held_nanousd - page.children_actual_nanousd
    below = f", {money(usd(held))} held by sub-agents" if held else ""
    left = money(usd(page.left_nanousd))
    return (
        f"granted {money(usd(page.granted_nanousd))}: {spent}{below}, {left} left for it and for"
        " further sub-agents"
    )
