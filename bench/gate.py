"""The whole pre-tool gate, its durable append included, with many agents at once.

What is measured is what an agent waits for: parse the command, judge, commit the event. Agents
pause at random between two calls, far shorter than any model thinks; or they ask again at once,
and then each latency is that of a queue of all the others.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final, cast

import sqlalchemy as sa

from app.adapters.clock import SystemClock
from app.adapters.shell import parse
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import Assignment, Task
from app.core.agents.counters import fold
from app.core.limits import Limits
from app.core.rules.plan import EscalationRules
from app.core.text.redact import Redactor
from app.core.words.glance import first_glance
from app.ports import NewAgent, Repository, ToolCall, Work, Workspace
from app.services.segment.gate import BreakerGate
from app.testruns import SuiteRules
from bench import databases, disk
from tests.support.moves import begin

AGENTS: Final = 50
CALLS_EACH: Final = 60
WARM_UP_CALLS_EACH: Final = 10
ROUNDS: Final = 3
MEAN_PAUSE_SECONDS: Final = 0.1
AIM_P99_MILLISECONDS: Final = 3

EDIT: Final = ("edit", {"path": "app/login.py", "old": "a", "new": "b"})
SHELL: Final = ("bash", {"command": "cd app && grep -rn 'login' --include='*.py' . | head -20"})
"""A command that is parsed; for a test run git would read the workspace as well."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """How the agents behave."""

    name: str
    call: tuple[str, Mapping[str, object]]
    mean_pause_seconds: float


PATTERNS: Final = (
    Pattern("edits", EDIT, MEAN_PAUSE_SECONDS),
    Pattern("shell calls", SHELL, MEAN_PAUSE_SECONDS),
    Pattern("edits, back to back", EDIT, 0),
    Pattern("shell calls, back to back", SHELL, 0),
)


def main() -> None:
    """Print the figures: of the rounds, the best; the machine may have other work."""
    print(
        f"gate: {AGENTS} agents at once, {CALLS_EACH} calls each, pauses of"
        f" {1_000 * MEAN_PAUSE_SECONDS:g} ms on average (exponential) or none, every commit"
        f" durable; best of {ROUNDS} rounds; aim: p99 < {AIM_P99_MILLISECONDS} ms"
    )
    print(f"  {disk.floor()}")
    for kind in databases.KINDS:
        with databases.empty(kind) as address:
            asyncio.run(_measure(kind, address))


async def _measure(kind: str, address: str) -> None:
    engine = make_engine(address)
    migrate(engine)
    writer = GroupWriter(engine)
    try:
        gates = await _gates(SqlStore(engine, writer, _no_work))
        for pattern in PATTERNS:
            await _round(gates, pattern, WARM_UP_CALLS_EACH)
            rounds = [await _round(gates, pattern, CALLS_EACH) for _ in range(ROUNDS)]
            best = min(rounds, key=lambda latencies: _centile(latencies, 99))
            p99s = ", ".join(f"{_centile(latencies, 99):.1f}" for latencies in rounds)
            print(
                f"  {kind}, {pattern.name}: p50 {_centile(best, 50):.2f} ms,"
                f" p99 {_centile(best, 99):.2f} ms (rounds: {p99s})"
            )
    finally:
        writer.close()
        engine.dispose()


async def _round(gates: Sequence[BreakerGate], pattern: Pattern, calls: int) -> list[float]:
    """Milliseconds of every call, in order of size."""
    took = await asyncio.gather(
        *(_agent(gate, pattern, calls, random.Random(seed)) for seed, gate in enumerate(gates))
    )
    return sorted(1_000 * seconds for each in took for seconds in each)


async def _agent(
    gate: BreakerGate, pattern: Pattern, calls: int, chance: random.Random
) -> list[float]:
    tool, args = pattern.call
    took = []
    for number in range(calls):
        if pattern.mean_pause_seconds:
            await asyncio.sleep(chance.expovariate(1 / pattern.mean_pause_seconds))
        begin = perf_counter()
        verdict = await gate.before_tool(ToolCall(f"call-{number}", tool, args))
        took.append(perf_counter() - begin)
        assert verdict.allowed, verdict
    return took


async def _gates(store: SqlStore) -> list[BreakerGate]:
    """One active agent each, with every limit on."""
    gates, clock = [], SystemClock()
    for issue in range(1, AGENTS + 1):
        new = NewAgent(
            repository=Repository("octo/demo", 1),
            repository_id=1,
            issue=issue,
            role="bug-fix",
            assignment=Assignment(
                limits=Limits(max_tool_calls=1_000_000),
                prompt="Fix it.",
                model="openai:scripted",
                planning_model=None,
                tools=("bash", "edit"),
                setup=(),
                escalation=EscalationRules(),
                suites=SuiteRules(),
                task=Task("It breaks", "Here is how."),
            ),
            branch=f"squadron/bug-fix/issue-{issue}",
            default_branch="main",
            started_by="mona",
            trigger="label squadron:bug-fix",
        )
        created = await store.create(new, clock.now())
        assert created is not None
        agent = await begin(store, created.id, 0, "bench", clock.now())
        assert agent is not None
        events = await store.log(agent.id)
        gates.append(
            BreakerGate(
                agent,
                fold(events),
                len(events) + 1,
                first_glance(agent),
                store=store,
                workspace=cast(Workspace, None),  # only test runs look at it
                parse=parse,
                price_of=lambda model, at: None,
                redact=Redactor(),
                clock=clock,
                page="https://github.example/octo/demo",
            )
        )
    return gates


def _no_work(_connection: sa.Connection, _work: Work) -> None:
    """Nothing takes work here."""


def _centile(ordered: Sequence[float], percent: int) -> float:
    return ordered[len(ordered) * percent // 100]


if __name__ == "__main__":
    main()
