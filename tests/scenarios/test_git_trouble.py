"""The real git, and a GitHub whose git does not answer, or whose repository takes nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.core.agents.agent import AgentId, EffectName, EffectState
from app.core.agents.counters import fold
from app.core.agents.events import HeldUp, Waits
from app.core.agents.lifecycle import State
from tests.support.people import REPOSITORY, Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import commits, completes, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.full

READ_ONLY = "octo/archive"
FIXES = (writes("answer", "42\n"), commits("Answer"), completes("It is 42."))


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    roles = repository({"fixer": {"max_active_duration": 60}})
    places = {REPOSITORY: roles, READ_ONLY: roles}
    directory = tmp_path_factory.mktemp("git")
    with squad(directory, places, reconciliation_seconds=5) as team:
        yield team


@contextmanager
def away(team: Squad, path: str) -> Iterator[None]:
    with team.github.trouble(kind="error", status=503, path=path):
        yield


def is_handed_over(team: Squad, task: Task) -> None:
    """With a pull request and a check of what was pushed."""
    agent = team.until_handed_over(task)
    assert agent.pull_request is not None
    [check, *_] = team.checks(task)
    assert check["head_sha"] == agent.sha
    assert "could not push the last work" not in team.until_comment(task, f"#{agent.pull_request}")


def test_who_cannot_clone_waits_in_the_queue_and_then_works(team: Squad) -> None:
    with away(team, f"/{REPOSITORY}.git/"):
        task = team.give("fixer", "The answer is wrong", *FIXES)
        agent = team.until(task, State.QUEUED, Waits.GIT)
        team.until_comment(task, "The agent waits for GitHub:")

        def times() -> int:
            return sum(isinstance(each, HeldUp) for each in team.registry.log(agent.id))

        until(lambda: times() >= 3, "it has tried again, twice", failing=team.check_alive)
        assert fold(team.registry.log(agent.id)).active.total_seconds() == 0
    is_handed_over(team, task)


def begins(team: Squad, title: str, where: str = REPOSITORY) -> Task:
    """The task of an agent that has a branch, and works until it may go on."""
    waits = waits_for(team.signal(title))
    task = team.issue(title, waits, *FIXES, repository=where).by("fixer")
    team.label(task, "squadron:fixer")
    until(lambda: team.agent(task).sha, "it has a branch", failing=team.check_alive)
    return task


def is_asleep_without(team: Squad, task: Task, before: str | None) -> AgentId:
    """It has handed over, and GitHub has nothing of its work."""
    agent = team.until(task, State.SLEEPING, Waits.REVIEW)
    assert (agent.pull_request, agent.sha) == (None, before)
    return agent.id


def test_what_git_did_not_take_is_pushed_when_it_answers(team: Squad) -> None:
    task = begins(team, "later")
    before = team.agent(task).sha
    with away(team, f"/{REPOSITORY}.git/git-receive-pack$"):
        team.go("later")
        is_asleep_without(team, task, before)
        team.until_comment(task, "could not push the last work")
        [check, *_] = team.checks(task)
        assert (check["status"], check["head_sha"]) == ("in_progress", before)
    is_handed_over(team, task)


def test_an_archived_repository_takes_the_work_when_it_is_archived_no_more(team: Squad) -> None:
    task = begins(team, "archived", READ_ONLY)
    before, order = team.agent(task).sha, {"repository": READ_ONLY}
    team.github.orders("repository", {**order, "archived": True})
    team.go("archived")
    agent = is_asleep_without(team, task, before)

    def is_refused() -> bool:
        effect = team.registry.effects(agent).get(EffectName.WORK)
        return effect is not None and effect.state is EffectState.REFUSED

    until(is_refused, "the push is refused", failing=team.check_alive)
    team.github.orders("repository", {**order, "archived": False})
    is_handed_over(team, task)
