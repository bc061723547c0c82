"""Figures for `/metrics`: of limits, and of the last pass of reconciliation.

Those of limits are counted from the log lines that limits write: one place says what a limit did
(`services/moves/limit_log.py`); whoever counts listens to it.
"""

import logging
import math
from typing import Final

from prometheus_client import Counter, Gauge

from app.ports import Pass

LIMIT_EVENTS: Final = Counter(
    "squadron_limit_events",
    "Warnings, pauses and stops by limits; labels: event, role, limit, how",
    ["event", "role", "limit", "how"],
)

LAST_PASS: Final = {
    "ended_at": Gauge("squadron_last_pass_timestamp_seconds", "When reconciliation ended last"),
    "seconds": Gauge("squadron_last_pass_seconds", "How long that pass took"),
    "requests": Gauge("squadron_last_pass_requests", "What it asked GitHub, tokens aside"),
    "unchanged": Gauge("squadron_last_pass_unchanged", "Of these requests: answered with 304"),
    "put_off": Gauge("squadron_last_pass_put_off", "What had no turn in it"),
    "failed": Gauge("squadron_last_pass_failed", "What failed in it as nobody has foreseen"),
}


def show_last_pass(done: Pass | None) -> None:
    """The figures of the last pass, whichever process made it; NaN where none is known."""
    figures = dict.fromkeys(LAST_PASS, math.nan)
    if done is not None:
        figures = {
            "ended_at": done.ended_at.timestamp(),
            "seconds": done.seconds,
            "requests": done.requests,
            "unchanged": done.unchanged,
            "put_off": sum(done.put_off.values()),
            "failed": len(done.failed),
        }
    for name, gauge in LAST_PASS.items():
        gauge.set(figures[name])


class LimitMetrics(logging.Handler):
    """Counts `AGENT_WARNING`, `AGENT_PAUSED` and `AGENT_FAILED` by role and limit."""

    def emit(self, record: logging.LogRecord) -> None:
        """Count one line; lines that are none of a limit's have no `event`."""
        fields = vars(record)
        if "event" in fields:
            LIMIT_EVENTS.labels(
                fields["event"], fields["role"], fields["limit"], fields["how"]
            ).inc()


def count_limit_events() -> None:
    """Count from now on, once a process."""
    logger = logging.getLogger("squadron.limits")
    if not any(isinstance(handler, LimitMetrics) for handler in logger.handlers):
        logger.addHandler(LimitMetrics())
