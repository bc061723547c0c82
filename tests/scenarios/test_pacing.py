"""One pace for all writes of an installation keeps under GitHub's limits on content, and what
people must hear of overtakes the rest."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from app.core.agents.agent import EffectState
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.effects.pacing import WRITES
from tests.support.people import REPOSITORY, Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import commits, is_blocked, runs, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.full

ORDINARY, MOST_IN_FLIGHT = 16, 8
STOP_SECONDS = 60
HERE = f"/repos/{REPOSITORY}"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    with squad(
        tmp_path_factory.mktemp("pacing"),
        {REPOSITORY: repository({"caller": {"max_tool_calls": 3}, "asker": {}})},
        workers=ORDINARY + 1,
        reconciliation_seconds=3600,
        program="tests.support.on_github",
    ) as team:
        yield team


def changed(team: Squad) -> list[Any]:
    """What GitHub has taken about agents, in order: of checks, comments and needs-human issues."""
    return [
        one
        for one in team.github.exchanges()
        if one.get("status") in (200, 201)
        and one["method"] in ("POST", "PATCH")
        and (
            "/check-runs" in one["path"]
            or "/comments" in one["path"]
            or "needs-human" in str(one["request"])
        )
    ]


def is_put_off(team: Squad, task: Task) -> bool:
    effects = team.registry.effects(team.agent(task).id).values()
    return any(one.state is EffectState.WANTED and one.due_at for one in effects)


def test_an_escalation_overtakes_the_queue_of_what_is_ordinary(team: Squad) -> None:
    began_at = time.monotonic()
    asks = waits_for(team.signal("ask")), is_blocked("Which colour?")
    ordinary = [team.give("asker", f"Ordinary {number}", *asks) for number in range(ORDINARY)]
    steps = (writes("work.txt", "1"), commits("Work"), waits_for(team.signal("go")), runs("more"))
    caller = team.give("caller", "Stops", *steps)
    for task in (caller, *ordinary):
        team.until_comment(task, "The agent works.")
    limit = {"kind": "secondary_limit", "retry_after": STOP_SECONDS, "count": 1}
    with team.github.trouble(**limit, method="PATCH", path=rf"^{HERE}/check-runs/\d+$"):
        team.go("ask")
        until(
            lambda: sum(is_put_off(team, one) for one in ordinary) >= ORDINARY - MOST_IN_FLIGHT,
            "a queue behind GitHub's limit",
            failing=team.check_alive,
        )
        assert team.github.fired() == 1, "nobody tries again before its time"
    team.go("go")
    team.until_escalated(caller)
    for task in ordinary:
        team.until(task, State.SLEEPING, Waits.ANSWER)
        team.until_comment(task, "Which colour?")
    made = changed(team)
    assert len(made) <= WRITES.burst + time.monotonic() - began_at
    [issue] = [at for at, one in enumerate(made) if one["path"] == f"{HERE}/issues"]
    behind = len(made) - 1 - issue
    assert behind >= ORDINARY, f"{behind} ordinary writes are behind the escalation"
    assert len(team.comments(caller)) == len(team.checks(caller)) == 1
