"""Limits stop an agent, whichever layer sees it first, and a human is handed everything."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.agent import Agent
from app.core.events import Layer, ToolAsked, ToolDenied, Warned
from app.core.lifecycle import State
from app.scripted.script import Answer, Call
from tests.support.github import git
from tests.support.squad import TRIES, Squad, Task, repository, squad
from tests.support.steps import (
    completes,
    is_blocked,
    runs,
    runs_at_once,
    says,
    thinks,
    waits_for,
    writes,
)
from tests.support.waiting import until

ROLES = {
    "fixer": {"max_iterations": 2},
    "thinker": {"max_active_duration": 12, "summary_wait": 60},
    "sleeper": {"max_sleep_duration": 1},
    "caller": {"max_tool_calls": 3, "warning_threshold": 0.5},
    "talker": {"max_turns": 1},
    "slow": {"max_tool_calls": 1, "summary_wait": 60},
    "runaway": {"max_tool_calls": 1, "summary_wait": 8},
}
CONFIG = {"escalation": {"labels": ["on-call"], "assignees": ["ada"], "mention": ["@octo/leads"]}}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("limits")
    demo = repository(ROLES, CONFIG)
    with squad(directory, {"octo/demo": demo}, database_url=database_url) as team:
        yield team


def handed_over_to_a_human(team: Squad, task: Task) -> tuple[Agent, str]:
    """The stopped agent and the needs-human issue's text, after checking that there is exactly
    one comment, one failing check and one issue (DESIGN section 6, promise 4)."""
    agent = team.until_escalated(task)
    assert agent.trip is not None
    [check] = team.checks(task)
    assert (check["conclusion"], check["head_sha"]) == ("failure", agent.sha)
    assert agent.trip.reason in check["output"]["summary"]
    [comment] = team.comments(task)
    assert f"[squadron:{task.role}] ⚠️ Circuit breaker: {agent.trip.reason}" in comment["body"]
    [issue] = team.github.escalations(task.repository, task.number)
    assert issue["title"] == (
        f"[needs-human] Agent escalation: #{task.number} — {agent.trip.reason}"
    )
    return agent, issue["body"]


@pytest.mark.both_databases
def test_fix_test_fail_is_stopped_by_the_hook_at_max_iterations(team: Squad) -> None:
    """Seed 002, "Escalation Flow on Trip"; `facts/peers.md` section 4, 2."""
    task = team.give(
        "fixer",
        "Find the answer",
        runs(f"sh {TRIES}"),
        *(
            step
            for answer in (1, 2, 3)
            for step in (writes("answer", f"{answer}\n"), runs(f"echo pytest; {TRIES}"))
        ),
        says("One more try."),
        summary=completes("None of 1, 2 and 3 is the answer."),
    )
    agent, body = handed_over_to_a_human(team, task)
    trip = agent.trip
    assert trip is not None
    assert (trip.limit, trip.observed, trip.maximum, trip.layer) == (
        "max_iterations",
        2,
        2,
        Layer.HOOK,
    )
    log = team.registry.log(agent.id)
    denied = [event for event in log if isinstance(event, ToolDenied)]
    assert [event.what for event in denied] == [f"echo pytest; {TRIES}"]
    assert team.registry.counters(agent.id).test_runs == 3

    for field in (
        f"- Original issue: #{task.number}",
        "- Agent role: fixer",
        "- Circuit breaker: `max_iterations` (2/2)",
        "- Agent summary: None of 1, 2 and 3 is the answer.",
        f"- Branch: `{task.branch}` at `{agent.sha}`",
        "- Session: preserved on disk",
        "@octo/leads",
    ):
        assert field in body
    [issue] = team.github.escalations("octo/demo", task.number)
    assert {label["name"] for label in issue["labels"]} == {"needs-human", "on-call"}
    assert [user["login"] for user in issue["assignees"]] == ["ada"]
    assert issue["user"]["login"] == "squadron-box[bot]"
    assert "None of 1, 2 and 3 is the answer." in team.comments(task)[0]["body"]


def test_the_git_lines_of_the_issue_pick_the_work_up(team: Squad) -> None:
    """The lines are run as they stand, in a clone of the person who was called."""
    task = team.give(
        "caller", "Too much", writes("kept.txt", "kept\n"), *(runs("true") for _ in range(3))
    )
    agent, body = handed_over_to_a_human(team, task)
    block = re.search(r"```sh\n(.*?)```", body, re.DOTALL)
    assert block is not None
    clone = team.github.clone("octo/demo")
    done = subprocess.run(
        ["sh", "-e"],
        cwd=clone,
        input=block[1],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(clone)},
    )
    assert done.returncode == 0, done.stderr
    assert "kept.txt" in done.stdout
    assert git("rev-parse", "HEAD", cwd=clone).strip() == agent.sha
    assert (clone / "kept.txt").read_text() == "kept\n"


def test_an_agent_that_thinks_and_calls_nothing_is_stopped_by_the_timer(team: Squad) -> None:
    """Seed 002, layer 2; `facts/peers.md` section 4, 5."""
    task = team.give("thinker", "Think", thinks(60), summary=says("I thought."))
    agent, body = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.layer) == ("max_active_duration", Layer.TIMER)
    assert agent.trip.observed is not None and agent.trip.observed >= 12
    assert "- Agent summary: I thought." in body


@pytest.mark.both_databases
def test_an_agent_that_waits_for_ever_is_stopped_by_reconciliation(team: Squad) -> None:
    """Seed 002, layer 3."""
    never = team.issue("Never")
    task = team.give("sleeper", "Wait", is_blocked("Upstream first.", never.number))
    agent, body = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.layer) == ("max_sleep_duration", Layer.RECONCILIATION)
    assert agent.trip.observed is not None and agent.trip.observed >= 1
    assert "- Agent summary: Upstream first." in body


@pytest.mark.both_databases
def test_exactly_max_tool_calls_run_even_when_more_are_asked_at_once(team: Squad) -> None:
    """DESIGN section 6, promise 3; `facts/peers.md` section 4, 1, 3 and 6."""
    task = team.give("caller", "All at once", runs_at_once(*(f"touch ran-{n}" for n in range(8))))
    agent, _ = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.observed, agent.trip.maximum) == ("max_tool_calls", 3, 3)
    log = team.registry.log(agent.id)
    assert len([event for event in log if isinstance(event, ToolAsked)]) == 3
    assert len([event for event in log if isinstance(event, ToolDenied)]) == 5
    files = team.github.sees(f"/repos/octo/demo/contents/?ref={agent.sha}")
    assert len([one for one in files if one["path"].startswith("ran-")]) == 3


def test_a_warning_reaches_the_model_once(team: Squad) -> None:
    """DESIGN section 1, "warning"."""
    task = team.give(
        "caller", "Careful", runs("true"), runs("true"), runs("true"), completes("Enough.")
    )
    agent = team.until(task, State.COMPLETED)
    words = "Approaching a limit: max_tool_calls at 2 of 3"
    last = team.prompts(task)[-1].conversation.messages
    assert len([message for message in last if words in message.text]) == 1
    warned = [event for event in team.registry.log(agent.id) if isinstance(event, Warned)]
    assert [event.limit for event in warned if event.limit == "max_tool_calls"] == [
        "max_tool_calls"
    ]


def test_max_turns_trips_before_the_model_is_called_again(team: Squad) -> None:
    """`facts/peers.md` section 4, 4."""
    task = team.give(
        "talker", "Talk", says("Hello."), says("Never asked."), summary=is_blocked("I talked.")
    )
    agent, body = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.observed, agent.trip.maximum) == ("max_turns", 1, 1)
    heard = [message.text for one in team.prompts(task) for message in one.conversation.messages]
    assert not any("without a closing tool" in text for text in heard)
    assert "- Agent summary: I talked." in body


def test_after_a_trip_a_running_tool_may_end_and_report_complete_is_the_summary(
    team: Squad,
) -> None:
    """Issue, "Breaker": running tools may finish within `summary_wait`."""
    task = team.give(
        "slow",
        "Two at once",
        Answer(
            "",
            (
                *waits_for(team.signal("running")).calls,
                Call("bash", {"command": "touch never-ran"}),
            ),
        ),
        summary=completes("What I have is enough."),
    )
    agent = team.agent(task)
    until(lambda: team.registry.counters(agent.id).trip, "the trip")
    until(lambda: team.processes(agent.id), "the tool that was allowed runs on")
    team.go("running")
    agent, body = handed_over_to_a_human(team, task)
    assert agent.summary.startswith("What I have is enough.")
    assert "- Agent summary: What I have is enough." in body
    assert not (team.workspace(agent.id) / "never-ran").exists()


def test_after_summary_wait_everything_that_the_agent_started_is_ended(team: Squad) -> None:
    """Issue, "Breaker": then it is stopped, children included."""
    started = team.signal("run-away")
    background = "setsid sh -c 'sleep 300' >/dev/null 2>&1 & first=$!; setsid sleep 301 &"
    task = team.give(
        "runaway",
        "Run away",
        Answer(
            "",
            (
                Call("bash", {"command": f"{background} echo $first $! > {started}; sleep 302"}),
                Call("bash", {"command": "true"}),
            ),
        ),
    )
    until(started.exists, "what the agent started", failing=team.check_alive)
    agent, body = handed_over_to_a_human(team, task)
    assert team.processes(agent.id) == {}
    numbers = started.read_text().split()
    assert (len(numbers), [n for n in numbers if Path(f"/proc/{n}/exe").exists()]) == (2, [])
    assert "- Agent summary: no summary provided" in body


def test_a_second_trip_is_added_to_the_same_needs_human_issue(team: Squad) -> None:
    """DESIGN section 6, promise 4."""
    first = team.give("talker", "Both fail", runs_at_once(*["true"] * 4), says("One."))
    team.until_escalated(first)
    second = first.by("caller")
    [issue] = team.github.escalations("octo/demo", first.number)
    team.label(second, "squadron:caller")
    stopped = team.until(second, State.ESCALATED)

    def added() -> list[str]:
        found = team.github.comments("octo/demo", issue["number"])
        return [one["body"] for one in found if "- Agent role: caller" in one["body"]]

    [section] = until(added, "the second trip is added")
    assert stopped.branch in section and "- Branch:" in section
    assert len(team.github.escalations("octo/demo", first.number)) == 1
    assert [one["conclusion"] for one in team.checks(second)] == ["failure"]


def test_once_the_escalation_is_closed_a_new_label_starts_a_successor(team: Squad) -> None:
    """Seed 002, ESCALATED; DESIGN section 2; `facts/peers.md` section 4, 16 and 19."""
    task = team.give(
        "caller",
        "Once more",
        writes("first.txt", "first\n"),
        *(runs("true") for _ in range(3)),
        summary=completes("Not finished."),
    )
    first = team.until_escalated(task)
    [issue] = team.github.escalations("octo/demo", task.number)

    def labels_again() -> None:
        team.github.does("maria", "DELETE", f"{task.path}/labels/squadron:caller")
        team.label(task, "squadron:caller")

    labels_again()
    team.until_logged("not started: its escalation issue is still open", issue=task.number)
    assert team.agents(task) == [first]
    team.close(Task("octo/demo", issue["number"], ""))
    labels_again()
    until(lambda: len(team.agents(task)) == 2, "a successor", failing=team.check_alive)
    second = team.until(task, State.ESCALATED)
    assert (second.predecessor, second.branch) == (str(first.id), first.branch)
    assert first.sha in {one["sha"] for one in team.github.commits("octo/demo", task.branch)}
    assert team.agents(task)[0] == first, "the old row is left alone"
