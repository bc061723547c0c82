"""An agent and a log for the tests of what people read, and the tables that stand in all texts."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from app.core.agents.agent import Agent
from app.core.agents.events import DiffSize, Kept
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer, Trip
from app.core.limits import LimitName
from app.core.words.report import Report, report
from app.testruns import Outcome
from tests.core.life import Life, begun
from tests.core.strategies import START, agent, only

SHORT = only(max_tool_calls=5, max_cost_usd=1.5)
SHA = "a" * 40
TRIP = Trip(
    limit=LimitName.MAX_TOOL_CALLS,
    observed=5,
    maximum=5,
    layer=Layer.HOOK,
    at=START,
    reason="max_tool_calls reached: 5 of 5 tool calls.",
)
LIMITS = """| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_tool_calls` | 2 | 5 | tool calls |
| `max_active_duration` | 0 | 31536000 | seconds |
| `max_sleep_duration` | 0 | 31536000 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |"""
SUMMARY = "\n  \n  > I tried.\n  > Twice."
RUNS = """| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed |  | no |"""


def worked() -> Life:
    """One turn, two tool calls, one of them tests that failed."""
    life = begun(SHORT)
    life.asks_turn()
    life.asks_tool()
    life.tests(Outcome.FAILED)
    life.model_answers(21_000_000)
    return life


def seen(row: Agent, life: Life | None = None, at: datetime = START) -> Report:
    return report(row, life.log if life is not None else [], at)


def row(state: State = State.ACTIVE, **changes: Any) -> Agent:
    return replace(agent(state, limits=SHORT), **changes)


def kept(pushed: bool = True, problem: str = "", commits: tuple[str, ...] = ()) -> Kept:
    diff = DiffSize(files=1, added=2, deleted=3)
    return Kept(at=START, sha=SHA, pushed=pushed, problem=problem, commits=commits, diff=diff)
