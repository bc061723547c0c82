"""Changes of state as a test wants them, whatever led to them in life."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import AgentEvent, Waits
from app.core.agents.lifecycle import Signal, State
from app.core.agents.steps import Begin
from app.core.agents.stops import StopReason
from app.core.agents.transition import Transition, entered, moved, transition
from app.ports import Store, Work


@dataclass(frozen=True)
class Changes:
    """Fields of the row that change together with the state. `None`: as it is."""

    waits_for: Waits | None = None
    blocked_by: tuple[int, ...] = ()
    summary: str | None = None
    sha: str | None = None
    stop: StopReason | None = None
    pause_seconds: float = 0
    retry_at: datetime | None = None
    missing_provider: str | None = None


def change(
    agent: Agent,
    signal: Signal,
    events: Sequence[AgentEvent],
    changes: Changes,
    follow: Sequence[Work] = (),
) -> Transition:
    """The transition with just these events. Raises `ImpossibleTransition`."""
    row = entered(agent, signal, events[-1].at if events else agent.updated_at)
    row = replace(
        row,
        waits_for=changes.waits_for,
        blocked_by=changes.blocked_by,
        retry_at=changes.retry_at,
        missing_provider=changes.missing_provider,
        summary=row.summary if changes.summary is None else changes.summary,
        sha=changes.sha or row.sha,
        stop=changes.stop or row.stop,
    )
    made = moved(agent, signal, row, events, changes.pause_seconds)
    runs = [work for work in made.follow if work.id.startswith(f"agent:{agent.id}:seg:")]
    return replace(made, follow=(*runs, *follow))


async def move(
    store: Store,
    agent: Agent,
    signal: Signal,
    events: Sequence[AgentEvent],
    changes: Changes | None = None,
    follow: Sequence[Work] = (),
) -> Agent | None:
    """Write it; None if the row has moved on."""
    return await store.move(change(agent, signal, events, changes or Changes(), follow))


async def begin(
    store: Store, agent_id: AgentId, segment: int, worker: str, at: datetime
) -> Agent | None:
    """Make a segment ACTIVE; None if the agent has moved on."""
    agent = await store.agent(agent_id)
    if agent is None or agent.state not in (State.QUEUED, State.ACTIVE):
        return None
    if agent.segment != segment:
        return None
    return await store.move(transition(agent, Begin(worker, 0.0), None, at))
