"""The catalogue of limits: one entry a limit, and the frozen `Limits` an agent starts with.

A maximum of N lets N happen; asking for one more trips. A bound on time trips when the amount
has reached it (DESIGN section 1). Defaults and reasons are seed 002's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal


class LimitName(StrEnum):
    """The configuration keys of the limits, in the order in which a tie is decided."""

    MAX_ITERATIONS = "max_iterations"
    MAX_TOOL_CALLS = "max_tool_calls"
    MAX_TURNS = "max_turns"
    MAX_ACTIVE_DURATION = "max_active_duration"
    MAX_SLEEP_DURATION = "max_sleep_duration"


class Trips(StrEnum):
    """When a limit trips."""

    BEYOND = "beyond"
    """A count: N may happen, asking for one more trips."""
    REACHED = "reached"
    """An amount (time): trips when it has reached the maximum."""


@dataclass(frozen=True, slots=True)
class LimitInfo:
    """What a person has to know about one limit; README's table is generated from it."""

    name: LimitName
    unit: str
    default: int
    least: int
    most: int
    optional: bool
    """Whether `null` switches it off."""
    trips: Trips
    why: str
    counted: str
    not_counted: str


_YEAR_SECONDS: Final = 365 * 24 * 3600
MAX_SUMMARY_WAIT_SECONDS: Final = 600

CATALOGUE: Final[Mapping[LimitName, LimitInfo]] = MappingProxyType(
    {
        info.name: info
        for info in (
            LimitInfo(
                name=LimitName.MAX_ITERATIONS,
                unit="fix cycles",
                default=5,
                least=1,
                most=10_000,
                optional=True,
                trips=Trips.BEYOND,
                why="After five failed fix cycles the approach is likely wrong.",
                counted="a test run asked for after a run that did not pass and a change",
                not_counted="the first failing run, repeats without a change, runs that pass",
            ),
            LimitInfo(
                name=LimitName.MAX_TOOL_CALLS,
                unit="tool calls",
                default=200,
                least=1,
                most=1_000_000,
                optional=True,
                trips=Trips.BEYOND,
                why="A typical task takes about 100 calls; 200 is twice that.",
                counted="every allowed tool call, calls of unknown tools included",
                not_counted="denied calls, report_complete and report_blocked",
            ),
            LimitInfo(
                name=LimitName.MAX_TURNS,
                unit="turns",
                default=50,
                least=1,
                most=100_000,
                optional=True,
                trips=Trips.BEYOND,
                why="50 prompts are a substantial conversation, enough for a complex feature.",
                counted="every prompt sent to the session",
                not_counted="model calls inside a turn, the request for a summary after a trip",
            ),
            LimitInfo(
                name=LimitName.MAX_ACTIVE_DURATION,
                unit="seconds",
                default=7_200,
                least=1,
                most=_YEAR_SECONDS,
                optional=False,
                trips=Trips.REACHED,
                why="A senior developer would reassess an issue after two hours.",
                counted="wall-clock time in ACTIVE, added up over all segments",
                not_counted="time asleep, paused, queued, or while no process was running",
            ),
            LimitInfo(
                name=LimitName.MAX_SLEEP_DURATION,
                unit="seconds",
                default=86_400,
                least=1,
                most=_YEAR_SECONDS,
                optional=False,
                trips=Trips.REACHED,
                why="A blocker that is not resolved within a day needs a human.",
                counted="each sleep for a blocker or an answer, and each pause, by itself",
                not_counted="waiting for a review (max_review_wait), time in the queue",
            ),
        )
    }
)

IterationMode = Literal["fix_cycles", "test_runs"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The effective limits of one agent, frozen when it starts. Durations are whole seconds.

    `None` means: switched off. Raises `ValueError` for a value outside the catalogue's range.
    """

    max_iterations: int | None = CATALOGUE[LimitName.MAX_ITERATIONS].default
    max_tool_calls: int | None = CATALOGUE[LimitName.MAX_TOOL_CALLS].default
    max_turns: int | None = CATALOGUE[LimitName.MAX_TURNS].default
    max_active_duration: int = CATALOGUE[LimitName.MAX_ACTIVE_DURATION].default
    max_sleep_duration: int = CATALOGUE[LimitName.MAX_SLEEP_DURATION].default
    warning_threshold: float = 0.80
    """Part of a maximum, above 0 and at most 1, at which the agent is warned."""
    summary_wait: int = 60
    """Seconds to summarise after a trip."""
    max_review_wait: int = 604_800
    """Seconds a handed-over pull request is waited for; then the agent is COMPLETED."""
    iteration_mode: IterationMode = "fix_cycles"

    def __post_init__(self) -> None:
        for name, info in CATALOGUE.items():
            value = self.maximum(name)
            if value is None:
                if not info.optional:
                    raise ValueError(f"{name} cannot be switched off")
            elif not info.least <= value <= info.most:
                raise ValueError(f"{name} must be {info.least} to {info.most}, not {value}")
        if not 0 < self.warning_threshold <= 1:
            raise ValueError("warning_threshold must be above 0 and at most 1")
        if not 0 <= self.summary_wait <= MAX_SUMMARY_WAIT_SECONDS:
            raise ValueError(f"summary_wait must be 0 to {MAX_SUMMARY_WAIT_SECONDS}")
        if not 1 <= self.max_review_wait <= _YEAR_SECONDS:
            raise ValueError(f"max_review_wait must be 1 to {_YEAR_SECONDS}")

    def maximum(self, name: LimitName) -> int | None:
        """The maximum of one limit; None when it is switched off."""
        match name:
            case LimitName.MAX_ITERATIONS:
                return self.max_iterations
            case LimitName.MAX_TOOL_CALLS:
                return self.max_tool_calls
            case LimitName.MAX_TURNS:
                return self.max_turns
            case LimitName.MAX_ACTIVE_DURATION:
                return self.max_active_duration
            case LimitName.MAX_SLEEP_DURATION:
                return self.max_sleep_duration
