"""The catalogue of limits: one entry a limit.

A maximum of N lets N happen; asking for one more trips. A bound on time, tokens or money trips
when the amount has reached it, a bound on outcomes when the same is asked again after the N-th
(docs/design.md, Words). The documents show each entry (`docs/reference/limits.md`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class LimitName(StrEnum):
    """The configuration keys of the limits, in the order in which a tie is decided."""

    MAX_ITERATIONS = "max_iterations"
    MAX_TOOL_CALLS = "max_tool_calls"
    MAX_TURNS = "max_turns"
    MAX_ACTIVE_DURATION = "max_active_duration"
    MAX_SLEEP_DURATION = "max_sleep_duration"
    MAX_MODEL_CALLS = "max_model_calls"
    MAX_TOKENS = "max_tokens"
    MAX_OUTPUT_TOKENS_PER_CALL = "max_output_tokens_per_call"
    MAX_COST_USD = "max_cost_usd"
    MAX_PLANNING_COST_USD = "max_planning_cost_usd"
    MAX_EXECUTION_COST_USD = "max_execution_cost_usd"
    MAX_CONSECUTIVE_TOOLS = "max_consecutive_tools"
    MAX_TOOL_CALLS_PER_TURN = "max_tool_calls_per_turn"
    MAX_REPEATED_ERRORS = "max_repeated_errors"
    MAX_REPEATED_CALLS = "max_repeated_calls"
    MAX_UNRUNNABLE_TESTS = "max_unrunnable_tests"
    MAX_SPAWNS = "max_spawns"
    MAX_DEPTH = "max_depth"
    MAX_IDLE_DURATION = "max_idle_duration"
    MAX_REVIEW_ROUNDS = "max_review_rounds"


class Trips(StrEnum):
    """When a limit trips."""

    BEYOND = "beyond"
    """A count: N may happen, asking for one more trips."""
    REACHED = "reached"
    """An amount (time, tokens, money): trips when it has reached the maximum."""
    REPEATED = "repeated"
    """An outcome: trips when the same is asked again after the N-th."""
    SENT = "sent"
    """Never trips: the provider is asked to keep to it."""


class Action(StrEnum):
    """What happens at a limit (`on_limit`)."""

    ESCALATE = "escalate"
    """Stop for good; a human decides."""
    PAUSE = "pause"
    """Keep the session and wait until a human resumes it."""
    WARN = "warn"
    """Record it once and go on."""
    REQUEST_INCREASE = "request_increase"
    """Pause, and ask a human for more, with the evidence of progress."""


HOLDS: Final = frozenset({Action.PAUSE, Action.REQUEST_INCREASE})


@dataclass(frozen=True, slots=True)
class LimitInfo:
    """What a person has to know about one limit; docs/reference/limits.md shows it."""

    name: LimitName
    unit: str
    default: int | None
    """None: switched off."""
    least: float
    most: float
    trips: Trips
    why: str
    counted: str
    not_counted: str
    optional: bool = True
    """Whether `null` switches it off."""
    is_money: bool = False
    """Whether the value is an amount of USD, with its fraction; all others are whole numbers."""
    warns_at: int | None = None
    """The amount at which the agent is warned; None: at the `warning_threshold`."""
    actions: frozenset[Action] = frozenset(Action)
    """What `on_limit` may say about it."""
    own_action: Action | None = None
    """What happens at it unless `on_limit` names this very limit; None: what happens at all."""


YEAR_SECONDS: Final = 365 * 24 * 3600
MAX_SUMMARY_WAIT_SECONDS: Final = 600
MAX_RUNNING_TOOL_WAIT_SECONDS: Final = 600
MOST_USD: Final = 1_000_000.0
LEAST_USD: Final = 0.01
"""The least bound on money."""
BUDGETED_COST_USD: Final = 1.0
"""`max_cost_usd` of an agent that a money budget applies to and whose limits leave it open."""


def _money_limit(name: LimitName, *, why: str, counted: str, not_counted: str) -> LimitInfo:
    """A bound on what an agent may cost, which nobody has to set."""
    return LimitInfo(
        name=name,
        unit="USD",
        default=None,
        least=LEAST_USD,
        most=MOST_USD,
        trips=Trips.REACHED,
        why=why,
        counted=counted,
        not_counted=not_counted,
        is_money=True,
    )


_ENTRIES: Final = (
    LimitInfo(
        name=LimitName.MAX_ITERATIONS,
        unit="fix cycles",
        default=5,
        least=1,
        most=10_000,
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
        trips=Trips.BEYOND,
        why="A typical task takes about 100 calls; 200 is twice that.",
        counted="every allowed tool call, of unknown tools and of sub-agents too",
        not_counted="denied calls, report_complete, report_blocked, request_increase",
    ),
    LimitInfo(
        name=LimitName.MAX_TURNS,
        unit="turns",
        default=50,
        least=1,
        most=100_000,
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
        most=YEAR_SECONDS,
        trips=Trips.REACHED,
        why="A senior developer would reassess an issue after two hours.",
        counted="time in ACTIVE by the monotonic clock, added up over all segments",
        not_counted="time asleep, paused, queued, or while no process was running",
        optional=False,
    ),
    LimitInfo(
        name=LimitName.MAX_SLEEP_DURATION,
        unit="seconds",
        default=86_400,
        least=1,
        most=YEAR_SECONDS,
        trips=Trips.REACHED,
        why="A blocker that is not resolved within a day needs a human.",
        counted="each sleep for a blocker or an answer, and each pause, by itself",
        not_counted="waiting for a review (max_review_wait), time in the queue",
        optional=False,
        actions=frozenset({Action.ESCALATE}),
    ),
    LimitInfo(
        name=LimitName.MAX_MODEL_CALLS,
        unit="model calls",
        default=None,
        least=1,
        most=1_000_000,
        trips=Trips.BEYOND,
        why="An agent that thinks in circles calls no tool.",
        counted="every request to the model, compaction and sub-agents too",
        not_counted="repeats of a request that failed on the way",
    ),
    LimitInfo(
        name=LimitName.MAX_TOKENS,
        unit="tokens",
        default=None,
        least=1,
        most=10_000_000_000,
        trips=Trips.REACHED,
        why="A bound on size that needs no price.",
        counted="input (cached included) and output of all model calls, sub-agents too",
        not_counted="calls whose endpoint reports no usage",
    ),
    LimitInfo(
        name=LimitName.MAX_OUTPUT_TOKENS_PER_CALL,
        unit="tokens",
        default=8_192,
        least=1,
        most=1_000_000,
        trips=Trips.SENT,
        why="It bounds one answer, and with it the estimate of what the answer costs.",
        counted="the output of one model call, by the provider",
        not_counted="input",
        actions=frozenset({Action.ESCALATE}),
    ),
    _money_limit(
        LimitName.MAX_COST_USD,
        why="Money is what a runaway costs. Under a money budget it is 1.0: most tasks cost less.",
        counted="every model call by its price, estimated before it and corrected after it",
        not_counted="calls of a model whose price nobody knows (`on_unmeasurable`)",
    ),
    _money_limit(
        LimitName.MAX_PLANNING_COST_USD,
        why="Planning on a dear model must leave money for the work.",
        counted="model calls of the planning phase: the first turn, on `planning_model`",
        not_counted="all other turns; everything where no `planning_model` is named",
    ),
    _money_limit(
        LimitName.MAX_EXECUTION_COST_USD,
        why="The work itself has its own bound beside the plan's.",
        counted="model calls outside the planning phase, sub-agents' too",
        not_counted="the planning phase",
    ),
    LimitInfo(
        name=LimitName.MAX_CONSECUTIVE_TOOLS,
        unit="tool calls",
        default=None,
        least=1,
        most=1_000_000,
        trips=Trips.BEYOND,
        why="Tools without a word may be a loop; current models are often silent.",
        counted="tool calls since the agent's last text",
        not_counted="anything before that text; thinking is no text",
    ),
    LimitInfo(
        name=LimitName.MAX_TOOL_CALLS_PER_TURN,
        unit="tool calls",
        default=None,
        least=1,
        most=1_000_000,
        trips=Trips.BEYOND,
        why="One prompt must not run away, however many may follow.",
        counted="tool calls since the last prompt",
        not_counted="calls of earlier turns, calls of sub-agents",
    ),
    LimitInfo(
        name=LimitName.MAX_REPEATED_ERRORS,
        unit="errors",
        default=3,
        least=1,
        most=1_000,
        trips=Trips.REPEATED,
        why="The third equal error will not be the last one.",
        counted="a tool failing with the same error in a row; if it reads or edits, the same call",
        not_counted="failing tests, errors before a success of that tool or before any new edit",
    ),
    LimitInfo(
        name=LimitName.MAX_REPEATED_CALLS,
        unit="rounds",
        default=5,
        least=1,
        most=1_000,
        trips=Trips.REPEATED,
        why="The same call with the same result brings nothing new the sixth time.",
        counted="equal calls with equal results in a row; rounds of cycles of two to five calls",
        not_counted="a call whose result, or workspace under test, is another than before",
        warns_at=3,
    ),
    LimitInfo(
        name=LimitName.MAX_UNRUNNABLE_TESTS,
        unit="test runs",
        default=3,
        least=1,
        most=1_000,
        trips=Trips.REPEATED,
        why="Whoever runs what cannot run here has to repair it first, and that is progress too.",
        counted="test runs in a row that could not run at all, each with the same error",
        not_counted="test runs that ran, whatever their outcome; another error begins anew",
        warns_at=2,
        own_action=Action.WARN,
    ),
    LimitInfo(
        name=LimitName.MAX_SPAWNS,
        unit="sub-agents",
        default=10,
        least=0,
        most=10_000,
        trips=Trips.BEYOND,
        why="Work that is divided more often than that has lost its plan.",
        counted="sub-agents that were started, and calls of `task` that are about to start one",
        not_counted="calls of `task` that were refused; sub-agents of sub-agents",
    ),
    LimitInfo(
        name=LimitName.MAX_DEPTH,
        unit="levels",
        default=2,
        least=0,
        most=10,
        trips=Trips.BEYOND,
        why="Sub-agents that start sub-agents hide what happens.",
        counted="levels of sub-agents below this agent",
        not_counted="this agent itself",
    ),
    LimitInfo(
        name=LimitName.MAX_IDLE_DURATION,
        unit="seconds",
        default=900,
        least=1,
        most=YEAR_SECONDS,
        trips=Trips.REACHED,
        why="Longer than any tool or model call may take: the runtime hangs.",
        counted="time without any event from a running session",
        not_counted="time asleep, paused or queued",
    ),
    LimitInfo(
        name=LimitName.MAX_REVIEW_ROUNDS,
        unit="review rounds",
        default=5,
        least=1,
        most=1_000,
        trips=Trips.BEYOND,
        why="What five rounds of review have not settled, people have to talk about.",
        counted="each time that reviews or failing checks of its pull request wake it",
        not_counted="answers, commands, closed blockers, a conflict with the base branch",
    ),
)

CATALOGUE: Final[Mapping[LimitName, LimitInfo]] = MappingProxyType(
    {info.name: info for info in _ENTRIES}
)


def in_range(name: LimitName, value: float | None) -> None:
    """Check one limit's value against the catalogue. Raises `ValueError` in words for people."""
    info = CATALOGUE[name]
    if value is None:
        if not info.optional:
            raise ValueError(f"{name} cannot be switched off")
    elif isinstance(value, bool) or not (info.is_money or isinstance(value, int)):
        raise ValueError(f"{name} must be a whole number, not {value!r}")
    elif not info.least <= value <= info.most:
        raise ValueError(f"{name} must be {info.least:.9g} to {info.most:.15g}, not {value}")
