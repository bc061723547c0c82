"""Limits stop an agent, whichever layer sees it first, and a human is handed everything."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import (
    SegmentEnded,
    SegmentStarted,
    Slept,
    ToolAsked,
    ToolDenied,
    Tripped,
    Waits,
    Warned,
)
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer
from app.scripted.script import Answer, Call
from tests.support.deliveries import deliver
from tests.support.github import git
from tests.support.people import TRIES, Task, repository
from tests.support.squad import Squad, squad
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
from tests.support.waiting import MOST_SECONDS, until

ROLES = {
    "fixer": {"max_iterations": 2},
    "thinker": {"max_active_duration": 12, "summary_wait": 60},
    "sleeper": {"max_sleep_duration": 1},
    "caller": {"max_tool_calls": 3, "warning_threshold": 0.5},
    "talker": {"max_turns": 1},
    "slow": {"max_tool_calls": 1, "summary_wait": 60},
    "runaway": {"max_tool_calls": 1, "running_tool_wait": 3, "summary_wait": 3},
    "five": {"max_tool_calls": 5},
    "twelve": {"max_tool_calls": 12},
    "reader": {"max_tokens": 100_000, "max_tool_calls": 5},
    "twice": {"max_turns": 2},
    "cycler": {"max_iterations": 1, "max_active_duration": 600},
    "reviewed": {"max_review_wait": 10},
}
FORMS = (f"bash -c 'true && sh {TRIES}'", f"cd . ; {TRIES} | tail -1", f"echo pytest; {TRIES}")
"""The same test run, as an agent may write it."""
CONFIG = {"escalation": {"labels": ["on-call"], "assignees": ["ada"], "mention": ["@octo/leads"]}}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("limits")
    demo = repository(ROLES, CONFIG)
    with squad(directory, {"octo/demo": demo}, database_url=database_url) as team:
        yield team


def handed_over_to_a_human(team: Squad, task: Task) -> tuple[Agent, str]:
    """The stopped agent and the needs-human issue's text, after checking that there is exactly
    one comment besides its calls, a check that fails in the end, and one issue (docs/design.md,
    promise 4)."""
    agent = team.until_escalated(task)
    assert agent.trip is not None
    [check, *_] = team.checks(task)
    assert (check["conclusion"], check["head_sha"]) == ("failure", agent.sha)
    assert agent.trip.reason in check["output"]["title"]
    [comment] = team.comments(task)
    assert f"[squadron:{task.role}] ⚠️ Circuit breaker: {agent.trip.reason}" in comment["body"]
    [issue] = team.github.escalations(task.repository, task.number)
    assert issue["title"] == (
        f"[needs-human] {agent.assignment.task.title} (#{task.number}, {task.role}): stopped by"
        f" {agent.trip.limit}"
    )
    return agent, issue["body"]


@pytest.mark.full
def test_peers_01_five_calls_run_and_after_the_sixth_only_closing_tools_work(team: Squad) -> None:
    """Peers, scenario 1."""
    last_words = Answer(
        "",
        (
            Call("bash", {"command": "touch ran-7"}),
            Call("report_complete", {"summary": "Five of seven."}),
        ),
    )
    task = team.give(
        "five", "Seven", *(runs(f"touch ran-{n}") for n in range(1, 7)), summary=last_words
    )
    agent, body = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.observed, agent.trip.maximum) == ("max_tool_calls", 5, 5)
    log = team.registry.log(agent.id)
    asked = [event.what for event in log if isinstance(event, ToolAsked)]
    denied = [event.what for event in log if isinstance(event, ToolDenied)]
    assert asked == [f"touch ran-{n}" for n in range(1, 6)]
    assert denied == ["touch ran-6", "touch ran-7"], "the first is the trip, the other after it"
    files = team.github.sees(f"/repos/octo/demo/contents/?ref={agent.sha}")
    ran = {one["path"] for one in files if one["path"].startswith("ran-")}
    assert ran == {f"ran-{n}" for n in range(1, 6)}
    told = [message.text for message in team.prompts(task)[-1].conversation.messages]
    assert any("max_tool_calls" in text and "5 of 5" in text for text in told), told[-3:]
    assert agent.summary.startswith("Five of seven."), "the closing tool still works"
    for words in (
        f"maria started the agent `five` on #{task.number} (label squadron:five).",
        "max_tool_calls reached: 5 of 5 tool calls.",
        "| `max_tool_calls` | 5 | 5 | tool calls |",
        f"Branch: `{task.branch}` at `{agent.sha}`",
    ):
        assert words in body


@pytest.mark.both_databases
def test_peers_02_two_cycles_happen_and_the_third_is_stopped(team: Squad) -> None:
    """Seed 002, "Escalation Flow on Trip"; peers, scenario 2."""
    task = team.give(
        "fixer",
        "Find the answer",
        runs(f"sh {TRIES}"),
        runs("echo pytest; grep -c pytest README.md; ls try.sh"),
        *(
            step
            for answer, form in enumerate(FORMS, 1)
            for step in (writes("answer", f"{answer}\n"), runs(form))
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
    assert [event.what for event in denied] == [FORMS[-1]]
    assert team.registry.counters(agent.id).test_runs == 3

    for field in (
        "1. Write `/squadron retry fixer` in a comment here",
        f"maria started the agent `fixer` on #{task.number}",
        "| `max_iterations` | 2 | 2 | fix cycles |",
        "> None of 1, 2 and 3 is the answer.",
        "Its last test run, `",
        f"`squadron session export {agent.id}`",
        "@octo/leads",
    ):
        assert field in body
    [issue] = team.github.escalations("octo/demo", task.number)
    assert {label["name"] for label in issue["labels"]} == {"needs-human", "on-call"}
    assert [user["login"] for user in issue["assignees"]] == ["ada"]
    assert issue["user"]["login"] == "squadron-box[bot]"
    assert "None of 1, 2 and 3 is the answer." in team.comments(task)[0]["body"]


def test_peers_09_after_a_trip_the_git_lines_of_the_issue_pick_the_work_up(team: Squad) -> None:
    """Peers, scenario 9. The lines are run as they stand, in a clone of who was called."""
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
        timeout=MOST_SECONDS,
        check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(clone)},
    )
    assert done.returncode == 0, done.stderr
    assert "kept.txt" in done.stdout
    assert git("rev-parse", "HEAD", cwd=clone).strip() == agent.sha
    assert (clone / "kept.txt").read_text() == "kept\n"


def test_peers_05_who_thinks_and_calls_nothing_is_stopped_by_the_timer(team: Squad) -> None:
    """Seed 002, layer 2; peers, scenario 5."""
    task = team.give("thinker", "Think", thinks(60), summary=says("I thought."))
    agent, body = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.layer) == ("max_active_duration", Layer.TIMER)
    assert agent.trip.observed is not None and agent.trip.observed >= 12
    log = team.registry.log(agent.id)
    assert not [event for event in log if isinstance(event, ToolAsked)]
    assert len([event for event in log if isinstance(event, Tripped)]) == 1
    assert team.processes(agent.id) == {}
    assert "> I thought." in body


def test_an_agent_that_waits_for_ever_is_stopped_by_reconciliation(team: Squad) -> None:
    """Seed 002, layer 3."""
    never = team.issue("Never")
    task = team.give("sleeper", "Wait", is_blocked("Upstream first.", never.number))
    agent, body = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.layer) == ("max_sleep_duration", Layer.RECONCILIATION)
    assert agent.trip.observed is not None and agent.trip.observed >= 1
    assert "> Upstream first." in body


@pytest.mark.full
def test_peers_08_who_waits_too_long_without_a_blocker_escalates_as_visibly(team: Squad) -> None:
    """Peers, scenario 8: it has asked people. (Waiting for a review has its own bound.)"""
    task = team.give("sleeper", "Ask", is_blocked("Which colour?"))
    agent, body = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.layer) == ("max_sleep_duration", Layer.RECONCILIATION)
    [slept] = [event for event in team.registry.log(agent.id) if isinstance(event, Slept)]
    assert (slept.waits_for, slept.blocked_by) == (Waits.ANSWER, ())
    assert "> Which colour?" in body


@pytest.mark.full
def test_peers_08_a_review_that_is_waited_for_too_long_ends_without_noise(team: Squad) -> None:
    """docs/design.md, States, `max_review_wait`; peers, scenario 8."""
    task = team.give("reviewed", "Review me", writes("r.txt", "r\n"), completes("Look."))
    agent = team.until(task, State.COMPLETED)
    assert agent.trip is None
    number = until(lambda: team.agent(task).pull_request, "its pull request is noted")
    assert team.github.sees(f"/repos/octo/demo/pulls/{number}")["state"] == "open"
    team.until_check(task, "neutral")
    team.until_comment(
        task, f"[squadron:reviewed] The agent is done; its pull request is #{number}."
    )
    assert len(team.comments(task)) == 1
    assert team.github.escalations("octo/demo", task.number) == []


@pytest.mark.both_databases
def test_peers_06_of_many_calls_at_once_exactly_what_was_left_runs(team: Squad) -> None:
    """docs/design.md, promise 3; peers, scenario 6."""
    once = [runs("touch before-1"), runs("touch before-2")]
    task = team.give(
        "twelve", "All at once", *once, runs_at_once(*(f"touch ran-{n}" for n in range(40)))
    )
    agent, _ = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    trip = agent.trip
    assert (trip.limit, trip.observed, trip.maximum) == ("max_tool_calls", 12, 12)
    log = team.registry.log(agent.id)
    assert len([event for event in log if isinstance(event, ToolAsked)]) == 12
    assert len([event for event in log if isinstance(event, ToolDenied)]) == 30
    files = team.github.sees(f"/repos/octo/demo/contents/?ref={agent.sha}")
    assert len([one for one in files if one["path"].startswith("ran-")]) == 10


def test_peers_03_a_jump_over_the_threshold_warns_once_and_hides_no_other_limit(
    team: Squad,
) -> None:
    """Peers, scenario 3: from 70 % of the tokens to 90 % (warnings), in the call
    that also comes to four of five tool calls."""
    none, first, second = 0, 69_000, 19_000
    task = team.give(
        "reader",
        "Careful",
        *(
            Answer("", (Call("bash", {"command": f"echo {n}"}),), cache_read_tokens=tokens)
            for n, tokens in enumerate((none, none, first, second, none, none))
        ),
        summary=completes("I was warned."),
    )
    agent, _ = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.observed) == ("max_tool_calls", 5)
    log = team.registry.log(agent.id)
    warned = [event for event in log if isinstance(event, Warned)]
    assert sorted(event.limit for event in warned) == ["max_tokens", "max_tool_calls"]
    asked = [event for event in log if isinstance(event, ToolAsked | Warned)]
    calls_before: dict[str, int] = {
        event.limit: sum(isinstance(each, ToolAsked) for each in asked[:number])
        for number, event in enumerate(asked)
        if isinstance(event, Warned)
    }
    assert calls_before["max_tokens"] in (3, 4) and calls_before["max_tool_calls"] in (3, 4)
    [tokens] = [event for event in warned if event.limit == "max_tokens"]
    assert tokens.observed >= 88_000
    last = team.prompts(task)[-1].conversation.messages
    for limit in ("max_tokens", "max_tool_calls"):
        words = f"Approaching a limit: {limit} at"
        assert sum(message.text.count(words) for message in last) == 1, limit


def test_peers_04_max_turns_trips_before_the_model_is_called_again(team: Squad) -> None:
    """Peers, scenario 4: two turns happened, and an answer makes a third prompt due."""
    task = team.give(
        "twice",
        "Talk",
        says("Hello."),
        says("Which?"),
        says("Never asked."),
        summary=is_blocked("I talked."),
    )
    team.until(task, State.SLEEPING, Waits.ANSWER)
    team.comment(task, "The blue one.")
    agent, body = handed_over_to_a_human(team, task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.observed, agent.trip.maximum) == ("max_turns", 2, 2)
    assert "> I talked." in body
    assert team.registry.counters(agent.id).turns == 2
    *turns, summary = team.prompts(task)
    assert len(turns) == 2, "one request for each turn, and one for the summary"
    heard = [message.text for message in summary.conversation.messages]
    assert not any("The blue one." in text or "Never asked." in text for text in heard)


@pytest.mark.full
def test_peers_07_active_time_adds_up_over_segments_and_a_wake_is_no_iteration(
    team: Squad,
) -> None:
    """Peers, scenario 7: one fix cycle is allowed, and three wakes come between its two runs."""
    task = team.give(
        "cycler",
        "Again and again",
        runs(f"sleep 0.3; sh {TRIES}"),
        is_blocked("One?"),
        writes("answer", "43\n"),
        is_blocked("Two?"),
        runs("sleep 0.3"),
        is_blocked("Three?"),
        runs(f"sleep 0.3; sh {TRIES}"),
        is_blocked("Four?"),
    )
    shown = list[float]()
    for answer in ("One.", "Two.", "Three.", ""):
        segment = len(shown)
        asleep = until_asleep_again(team, task, segment)
        shown.append(observed(team, asleep, "max_active_duration"))
        if answer:
            team.comment(task, answer)
    counters = team.registry.counters(team.agent(task).id)
    assert (counters.fix_cycles, counters.test_runs) == (1, 2)
    log = team.registry.log(team.agent(task).id)
    begins = [event.at for event in log if isinstance(event, SegmentStarted)]
    ends = [event.at for event in log if isinstance(event, SegmentEnded)]
    spans = [end - begin for begin, end in zip(begins, ends, strict=True)]
    assert len(spans) == 4 and sum(spans, timedelta()) == counters.active
    assert shown == sorted(shown) and shown[-1] >= 0.9, "each segment adds to what is shown"
    assert counters.active < ends[-1] - begins[0], "the time asleep does not count"


def until_asleep_again(team: Squad, task: Task, segment: int) -> Agent:
    """The agent, once it asks its question at the end of that segment."""

    def look() -> Agent | None:
        agent = team.until(task, State.SLEEPING, Waits.ANSWER)
        return agent if agent.segment == segment else None

    return until(look, f"segment {segment} has ended", failing=team.check_alive)


def observed(team: Squad, agent: Agent, limit: str) -> float:
    """What AGENT shows of a limit."""
    shown = team.asks_api("GET", "/api/agents").json()["agents"]
    [one] = [each for each in shown if each["id"] == str(agent.id)]
    figure: float = one["limits"][limit]["observed"]
    return figure


def test_after_a_trip_a_running_tool_may_end_and_report_complete_is_the_summary(
    team: Squad,
) -> None:
    """Seed 004: "complete current tool, then stop"."""
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
    assert "> What I have is enough." in body
    assert not (team.workspace(agent.id) / "never-ran").exists()


def test_peers_05_after_its_waits_everything_that_was_started_is_ended(team: Squad) -> None:
    """Issue, "Breaker": then it is stopped, children included; peers, scenario 5."""
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
    assert "> This is what I did." in body, "the summary has a wait of its own"


def test_a_second_trip_is_added_to_the_same_needs_human_issue(team: Squad) -> None:
    """docs/design.md, promise 4."""
    first = team.give("talker", "Both fail", runs_at_once(*["true"] * 4), says("One."))
    team.until_escalated(first)
    second = first.by("caller")
    [issue] = team.github.escalations("octo/demo", first.number)
    team.label(second, "squadron:caller")
    stopped = team.until(second, State.ESCALATED)

    def added() -> list[str]:
        found = team.github.comments("octo/demo", issue["number"])
        return [one["body"] for one in found if "the agent `caller`" in one["body"]]

    [section] = until(added, "the second trip is added")
    assert stopped.branch in section and "**What to do**" in section
    assert len(team.github.escalations("octo/demo", first.number)) == 1
    assert [one["conclusion"] for one in team.checks(second)] == ["failure"]


@pytest.mark.full
def test_peers_19_a_stopped_agent_gets_no_new_budget_from_any_words_or_label(team: Squad) -> None:
    """docs/design.md, States; peers, scenario 19. What follows once a permitted
    human has closed the escalation issue is scenario 16."""
    task = team.give(
        "caller",
        "Once more",
        writes("first.txt", "first\n"),
        *(runs("true") for _ in range(3)),
        summary=completes("Not finished."),
    )
    first = team.until_escalated(task)
    used = team.registry.log(first.id)
    [issue] = team.github.escalations("octo/demo", task.number)
    team.settle()
    labelled = [
        one["payload"]
        for one in team.github.exchanges()
        if one.get("webhook") == "issues"
        and one["action"] == "labeled"
        and one["payload"]["issue"]["number"] == task.number
    ]
    answer = deliver(team, "issues", labelled[-1], f"again-{task.number}")
    assert answer.json()["accepted"], "as new to the inbox as a redelivery of a lost one"
    for words in ("@squadron-box please go on", "@squadron-box[bot] caller: try again"):
        team.comment(task, words)
    team.github.does("maria", "DELETE", f"{task.path}/labels/squadron:caller")
    team.label(task, "squadron:caller")
    why = "not started: the needs-human issue of the agent before is still open"
    team.until_logged(why, issue=task.number)
    team.settle()
    assert team.agents(task) == [first], "the old row is as it was"
    assert team.registry.log(first.id) == used
    [_, answered] = team.comments(task)
    assert "still open" in answered["body"], "whoever may start one is told why none starts"

    team.close(Task("octo/demo", issue["number"], ""))
    team.settle()
    assert team.agents(task) == [first], "closing it alone starts nothing"


def test_peers_16_after_a_final_state_a_new_agent_names_its_predecessor(team: Squad) -> None:
    """docs/design.md, States; peers, scenario 16."""
    task = team.give(
        "caller",
        "Go on",
        writes("first.txt", "first\n"),
        *(runs("true") for _ in range(3)),
        summary=completes("Not finished."),
    )
    first = team.until_escalated(task)
    [issue] = team.github.escalations("octo/demo", task.number)
    team.close(Task("octo/demo", issue["number"], ""))
    team.github.does("maria", "DELETE", f"{task.path}/labels/squadron:caller")
    team.label(task, "squadron:caller")
    until(lambda: len(team.agents(task)) == 2, "a successor", failing=team.check_alive)
    second = team.until(task, State.ESCALATED)
    assert (second.predecessor, second.branch) == (str(first.id), first.branch)
    assert first.sha in {one["sha"] for one in team.github.commits("octo/demo", task.branch)}
    left = replace(team.agents(task)[0], dismissed_at=None)
    assert left == first, "nothing but that nobody is waited for about it"
