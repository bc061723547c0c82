"""One view of an agent for people: everything that comment, check, issue and pages show."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters, fold
from app.core.agents.events import (
    AgentEvent,
    Braked,
    BrakeLifted,
    Created,
    DiffSize,
    FilesMoved,
    Finished,
    HeldUp,
    Kept,
    Noticed,
    Passed,
    Proposed,
    Raised,
    Reported,
    Returned,
    SegmentStarted,
    Slept,
    Spawned,
    ToolAsked,
    ToolEnded,
    Verified,
    VerifyBegun,
    Waits,
    Warned,
)
from app.core.agents.evidence import Evidence, evidence
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.core.agents.stops import Hold
from app.core.breaker.verdict import LimitUse, usage
from app.core.effects.calls import Call, calls
from app.core.rules.plan import RoleKind
from app.testruns import Outcome

_HELD_UP: Final = (Waits.ROOM, Waits.PROVIDER, Waits.GIT, Waits.BUDGET, Waits.CAP)
"""What a QUEUED agent may wait for."""


@dataclass(frozen=True, slots=True)
class TestRun:
    """One test run of the agent, for people."""

    __test__ = False

    command: str
    outcome: Outcome | None
    """None while it runs, or when its process died."""
    failures: str
    output: str
    """The end of what it printed; empty: it passed, or printed nothing."""
    changed: bool
    """Whether the workspace had changed since the test run before."""


@dataclass(frozen=True, slots=True)
class SubAgent:
    """A sub-agent that the agent started itself, for people."""

    id: str
    returned: tuple[Returned, ...]
    """What it and all below it used: until it paused, each time, and until it ended."""
    is_at_work: bool
    """Whether it uses more just now."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What has come of the work since it began, or since a human last granted more."""

    grant: Raised | None
    """None: since the beginning."""
    test_runs: tuple[TestRun, ...]
    diff: DiffSize | None
    """Of the whole branch."""
    diff_before: DiffSize | None
    """The same when that grant was made."""


@dataclass(frozen=True, slots=True)
class Links:
    """Where else on GitHub the agent is to be seen; what is not there yet is empty."""

    call: str = ""
    """The comment by which it calls people."""
    check: str = ""
    needs_human: str = ""
    """The issue that says what people can do, once it was stopped."""
    comparison: str = ""
    """Of its branch with the default branch."""


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
    passed: tuple[Passed, ...]
    """Limits that were reached and did not stop the agent."""
    noticed: tuple[Noticed, ...]
    """Signs that it got nowhere, each as often as it was told of them."""
    hold: Hold | None
    """Why the agent is PAUSED; None in all other states."""
    raises: tuple[Raised, ...]
    progress: Progress
    sub_agents: tuple[SubAgent, ...]
    finished: Finished | None
    """Why the agent is COMPLETED or CANCELLED; None in all other states."""
    reported: Reported | None
    """What the agent said last by a closing tool."""
    proposed: tuple[Proposed, ...]
    """What it thinks of issues, the last word on each."""
    trigger: str
    calls: tuple[Call, ...]
    """The times that it waited for a person, oldest first."""
    brake: Braked | None = None
    """Who keeps it from working while it is QUEUED."""
    held_up: HeldUp | None = None
    """What it lacks while it is QUEUED."""
    queue: QueuePlace | None = None
    """Where it stands while it waits for a worker."""
    evidence: Evidence | None = None
    """What Squadron saw of the work; None: nothing of it was pushed yet, or the role does none."""
    review_refused: str = ""
    """Why GitHub does not take its review; empty: it did, or was not asked yet."""

    files_moved: FilesMoved | None = None
    """The last time that it lost some of its files."""
    links: Links = Links()
    is_branch_deleted: bool = False
    """Whether the branch was deleted after the merge."""
    is_being_verified: bool = False
    """Whether Squadron looks just now whether the work is sound."""

    @property
    def has_work(self) -> bool:
        """Whether the agent's branch, as GitHub has it, holds anything besides what the default
        branch holds, as far as is known."""
        if self.agent.sha is None:
            return False
        if self.kept is None:
            return self.agent.predecessor is not None
        diff = self.kept.diff
        return diff.files > 0 if diff is not None else bool(self.kept.commits)

    @property
    def is_merged(self) -> bool:
        """Whether an agent that is COMPLETED ended by something that happened on GitHub, rather
        than since nobody reviewed its work for long."""
        return self.finished is not None and self.finished.since is not None


def report(
    agent: Agent, log: Sequence[AgentEvent], now: datetime, queue: QueuePlace | None = None
) -> Report:
    """Fold a log into what people want to know, as of `now`.

    A final agent is shown as of its end, one at work as of the last event that is stored: no
    figure that was shown can shrink when its process dies.
    """
    counters = fold(log)
    at = _as_of(agent, counters, now)
    kept = [event for event in log if isinstance(event, Kept)]
    slept = [event for event in log if isinstance(event, Slept)]
    created = [event for event in log if isinstance(event, Created)]
    return Report(
        agent=agent,
        counters=counters,
        uses=uses_of(agent, counters, at),
        kept=kept[-1] if kept else None,
        slept=slept[-1] if slept and agent.state is State.SLEEPING else None,
        test_runs=tuple(test_runs_of(log)),
        warnings=tuple(event for event in log if isinstance(event, Warned)),
        passed=tuple(event for event in log if isinstance(event, Passed)),
        noticed=tuple(event for event in log if isinstance(event, Noticed)),
        hold=counters.hold if agent.state is State.PAUSED else None,
        raises=tuple(event for event in log if isinstance(event, Raised)),
        progress=_progress(log),
        sub_agents=_sub_agents(log),
        finished=next((event for event in log if isinstance(event, Finished)), None),
        reported=next((event for event in reversed(log) if isinstance(event, Reported)), None),
        proposed=tuple({e.issue: e for e in log if isinstance(e, Proposed)}.values()),
        trigger=created[0].trigger if created else "",
        calls=tuple(calls(agent, log)),
        brake=braked(log) if agent.state is State.QUEUED else None,
        queue=queue,
        evidence=evidence(log, counters) if agent.assignment.kind is RoleKind.WORK else None,
        held_up=_held_up(log) if agent.waits_for in _HELD_UP else None,
        is_being_verified=agent.state is State.ACTIVE and _is_being_verified(log),
        files_moved=_with_a_loss(log),
    )


def uses_of(agent: Agent, counters: Counters, at: datetime) -> tuple[LimitUse, ...]:
    """The use of every limit that is switched on, as of `at`. Of the limit that stops the agent it
    is what it asked for: an ask that was refused is in no counter."""
    stop = agent.trip or counters.hold
    return tuple(
        replace(use, observed=stop.observed)
        if stop is not None and stop.observed is not None and use.name == stop.limit
        else use
        for use in usage(counters, agent.assignment.limits, at)
    )


def _with_a_loss(log: Sequence[AgentEvent]) -> FilesMoved | None:
    moved = [event for event in log if isinstance(event, FilesMoved) and event.lost]
    return moved[-1] if moved else None


def braked(log: Sequence[AgentEvent]) -> Braked | None:
    """The brake that an agent was told of last, if it has not gone on since."""
    for event in reversed(log):
        match event:
            case Braked():
                return event
            case BrakeLifted() | SegmentStarted():
                return None
            case _:
                continue
    return None


def _is_being_verified(log: Sequence[AgentEvent]) -> bool:
    for event in reversed(log):
        if isinstance(event, SegmentStarted | Verified | VerifyBegun):
            return isinstance(event, VerifyBegun)
    return False


def _held_up(log: Sequence[AgentEvent]) -> HeldUp | None:
    """What the agent was told last of what it lacks."""
    return next((event for event in reversed(log) if isinstance(event, HeldUp)), None)


def _as_of(agent: Agent, counters: Counters, now: datetime) -> datetime:
    if agent.is_final:
        return agent.updated_at
    return counters.clock or now if agent.state is State.ACTIVE else now


def _sub_agents(log: Sequence[AgentEvent]) -> tuple[SubAgent, ...]:
    lives = dict[str, list[Spawned | Returned]]()
    for event in log:
        if isinstance(event, Spawned | Returned):
            lives.setdefault(event.child, []).append(event)
    return tuple(
        SubAgent(
            child,
            tuple(event for event in life if isinstance(event, Returned)),
            is_at_work=isinstance(life[-1], Spawned),
        )
        for child, life in lives.items()
    )


def _progress(log: Sequence[AgentEvent]) -> Progress:
    """Since the last raise; raises that were made together count as one."""
    at = max((place for place, event in enumerate(log) if isinstance(event, Raised)), default=-1)
    grant = log[at] if at >= 0 else None
    before = [event.diff for event in log[: at + 1] if isinstance(event, Kept)]
    diffs = [event.diff for event in log if isinstance(event, Kept)]
    earlier_runs = sum(_is_test_run(event) for event in log[: at + 1])
    return Progress(
        grant=grant if isinstance(grant, Raised) else None,
        test_runs=tuple(test_runs_of(log)[earlier_runs:]),
        diff=diffs[-1] if diffs else None,
        diff_before=before[-1] if before else None,
    )


def _is_test_run(event: AgentEvent) -> bool:
    return isinstance(event, ToolAsked) and event.suite is not None


def test_runs_of(log: Sequence[AgentEvent]) -> list[TestRun]:
    """The test runs among these events, oldest first."""
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
                output=end.output if end else "",
                changed=changed,
            )
        )
    return runs
