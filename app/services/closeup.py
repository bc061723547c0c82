"""All that people want to see of one agent, from bounded questions: its whole log is never read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent, AgentId, Effect, EffectName, EffectState
from app.core.agents.events import Known, SegmentStarted, Verified
from app.core.agents.lifecycle import State
from app.core.breaker.verdict import LimitUse
from app.core.budgets.ledger import Holding
from app.core.words.matters import Matter
from app.core.words.report import TestRun, braked, test_runs_of
from app.core.words.story import next_steps
from app.core.words.timeline import Entry, Tone, timeline
from app.ports import (
    FleetAgent,
    FleetFilter,
    HeardCommands,
    Ledger,
    Logged,
    SpentUntil,
    Store,
)
from app.services.fleet import fleet_page, matters_of

MOST_OF_THE_LOG: Final = 400
"""Events of one page of the timeline."""
MOST_LANDMARKS: Final = 400
MOST_SUB_AGENTS: Final = 100
MOST_IN_SIGHT: Final = 8
"""Of what went wrong."""
MOST_TEST_RUNS: Final = 12
MONEY_POINTS: Final = 60


@dataclass(frozen=True, slots=True)
class Closeup:
    """One agent."""

    listed: FleetAgent
    matters: Sequence[Matter]
    """What waits for a person."""
    effects: Mapping[EffectName, Effect]
    news: Sequence[Entry]
    """Its timeline without what happens in every turn, the last first: not all of it, if it is
    long."""
    went_wrong: Sequence[Entry]
    """What stopped it, or keeps its work from people, the last first: what came before it went on,
    or before its work was found sound, is over."""
    runs: Sequence[Entry]
    """Calls that have not ended, of who is at work."""
    test_runs: Sequence[TestRun]
    """The last ones, oldest first."""
    said_last: Entry | None
    """The last thing that printed something: a test run that did not pass, or Squadron's own look
    at the work."""
    entries: Sequence[Entry]
    """A page of its timeline, the last first."""
    older: int | None
    """The number before which the next page ends; None: there is no older one."""
    spent: Sequence[SpentUntil]
    holding: Holding | None
    """Of budgets; None: none counts it."""
    sub_agents: Sequence[FleetAgent]
    """Those that it started itself, the newest first."""
    told: Sequence[HeardCommands]
    """What people told Squadron about it, oldest first."""
    next_steps: Sequence[str]

    @property
    def pending(self) -> Sequence[Effect]:
        """What is not on GitHub as it should be: what that refuses first."""
        undone = [each for each in self.effects.values() if each.state is not EffectState.DONE]
        return sorted(undone, key=lambda effect: effect.state is not EffectState.REFUSED)

    @property
    def uses(self) -> Sequence[LimitUse]:
        """Of every limit, the nearest first."""
        return sorted(self.listed.seen.uses, key=lambda use: use.share, reverse=True)


async def closeup(
    store: Store, ledger: Ledger, agent_id: AgentId, before: int | None, now: datetime
) -> Closeup | None:
    """As of now; `before`: the timeline ends before the event of this number. None: there is no
    such agent. Raises `StoreUnavailable`."""
    page = await fleet_page(store, FleetFilter(agent=agent_id), None, 1, now)
    if not page:
        return None
    [listed] = page
    agent = listed.agent
    effects = await store.effects(agent.id)
    landmarks = await store.landmarks(agent.id, MOST_LANDMARKS)
    log = await store.log_before(agent.id, before=before, most=MOST_OF_THE_LOG)
    news, events = timeline(landmarks)[::-1], [event for _, event in landmarks]
    entries = timeline(log)[::-1]
    is_seen_now = agent.state is State.ACTIVE and before is None
    children = FleetFilter(parent=agent.id)
    return Closeup(
        listed=listed,
        matters=matters_of(listed, now),
        effects=effects,
        news=[each for each in news if each.tone is not Tone.ROUTINE],
        went_wrong=_went_wrong(landmarks, news),
        runs=[each for each in entries if each.is_open] if is_seen_now else [],
        test_runs=test_runs_of(events)[-MOST_TEST_RUNS:],
        said_last=next((each for each in news if each.output), None),
        entries=entries,
        older=log[0].seq if log and log[0].seq > 1 else None,
        spent=await ledger.spent_in_time(agent.id, MONEY_POINTS),
        holding=await ledger.holding(agent.id),
        sub_agents=await fleet_page(store, children, None, MOST_SUB_AGENTS, now, newest_first=True),
        told=commands_about(agent, effects, await store.heard_commands(agent.repository)),
        next_steps=[*next_steps(agent, effects, braked(events), listed.queue)],
    )


def _went_wrong(landmarks: Sequence[Logged], news: Sequence[Entry]) -> Sequence[Entry]:
    overs = (
        seq
        for seq, event in landmarks
        if isinstance(event, SegmentStarted)
        or (isinstance(event, Verified) and event.sound is Known.YES)
    )
    over = max(overs, default=0)
    return [each for each in news if each.tone is Tone.BAD and each.seq > over][:MOST_IN_SIGHT]


def commands_about(
    agent: Agent, effects: Mapping[EffectName, Effect], heard: Sequence[HeardCommands]
) -> Sequence[HeardCommands]:
    """Those of a repository's commands that were given since the agent is there, on its issue,
    its pull request or its needs-human issue."""
    escalation = effects.get(EffectName.ISSUE)
    threads = {
        agent.id.issue,
        agent.pull_request,
        None if escalation is None else escalation.number,
    }
    return [told for told in heard if told.thread in threads and told.at >= agent.created_at]
