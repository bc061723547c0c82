"""Who waits for whom: finds the circle that a new wait would close."""

from collections.abc import Iterable

from app.core.agent import Agent
from app.core.lifecycle import FINAL


def circle(issue: int, blocked_by: Iterable[int], agents: Iterable[Agent]) -> tuple[int, ...]:
    """The issues of a circle that `issue` would close by waiting for `blocked_by`.

    `agents`: the agents of the same repository. Empty if there is no circle; `(7,)` means that
    issue 7 waits for itself.
    """
    waits: dict[int, set[int]] = {}
    for agent in agents:
        if agent.state not in FINAL and agent.id.issue != issue:
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


def _path(issue: int, came_from: dict[int, int]) -> tuple[int, ...]:
    path = [issue]
    while (before := came_from[path[-1]]) != issue:
        path.append(before)
    return tuple(reversed(path))
