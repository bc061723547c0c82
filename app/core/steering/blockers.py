"""Who waits for whom: finds the circle that a new wait would close, and when a wait was over."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from app.core.agents.agent import Agent
from app.core.agents.events import Waits
from app.core.agents.lifecycle import FINAL
from app.core.agents.stops import Cause, Failure
from app.core.github.timeline import Mark


def circle(issue: int, blocked_by: Iterable[int], agents: Iterable[Agent]) -> tuple[int, ...]:
    """The issues of a circle that `issue` would close by waiting for `blocked_by`.

    `agents`: the agents of the same repository. Empty if there is no circle; `(7,)` means that
    issue 7 waits for itself.
    """
    waits: dict[int, set[int]] = {}
    for agent in agents:
        if agent.state not in FINAL:
            waits.setdefault(agent.id.issue, set()).update(agent.blocked_by)
    came_from: dict[int, int] = {}
    to_visit = []
    for blocker in blocked_by:
        came_from.setdefault(blocker, issue)
        to_visit.append(blocker)
    while to_visit:
        here = to_visit.pop()
        if here == issue:
            return _path(issue, came_from)
        for blocker in sorted(waits.get(here, ())):
            if blocker not in came_from:
                came_from[blocker] = here
                to_visit.append(blocker)
    return ()


def waits_in_circle(issue: int, path: Sequence[int], at: datetime) -> Failure:
    """Nothing but people can open the circle through `path` (as `circle` has it)."""
    chain = (issue, *path)
    around = ", ".join(f"#{who} waits for #{whom}" for who, whom in pairwise(chain))
    words = f"The agents wait for each other in a circle: {around}."
    if len(path) == 1:
        words = f"The agent waits for its own issue #{issue}."
    return Failure(cause=Cause.BLOCKED_IN_CIRCLE, at=at, reason=words)


def closed_circle(agent: Agent, agents: Iterable[Agent]) -> tuple[int, ...]:
    """The circle of waiting that a sleeping agent is in, and was the last to close; as `circle` has
    it. Empty: it is in none, or another agent fell asleep after it, and ends for it."""
    path, last = _circle_of(agent, agents)
    return path if last is not None and last.id == agent.id else ()


def last_of_circle(agent: Agent, agents: Iterable[Agent]) -> Agent | None:
    """Who ends for the circle of waiting that a sleeping agent is in; None: it is in none. Of those
    that fall asleep at one instant it need not be the one that was seen to last."""
    return _circle_of(agent, agents)[1]


def _circle_of(agent: Agent, agents: Iterable[Agent]) -> tuple[tuple[int, ...], Agent | None]:
    asleep = [each for each in agents if each.waits_for is Waits.BLOCKER]
    path = circle(agent.id.issue, agent.blocked_by, asleep)
    within = [each for each in asleep if each.id.issue in path]
    return path, max(within, key=lambda each: (each.updated_at, str(each.id)), default=None)


def unknown_words(numbers: Sequence[int]) -> str:
    """For the agent that named issues that do not exist as what it waits for."""
    names = ", ".join(f"#{number}" for number in numbers)
    return (
        f"You do not wait: there is no {names} in this repository."
        " Name issues that exist, or none if a person must answer."
    )


def was_free(blockers: Sequence[Sequence[Mark]], since: datetime) -> bool:
    """Whether all blockers were closed at one time from `since` on, to the second, whatever
    became of them later. `blockers`: the marks of each, oldest first."""
    times = [mark.at for marks in blockers for mark in marks if mark.what == "closed"]
    return any(
        at >= since.replace(microsecond=0) and all(_is_closed(marks, at) for marks in blockers)
        for at in times
    )


def _is_closed(marks: Sequence[Mark], at: datetime) -> bool:
    """Whether it was closed at some time of that second."""
    until = [mark.what for mark in marks if mark.at <= at and mark.what in ("closed", "reopened")]
    within = [mark.what for mark in marks if mark.at == at]
    return until[-1:] == ["closed"] or "closed" in within


def _path(issue: int, came_from: dict[int, int]) -> tuple[int, ...]:
    path = [issue]
    while (before := came_from[path[-1]]) != issue:
        path.append(before)
    return tuple(reversed(path))
