"""What lists show of an agent's log. It is kept beside the log, so that nobody reads a log for a
list."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters, seconds
from app.core.agents.events import DiffSize, Known
from app.core.agents.evidence import Evidence
from app.core.agents.lifecycle import State
from app.core.breaker.verdict import LimitUse
from app.core.limits import LimitName
from app.core.text.markdown import cut
from app.core.words.report import Report, report, uses_of

MOST_WHY_CHARACTERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class WorkSeen:
    """What Squadron saw of the work as GitHub holds it (`Evidence`), in short."""

    tests_run: Known
    tests_passed: Known
    verified: Known | None
    """Whether the commit was found to be sound; None: nobody looked."""
    diff: DiffSize | None
    withheld: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Glance:
    """As of the last event that it was taken of."""

    uses: tuple[LimitUse, ...]
    """Of every limit that is switched on, in the order of the catalogue."""
    tokens: int
    cost_nanousd: int
    """Of the calls whose price is known."""
    has_unpriced: bool
    """Whether there are others."""
    is_cost_estimated: bool
    why: str
    """What the agent waits for, or what keeps it from working, in the words of whoever knows;
    empty: nothing does."""
    work: WorkSeen | None
    """None: nothing of it was pushed yet, or the role does none."""
    asleep_since: datetime | None
    """Since when it sleeps, or is paused, and its limit of that runs; None: it does not."""

    @property
    def nearest(self) -> LimitUse | None:
        """The limit of which the greatest share is used; None: nothing was used of any."""
        used = [use for use in self.uses if use.observed > 0]
        return max(used, key=lambda use: use.share, default=None)

    def at(self, now: datetime) -> "Glance":
        """The same as of now: of who does nothing, only the sleep grows."""
        asleep_since = self.asleep_since
        if asleep_since is None:
            return self
        asleep = LimitName.MAX_SLEEP_DURATION
        uses = (
            replace(use, observed=seconds(now - asleep_since)) if use.name is asleep else use
            for use in self.uses
        )
        return replace(self, uses=tuple(uses))


@dataclass(frozen=True, slots=True)
class NotedGlance:
    """What lists show of an agent from now on."""

    seen: Glance
    seq: int
    """Of the last event that it was taken of."""


def glance(view: Report) -> Glance:
    """What a list shows of it."""
    agent, counters = view.agent, view.counters
    return _glance(
        counters,
        view.uses,
        why=cut(_why(view), MOST_WHY_CHARACTERS),
        work=None if view.evidence is None else work_seen(view.evidence),
        asleep_since=None if agent.is_final else counters.asleep_since,
    )


def first_glance(agent: Agent) -> Glance:
    """Of an agent that has done nothing yet."""
    return glance(report(agent, (), agent.created_at))


def counted_on(before: Glance, agent: Agent, counters: Counters, now: datetime) -> Glance:
    """What a list shows of an agent that has gone on working since `before`: as of its last event,
    for no figure that was shown can shrink when its process dies."""
    uses = uses_of(agent, counters, counters.clock or now)
    return _glance(counters, uses, "", before.work, asleep_since=None)


def _glance(
    counters: Counters,
    uses: tuple[LimitUse, ...],
    why: str,
    work: WorkSeen | None,
    asleep_since: datetime | None,
) -> Glance:
    return Glance(
        uses=uses,
        tokens=counters.tokens,
        cost_nanousd=counters.cost_nanousd,
        has_unpriced=counters.unpriced_calls > 0,
        is_cost_estimated=counters.estimated_calls > 0,
        why=why,
        work=work,
        asleep_since=asleep_since,
    )


def work_seen(saw: Evidence) -> WorkSeen:
    """What Squadron saw, in short."""
    return WorkSeen(
        tests_run=saw.tests_run,
        tests_passed=saw.tests_passed,
        verified=None if saw.verified is None else saw.verified.sound,
        diff=saw.diff,
        withheld=saw.withheld,
    )


def _why(view: Report) -> str:
    agent = view.agent
    if agent.stop is not None:
        return agent.stop.reason
    match agent.state:
        case State.PAUSED if view.hold is not None:
            return view.hold.reason
        case State.SLEEPING if view.slept is not None:
            return view.slept.reason
        case State.QUEUED if view.brake is not None:
            return view.brake.why
        case State.QUEUED if view.held_up is not None:
            return view.held_up.why
        case _:
            return ""
