"""An agent that fills the disk: it is told, then ended; a human hears why, and the work is kept."""

from collections.abc import Iterator

import pytest

from app.core.agents.events import Failed, ToolEnded
from tests.support.github import git
from tests.support.people import repository
from tests.support.sandbox import BUBBLEWRAP
from tests.support.squad import Squad, json_text, squad
from tests.support.steps import completes, runs, says, thinks, writes

pytestmark = [pytest.mark.full, BUBBLEWRAP]
FILLS = "head -c 5M /dev/zero >/tmp/{}; sleep 600"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    roles = {"docs": {}, "unprepared": {"setup": [FILLS.format("made")]}}
    with squad(
        tmp_path_factory.mktemp("filled"),
        {"octo/demo": repository(roles)},
        operator={"sandbox": None},
        program="tests.scenarios.small_disk",
    ) as team:
        yield team


def test_an_agent_that_fills_the_disk_is_told_then_ended_and_its_work_is_kept(team: Squad) -> None:
    task = team.give(
        "docs",
        "Fill it",
        writes("half.txt", "half\n"),
        *(runs(FILLS.format(name)) for name in ("one", "two", "three")),
        thinks(60),
        summary=says("I wrote too much."),
    )
    agent = team.until_escalated(task)
    assert agent.failure is not None
    assert agent.failure.cause == "disk_full"
    assert "take 15." in agent.failure.reason and "MiB of at most 4 MiB" in agent.failure.reason
    log = team.registry.log(agent.id)
    assert len([event for event in log if isinstance(event, Failed)]) == 1
    assert [event.ok for event in log if isinstance(event, ToolEnded)] == [True] + [False] * 3
    told = json_text(team.prompts(task)[-1])
    assert told.count("Delete what you do not need first.") == 2
    [issue] = team.github.escalations("octo/demo", task.number)
    assert agent.failure.reason in issue["body"]
    assert "> I wrote too much." in issue["body"]
    [check] = team.checks(task)
    assert check["conclusion"] == "failure"
    clone = team.github.clone("octo/demo")
    kept = git("ls-tree", "-r", "--name-only", f"origin/{agent.branch}", cwd=clone)
    assert "half.txt" in kept.split()
    assert team.processes(agent.id) == {}


def test_a_setup_that_fills_the_disk_is_the_reason_of_an_escalation(team: Squad) -> None:
    agent = team.until_escalated(team.give("unprepared", "Prepare", completes("Never asked.")))
    assert agent.failure is not None and agent.failure.cause == "setup_failed"
    assert "took too much of the disk" in agent.failure.reason
    assert "MiB of at most 4 MiB" in agent.failure.reason
    assert team.registry.counters(agent.id).model_calls == 0
