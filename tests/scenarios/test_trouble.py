"""What goes wrong around an agent is said to people, once, and what can be repaired is."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from app.core.agents.agent import EffectName, EffectState
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.scripted.script import Failure
from tests.support.github import BOT, git
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import commits, completes, runs, waits_for, writes
from tests.support.waiting import until

WRITES = "POST|PATCH"
FORBIDDEN, MANY = "forbidden", "many"
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
        **{f"octo/{name}": caller for name in (FORBIDDEN, MANY)},
    }
    directory = tmp_path_factory.mktemp("trouble")
    with squad(
        directory, repositories, workers=len(repositories), reconciliation_seconds=3600
    ) as team:
        yield team


# --- configuration ---------------------------------------------------------------------------


def test_a_broken_role_gets_one_clear_comment(team: Squad) -> None:
    """docs/design.md, promise 8; issue, "Configuration"."""
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
    """docs/design.md, promise 8."""
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
    assert agent.failure is not None
    assert agent.failure.cause == "setup_failed"
    assert "exit code 3" in agent.failure.reason and "no such tool" in agent.failure.reason
    assert team.registry.counters(agent.id).model_calls == 0
    assert [check["conclusion"] for check in team.checks(task)] == ["failure"]


def test_peers_09_a_refused_push_is_named_and_the_work_stays_on_disk(team: Squad) -> None:
    """docs/design.md, promise 5: workflow files, of which GitHub is not even asked; peers,
    scenario 9."""
    path = ".github/workflows/ci.yml"
    task = team.give(
        "docs", "Add a workflow", writes(path, WORKFLOW), commits("CI"), completes("CI is there.")
    )
    agent = team.until(task, State.SLEEPING, Waits.ANSWER)
    comment = team.until_comment(task, f"their changes of `{path}` are not on the branch")
    place = f"$SQUADRON_DATA_DIR/agents/{team.workspace(agent.id).parent.name}"
    assert f"They are in {place}/refused.patch" in comment and "- [ ] work pushed" in comment
    assert str(team.workspace(agent.id).parents[2]) not in comment, "nobody else has to know"
    assert agent.pull_request is None
    assert (team.workspace(agent.id) / path).read_text() == WORKFLOW
    [head, *_] = team.github.commits("octo/demo", task.branch)
    assert head["sha"] == agent.sha
    assert team.github.sees(f"/repos/octo/demo/commits/{head['sha']}")["files"] == []


def test_peers_09_a_protected_branch_is_named_and_the_work_stays_on_disk(team: Squad) -> None:
    """docs/design.md, promise 5: protection; peers, scenario 9."""
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
    team.until(task, State.SLEEPING, Waits.REVIEW)
    assert "protected" in team.until_comment(task, "could not push the last work").lower()
    assert (team.workspace(agent.id) / "mine.txt").read_text() == "mine\n"
    clone = team.github.clone("octo/demo")
    assert "mine.txt" not in git("ls-tree", "-r", f"origin/{task.branch}", cwd=clone)


# --- the model -------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def unheard(team: Squad) -> Task:
    """An agent whose model always refuses. Begun first: its back-off takes a while."""
    return team.give("docs", "Unheard", writes("half.txt", "half done\n"), Failure(404))


def test_peers_09_a_runtime_that_dies_three_times_escalates_with_its_work_kept(
    team: Squad, unheard: Task
) -> None:
    """docs/design.md, States: three deaths of one segment's runtime; peers, scenario 9."""
    agent = team.until_escalated(unheard)
    assert agent.failure is not None
    assert agent.failure.cause == "runtime_died"
    assert "HTTP status 404" in agent.failure.reason and "base URL" in agent.failure.reason
    assert len(team.comments(unheard)) == 1
    file = team.github.sees(f"/repos/octo/demo/contents/half.txt?ref={agent.sha}")
    assert file["name"] == "half.txt"
    [issue] = team.github.escalations("octo/demo", unheard.number)
    assert f"`{unheard.branch}` at `{agent.sha}`" in issue["body"]


# --- GitHub ----------------------------------------------------------------------------------


@pytest.mark.full
def test_peers_28_of_more_than_a_hundred_comments_all_pages_are_read(team: Squad) -> None:
    """Peers, scenario 28: ours is on the second page, and the service was told nothing of it."""
    task = team.issue(
        "Much was said",
        runs("true"),
        runs("true"),
        runs("true"),
        repository=f"octo/{MANY}",
    ).by("caller")
    for number in range(101):
        body = {"body": f"Comment {number}."}
        team.github.silently("rita", "POST", f"{task.path}/comments", body)
    team.label(task, "squadron:caller")
    team.until_escalated(task)
    pages = [team.github.sees(f"{task.path}/comments?per_page=100&page={page}") for page in (1, 2)]
    assert [len(page) for page in pages] == [100, 2]
    [ours] = [one for page in pages for one in page if one["user"]["login"] == BOT]
    until(
        lambda: "Circuit breaker" in team.github.sees(comment_path(ours))["body"],
        "the one comment says so",
    )


def comment_path(comment: Mapping[str, Any]) -> str:
    """In REST."""
    return f"/repos/octo/{MANY}/issues/comments/{comment['id']}"


def test_an_effect_that_github_refuses_for_good_is_shown_and_the_others_are_there(
    team: Squad,
) -> None:
    """docs/design.md, promise 4: or the log says which of them GitHub still refuses."""
    task = team.give(
        "caller",
        "Forbidden",
        writes("work.txt", "work"),
        waits_for(team.signal("forbidden")),
        runs("one too many"),
        repository=f"octo/{FORBIDDEN}",
    )
    team.until_comment(task, "The agent works.")
    never = {"kind": "error", "status": 403, "method": "POST|PATCH"}
    place = rf"^/repos/octo/{FORBIDDEN}/issues/(\d+/comments|comments/\d+)$"
    with team.github.trouble(**never, path=place):
        team.go("forbidden")
        agent = team.until_escalated(task)
        [comment] = team.comments(task)
        assert "The agent works." in comment["body"], "it could not be edited any more"
        assert [check["conclusion"] for check in team.checks(task)] == ["failure"]
        effects = team.registry.effects(agent.id)
        refused = [name for name, one in effects.items() if one.state is EffectState.REFUSED]
        assert refused == [EffectName.COMMENT]
        assert "403" in effects[EffectName.COMMENT].error


def test_nothing_of_an_agent_runs_after_its_end(team: Squad) -> None:
    task = team.give("docs", "Background", runs("setsid sleep 300 & true"), completes("Done."))
    agent = team.until(task, State.COMPLETED)
    until(lambda: not team.processes(agent.id), "nothing of the agent runs")
