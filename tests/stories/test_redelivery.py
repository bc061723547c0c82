"""Deliveries that failed: GitHub is asked for them again, and each takes effect once.

Issue 4, "What the webhooks did not say".
"""

from collections.abc import Iterator
from typing import Any

import pytest

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.github.redelivery import KEPT_BY_GITHUB, WAITS
from tests.support.people import REPOSITORY, Task, repository
from tests.support.squad import Squad
from tests.support.steps import completes, is_blocked
from tests.support.waiting import until
from tests.twins.squad import squad

pytestmark = pytest.mark.full

LABEL = "squadron:docs"
ATTEMPTS = r"/app/hook/deliveries/\d+/attempts$"


@pytest.fixture(scope="module")
def team() -> Iterator[Squad]:
    repositories = {REPOSITORY: repository({"docs": {}})}
    with squad(repositories) as team:
        yield team


def failures(team: Squad) -> list[Any]:
    """Tries to deliver that failed, oldest first."""
    return [one for one in reversed(team.github.deliveries()) if one["status"] != "OK"]


def tries(team: Squad, guid: str) -> list[tuple[str, bool]]:
    """What became of each try, and whether it was asked for, oldest first."""
    found = [one for one in reversed(team.github.deliveries()) if one["guid"] == guid]
    return [(one["status"], one["redelivery"]) for one in found]


def until_heard(team: Squad, *guids: str) -> None:
    until(
        lambda: set(guids) <= team.registry.deliveries(),
        "what failed has arrived",
        failing=team.check_alive,
    )


def passes(team: Squad) -> int:
    """So many more times it was looked at what has failed."""
    listed = "/app/hook/deliveries"
    return sum(one.get("path") == listed for one in team.github.exchanges())


def looks_again(team: Squad) -> None:
    """Twice: the first pass that ends may have begun before."""
    before = passes(team)
    until(lambda: passes(team) >= before + 2, "failures are read", failing=team.check_alive)


def test_after_an_outage_what_failed_arrives_once(team: Squad) -> None:
    pressed = team.give("docs", "Stop me", is_blocked("Which?"))
    team.until(pressed, State.SLEEPING, Waits.ANSWER)
    tasks = [
        team.issue(name, completes("Nothing to do.")).by("docs") for name in ("old", "one", "two")
    ]
    old, *young = tasks
    team.until_comment(pressed, "Which?")  # of which GitHub tells as well
    team.settle()
    assert team.github.asked_again() == [] and failures(team) == []

    team.service.stop()
    team.label(old, LABEL)
    until(team.github.is_idle, "all is sent")
    [too_old] = failures(team)
    days = KEPT_BY_GITHUB.days + 0.01
    team.github.orders("age_deliveries", {"days": days})
    for task in young:
        team.label(task, LABEL)
    [check] = team.checks(pressed)
    press = {"repository": REPOSITORY, "check_run_id": check["id"], "user": "maria"}
    team.github.orders("check_action", {**press, "identifier": "stop"})
    until(team.github.is_idle, "all is sent")
    failed = failures(team)
    assert [one["action"] for one in failed] == ["labeled", "labeled", "requested_action"]

    team.service.start()
    guids = [one["guid"] for one in failed]
    until_heard(team, *guids)
    team.until(pressed, State.CANCELLED)  # of which GitHub keeps no other trace
    for task in tasks:
        team.until(task, State.COMPLETED)
    team.settle()
    looks_again(team)
    assert team.github.asked_again() == [one["id"] for one in failed], "each once, in order"
    for guid in guids:
        assert tries(team, guid) == [("failed to connect to host", False), ("OK", True)]
    assert too_old["guid"] not in team.registry.deliveries()
    for task in tasks:
        team.until_comment(task, "The agent is done")
        assert len(team.agents(task)) == len(team.comments(task)) == 1


def one_that_failed(team: Squad, task: Task) -> Any:
    """A label of which GitHub cannot tell."""
    before = len(failures(team))
    team.label(task, LABEL)
    [failed] = until(lambda: failures(team)[before:], "the delivery has failed")[:1]
    return failed


def test_what_fails_again_is_asked_for_again_after_a_while_whoever_dies(team: Squad) -> None:
    """What a process is about to ask for is remembered first: it is not asked for twice when the
    process dies, and once more in its time if GitHub never heard of it."""
    task = team.issue("Unlucky", completes("Nothing to do.")).by("docs")
    team.settle()
    asked = len(team.github.asked_again())
    with team.github.trouble(kind="unreachable", event="issues.labeled", count=2):
        failed = one_that_failed(team, task)
        until(lambda: len(tries(team, failed["guid"])) == 2, "it has failed again")
        looks_again(team)
    assert team.github.asked_again()[asked:] == [failed["id"]], "its time has not come"
    again = failures(team)[-1]
    assert again["guid"] == failed["guid"]

    team.service.kill()
    team.registry.asked_earlier(WAITS[0])
    with team.github.trouble(kind="timeout", method="POST", path=ATTEMPTS, seconds=60):
        team.service.start()
        until(lambda: team.github.fired() == 1, "it asks", failing=team.check_alive)
        team.service.kill()
    assert [one.times for one in team.registry.asked_again() if one.guid == failed["guid"]] == [2]
    team.registry.asked_earlier(WAITS[1])
    team.service.start()
    until_heard(team, failed["guid"])
    looks_again(team)
    assert team.github.asked_again()[asked:][:2] == [failed["id"], again["id"]]
    assert [status for status, _ in tries(team, failed["guid"])][-1] == "OK"
    team.until(task, State.COMPLETED)
    assert len(team.agents(task)) == 1


def test_while_github_refuses_the_list_everything_else_goes_on(team: Squad) -> None:
    with team.github.trouble(kind="error", path="/app/hook/deliveries"):
        task = team.give("docs", "Meanwhile", completes("Nothing to do."))
        team.until(task, State.COMPLETED)
        team.reconciles(1)
        warnings = until(lambda: not_asked_for(team), "that is told", failing=team.check_alive)
    assert {line["level"] for line in warnings} == {"WARNING"}


def not_asked_for(team: Squad) -> list[Any]:
    """Lines of the log that say that the list could not be had."""
    words = "failed deliveries are not asked for: "
    return [line for line in team.service.lines() if line["message"].startswith(words)]
