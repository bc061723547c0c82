"""A campaign: rounds of work, each ended by a `kill -9`, from one seed.

The seed decides what is opened, which process dies and at which kind of moment. When exactly the
machine gets there differs from run to run, and that is welcome.
"""

import random
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import State
from tests.crash.crowd import FULL_SET
from tests.crash.site import Site

KILLS = 30
FEW_KILLS = 4
"""As many as `make test` has time for."""
PROGRESS = 1
"""Agents that end a segment between two deaths, so that most get on: ten in a row stop one."""
MOST_WAIT_FOR_PROGRESS = 5.0
ANSWER_LOST_SECONDS = 8.0
IN_FLIGHT_SECONDS = 5.0


class Moment(StrEnum):
    """At which kind of moment a process dies."""

    ANY = "any"
    STARTING = "starting"
    """While it recovers, before it is ready."""
    WRITTEN = "written"
    """GitHub has done what it was asked for, and we have not recorded it."""
    IN_FLIGHT = "in flight"
    """GitHub was asked, and does it seconds after the death."""
    MOVED = "moved"
    """An agent's state has just changed: its effects are about to be made."""


WRITES = (
    r"/issues/\d+/comments$",
    r"/check-runs$",
    r"/issues$|/pulls$",
    r"/issues$|/pulls$|/issues/\d+/comments$|/check-runs$",
    r"/git-receive-pack$",
)
_MOMENTS = (
    *(Moment.ANY,) * 10,
    *(Moment.WRITTEN,) * 9,
    *(Moment.IN_FLIGHT,) * 4,
    *(Moment.MOVED,) * 4,
    *(Moment.STARTING,) * 3,
)


@dataclass(frozen=True, slots=True)
class Round:
    """Issues that are opened, and the death at the end."""

    issues: tuple[tuple[str, ...], ...]
    moment: Moment
    after_seconds: float
    """How long after the process is ready (or was started) the moment may come."""
    write: str
    """Which write to GitHub the death has to meet, as a path."""
    kills_all: bool
    """Whether all processes die, as when a machine dies."""


def plan(seed: int) -> Sequence[Round]:
    """The rounds of a campaign; the same seed gives the same."""
    chance = random.Random(seed)
    moments = chance.sample(_MOMENTS, len(_MOMENTS))
    assert len(moments) == KILLS
    return [
        Round(
            issues=_issues(number),
            moment=moment,
            after_seconds=chance.uniform(0.1, 1.5),
            write=chance.choice(WRITES),
            kills_all=chance.random() < 0.2,
        )
        for number, moment in enumerate(moments)
    ]


def short_plan(seed: int) -> Sequence[Round]:
    """The first rounds of a campaign, with one issue each."""
    return [
        replace(each, issues=(roles,))
        for each, roles in zip(plan(seed)[:FEW_KILLS], FULL_SET, strict=False)
    ]


def _issues(number: int) -> tuple[tuple[str, ...], ...]:
    """A crowd at once, then one after the other, and none at the end."""
    if number == 0:
        return FULL_SET
    return (FULL_SET[number % len(FULL_SET)],) if number < KILLS - 8 else ()


def fight(here: Site, rounds: Sequence[Round], is_enough: Callable[[], bool]) -> None:
    """Round after round; `is_enough` is asked after each."""
    for number, each in enumerate(rounds):
        victim = here.members[number % len(here.members)]
        if each.moment is not Moment.STARTING:
            victim.until_ready()
        for roles in each.issues:
            here.crowd.open(roles)
        here.tend()
        if each.moment is not Moment.STARTING:
            _until_progress(here)
        _until_the_moment(here, each)
        here.compare()
        victims = here.members if each.kills_all else [victim]
        for member in victims:
            member.check_alive()
            member.kill()
        here.outcome.faults[each.moment] += 1
        for member in victims:
            member.start()
        if is_enough():
            return


def _until_progress(here: Site) -> None:
    """Wait, with a bound, until some segments have ended."""
    before = _ended(here)
    here.waits(lambda: len(_ended(here) - before) >= PROGRESS, MOST_WAIT_FOR_PROGRESS)
    here.tend()


def _until_the_moment(here: Site, each: Round) -> None:
    """Wait, with bounds, for the moment at which the process has to die."""
    match each.moment:
        case Moment.ANY | Moment.STARTING:
            time.sleep(each.after_seconds)  # the random moment itself
        case Moment.MOVED:
            before = _ended(here)
            here.waits(lambda: _ended(here) != before)
        case Moment.WRITTEN:
            lost = {"kind": "timeout", "phase": "after", "seconds": ANSWER_LOST_SECONDS}
            here.meets(each.write, lost)
        case Moment.IN_FLIGHT:
            here.meets(each.write, {"kind": "slow", "seconds": IN_FLIGHT_SECONDS})


def _ended(here: Site) -> Set[tuple[AgentId, State, int]]:
    """Segments that have ended, and how."""
    return {
        (agent.id, agent.state, agent.segment)
        for agent in here.world.agents()
        if agent.state not in (State.QUEUED, State.ACTIVE)
    }
