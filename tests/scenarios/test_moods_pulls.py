"""The permission for pull requests is withheld, at the very call of each effect that needs it.

What is missing is named, and where to grant it; granted, the effect comes, exactly once.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from app.core.agents.agent import Agent, EffectName, EffectState
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.words.story import refused_words
from tests.scenarios.test_review_roles import posted, proposes, reviews
from tests.support.people import repository
from tests.support.squad import Squad, squad
from tests.support.steps import commits, completes, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.full

MAKER, READER = "octo/made", "reader/read"
"""Each has an installation of its own."""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    repositories = dict.fromkeys((MAKER, READER), repository({"maker": {}}))
    with squad(tmp_path_factory.mktemp("pulls"), repositories) as team:
        team.github.orders("install_further", {"owner": "reader"})
        yield team


def withholds(where: str, *permissions: str) -> dict[str, Any]:
    """What the owner of an installation does; no webhook tells of it."""
    owner = {} if where == MAKER else {"owner": "reader"}
    return {"withheld": [*permissions], "silently": True, **owner}


def strike(team: Squad, where: str, path: str) -> None:
    """The permission goes as the agent's work comes to that call."""
    body = withholds(where, "pull_requests")
    order = {"kind": "order", "order": "permissions", "body": body}
    team.github.orders("faults", {**order, "method": "POST", "path": path, "count": 1})


def until_named(team: Squad, agent: Agent, effect: EffectName) -> None:
    """By `squadron agents` and the log, with both pages where it is granted."""
    [words] = until(
        lambda: refused_words(team.registry.effects(agent.id)),
        "what is refused is named",
        failing=team.check_alive,
    )
    assert words.startswith(f"GitHub refuses the {effect.replace('_', ' ')}: "), words
    assert "The App needs pull_requests=write: add it in the App's settings" in words
    assert "/apps/squadron-box/permissions" in words
    assert f"/settings/installations/{agent.installation_id}" in words
    team.until_logged("effect", agent=str(agent.id), effect=effect.value, state="refused")


def until_all_done(team: Squad, agent: Agent) -> None:
    until(
        lambda: (
            {one.state for one in team.registry.effects(agent.id).values()} == {EffectState.DONE}
        ),
        f"all is done for {agent.id}",
        failing=team.check_alive,
    )


def test_a_pull_request_that_is_refused_comes_when_the_permission_is_granted(team: Squad) -> None:
    work = writes("work.txt", "made"), commits("Work"), waits_for(team.signal("go"))
    task = team.give("maker", "Makes", *work, completes("Made."), repository=MAKER)
    team.until_comment(task, "The agent works.")
    strike(team, MAKER, f"^/repos/{MAKER}/pulls$")
    team.go("go")
    agent = team.until(task, State.SLEEPING, Waits.REVIEW)
    until_named(team, agent, EffectName.PULL_REQUEST)
    team.until_comment(task, "its pull request is not open yet")
    team.reconciles()
    assert team.agent(task).pull_request is None
    team.github.orders("permissions", withholds(MAKER))
    agent = team.until_handed_over(task)
    until_all_done(team, agent)
    [pull] = team.github.lists(f"/repos/{MAKER}/pulls?state=all")
    assert (pull["number"], pull["head"]["sha"]) == (agent.pull_request, agent.sha)
    team.until_comment(task, f"#{agent.pull_request}")
    assert len(team.comments(task)) == len(team.checks(task)) == 1
    team.merge(task)
    team.until(task, State.COMPLETED)


def test_a_review_that_is_refused_comes_when_the_permission_is_granted(team: Squad) -> None:
    review = reviews("It answers.", ("answer", 1, "Is 42 right?"))
    change = proposes(team, "read", "pr-review", review, where=READER)
    strike(team, READER, rf"^/repos/{READER}/pulls/{change.number}/reviews$")
    team.label(change.task, "squadron:pr-review")
    agent = team.until(change.task, State.COMPLETED)
    until_named(team, agent, EffectName.REVIEW)
    team.reconciles()
    assert posted(team, change) == []
    team.github.orders("permissions", withholds(READER))
    until_all_done(team, agent)
    [made] = posted(team, change)
    assert (made["commit_id"], "It answers." in made["body"]) == (change.head, True)
    until(  # after the review another check follows the one that told of the refusal
        lambda: team.checks(change.task, change.head)[0]["conclusion"] == "success",
        "the newest check says that it was reviewed",
        failing=team.check_alive,
    )
    said = [one["conclusion"] for one in team.checks(change.task, change.head)]
    assert (said, len(team.comments(change.task))) == (["success", "failure"], 1)
