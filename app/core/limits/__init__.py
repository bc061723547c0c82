"""Limits: the catalogue of all, and those of one agent."""

from app.core.limits.catalogue import (
    BUDGETED_COST_USD,
    CATALOGUE,
    HOLDS,
    LEAST_USD,
    MAX_RUNNING_TOOL_WAIT_SECONDS,
    MAX_SUMMARY_WAIT_SECONDS,
    MOST_USD,
    Action,
    LimitInfo,
    LimitName,
    Trips,
    in_range,
)
from app.core.limits.effective import (
    MEASURES,
    STARTS_ANEW,
    TEST_RUNS,
    Armed,
    IterationMode,
    Limits,
)

__all__ = [
    "BUDGETED_COST_USD",
    "CATALOGUE",
    "HOLDS",
    "LEAST_USD",
    "MAX_RUNNING_TOOL_WAIT_SECONDS",
    "MAX_SUMMARY_WAIT_SECONDS",
    "MEASURES",
    "MOST_USD",
    "STARTS_ANEW",
    "TEST_RUNS",
    "Action",
    "Armed",
    "IterationMode",
    "LimitInfo",
    "LimitName",
    "Limits",
    "Trips",
    "in_range",
]
