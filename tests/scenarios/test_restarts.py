"""The service is stopped, killed and started again; GitHub goes on meanwhile."""

from collections.abc import Iterator

import pytest

from app.core.agent import Agent
from app.core.counters import Counters
from app.core.events import SegmentStarted, Waits
from app.core.lifecycle import State
from tests.support.squad import Squad, Task, repository, squad
from tests.support.steps import commits, completes, is_blocked, runs, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.both_databases


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("restarts")
    demo = repository({"docs": {}, "release": {}})
    with squad(directory, {"octo/demo": demo}, database_url=database_url) as team:
        yield team


def used(counters: Counters) -> tuple[float, ...]:
    """What must never become less."""
    return (
        counters.tool_calls,
        counters.turns,
        counters.model_calls,
        counters.input_tokens + counters.output_tokens,
        counters.active.total_seconds(),
    )


def in_the_middle(team: Squad, name: str, shell_seconds: int) -> tuple[Task, Agent]:
    """An agent with a commit, with something uncommitted, and with a shell that runs."""
    begun = team.signal(f"{name}-begun")
    task = team.give(
        "docs",
        f"Something long: {name}",
        writes("one.txt", "committed\n"),
        commits("One"),
        writes("two.txt", "not committed\n"),
        runs(f"setsid sleep 300 & echo > {begun}; sleep {shell_seconds}"),
        waits_for(team.signal(name)),
        commits("Two"),
        completes("Both are there."),
    )
    until(begun.exists, "the shell runs", failing=team.check_alive)
    return task, team.agent(task)


def finishes(team: Squad, task: Task, before: Counters, name: str) -> Agent:
    """The agent goes on where it was, and its counters with it."""
    team.go(name)
    agent = team.until_handed_over(task)
    after = team.registry.counters(agent.id)
    pairs = zip(used(before), used(after), strict=True)
    assert all(earlier <= later for earlier, later in pairs), (before, after)
    files = team.github.lists(f"/repos/octo/demo/pulls/{agent.pull_request}/files")
    assert {one["filename"] for one in files} == {"one.txt", "two.txt"}
    assert len(team.agents(task)) == len(team.comments(task)) == 1
    return agent


def test_a_stop_keeps_the_work_and_the_next_start_goes_on(team: Squad) -> None:
    """DESIGN section 6, promises 2 and 5; issue, "Engine": `SIGTERM` drains."""
    task, agent = in_the_middle(team, "drain", shell_seconds=2)
    before = team.registry.counters(agent.id)
    team.service.stop()
    assert team.processes(agent.id) == {}
    stopped = team.agent(task)
    assert (stopped.state, stopped.segment) == (State.QUEUED, agent.segment + 1)
    subjects = [one["commit"]["message"] for one in team.github.commits("octo/demo", task.branch)]
    assert "One" in subjects and len(subjects) == 4, "what was not committed is pushed as well"
    team.service.start()
    finishes(team, task, before, "drain")


def test_after_kill_9_the_orphans_are_gone_and_the_same_segment_goes_on(team: Squad) -> None:
    """DESIGN section 6, promise 2; `facts/peers.md` section 4, 9 and 10."""
    task, agent = in_the_middle(team, "kill", shell_seconds=300)
    before = team.registry.counters(agent.id)
    team.service.kill()
    orphans = team.processes(agent.id)
    assert any("sleep 300" in command for command in orphans.values()), orphans
    team.service.start()
    until(lambda: not orphans.keys() & team.processes(agent.id).keys(), "the orphans are gone")
    again = finishes(team, task, before, "kill")
    assert again.segment == agent.segment
    starts = [one for one in team.registry.log(again.id) if isinstance(one, SegmentStarted)]
    assert [(one.segment, one.attempt) for one in starts] == [(0, 1), (0, 2)]


def test_what_happened_while_nobody_listened_is_found_in_one_pass(team: Squad) -> None:
    """DESIGN section 6, promise 10; `facts/peers.md` section 4, 26."""
    blocker = team.issue("First this")
    sleeper = team.give(
        "release", "Then that", is_blocked("Later.", blocker.number), completes("Nothing to do.")
    )
    team.until(sleeper, State.SLEEPING, Waits.BLOCKER)
    merged = team.give("docs", "Merge me", writes("m.txt", "m\n"), completes("Merge."))
    team.until_handed_over(merged)
    gone = team.give("docs", "Close me", is_blocked("Later.", blocker.number))
    team.until(gone, State.SLEEPING, Waits.BLOCKER)
    new = team.issue("Label me", completes("Nothing to do.")).by("docs")
    team.settle()

    team.service.stop()
    number = team.agent(merged).pull_request
    for login, method, path, content in (
        ("maria", "PATCH", gone.path, {"state": "closed"}),
        ("maria", "PATCH", blocker.path, {"state": "closed"}),
        ("maria", "PUT", f"/repos/octo/demo/pulls/{number}/merge", {}),
        ("maria", "POST", f"{new.path}/labels", {"labels": ["squadron:docs"]}),
    ):
        team.github.silently(login, method, path, content)
    team.service.start()
    for task, state in (
        (sleeper, State.COMPLETED),
        (merged, State.COMPLETED),
        (gone, State.CANCELLED),
        (new, State.COMPLETED),
    ):
        team.until(task, state)
    assert team.agent(new).started_by == "maria"
    team.until_logged("reconciled", why="start", repairs=4)
    assert [one["repairs"] for one in team.reconciles(2)] == [0, 0], "nothing is left to repair"
    for task in (sleeper, merged, gone, new):
        assert len(team.comments(task)) == len(team.agents(task)) == 1
