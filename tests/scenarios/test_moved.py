"""Repositories that are renamed or transferred while agents are at work in them."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from app.core.agents.agent import AgentId, EffectState
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.scripted.script import Step
from tests.support.github import git
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import commits, completes, is_blocked, runs, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.full

PLACES = ("octo/named", "octo/quiet", "octo/given", "octo/lost", "octo/stays", "acme/shop")
IDLE = ("octo/idle-true", "octo/idle-false")
CLOSED = {"state": "closed"}
TELL = pytest.mark.parametrize("silently", [False, True], ids=["told", "silently"])


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    files = repository({"docs": {}, "caller": {"max_tool_calls": 3}})
    directory = tmp_path_factory.mktemp("moved")
    with squad(directory, dict.fromkeys((*PLACES, *IDLE), files), workers=8) as team:
        team.github.orders("install_further", {"owner": "acme"})
        yield team


def move(team: Squad, task: Task, to: str, **how: bool) -> Task:
    """The repository's owner lets it move; the issue as it is found from then on."""
    team.github.orders("move", {"repository": task.repository, "to": to, **how})
    return replace(task, repository=to)


def begin(team: Squad, place: str, role: str, signal: str, *last: Step) -> Task:
    """An agent that has work to show, and waits for the word."""
    wait = waits_for(team.signal(signal))
    steps = (writes("work.txt", place), commits("Work"), wait, *last)
    task = team.give(role, place, *steps, repository=place)
    team.until_comment(task, "The agent works.")
    return task


def is_refused(team: Squad, agent: AgentId) -> bool:
    """Whether GitHub refuses all that was to be written about an agent."""
    effects = team.registry.effects(agent).values()
    return {effect.state for effect in effects} == {EffectState.REFUSED}


@TELL
def test_an_agent_goes_on_where_its_repository_is_now(team: Squad, silently: bool) -> None:
    """The work, the comment and the check go on under the new name; nothing is there twice."""
    before = begin(team, PLACES[silently], "docs", f"renamed-{silently}", completes("Done."))
    task = move(team, before, f"octo/new-{silently}", silently=silently)
    until(lambda: team.agents(task), "it is followed", failing=team.check_alive)
    team.go(f"renamed-{silently}")
    agent = team.until_handed_over(task)
    assert agent.id.repository == before.repository, "it keeps its name"
    [pull] = team.github.lists(f"/repos/{task.repository}/pulls?state=all")
    assert pull["number"] == agent.pull_request
    assert len(team.comments(task)) == len(team.checks(task)) == 1

    # What people do there reaches it, and nobody else starts on the same issue.
    team.label(task, "squadron:docs")
    team.merge(task)
    team.until(task, State.COMPLETED)
    assert len(team.agents(task)) == 1


def test_a_repository_that_moves_to_another_installation_is_followed(team: Squad) -> None:
    """An escalation after the move is told there once, with the work pushed there."""
    before = begin(team, "octo/given", "caller", "given", runs("one too many"))
    task = move(team, before, "acme/given")
    agent = until(lambda: team.agents(task), "it is followed", failing=team.check_alive)[-1]
    assert agent.installation_id != int(team.github.about["installation_id"])
    team.go("given")
    agent = team.until_escalated(task)
    team.until_check(task, "failure")
    team.until_comment(task, "Circuit breaker")
    assert len(team.comments(task)) == len(team.checks(task)) == 1
    [issue] = team.github.escalations(task.repository, task.number)
    assert f"`{task.branch}` at `{agent.sha}`" in issue["body"]

    # A successor has the new name, and names the one before.
    team.github.does("maria", "PATCH", f"/repos/acme/given/issues/{issue['number']}", CLOSED)
    team.github.does("maria", "DELETE", f"{task.path}/labels/squadron:caller")
    team.label(task, "squadron:caller")
    heir = until(lambda: team.agents(task)[1:], "a successor", failing=team.check_alive)[0]
    assert str(heir.id) == f"acme/given#{task.number}/caller/2"
    assert heir.predecessor == str(agent.id)


@TELL
def test_a_brake_holds_where_a_repository_without_agents_is_now(
    team: Squad, silently: bool
) -> None:
    name = f"octo/idle-{silently}".lower()
    team.reconciles(1)
    done = team.service.commands("pause", "--repo", name, "--by", "ada")
    assert done.returncode == 0, done
    move(team, Task(name, 0, "docs"), f"{name}-now", silently=silently)
    task = team.give("docs", "Held", completes("Done."), repository=f"{name}-now")
    team.until_comment(task, f"The agent has not started yet: ada paused all agents of {name}-now")
    assert team.agents(task) == []
    assert team.service.commands("resume", "--repo", f"{name}-now").returncode == 0
    team.until(task, State.COMPLETED)


def test_a_repository_that_is_given_away_ends_its_agents(team: Squad) -> None:
    """Nobody may write there any more: one line says so, and the work stays on disk."""
    team.tolerates("delivery given up")
    task = begin(team, "octo/lost", "docs", "lost", completes("Never said."))
    asleep = team.give("docs", "Asks", is_blocked("Which?"), repository="octo/lost")
    team.until(asleep, State.SLEEPING, Waits.ANSWER)
    team.github.orders("move", {"repository": "octo/lost", "to": "rita/lost", "installed": False})
    ended = [team.until(each, State.CANCELLED) for each in (task, asleep)]
    why = "octo/lost was transferred to rita/lost, where the App is not installed."
    for agent in ended:
        assert why in team.story(agent.id)
        until(
            partial(is_refused, team, agent.id),
            "what GitHub refuses is named",
            failing=team.check_alive,
        )
    team.until_logged(why)
    assert "work.txt" in git("ls-tree", "HEAD", cwd=team.workspace(ended[0].id))
    until(lambda: not team.processes(ended[0].id), "nothing of it runs")


def test_a_new_repository_of_the_old_name_is_another_one(team: Squad) -> None:
    """Its agents have names of their own, and nothing of the one that moved away."""
    before = begin(team, "octo/stays", "docs", "stays", completes("Done."))
    task = move(team, before, "octo/went")
    until(lambda: team.agents(task), "it is followed", failing=team.check_alive)
    other = move(team, Task("acme/shop", 0, "docs"), "octo/stays")
    fresh = team.give("docs", "Fresh", completes("No."), repository=other.repository)
    agent = team.until(fresh, State.COMPLETED)
    assert fresh.number == before.number
    assert str(agent.id) == f"octo/stays#{fresh.number}/docs/2" and agent.predecessor is None
    team.go("stays")
    assert str(team.until_handed_over(task).id) == f"octo/stays#{task.number}/docs/1"
