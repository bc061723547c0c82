"""Agents in a database, by the thousand: copies of one that Squadron has made."""

from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from app.adapters.store.codec import encode_stop
from app.adapters.store.store import SqlStore
from app.adapters.store.tables import AGENTS, GLANCES
from app.core.agents.agent import AgentId, Assignment, Task
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer, Trip
from app.core.limits import LimitName, Limits
from app.core.rules.plan import EscalationRules
from app.ports import NewAgent, Repository, Work
from app.services.moves.glances import note_glance
from app.testruns import SuiteRules

REPOSITORY: Final = "octo/demo"
ROLE: Final = "bug-fix"


def enqueue_nothing(_: sa.Connection, __: Work) -> None:
    """For a store behind which nobody works."""
    return


async def first(engine: sa.Engine, store: SqlStore, now: datetime) -> AgentId:
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
        repository=Repository(REPOSITORY, 77),
        repository_id=1,
        issue=1,
        role=ROLE,
        assignment=assignment,
        branch="squadron/bug-fix/issue-1",
        default_branch="main",
        started_by="mona",
        trigger="label squadron:bug-fix",
    )
    agent = await store.create(new, now)
    assert agent is not None
    await note_glance(store, agent, now)
    calls = LimitName.MAX_TOOL_CALLS
    words = f"{calls} reached: 200 of 200 tool calls."
    trip = Trip(limit=calls, observed=200, maximum=200, layer=Layer.HOOK, at=now, reason=words)
    stopped = {"state": State.ESCALATED.value, "live_post": None, "trip": encode_stop(trip)}
    with engine.begin() as connection:
        connection.execute(sa.update(AGENTS).values(stopped))
    return agent.id


def more(engine: sa.Engine, before: int, there: int, now: datetime) -> None:
    """Copies of the first one, at the issues that follow."""
    with engine.begin() as connection:
        for table, key in ((AGENTS, "id"), (GLANCES, "agent_id")):
            row = connection.execute(sa.select(table).limit(1)).mappings().one()
            copies = list[dict[str, object]]()
            for issue in range(before + 1, there + 1):
                agent = AgentId(REPOSITORY, issue, ROLE, 1)
                created_at = now + timedelta(seconds=issue)
                own = {
                    key: str(agent),
                    "post": agent.post,
                    "issue": issue,
                    "created_at": created_at,
                }
                copies.append({**row, **{name: own[name] for name in own if name in row}})
            connection.execute(sa.insert(table), copies)
