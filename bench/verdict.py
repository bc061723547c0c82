"""What one pure verdict costs: every limit on, in the middle of a realistic piece of work."""

import platform
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from time import perf_counter_ns

from app.core.agents.counters import fold
from app.core.agents.events import (
    AgentEvent,
    Ask,
    Created,
    ModelAsked,
    ModelCalled,
    SegmentEnded,
    SegmentStarted,
    Slept,
    Spoke,
    SuiteAsked,
    Ticked,
    ToolAsked,
    ToolEnded,
    TurnAsked,
    Waits,
    Woken,
)
from app.core.breaker.verdict import decide
from app.core.limits import LimitName, Limits
from app.testruns import Outcome, Suite

SAMPLES = 20_000
WARM_UP_SAMPLES = 2_000
AIM_P50_MICROSECONDS = 20

_START = datetime(2026, 3, 1, 9, tzinfo=UTC)
EVERY_LIMIT = Limits(
    max_iterations=50,
    max_model_calls=10_000,
    max_tokens=1_000_000_000,
    max_cost_usd=1_000.0,
    max_planning_cost_usd=1_000.0,
    max_execution_cost_usd=1_000.0,
    max_consecutive_tools=10_000,
    max_tool_calls_per_turn=10_000,
    ceilings={LimitName.MAX_COST_USD: 2_000.0, LimitName.MAX_TOOL_CALLS: 100_000},
)
"""All of them are switched on, and none is close."""
_WHOLE = Suite("pytest", (), status_visible=True)
_ONE_FILE = Suite("pytest", ("tests/test_login.py",), status_visible=True)


def history() -> Iterator[AgentEvent]:
    """Two segments with a sleep between them: 100 tool calls, ten test runs, still red."""
    yield Created(at=_START, started_by="mona", trigger="label squadron:bug-fix")
    for segment, begin in enumerate((_START, _START + timedelta(hours=3))):
        yield SegmentStarted(at=begin, segment=segment, attempt=1)
        yield TurnAsked(at=begin)
        for n in range(50):
            at, call = begin + timedelta(seconds=20 * n), f"{segment}-{n}"
            suite = _asked_suite(n, call)
            yield ModelAsked(at=at, estimate_nanousd=40_000_000)
            yield ModelCalled(
                at=at,
                model="scripted",
                input_tokens=9_000,
                output_tokens=300,
                cost_nanousd=31_500_000,
            )
            yield Spoke(at=at)
            yield ToolAsked(
                at=at, call=call, tool="bash", what="pytest", suite=suite, key=f"call {n % 7}"
            )
            yield _ended(at, call, suite)
        end = begin + timedelta(seconds=1_100)
        yield SegmentEnded(at=end, why="blocked")
        yield Slept(at=end, waits_for=Waits.BLOCKER, blocked_by=(7,), reason="needs #7")
        yield Woken(at=end + timedelta(hours=1), why="#7 was closed", by="squadron")
    yield SegmentStarted(at=_START + timedelta(hours=6), segment=2, attempt=1)


def asks() -> tuple[Ask, ...]:
    """What a working agent asks, in the proportions in which it asks it."""
    at = _START + timedelta(hours=6, seconds=30)
    tool = ToolAsked(at=at, call="next", tool="edit", what="app/login.py", key="edit login")
    model = ModelAsked(at=at, estimate_nanousd=40_000_000)
    suite = SuiteAsked(suite=_WHOLE, fingerprint="changed")
    tests = ToolAsked(at=at, call="next", tool="bash", what="pytest", suite=suite)
    return (tool, model, tests, tool, Ticked(at=at), model, tool, tests, TurnAsked(at=at), model)


def sample_nanoseconds() -> list[int]:
    """How long each of `SAMPLES` verdicts took."""
    counters, limits = fold(history()), EVERY_LIMIT
    taken = []
    for ask in islice(cycle(asks()), WARM_UP_SAMPLES + SAMPLES):
        begin = perf_counter_ns()
        decision = decide(counters, ask, limits)
        taken.append(perf_counter_ns() - begin)
        assert decision.verdict.allowed, decision.verdict
    return taken[WARM_UP_SAMPLES:]


def main() -> None:
    """Print the figures."""
    taken = sorted(sample_nanoseconds())
    p50, p99 = (taken[len(taken) * part // 100] / 1_000 for part in (50, 99))
    print(
        f"verdict: p50 {p50:.1f} µs, p99 {p99:.1f} µs (aim: p50 < {AIM_P50_MICROSECONDS} µs);"
        f" {SAMPLES} verdicts, every limit on, Python {platform.python_version()}"
    )


def _asked_suite(n: int, call: str) -> SuiteAsked | None:
    """Every tenth call is a test run, of everything and of one file by turns."""
    if n % 10:
        return None
    return SuiteAsked(suite=_ONE_FILE if n % 20 else _WHOLE, fingerprint=f"content of {call}")


def _ended(at: datetime, call: str, asked: SuiteAsked | None) -> ToolEnded:
    if asked is None:
        return ToolEnded(at=at, call=call, ok=True)
    outcome = Outcome.FAILED if asked.suite == _WHOLE else Outcome.PASSED
    return ToolEnded(at=at, call=call, ok=False, outcome=outcome, fingerprint=asked.fingerprint)


if __name__ == "__main__":
    main()
