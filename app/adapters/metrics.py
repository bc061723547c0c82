"""Figures for `/metrics`.

What happens to agents is counted from the log lines that say so: one place tells what a limit did,
or what an agent has used in all (`services/moves/agent_log.py`); whoever counts listens to it. Each
process counts what it did itself, so these figures are added up over processes. All else is asked
of the database when somebody looks, so each process shows the same of it.
"""

import logging
import math
from collections.abc import Mapping
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from app.core.history.precision import Judged, precisions
from app.core.money import usd
from app.ports import Figures

LIMIT_EVENTS: Final = Counter(
    "squadron_limit_events",
    "Warnings, pauses and stops by limits; labels: event, role, limit, how",
    ["event", "role", "limit", "how"],
)

_COUNTS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
_SECONDS: Final = (60, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 28_800)
_USD: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 100)
_ENDS: Final = ["role", "state"]
USED: Final[Mapping[str, Histogram]] = {
    "turns": Histogram("squadron_agent_turns", "Turns of ended agents", _ENDS, buckets=_COUNTS),
    "tool_calls": Histogram(
        "squadron_agent_tool_calls", "Tool calls of ended agents", _ENDS, buckets=_COUNTS
    ),
    "model_calls": Histogram(
        "squadron_agent_model_calls", "Model calls of ended agents", _ENDS, buckets=_COUNTS
    ),
    "elapsed_seconds": Histogram(
        "squadron_agent_active_seconds", "Active time of ended agents", _ENDS, buckets=_SECONDS
    ),
    "cost_usd": Histogram(
        "squadron_agent_cost_usd", "Cost of ended agents, where it is known", _ENDS, buckets=_USD
    ),
}
"""By the field of the log line; sub-agents count for the agents that they belong to."""

AGENTS: Final = Gauge(
    "squadron_agents", "Agents, sub-agents left out; labels: state, role", ["state", "role"]
)
QUEUE: Final = Gauge(
    "squadron_queue_age_seconds", "For how long the first in the queue waits for a worker"
)
EFFECTS: Final = Gauge(
    "squadron_effects",
    "What is to be written on GitHub and is not there; labels: effect, state (wanted, refused)",
    ["effect", "state"],
)
WAITING: Final = Gauge(
    "squadron_agents_waiting_for_provider",
    "Agents that wait until a provider of models answers; label: provider",
    ["provider"],
)
BUDGET: Final = Gauge(
    "squadron_budget_usd", "What a budget allows; labels: budget, window", ["budget", "window"]
)
BUDGET_LEFT: Final = Gauge(
    "squadron_budget_left_usd",
    "What is neither spent nor held of it; labels: budget, window",
    ["budget", "window"],
)
STOPS: Final = Gauge(
    "squadron_limit_stops_judged",
    "Stops and pauses of 30 days, as people judged them; labels: limit, role, judged (right,"
    " wrong, open)",
    ["limit", "role", "judged"],
)
SPENT: Final = Gauge("squadron_cost_usd_last_hour", "Known cost of model calls, in USD")
TRIPS: Final = Gauge("squadron_trips_last_hour", "Agents that were stopped for good")

LAST_PASS: Final = {
    "ended_at": Gauge("squadron_last_pass_timestamp_seconds", "When reconciliation ended last"),
    "seconds": Gauge("squadron_last_pass_seconds", "How long that pass took"),
    "requests": Gauge("squadron_last_pass_requests", "What it asked GitHub, tokens aside"),
    "unchanged": Gauge("squadron_last_pass_unchanged", "Of these requests: answered with 304"),
    "put_off": Gauge("squadron_last_pass_put_off", "What had no turn in it"),
    "failed": Gauge("squadron_last_pass_failed", "What failed in it as nobody has foreseen"),
}

_LABELLED: Final = (AGENTS, EFFECTS, WAITING, BUDGET, BUDGET_LEFT, STOPS)
_BY_ISSUE: Final = "issue:"
"""What the keys of budgets of single issues begin with: there are ever more of them."""


def show(figures: Figures | None) -> None:
    """What the database says; None: it does not answer. What is unknown is NaN, or is left out."""
    for gauge in _LABELLED:
        gauge.clear()
    for single in (QUEUE, SPENT, TRIPS, *LAST_PASS.values()):
        single.set(math.nan)
    if figures is None:
        return
    _show_registry(figures)
    _show_money(figures)
    _show_last_pass(figures)
    for (limit, role), found in precisions(figures.stops).items():
        for judged, count in (
            (Judged.RIGHT, found.right),
            (Judged.WRONG, found.wrong),
            (Judged.OPEN, found.open),
        ):
            STOPS.labels(limit.value, role, judged.value).set(count)


def _show_registry(figures: Figures) -> None:
    registry = figures.registry
    for (life, role), count in registry.agents.items():
        AGENTS.labels(life.value, role).set(count)
    since = registry.queued_since
    QUEUE.set(0 if since is None else max((figures.at - since).total_seconds(), 0))
    for (effect, state), count in registry.unwritten.items():
        EFFECTS.labels(effect.value, state.value).set(count)
    for provider, count in registry.waiting_for_provider.items():
        WAITING.labels(provider).set(count)
    TRIPS.set(figures.trips_last_hour)


def _show_money(figures: Figures) -> None:
    SPENT.set(usd(figures.spent_last_hour_nanousd))
    for balance in figures.balances:
        account = balance.account
        if not account.key.startswith(_BY_ISSUE):
            labels = account.key, account.window.value
            BUDGET.labels(*labels).set(usd(account.max_nanousd))
            BUDGET_LEFT.labels(*labels).set(usd(balance.left_nanousd))


def _show_last_pass(figures: Figures) -> None:
    done = figures.last_pass
    if done is None:
        return
    shown = {
        "ended_at": done.ended_at.timestamp(),
        "seconds": done.seconds,
        "requests": done.requests,
        "unchanged": done.unchanged,
        "put_off": sum(done.put_off.values()),
        "failed": len(done.failed),
    }
    for name, gauge in LAST_PASS.items():
        gauge.set(shown[name])


class LimitMetrics(logging.Handler):
    """Counts `AGENT_WARNING`, `AGENT_PAUSED` and `AGENT_FAILED` by role and limit, and what agents
    have used by their `AGENT_ENDED`."""

    def emit(self, record: logging.LogRecord) -> None:
        """Count one line; lines that are none of a limit's have no `event`."""
        fields = vars(record)
        match fields.get("event"):
            case "AGENT_WARNING" | "AGENT_PAUSED" | "AGENT_FAILED":
                LIMIT_EVENTS.labels(
                    fields["event"], fields["role"], fields["limit"], fields["how"]
                ).inc()
            case "AGENT_ENDED" if fields["parent"] is None:
                for name, histogram in USED.items():
                    if fields[name] is not None:
                        histogram.labels(fields["role"], fields["state"]).observe(fields[name])
            case _:
                return


def count_limit_events() -> None:
    """Count from now on, once a process."""
    logger = logging.getLogger("squadron.limits")
    if not any(isinstance(handler, LimitMetrics) for handler in logger.handlers):
        logger.addHandler(LimitMetrics())
