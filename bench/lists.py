"""Lists of agents: a page of them, by how many there are."""

import asyncio
from contextlib import closing
from datetime import timedelta
from time import perf_counter
from typing import Final

import sqlalchemy as sa

from app.adapters.clock import SystemClock
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.tables import AGENTS, GLANCES
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import AgentId, Assignment, Task
from app.core.agents.lifecycle import State
from app.core.limits import Limits
from app.core.rules.plan import EscalationRules
from app.ports import FleetFilter, NewAgent, Repository, Work
from app.services.moves.glances import note_glance
from app.testruns import SuiteRules
from bench import databases

THERE: Final = (100, 1_000, 10_000)
ON_A_PAGE: Final = 50
ROUNDS: Final = 20
AIM: Final = 2.0


def main() -> None:
    """Print the figures: of the rounds, the best; the machine may have other work."""
    print(
        f"lists: a page of {ON_A_PAGE} of so many agents that were stopped, from the middle on;"
        f" best of {ROUNDS}; aim: of the most agents within {AIM:g} times that of the fewest"
    )
    for kind in databases.KINDS:
        with databases.empty(kind) as address:
            engine = make_engine(address)
            migrate(engine)
            with closing(GroupWriter(engine)) as writer:
                asyncio.run(_measure(kind, engine, SqlStore(engine, writer, _enqueue_nothing)))
            engine.dispose()


def _enqueue_nothing(_: sa.Connection, __: Work) -> None:
    return


async def _measure(kind: str, engine: sa.Engine, store: SqlStore) -> None:
    await _first(engine, store)
    took = dict[int, float]()
    for before, there in zip((1, *THERE), THERE, strict=False):
        _more(engine, before, there)
        middle = AgentId("octo/demo", there // 2, "bug-fix", 1)
        took[there] = await _best(store, FleetFilter(), middle)
        needing = await _best(store, FleetFilter(may_need_person=True), middle)
        print(
            f"  {kind}, {there:>6} agents: {took[there] * 1e3:5.1f} ms; of those that may need a"
            f" person {needing * 1e3:5.1f} ms"
        )
    print(f"  {kind}: {took[THERE[-1]] / took[THERE[0]]:.2f} times")


async def _best(store: SqlStore, wanted: FleetFilter, after: AgentId) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = perf_counter()
        page = await store.fleet(wanted, after=after, most=ON_A_PAGE)
        best = min(best, perf_counter() - began)
        assert page, "there are some behind it"
    return best


async def _first(engine: sa.Engine, store: SqlStore) -> None:
    """One agent, as Squadron makes it; and as if it was stopped."""
    assignment = Assignment(
        limits=Limits(),
        prompt="Fix it.",
        model="openai:x",
        planning_model=None,
        tools=None,
        setup=(),
        escalation=EscalationRules(),
        suites=SuiteRules(),
        task=Task("It breaks", "It breaks whenever I look at it. " * 60),
    )
    new = NewAgent(
        repository=Repository("octo/demo", 77),
        repository_id=1,
        issue=1,
        role="bug-fix",
        assignment=assignment,
        branch="squadron/bug-fix/issue-1",
        default_branch="main",
        started_by="mona",
        trigger="label squadron:bug-fix",
    )
    now = SystemClock().now()
    agent = await store.create(new, now)
    assert agent is not None
    await note_glance(store, agent, now)
    with engine.begin() as connection:
        connection.execute(sa.update(AGENTS).values(state=State.ESCALATED.value, live_post=None))


def _more(engine: sa.Engine, before: int, there: int) -> None:
    """Copies of the first one, at the issues that follow."""
    now = SystemClock().now()
    with engine.begin() as connection:
        for table, key in ((AGENTS, "id"), (GLANCES, "agent_id")):
            row = connection.execute(sa.select(table).limit(1)).mappings().one()
            copies = list[dict[str, object]]()
            for issue in range(before + 1, there + 1):
                agent = AgentId("octo/demo", issue, "bug-fix", 1)
                created_at = now + timedelta(seconds=issue)
                own = {
                    key: str(agent),
                    "post": agent.post,
                    "issue": issue,
                    "created_at": created_at,
                }
                copies.append({**row, **{name: own[name] for name in own if name in row}})
            connection.execute(sa.insert(table), copies)
