"""One view of an agent for people: everything that comment, check, issue and pages show."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.core.agent import Agent
from app.core.breaker import LimitUse, usage
from app.core.counters import Counters, fold
from app.core.events import (
    AgentEvent,
    Created,
    Kept,
    Slept,
    ToolAsked,
    ToolEnded,
    Warned,
)
from app.core.lifecycle import State
from app.core.testruns import Outcome


@dataclass(frozen=True, slots=True)
class TestRun:
    """One test run of the agent, for people."""

    __test__ = False

    command: str
    outcome: Outcome | None
    """None while it runs, or when its process died."""
    failures: str
    changed: bool
    """Whether the workspace had changed since the test run before."""


@dataclass(frozen=True, slots=True)
class Report:
    """An agent, what it used, and what it did, as of one instant."""

    agent: Agent
    counters: Counters
    uses: tuple[LimitUse, ...]
    kept: Kept | None
    """The last time work was taken out of the workspace."""
    slept: Slept | None
    test_runs: tuple[TestRun, ...]
    warnings: tuple[Warned, ...]
    trigger: str


def report(agent: Agent, log: Sequence[AgentEvent], now: datetime) -> Report:
    """Fold a log into what people want to know. Final agents are shown as of their end."""
    counters = fold(log)
    at = agent.updated_at if agent.is_final else now
    kept = [event for event in log if isinstance(event, Kept)]
    slept = [event for event in log if isinstance(event, Slept)]
    created = [event for event in log if isinstance(event, Created)]
    uses = tuple(
        LimitUse(use.name, agent.trip.observed, use.maximum)
        if agent.trip is not None
        and use.name == agent.trip.limit
        and agent.trip.observed is not None
        else use
        for use in usage(counters, agent.assignment.limits, at)
    )
    return Report(
        agent=agent,
        counters=counters,
        uses=uses,
        kept=kept[-1] if kept else None,
        slept=slept[-1] if slept and agent.state is State.SLEEPING else None,
        test_runs=tuple(_test_runs(log)),
        warnings=tuple(event for event in log if isinstance(event, Warned)),
        trigger=created[0].trigger if created else "",
    )


def _test_runs(log: Sequence[AgentEvent]) -> list[TestRun]:
    ended = {event.call: event for event in log if isinstance(event, ToolEnded)}
    runs: list[TestRun] = []
    last_fingerprint: str | None = None
    for event in log:
        if not isinstance(event, ToolAsked) or event.suite is None:
            continue
        end = ended.get(event.call)
        changed = last_fingerprint is not None and event.suite.fingerprint != last_fingerprint
        left = end.fingerprint if end else None
        last_fingerprint = left if left is not None else event.suite.fingerprint
        runs.append(
            TestRun(
                command=event.what,
                outcome=end.outcome if end else None,
                failures=end.failures if end else "",
                changed=changed,
            )
        )
    return runs
