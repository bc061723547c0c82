"""Passes of reconciliation at the wish of a story, rather than after so many seconds."""

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from app.core.agents.work import ACCESS
from tests.support.deliveries import deliver
from tests.support.squad import Squad
from tests.support.waiting import until

MOST_PASSES: Final = 60
"""Of a second and more: what is being published is left alone for a while, and repaired then."""
MOST_SECONDS: Final = 300.0
"""A pass over many repositories, behind one that is under way already."""

Pass = Mapping[str, Any]
"""As the log tells of it."""


def one_pass(team: Squad, repository: str) -> Pass:
    """The one that a delivery about a repository asks for, and what follows from it."""
    seen = len(_done(team, ACCESS))
    payload = {"action": "edited", "repository": team.github.sees(f"/repos/{repository}")}
    assert deliver(team, "repository", payload, str(uuid.uuid4())).status_code == 202
    return _settled(team, ACCESS, seen)


def first_pass(team: Squad) -> Pass:
    """The one that the service makes when it starts anew and remembers nothing."""
    seen = len(_done(team, "start"))
    team.service.stop()
    team.service.start()
    return _settled(team, "start", seen)


def until_quiet(team: Squad, repository: str) -> None:
    """Until a pass finds nothing to repair, nor does the first one of a new process."""
    done: Pass = {}
    for _ in range(MOST_PASSES):
        done = one_pass(team, repository)
        if _is_quiet(done) and _is_quiet(done := first_pass(team)):
            return
    raise AssertionError(f"{MOST_PASSES} passes were not enough: {done}")


def _settled(team: Squad, why: str, number: int) -> Pass:
    """That pass, once what follows from it is done."""
    look = partial(_done, team, why)
    until(lambda: look()[number:], "a pass", within_seconds=MOST_SECONDS, failing=team.check_alive)
    team.settle()
    return look()[number]


def _is_quiet(done: Pass) -> bool:
    return done["repairs"] == 0 and "looks" not in done["put_off"]


def _done(team: Squad, why: str) -> list[Pass]:
    lines = team.service.lines()
    return [one for one in lines if one["message"] == "reconciled" and one["why"] == why]
