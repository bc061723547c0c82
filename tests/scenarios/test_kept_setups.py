"""A setup that one agent has waited for is there for the next agents of its repository."""

import os
from collections.abc import Iterator

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import SetUp
from app.core.agents.lifecycle import State
from tests.support.github import git
from tests.support.people import Task, repository
from tests.support.sandbox import BUBBLEWRAP
from tests.support.squad import Squad, json_text, squad
from tests.support.steps import commits, completes, runs, writes

pytestmark = [pytest.mark.full, BUBBLEWRAP]
FILES = {"pyproject.toml": "[project]\nname = 'demo'\n", ".gitignore": ".venv/\n"}
SETUP = ("python3 -m venv --without-pip .venv", "date +ran:%s%N >.venv/ran")
LOOKS = runs("pwd; .venv/bin/python -c 'import sys; print(sys.prefix)'; cat .venv/ran")


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("kept")
    roles = {"docs": {"setup": SETUP, "tests": "none"}, "other": {"setup": [*SETUP, "true"]}}
    places = {"octo/demo": repository(roles, files=FILES)}
    with squad(directory, places, operator={"sandbox": None}) as team:
        yield team


def looked(team: Squad, role: str = "docs") -> tuple[Agent, SetUp, str]:
    """An agent that has looked at what its setup has made; and when that ran."""
    return looked_at(team, team.give(role, "Look", LOOKS, completes("Nothing to do.")))


def looked_at(team: Squad, task: Task) -> tuple[Agent, SetUp, str]:
    agent = team.until(task, State.COMPLETED)
    [event] = [each for each in team.registry.log(agent.id) if isinstance(each, SetUp)]
    said = json_text(team.prompts(task)[-1])
    assert "/agent/workspace\n/agent/workspace/.venv\nran:" in said
    return agent, event, said.partition("ran:")[2][:19]


def test_the_second_agent_takes_what_the_setup_of_the_first_has_made(team: Squad) -> None:
    _, first, made = looked(team)
    again, second, taken = looked(team)
    assert first.made_at is None and second.made_at is not None
    assert taken == made
    explained = team.service.commands("explain", str(again.id)).stdout
    assert f"Its setup was taken from the one that ran at {second.made_at:%Y-%m-%d %H:%M:%S}" in (
        explained
    )
    team.until_logged(
        f"a setup was taken from the one that ran at {second.made_at}", agent=str(again.id)
    )
    _, other, ran = looked(team, "other")
    assert other.made_at is None and ran != made, "another setup"


def test_a_kept_setup_that_is_damaged_costs_a_setup_and_nothing_else(team: Squad) -> None:
    looked(team)
    for archive in team.directory.glob("data/setups/*/*.tar"):
        os.truncate(archive, 5_000)
    agent, event, _ = looked(team)
    assert event.made_at is None
    message = "a kept setup could not be taken, so it runs: its end is missing"
    team.until_logged(message, agent=str(agent.id))
    assert looked(team)[1].made_at is not None, "the new one is kept in its place"


def test_with_another_manifest_the_setup_runs_again(team: Squad) -> None:
    _, _, before = looked(team)
    steps = (writes("pyproject.toml", "[project]\nname = 'theirs'\n"), commits("Rename it"))
    agent = team.until_handed_over(team.give("docs", "Rename", *steps, completes("Renamed.")))
    team.github.does("maria", "PUT", f"/repos/octo/demo/pulls/{agent.pull_request}/merge", {})
    team.settle()
    clone = team.github.clone("octo/demo")
    assert "theirs" in git("show", "HEAD:pyproject.toml", cwd=clone)
    _, event, after = looked(team)
    assert event.made_at is None and after != before


def test_what_a_setup_has_made_beside_somebodys_work_is_of_the_default_branch(team: Squad) -> None:
    """A branch that an agent goes on with may change what a setup runs, in files that no lock
    file names: it works where the branch left the default one, and so the next may take it."""
    for archive in team.directory.glob("data/setups/*/*.tar"):
        archive.unlink()
    task = team.issue("Go on", LOOKS, completes("Nothing more.")).by("docs")
    clone = team.github.clone("octo/demo")
    git("checkout", "--quiet", "-b", f"squadron/docs/issue-{task.number}", cwd=clone)
    (clone / "helper.py").write_text("of somebody\n")
    git("add", "helper.py", cwd=clone)
    git("commit", "--quiet", "--message", "Somebody's work", cwd=clone)
    git("push", "--quiet", "origin", "HEAD", cwd=clone)
    team.label(task, "squadron:docs")
    agent = team.until_handed_over(task)
    assert [each.made_at for each in team.registry.log(agent.id) if isinstance(each, SetUp)] == [
        None
    ]
    assert [*team.directory.glob("data/setups/*/*.tar")]
