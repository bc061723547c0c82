"""The frozen limits that one agent starts with."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from app.core.limits.catalogue import (
    CATALOGUE,
    MAX_RUNNING_TOOL_WAIT_SECONDS,
    MAX_SUMMARY_WAIT_SECONDS,
    YEAR_SECONDS,
    Action,
    LimitInfo,
    LimitName,
    Trips,
    in_range,
)
from app.core.money import whole_nanousd

IterationMode = Literal["fix_cycles", "test_runs"]

_FLOAT_ERROR: Final = 1e-9
"""A product of floats may lie above the amount at which a warning is due."""


class Armed(NamedTuple):
    """One limit of one agent that has a bound at all."""

    name: LimitName
    info: LimitInfo
    maximum: float | None
    """Before any raise, as it is compared: money in whole nano-USD. None: only the ceiling
    counts."""
    ceiling: float | None
    measure: str
    """What is measured: the limit's name, or `test_runs`."""
    quiet_below: float
    """Nothing is to be said about a smaller amount, whatever was raised."""


TEST_RUNS: Final = "test_runs"
MEASURES: Final[tuple[str, ...]] = (
    TEST_RUNS,
    *(name.value for name, info in CATALOGUE.items() if info.trips is not Trips.SENT),
)
"""All that limits measure of an agent, in one order."""
STARTS_ANEW: Final = frozenset(
    {
        LimitName.MAX_CONSECUTIVE_TOOLS,
        LimitName.MAX_TOOL_CALLS_PER_TURN,
        LimitName.MAX_REPEATED_ERRORS,
        LimitName.MAX_REPEATED_CALLS,
        LimitName.MAX_IDLE_DURATION,
    }
)
"""What counts from nothing when an agent goes on after a hold: to resume grants the limit's own
amount once more without raising it."""


@dataclass(frozen=True)
class Limits:
    """The effective limits of one agent, frozen when it starts. Durations are whole seconds.

    `None` means: switched off. Raises `ValueError` for a value outside the catalogue's range.
    """

    max_iterations: int | None = CATALOGUE[LimitName.MAX_ITERATIONS].default
    max_tool_calls: int | None = CATALOGUE[LimitName.MAX_TOOL_CALLS].default
    max_turns: int | None = CATALOGUE[LimitName.MAX_TURNS].default
    max_active_duration: int = 7_200
    max_sleep_duration: int = 86_400
    max_model_calls: int | None = None
    max_tokens: int | None = None
    max_output_tokens_per_call: int | None = 8_192
    max_cost_usd: float | None = None
    max_planning_cost_usd: float | None = None
    max_execution_cost_usd: float | None = None
    max_consecutive_tools: int | None = None
    max_tool_calls_per_turn: int | None = None
    max_repeated_errors: int | None = CATALOGUE[LimitName.MAX_REPEATED_ERRORS].default
    max_repeated_calls: int | None = CATALOGUE[LimitName.MAX_REPEATED_CALLS].default
    max_unrunnable_tests: int | None = CATALOGUE[LimitName.MAX_UNRUNNABLE_TESTS].default
    max_spawns: int | None = CATALOGUE[LimitName.MAX_SPAWNS].default
    max_depth: int | None = CATALOGUE[LimitName.MAX_DEPTH].default
    max_idle_duration: int | None = CATALOGUE[LimitName.MAX_IDLE_DURATION].default
    max_review_rounds: int | None = CATALOGUE[LimitName.MAX_REVIEW_ROUNDS].default
    warning_threshold: float = 0.80
    """Part of a maximum, above 0 and at most 1, at which the agent is warned."""
    summary_wait: int = 60
    """Seconds to summarise after a trip."""
    running_tool_wait: int = 300
    """Seconds that a tool which runs at the trip may still take; the summary's begin afterwards."""
    max_review_wait: int = 604_800
    """Seconds a handed-over pull request is waited for; then the agent is COMPLETED."""
    iteration_mode: IterationMode = "fix_cycles"
    default_action: Action = Action.ESCALATE
    """What happens at a limit that `actions` does not name."""
    actions: Mapping[LimitName, Action] = field(default_factory=dict)
    shadow: frozenset[LimitName] = frozenset()
    """Limits that are judged and shown, never acted on."""
    ceilings: Mapping[LimitName, float] = field(default_factory=dict)
    """The operator's bounds: there warning and shadow do not count, and no raise goes above."""

    def __post_init__(self) -> None:
        for name in CATALOGUE:
            in_range(name, self.maximum(name))
        if not 0 < self.warning_threshold <= 1:
            raise ValueError("warning_threshold must be above 0 and at most 1")
        if not 0 <= self.summary_wait <= MAX_SUMMARY_WAIT_SECONDS:
            raise ValueError(f"summary_wait must be 0 to {MAX_SUMMARY_WAIT_SECONDS}")
        if not 0 <= self.running_tool_wait <= MAX_RUNNING_TOOL_WAIT_SECONDS:
            raise ValueError(f"running_tool_wait must be 0 to {MAX_RUNNING_TOOL_WAIT_SECONDS}")
        if not 1 <= self.max_review_wait <= YEAR_SECONDS:
            raise ValueError(f"max_review_wait must be 1 to {YEAR_SECONDS}")
        for name, action in self.actions.items():
            if action not in CATALOGUE[name].actions:
                raise ValueError(f"{name} cannot {action}: it always escalates")

    def maximum(self, name: LimitName) -> float | None:
        """The maximum of one limit; None when it is switched off."""
        value: float | None = getattr(self, name.value)
        return value

    def with_maximum(self, name: LimitName, value: float) -> "Limits":
        """The same limits but for this one; what is no money is counted in whole numbers."""
        changed: dict[str, Any] = {name.value: value if CATALOGUE[name].is_money else int(value)}
        return replace(self, **changed)

    def action(self, name: LimitName) -> Action:
        """What happens when this limit is reached below its ceiling."""
        info = CATALOGUE[name]
        chosen = self.actions.get(name, info.own_action or self.default_action)
        return chosen if chosen in info.actions else Action.ESCALATE

    def is_at_ceiling(self, name: LimitName) -> bool:
        """Whether the maximum is the operator's ceiling: reaching it stops the agent, whatever
        `action` and `shadow` say."""
        maximum, ceiling = self.maximum(name), self.ceilings.get(name)
        return ceiling is not None and (maximum is None or maximum >= ceiling)

    @cached_property
    def armed(self) -> tuple[Armed, ...]:
        """The limits that can stop this agent, in catalogue order."""
        return tuple(
            self._armed(name, self.info(name))
            for name, info in CATALOGUE.items()
            if info.trips is not Trips.SENT
            and (self.maximum(name) is not None or name in self.ceilings)
        )

    @cached_property
    def quiet_below(self) -> tuple[float, ...]:
        """For each of `MEASURES`: no limit has anything to say about a smaller amount."""
        quiet = dict.fromkeys(MEASURES, math.inf)
        for limit in self.armed:
            quiet[limit.measure] = limit.quiet_below
        return tuple(quiet.values())

    def measure(self, name: LimitName) -> str:
        """What a limit measures: itself, but for iterations that count every test run."""
        counts_runs = name is LimitName.MAX_ITERATIONS and self.iteration_mode == TEST_RUNS
        return TEST_RUNS if counts_runs else name.value

    def info(self, name: LimitName) -> LimitInfo:
        """What a person has to know about the limit of this agent: in the unit of what it
        measures."""
        info = CATALOGUE[name]
        is_itself = self.measure(name) == name
        return info if is_itself else replace(info, unit=TEST_RUNS.replace("_", " "))

    def _armed(self, name: LimitName, info: LimitInfo) -> Armed:
        maximum, ceiling = self.maximum(name), self.ceilings.get(name)
        if info.is_money:
            maximum = None if maximum is None else whole_nanousd(maximum)
            ceiling = None if ceiling is None else whole_nanousd(ceiling)
        bounds = [bound for bound in (maximum, ceiling) if bound is not None]
        if maximum is not None:
            warns_at = info.warns_at or maximum * self.warning_threshold * (1 - _FLOAT_ERROR)
            bounds.append(warns_at)
        return Armed(name, info, maximum, ceiling, self.measure(name), min(bounds))
