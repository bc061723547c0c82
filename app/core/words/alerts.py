"""What an operator is told at once (seed 000, "Monitoring and Alerts")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.agent import AgentId
from app.core.agents.events import Passed, Warned
from app.core.breaker.verdict import amount_words, money
from app.core.budgets.ledger import Balance
from app.core.limits import CATALOGUE, LimitName
from app.core.money import usd
from app.core.rules.outages import Outage
from app.core.words.refusals import account_words

HOUR: Final = timedelta(hours=1)
A_DAY: Final = timedelta(days=1)
FOR_GOOD: Final = timedelta(days=36_500)
"""As good as never again."""
NEARLY_SPENT: Final = 0.8
"""The part of a budget at which the operator is told (seed 000: 80 %)."""


@dataclass(frozen=True, slots=True)
class AtLimit:
    """An agent, and a limit of it."""

    agent: AgentId
    limit: LimitName


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing worth telling, once."""

    key: str
    """Equal for the same thing: `cost`, `trips`; a budget is told of once in each of its windows,
    an overspent agent once for each amount."""
    kind: str
    text: str
    figure: float
    bound: float
    at: datetime
    silence: timedelta = HOUR
    """For how long the same thing is not told again."""
    about: AtLimit | None = None
    """Whom it is about, and which limit; None: it is about many."""


def spending(nanousd_in_the_hour: int, bound_usd: float, at: datetime) -> Sequence[Alert]:
    """More than the bound was spent in the last hour."""
    spent = usd(nanousd_in_the_hour)
    if spent <= bound_usd:
        return ()
    text = f"{money(spent)} spent in the last hour; the bound is {money(bound_usd)}."
    return (Alert("cost", "cost_per_hour", text, spent, bound_usd, at),)


def trips(in_the_hour: int, bound: int, at: datetime) -> Sequence[Alert]:
    """More agents than the bound were stopped in the last hour: a systemic problem."""
    if in_the_hour <= bound:
        return ()
    text = f"{in_the_hour} agents were stopped for good in the last hour; the bound is {bound}."
    return (Alert("trips", "trips_per_hour", text, in_the_hour, bound, at),)


def warned(agent: AgentId, event: Warned | Passed, at: datetime) -> Sequence[Alert]:
    """An agent is close to a limit, or has reached one that lets it go on; told once for each
    limit of each agent, and again where a raise has moved the limit. What only watches (`shadow`),
    and what was refused without stopping anybody, is nothing to act on."""
    amount = amount_words(CATALOGUE[event.limit], event.observed, event.maximum)
    match event:
        case Warned():
            kind, text = "limit_close", f"{agent} comes close to {event.limit}: {amount}."
        case Passed(how="warn"):
            kind = "limit_passed"
            text = f"{agent} has reached {event.limit} ({amount}) and goes on (`on_limit: warn`)."
        case Passed():
            return ()
    return (
        Alert(
            f"{kind}:{agent}:{event.limit}:{event.maximum:g}",
            kind,
            text,
            event.observed,
            event.maximum,
            at,
            FOR_GOOD,
            AtLimit(agent, event.limit),
        ),
    )


def nearly_spent(balances: Sequence[Balance], at: datetime) -> Sequence[Alert]:
    """Budgets of which four fifths are spent; once more if a person raises one, and the higher
    one is nearly spent as well."""
    return tuple(
        Alert(
            f"budget:{balance.account.id}:{balance.account.max_nanousd}",
            "budget",
            f"{money(usd(balance.actual_nanousd))} of the budget"
            f" {account_words(balance.account)} is spent.",
            usd(balance.actual_nanousd),
            usd(balance.account.max_nanousd),
            at,
            FOR_GOOD,
        )
        for balance in balances
        if balance.actual_nanousd >= NEARLY_SPENT * balance.account.max_nanousd
    )


def overspent(agent: str, overspent_nanousd: int, at: datetime) -> Sequence[Alert]:
    """An agent spent more than it had reserved."""
    if overspent_nanousd <= 0:
        return ()
    text = f"{agent} spent {money(usd(overspent_nanousd))} more than it had reserved."
    key = f"overspent:{agent}:{overspent_nanousd}"
    return (Alert(key, "overspent", text, usd(overspent_nanousd), 0, at, FOR_GOOD),)


def unwritten(waiting: Sequence[tuple[str, datetime]], at: datetime) -> Sequence[Alert]:
    """What has waited for more than a day to be written to GitHub: what it is, and since when.
    Told again each day, for as long as it lasts."""
    if not waiting:
        return ()
    what, since = min(waiting, key=lambda one: one[1])
    text = (
        f"GitHub has not taken {_writes(len(waiting))} for more than a day; the oldest is {what},"
        f" wanted since {since:%Y-%m-%d %H:%M} UTC. `squadron explain` says what GitHub answers."
    )
    hours = (at - since) / HOUR
    return (Alert("unwritten", "unwritten", text, round(hours, 1), A_DAY / HOUR, at, A_DAY),)


def unseen(last_seen: Mapping[str, datetime], at: datetime) -> Sequence[Alert]:
    """GitHub has told nothing of some repositories for more than a day: when each was seen last.
    Told again each day, for as long as it lasts."""
    if not last_seen:
        return ()
    name, since = min(last_seen.items(), key=lambda one: one[1])
    others = f" and {len(last_seen) - 1} more" if len(last_seen) > 1 else ""
    text = (
        f"GitHub does not answer when it is asked about {name}{others}: last seen"
        f" {since:%Y-%m-%d %H:%M} UTC. Nobody who waits there is late meanwhile. The log says what"
        " GitHub answers."
    )
    hours = (at - since) / HOUR
    return (Alert("unseen", "unseen", text, round(hours, 1), A_DAY / HOUR, at, A_DAY),)


def _writes(count: int) -> str:
    return "one write" if count == 1 else f"{count} writes"


def refused_key(outage: Outage, at: datetime) -> Sequence[Alert]:
    """A provider does not take the key: told once, however long that lasts."""
    failure = outage.failure
    return (
        Alert(
            f"provider:{failure.provider}:{outage.since.timestamp()}",
            "provider_refuses",
            f"No agent that needs {failure.provider} works: {failure.reason}.",
            outage.tries,
            0,
            at,
            FOR_GOOD,
        ),
    )
