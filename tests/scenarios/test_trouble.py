"""What goes wrong around an agent is said to people, once, and what can be repaired is."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from app.core.agent import EffectName, EffectState
from app.core.events import Waits
from app.core.lifecycle import State
from app.scripted.script import Failure
from tests.support.github import git
from tests.support.squad import Squad, Task, repository, squad
from tests.support.steps import commits, completes, runs, waits_for, writes
from tests.support.waiting import until

WRITES = "POST|PATCH"
FAULTS: Mapping[str, Mapping[str, Any]] = {
    "error-before": {"kind": "error"},
    "error-after": {"kind": "error", "phase": "after"},
    "timeout-after": {"kind": "timeout", "phase": "after"},
    "secondary-limit": {"kind": "secondary_limit", "retry_after": 1},
}
EFFECTS = {
    "check": r"check-runs(/\d+)?",
    "comment": r"issues/(\d+/comments|comments/\d+)",
    "issue": "issues",
}
FORBIDDEN = "forbidden"
TROUBLES = [f"{kind}-{effect}" for kind in FAULTS for effect in EFFECTS]
"""Each kind of trouble with each effect of an escalation, in a repository of its own."""

WORKFLOW = "on: push\njobs: {}\n"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    roles = {
        "docs": {},
        "unprepared": {"setup": ["echo preparing", "echo no such tool >&2; exit 3"]},
        "broken": {"max_tool_cals": 3},
    }
    caller = repository({"caller": {"max_tool_calls": 2}})
    repositories = {
        "octo/demo": repository(roles),
        "octo/unread": repository({}, {"trigers": {}}),
        **{f"octo/{name}": caller for name in (*TROUBLES, FORBIDDEN)},
    }
    directory = tmp_path_factory.mktemp("trouble")
    with squad(
        directory, repositories, workers=len(repositories), reconciliation_seconds=3600
    ) as team:
        yield team


# --- configuration ---------------------------------------------------------------------------


def test_a_broken_role_gets_one_clear_comment(team: Squad) -> None:
    """DESIGN section 6, promise 8; issue, "Configuration"."""
    task = team.issue("Broken").by("broken")
    for _ in range(2):
        team.label(task, "squadron:broken")
        team.settle()
        team.github.does("maria", "DELETE", f"{task.path}/labels/squadron:broken")
    [comment] = team.comments(task)
    assert ".squadron/agents/broken.md:2:" in comment["body"]
    assert "did you mean max_tool_calls" in comment["body"]
    assert team.agents(task) == []


def test_a_missing_role_gets_one_clear_comment(team: Squad) -> None:
    """Issue, "Configuration"."""
    task = team.issue("Nobody").by("nobody")
    for _ in range(2):
        team.label(task, "squadron:nobody")
        team.settle()
        team.github.does("maria", "DELETE", f"{task.path}/labels/squadron:nobody")
    [comment] = team.comments(task)
    assert "there is no role `nobody`" in comment["body"]
    assert "`docs`" in comment["body"], "the roles that exist are named"


def test_a_broken_configuration_gets_one_clear_comment(team: Squad) -> None:
    """DESIGN section 6, promise 8."""
    task = team.issue("Unread", repository="octo/unread").by("bug-fix")
    team.label(task, "squadron:bug-fix")
    team.settle()
    [comment] = team.comments(task)
    assert ".squadron/config.yaml:" in comment["body"]
    assert "did you mean triggers" in comment["body"]
    assert team.agents(task) == []


# --- work ------------------------------------------------------------------------------------


def test_a_setup_that_fails_is_the_reason_of_an_escalation(team: Squad) -> None:
    """Issue, "Embedded runtime"."""
    task = team.give("unprepared", "Prepare", completes("Never asked."))
    agent = team.until_escalated(task)
    assert agent.trip is not None
    assert agent.trip.limit == "setup_failed"
    assert "exit code 3" in agent.trip.reason and "no such tool" in agent.trip.reason
    assert team.registry.counters(agent.id).model_calls == 0
    assert [check["conclusion"] for check in team.checks(task)] == ["failure"]


def test_a_push_that_github_refuses_is_named_and_the_work_stays_on_disk(team: Squad) -> None:
    """DESIGN section 6, promise 5: workflow files."""
    path = ".github/workflows/ci.yml"
    task = team.give(
        "docs", "Add a workflow", writes(path, WORKFLOW), commits("CI"), completes("CI is there.")
    )
    agent = team.until(task, State.SLEEPING, Waits.ANSWER)
    comment = team.until_comment(task, "GitHub does not let this App change `.github/workflows`")
    assert "not on the branch" in comment and "- [ ] work pushed" in comment
    assert agent.pull_request is None
    assert (team.workspace(agent.id) / path).read_text() == WORKFLOW
    [head, *_] = team.github.commits("octo/demo", task.branch)
    assert head["sha"] == agent.sha
    assert team.github.sees(f"/repos/octo/demo/commits/{head['sha']}")["files"] == []


def test_a_protected_branch_is_named_and_the_work_stays_on_disk(team: Squad) -> None:
    """DESIGN section 6, promise 5: protection."""
    task = team.give(
        "docs",
        "Protected",
        writes("mine.txt", "mine\n"),
        waits_for(team.signal("protected")),
        completes("Done."),
    )
    agent = team.until(task, State.ACTIVE)
    until(lambda: (team.workspace(agent.id) / "mine.txt").exists(), "the agent has begun")
    team.github.orders("protect", {"repository": "octo/demo", "branch": task.branch})
    team.go("protected")
    team.until(task, State.SLEEPING, Waits.ANSWER)
    assert "protected" in team.until_comment(task, "could not be pushed").lower()
    assert (team.workspace(agent.id) / "mine.txt").read_text() == "mine\n"
    clone = team.github.clone("octo/demo")
    assert "mine.txt" not in git("ls-tree", "-r", f"origin/{task.branch}", cwd=clone)


# --- the model -------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def unheard(team: Squad) -> Task:
    """An agent whose model always refuses. Begun first: its back-off takes a while."""
    team.tolerates("RuntimeDied")
    team.tolerates("automatically retried")
    return team.give("docs", "Unheard", Failure(401))


def test_a_model_that_always_refuses_escalates_after_three_deaths(
    team: Squad, unheard: Task
) -> None:
    """DESIGN section 2: three deaths of one segment's runtime."""
    agent = team.until_escalated(unheard)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.observed) == ("runtime_died", 3)
    assert "HTTP status 401" in agent.trip.reason and "API key" in agent.trip.reason
    assert len(team.comments(unheard)) == 1


# --- GitHub ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def troubled(team: Squad) -> Mapping[str, Task]:
    """One escalation for each kind of trouble with each effect, all at once."""
    tasks = {
        name: team.give(
            "caller",
            name,
            writes("work.txt", name),
            waits_for(team.signal("trouble")),
            runs("one too many"),
            repository=f"octo/{name}",
        )
        for name in (*TROUBLES, FORBIDDEN)
    }
    for task in tasks.values():
        team.until_comment(task, "Working.")
    for kind, fault in FAULTS.items():
        for effect, place in EFFECTS.items():
            path = f"^/repos/octo/{kind}-{effect}/{place}$"
            strikes = {**fault, "method": WRITES, "path": path, "count": 1}
            team.github.orders("faults", strikes)
    never = {"kind": "error", "status": 403, "method": WRITES}
    place = f"^/repos/octo/{FORBIDDEN}/{EFFECTS['comment']}$"
    team.github.orders("faults", {**never, "path": place})
    team.go("trouble")
    return tasks


@pytest.mark.parametrize("name", TROUBLES)
def test_trouble_in_the_middle_of_an_escalation_ends_in_exactly_one_of_each(
    team: Squad, troubled: Mapping[str, Task], name: str
) -> None:
    """DESIGN section 6, promise 4; `facts/peers.md` section 4, 28."""
    task = troubled[name]
    agent = team.until_escalated(task)
    assert [check["conclusion"] for check in team.checks(task)] == ["failure"]
    team.until_comment(task, "Circuit breaker")
    assert len(team.comments(task)) == 1
    assert len(team.github.escalations(task.repository, task.number)) == 1
    effects = team.registry.effects(agent.id)
    assert {effect.state for effect in effects.values()} == {EffectState.DONE}


def test_an_effect_that_github_refuses_for_good_is_shown_and_the_others_are_there(
    team: Squad, troubled: Mapping[str, Task]
) -> None:
    """DESIGN section 6, promise 4: or the log says which of them GitHub still refuses."""
    task = troubled[FORBIDDEN]
    agent = team.until_escalated(task)
    [comment] = team.comments(task)
    assert "Working." in comment["body"], "it could not be edited any more"
    assert [check["conclusion"] for check in team.checks(task)] == ["failure"]
    effects = team.registry.effects(agent.id)
    refused = [name for name, one in effects.items() if one.state is EffectState.REFUSED]
    assert refused == [EffectName.COMMENT]
    assert "403" in effects[EffectName.COMMENT].error


def test_every_fault_has_struck(team: Squad, troubled: Mapping[str, Task]) -> None:
    """Otherwise the stories above would prove nothing."""
    assert team.github.fired() >= len(troubled)


def test_nothing_of_an_agent_runs_after_its_end(team: Squad) -> None:
    task = team.give("docs", "Background", runs("setsid sleep 300 & true"), completes("Done."))
    agent = team.until(task, State.COMPLETED)
    until(lambda: not team.processes(agent.id), "nothing of the agent runs")
