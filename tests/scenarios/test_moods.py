"""GitHub's moods: whatever it does, people are told everything once, or what they miss is named."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from app.core.agents.events import Kept, LostAccess, Slept, Waits, Woken
from app.core.agents.lifecycle import State
from app.core.words.story import refused_words
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import commits, completes, is_blocked, runs, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.full

FAULTS: Mapping[str, Mapping[str, Any]] = {
    "primary-limit": {"kind": "primary_limit", "retry_after": 1},
    "unavailable": {"kind": "error", "status": 503},
    "token-revoked": {"kind": "token_expired"},
    "cut-off": {"kind": "timeout", "phase": "after"},
}
HANDED_OVER = "handed-over"
PULLS = f"^/repos/octo/{HANDED_OVER}/pulls$"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    files = repository({"caller": {"max_tool_calls": 3}, "docs": {}})
    repositories = {f"octo/{name}": files for name in ("demo", "out", HANDED_OVER)}
    directory = tmp_path_factory.mktemp("moods")
    with squad(directory, repositories, workers=4) as team:
        yield team


def begin(team: Squad, name: str, role: str = "caller", signal: str = "moods") -> Task:
    """An agent that has something to show and waits for the word."""
    last = completes("Done.") if role == "docs" else runs("one too many")
    return team.give(
        role,
        name,
        writes("work.txt", name),
        commits("Work"),
        waits_for(team.signal(signal)),
        last,
        repository=f"octo/{name}",
    )


def test_a_handing_over_comes_through_exactly_once(team: Squad) -> None:
    """It meets all the faults, one after the other: last the one after which the pull request is
    there."""
    task = begin(team, HANDED_OVER, "docs", "handing over")
    team.until_comment(task, "The agent works.")
    for what in FAULTS.values():
        team.github.orders("faults", {**what, "method": "POST", "path": PULLS, "count": 1})
    team.go("handing over")
    agent = team.until_handed_over(task)
    [pull] = team.github.lists(f"/repos/{task.repository}/pulls?state=all")
    assert pull["number"] == agent.pull_request
    assert len(team.comments(task)) == 1
    assert team.github.fired() == len(FAULTS), "every fault has struck"


def test_a_missing_permission_is_named_until_it_is_granted(team: Squad) -> None:
    """Which one, and where to grant it; all else is told meanwhile."""
    task = begin(team, "demo", signal="permission")
    team.until_comment(task, "The agent works.")
    team.github.orders("permissions", {"withheld": ["checks"]})
    team.go("permission")
    agent = team.until_escalated(task)
    team.until_comment(task, "Circuit breaker")
    effects = team.registry.effects(agent.id)
    [words] = refused_words(effects)
    assert words.startswith("GitHub refuses the check: ") and "checks=write" in words
    assert f"/settings/installations/{agent.installation_id}" in words
    team.github.orders("permissions", {"withheld": []})
    team.until_check(task, "failure")
    assert len(team.comments(task)) == 1
    assert len(team.github.escalations(task.repository, task.number)) == 1


def test_a_suspended_installation_stops_its_agents_until_it_goes_on(team: Squad) -> None:
    """No webhook tells of it; nothing is lost, and nothing is escalated."""
    team.tolerates("delivery given up")
    task = begin(team, "demo", "docs", "suspended")
    team.until_comment(task, "The agent works.")
    work = team.workspace(team.agent(task).id) / "work.txt"
    until(work.exists, "it has begun", failing=team.check_alive)
    team.github.orders("installation", {"action": "suspend", "silently": True})
    agent = team.until(task, State.SLEEPING, Waits.ACCESS)
    until(lambda: not team.processes(agent.id), "nothing of it runs", failing=team.check_alive)
    [slept] = [event for event in team.registry.log(agent.id) if isinstance(event, Slept)]
    assert "the installation is suspended" in slept.reason
    assert f"/settings/installations/{agent.installation_id}" in slept.reason
    assert work.exists()
    team.github.orders("installation", {"action": "unsuspend", "silently": True})
    team.go("suspended")
    team.until_handed_over(task)
    assert len(team.comments(task)) == 1


def test_who_sleeps_when_an_installation_is_suspended_sleeps_on(team: Squad) -> None:
    """Whatever it waits for, and what people wrote meanwhile is heard afterwards."""
    team.tolerates("delivery given up")
    task = team.give("docs", "Asks", is_blocked("Which colour?"), completes("Blue it is."))
    asleep = team.until(task, State.SLEEPING, Waits.ANSWER)
    team.until_comment(task, "Which colour?")
    team.github.orders("installation", {"action": "suspend", "silently": True})
    team.github.silently("maria", "POST", f"{task.path}/comments", {"body": "Blue."})
    team.reconciles()
    assert team.agent(task) == asleep
    team.github.orders("installation", {"action": "unsuspend", "silently": True})
    agent = team.until(task, State.COMPLETED)
    [woken] = [event for event in team.registry.log(agent.id) if isinstance(event, Woken)]
    assert woken.by == "maria" and "Blue." in woken.why
    assert len(team.comments(task)) == 1


@pytest.mark.parametrize("silently", [False, True], ids=["told", "silently"])
def test_a_repository_that_is_taken_out_stops_its_agents_until_it_is_back(
    team: Squad, silently: bool
) -> None:
    """It says what has happened, and where that can be changed; nothing is lost."""
    team.tolerates("delivery given up")
    task = begin(team, "out", "docs", f"out-{silently}")
    working = team.until(task, State.ACTIVE)
    work = team.workspace(working.id) / "work.txt"
    until(work.exists, "it has begun", failing=team.check_alive)
    team.until_comment(task, "The agent works.")
    out = {"repository": "octo/out", "silently": silently}
    team.github.orders("installed", {**out, "installed": False})
    agent = team.until(task, State.SLEEPING, Waits.ACCESS)
    assert not team.processes(agent.id), "what runs is stopped before the work is kept"
    log = team.registry.log(agent.id)
    [lost] = [place for place, event in enumerate(log) if isinstance(event, LostAccess)]
    [kept] = [place for place, event in enumerate(log) if isinstance(event, Kept)]
    assert lost < kept
    [slept] = [event for event in log if isinstance(event, Slept)]
    assert "it is not one of the installation's repositories" in slept.reason
    assert f"/settings/installations/{agent.installation_id}" in slept.reason
    assert work.exists()
    team.github.orders("installed", {**out, "installed": True})
    team.go(f"out-{silently}")
    team.until_handed_over(task)
    assert len(team.comments(task)) == 1
