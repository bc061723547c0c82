"""At a limit: the agent is stopped, paused, warned, or asks; and people let it go on.

Issue, "What happens at a limit"; seed 000, "Timeout Action Behavior".
"""

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import (
    AgentEvent,
    Held,
    Passed,
    Raised,
    SegmentEnded,
    SegmentStarted,
    ToolAsked,
    ToolDenied,
    ToolEnded,
    Waits,
    Woken,
)
from app.core.agents.lifecycle import State
from app.core.agents.stops import Hold, Layer
from app.core.breaker.verdict import money
from app.scripted.script import Answer, Call
from tests.support import processes
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
from tests.support.waiting import until

pytestmark = pytest.mark.full

ROLES: dict[str, dict[str, Any]] = {
    "stopper": {"max_tool_calls": 2},
    "pauser": {"max_tool_calls": 2, "on_limit": "pause"},
    "asker": {"max_tool_calls": 3, "on_limit": {"max_tool_calls": "request_increase"}},
    "warner": {"max_tool_calls": 2, "on_limit": {"max_tool_calls": "warn"}},
    "watched": {"max_tool_calls": 2, "shadow": ["max_tool_calls"]},
    "early": {"max_tool_calls": 10},
    "tired": {"max_active_duration": 15, "on_limit": "pause"},
    "reader": {"max_tokens": 600, "on_limit": "pause"},
    "spender": {
        "max_cost_usd": 0.24,
        "max_output_tokens_per_call": 1,
        "on_limit": {"max_cost_usd": "request_increase"},
    },
    "tall": {"max_tool_calls": 10, "on_limit": "pause"},
    "forgotten": {"max_tool_calls": 1, "max_sleep_duration": 1, "on_limit": "pause"},
}
OPERATOR = {
    "pricing": {"scripted": {"input": 100, "output": 0}},
    "ceilings": {"max_tool_calls": 12, "max_turns": 50},
    "budgets": [{"scope": "role", "name": "spender", "window": "total", "max_cost_usd": 2}],
}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("holds")
    places = {"octo/demo": repository(ROLES)}
    with squad(directory, places, database_url=database_url, operator=OPERATOR) as team:
        yield team


# --- what people do, and what they see ---------------------------------------------------------


def paused(team: Squad, task: Task) -> tuple[Agent, Hold]:
    """The agent, once it waits for a human and GitHub shows it: in one comment and the check."""
    agent = team.until(task, State.PAUSED, Waits.RAISE)
    hold = team.registry.counters(agent.id).hold
    assert hold is not None
    team.until_comment(task, f"[squadron:{task.role}] The agent is paused: {hold.reason}")
    check = team.until_titled(task, f"The agent is paused: {hold.reason}")
    assert (check["conclusion"], check["output"]["title"]) == (
        "action_required",
        f"The agent is paused: {hold.reason}",
    )
    assert len(team.comments(task)) == 1
    assert not team.github.escalations(task.repository, task.number)
    assert team.processes(agent.id) == {}
    return agent, hold


def tells(team: Squad, task: Task, body: str, by: str = "maria") -> str:
    """Somebody comments; the path of the comment."""
    said = team.github.does(by, "POST", f"{task.path}/comments", {"body": body})
    return f"/repos/{task.repository}/issues/comments/{said['id']}"


def rockets(team: Squad, comment: str) -> int:
    """How often a comment was marked as done."""
    return int(team.github.sees(comment)["reactions"]["rocket"])


def is_approved(team: Squad, comment: str) -> None:
    """The quiet answer to a command."""
    until(lambda: rockets(team, comment), f"{comment} is marked as done", failing=team.check_alive)


def answer_to(team: Squad, task: Task, comment: str) -> str:
    """What Squadron answers to a command that it could not obey to the letter."""
    return team.until_comment(task, f"<!-- squadron:answer:{comment.rpartition('/')[2]} -->")


def of(team: Squad, agent: Agent, kind: type) -> list[Any]:
    """Events of one kind in the agent's log."""
    return [event for event in team.registry.log(agent.id) if isinstance(event, kind)]


def stretches(log: Sequence[AgentEvent]) -> list[SegmentStarted]:
    """Where the agent began to work."""
    return [event for event in log if isinstance(event, SegmentStarted)]


def ends(log: Sequence[AgentEvent]) -> list[SegmentEnded]:
    """Where it ended to."""
    return [event for event in log if isinstance(event, SegmentEnded)]


def resume(team: Squad, agent: Agent, content: Any = None) -> Any:
    """What the API answers when it is told to let an agent go on."""
    return team.asks_api("POST", f"/api/agents/{quote(str(agent.id))}/resume", content)


def ran(team: Squad, agent: Agent) -> list[str]:
    """What the agent's tools were asked to do, and did."""
    return [event.what for event in of(team, agent, ToolAsked)]


# --- one story for each `on_limit` -------------------------------------------------------------


def test_escalate_stops_for_good_and_the_log_has_all_figures(team: Squad) -> None:
    """Seed 000, `terminate`: the error with its details, and `AGENT_FAILED`."""
    task = team.give("stopper", "Stop", *(runs(f"echo {n}") for n in range(3)))
    agent = team.until_escalated(task)
    line = team.until_logged("AGENT_FAILED", agent=str(agent.id))
    counters = team.registry.counters(agent.id)
    assert (line["limit"], line["observed"], line["maximum"]) == ("max_tool_calls", 2, 2)
    assert (line["level"], line["role"], line["issue"]) == ("ERROR", "stopper", task.number)
    assert (line["tool_calls"], line["turns"]) == (2, 1)
    assert line["tokens"] > 0 and line["elapsed_seconds"] > 0
    assert 0 < line["cost_usd"] <= counters.cost_nanousd / 1e9
    assert not any(
        one["message"] == "AGENT_PAUSED" and one["agent"] == str(agent.id)
        for one in team.service.lines()
    )


@pytest.mark.both_databases
def test_pause_keeps_the_session_and_resume_grants_the_limits_own_amount(team: Squad) -> None:
    """Seed 000, `pause`: finish the current tool call, save the state, wait for a resume."""
    task = team.give(
        "pauser",
        "Pause",
        writes("half.txt", "half\n"),
        runs("echo one"),
        runs("echo denied"),
        runs("echo two"),
        completes("All of it."),
    )
    agent, hold = paused(team, task)
    assert (hold.limit, hold.observed, hold.maximum, hold.asks) == ("max_tool_calls", 2, 2, False)
    assert "half.txt" in {
        one["path"] for one in team.github.sees(f"/repos/octo/demo/contents/?ref={agent.sha}")
    }
    line = team.until_logged("AGENT_PAUSED", agent=str(agent.id))
    assert (line["how"], line["observed"], line["maximum"]) == ("pause", 2, 2)
    issue = team.github.sees(task.path)["html_url"]
    assert line["resume_url"] == issue
    [shown] = [
        one
        for one in json.loads(team.service.commands("agents", "--json").stdout)["agents"]
        if one["id"] == str(agent.id)
    ]
    assert shown["resume_url"].startswith(f"{issue}#issuecomment-")

    is_approved(team, tells(team, task, "/squadron resume"))
    done = team.until_handed_over(task)
    assert (done.id, done.branch, done.segment) == (agent.id, agent.branch, 1)
    assert ran(team, agent) == ["half.txt", "echo one", "echo two"]
    [raised] = of(team, agent, Raised)
    assert (raised.limit, raised.amount, raised.maximum) == ("max_tool_calls", 2, 4)
    assert raised.by == "maria"
    last = team.prompts(task)[-1].conversation.messages
    assert any("Pause" in one.text and "Title" in one.text for one in last), "the same session"
    [why] = [one.text for one in last if "You go on with issue" in one.text]
    assert "maria raised `max_tool_calls` by 2 tool calls, to 4 tool calls." in why
    assert "maria wrote:\n\n/squadron resume" in why
    assert "max_tool_calls: 2 of 4 tool calls used, 2 tool calls left" in why


@pytest.mark.both_databases
def test_request_increase_asks_with_the_evidence_and_a_raise_lets_it_go_on(team: Squad) -> None:
    """Seed 000, "Retry with Increased Limits"; the issue: test outcomes and diff size."""
    task = team.give(
        "asker",
        "Ask",
        runs(f"sh {TRIES}"),
        writes("answer", "40\n"),
        runs(f"echo again; sh {TRIES}"),
        writes("answer", "42\n"),
        writes("answer", "42\n"),
        runs(f"echo and again; sh {TRIES}"),
        runs("echo too much"),
    )
    agent, hold = paused(team, task)
    assert hold.asks
    comment = team.until_call(task, "**The agent asks for 3 tool calls more.**")
    assert "Since the work began:" in comment
    assert "- Changes on the branch: 1 file, +1 −1 lines." in comment
    assert "- Test runs: 2, of which 0 passed." in comment
    assert f"| 1 | `sh {TRIES}` | failed | FAILED | no |" in comment
    assert f"| 2 | `echo again; sh {TRIES}` | failed | FAILED | yes |" in comment
    assert "\n/squadron resume asker\n" in comment
    assert "`/squadron raise max_tool_calls +AMOUNT asker` grants as much as you say" in comment
    assert "The operator's ceiling allows 9 tool calls more at most." in comment
    line = team.until_logged("AGENT_PAUSED", agent=str(agent.id))
    assert line["how"] == "request_increase"

    is_approved(team, tells(team, task, "Go on.\n\n/squadron raise max_tool_calls +2"))
    until(lambda: len(of(team, agent, Held)) == 2, "it asks again", failing=team.check_alive)
    again, hold = paused(team, task)
    assert (hold.observed, hold.maximum) == (5, 5)
    comment = team.until_call(task, "Since maria granted 5 tool calls (`max_tool_calls`):")
    assert "- Changes on the branch: 1 file, +1 −1 lines (before: 1 file, +1 −1 lines)." in comment
    assert "- Test runs: 1, of which 1 passed." in comment
    assert f"`echo and again; sh {TRIES}` | passed |" in comment
    assert again.segment == 1


def test_warn_says_it_once_and_goes_on(team: Squad) -> None:
    """Seed 000, `warn`, and its test "should warn but continue"."""
    task = team.give("warner", "Warn", *(runs(f"echo {n}") for n in range(4)), completes("Done."))
    agent = team.until(task, State.COMPLETED)
    [passed] = of(team, agent, Passed)
    assert (passed.limit, passed.observed, passed.maximum) == ("max_tool_calls", 2, 2)
    assert not passed.shadow and not of(team, agent, Held)
    assert len(ran(team, agent)) == 4
    lines = [one for one in team.service.lines() if one.get("agent") == str(agent.id)]
    told = [one["how"] for one in lines if one["message"] == "AGENT_WARNING"]
    assert sorted(told) == ["close", "warn"]
    team.until_comment(
        task, "`max_tool_calls` was reached at 2 of 2 tool calls, and the agent went"
    )


def test_a_shadow_limit_is_judged_and_shown_and_never_acted_on(team: Squad) -> None:
    """EXAMPLES, `shadow`."""
    task = team.give("watched", "Watch", *(runs(f"echo {n}") for n in range(3)), completes("Done."))
    agent = team.until(task, State.COMPLETED)
    [passed] = of(team, agent, Passed)
    assert passed.shadow and len(ran(team, agent)) == 3
    team.until_logged("AGENT_WARNING", agent=str(agent.id), how="shadow")
    team.until_comment(task, "the agent went on (in `shadow`: only judged).")


# --- further limits ----------------------------------------------------------------------------


def test_tokens_pause_before_the_next_model_call_and_the_api_lets_it_go_on(team: Squad) -> None:
    """The issue, `POST /api/agents/{id}/resume`; seed 001, tokens."""
    task = team.give("reader", "Read", runs("echo 1"), runs("echo 2"), completes("Read."))
    agent, hold = paused(team, task)
    assert hold.limit == "max_tokens" and hold.observed >= 600
    answer = resume(team, agent, {"amount": 100_000, "note": "Only the README matters."})
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert shown["granted"] == [{"limit": "max_tokens", "amount": 100_000, "maximum": 100_600}]
    assert shown["limits"]["max_tokens"]["maximum"] == 100_600
    team.until(task, State.COMPLETED)
    [raised] = of(team, agent, Raised)
    assert (raised.by, raised.comment) == ("api", None)
    [woken] = of(team, agent, Woken)
    assert woken.why == (
        "api raised `max_tokens` by 100000 tokens, to 100600 tokens."
        " api wrote:\n\nOnly the README matters."
    )
    late = resume(team, agent)
    assert late.status_code == 409 and "has ended" in late.json()["detail"]


def test_money_asks_before_the_call_that_may_cost_too_much(team: Squad) -> None:
    """Seed 000, "Cost Tracking Implementation": accumulated cost and the next call's."""
    task = team.give(
        "spender", "Spend", *(runs(f"echo {n}") for n in range(6)), completes("Spent.")
    )
    agent, hold = paused(team, task)
    assert hold.limit == "max_cost_usd" and 0 < hold.observed < 0.24
    assert "of $0.24 spent, and the next model call may cost $0." in hold.reason
    comment = team.until_call(task, "**The agent asks for $0.24 more.**")
    assert "`/squadron raise max_cost_usd +AMOUNT spender` grants as much as you say" in comment
    table = team.until_comment(task, "[what it asks of you](")
    assert "| `max_cost_usd` | $0." in table and "| $0.24 | USD |" in table

    words = answer_to(team, task, tells(team, task, "/squadron raise max_cost_usd +2.40"))
    left, takes = money(2 - hold.observed), money(0.24 + 2.40 - hold.observed)
    assert f"The budget `role:spender` has {left} left, and this takes {takes}." in words
    assert team.agent(task) == agent
    is_approved(team, tells(team, task, "/squadron raise max_cost_usd +1.50"))
    team.until(task, State.COMPLETED)
    shown = team.asks_api("GET", f"/api/agents/{quote(str(agent.id))}").json()
    assert shown["limits"]["max_cost_usd"]["maximum"] == 1.74
    assert shown["cost_usd"] == pytest.approx(shown["limits"]["max_cost_usd"]["observed"])


def test_the_running_tool_ends_before_the_agent_is_paused(team: Squad) -> None:
    """Seed 004, mid-tool: complete the running tool, then stop. Seed 000, `pause`, 1."""
    go_on = team.signal("second")
    longer = f"sleep 11; until [ -e {go_on} ]; do sleep 0.05; done; echo second > second.txt"
    calls = (*runs("echo first").calls, *runs(longer).calls)
    third = Call("bash", {"command": "touch never-ran"})
    task = team.give("pauser", "Two at once", Answer("", (*calls, third)), completes("Both."))
    agent = team.agent(task)
    until(lambda: team.registry.counters(agent.id).hold, "the hold", failing=team.check_alive)
    until(lambda: team.processes(agent.id), "the tool that was allowed runs on")
    assert team.agent(task).state is State.ACTIVE
    team.go("second")
    paused(team, task)
    assert [event.ok for event in of(team, agent, ToolEnded)] == [True, True]
    assert (team.workspace(agent.id) / "second.txt").exists(), "longer than a drain would wait"
    assert not (team.workspace(agent.id) / "never-ran").exists()
    is_approved(team, tells(team, task, "/squadron resume"))
    team.until_handed_over(task)


def test_the_timer_pauses_mid_tool_and_no_time_counts_until_the_raise(team: Squad) -> None:
    """Seed 000, "Duration Tracking Implementation": a pause does not count."""
    tool = waits_for(team.signal("tired"))
    task = team.give("tired", "Work long", tool, completes("At last."))
    agent = team.agent(task)
    until(lambda: ran(team, agent), "the tool", failing=team.check_alive)
    until(lambda: team.registry.counters(agent.id).hold, "the hold", failing=team.check_alive)
    team.go("tired")
    agent, hold = paused(team, task)
    assert (hold.limit, hold.layer) == ("max_active_duration", Layer.TIMER)
    assert [event.ok for event in of(team, agent, ToolEnded)] == [True]
    active = team.registry.counters(agent.id).active
    team.reconciles()
    assert team.registry.counters(agent.id).active == active
    is_approved(team, tells(team, task, "/squadron raise max_active_duration +120"))
    team.until(task, State.COMPLETED)
    log = team.registry.log(agent.id)
    worked = sum(
        (end.at - start.at for start, end in zip(stretches(log), ends(log), strict=True)),
        timedelta(),
    )
    assert team.registry.counters(agent.id).active <= worked


def test_the_timer_pauses_an_agent_that_only_thinks(team: Squad) -> None:
    """Seed 002, layer 2, with `on_limit: pause`."""
    task = team.give("tired", "Think long", thinks(60), completes("Thought."))
    agent, hold = paused(team, task)
    assert hold.layer is Layer.TIMER
    team.close(task)
    team.until(task, State.CANCELLED)
    assert not of(team, agent, Raised)


def test_the_agent_itself_asks_early_by_its_tool(team: Squad) -> None:
    """The issue: `request_increase(limit, amount, evidence)`."""
    asked = {
        "limit": "max_tool_calls",
        "amount": 30,
        "evidence": "Half of 40 files are migrated.\n\nping @octo/leads <!-- see",
    }
    task = team.give(
        "early",
        "Migrate",
        runs("echo 20 of 40"),
        Answer("", (Call("request_increase", asked),)),
        completes("Enough."),
    )
    agent, hold = paused(team, task)
    assert (hold.amount, hold.asks, hold.observed, hold.maximum) == (30, True, 1, 10)
    comment = team.until_call(task, "**The agent asks for 30 tool calls more.**")
    assert "> Half of 40 files are migrated." in comment
    assert "@octo" not in comment and "<!-- see" not in comment, "others' words are defused"
    assert "\n/squadron raise max_tool_calls +2 early\n" in comment, "as far as the ceiling allows"
    assert len(ran(team, agent)) == 1, "asking is no tool call"
    team.until_logged("AGENT_PAUSED", agent=str(agent.id), how="request_increase")
    is_approved(team, tells(team, task, "/squadron raise max_tool_calls +1"))
    team.until(task, State.COMPLETED)
    assert [one.maximum for one in of(team, agent, Raised)] == [11]


# --- who may, how much, and what is answered ---------------------------------------------------


def test_only_trusted_people_let_it_go_on_and_words_alone_do_not(team: Squad) -> None:
    """docs/design.md, promise 6; an ordinary comment is no command."""
    task = team.give("pauser", "Wait", *(runs(f"echo {n}") for n in range(3)), completes("Done."))
    agent, _ = paused(team, task)
    for by in ("rita", "noel", "tom"):
        tells(team, task, "/squadron resume", by=by)
    tells(team, task, "Please go on.\n\n> /squadron resume\n\n```\n/squadron resume\n```")
    tells(team, task, "<!--\n/squadron resume\n-->\nThanks!")
    team.settle()
    team.reconciles()
    assert team.agent(task) == agent
    assert len(team.comments(task)) == 1, "and nobody is answered"
    is_approved(team, tells(team, task, "/squadron resume", by="ada"))
    team.until(task, State.COMPLETED)
    assert [one.by for one in of(team, agent, Raised)] == ["ada"]


def test_nothing_is_raised_above_the_ceiling(team: Squad) -> None:
    """The issue: "never above a ceiling"."""
    first = runs_at_once(*(f"echo {n}" for n in range(11)))
    second = runs_at_once(*(f"echo {n}" for n in range(11, 14)))
    task = team.give("tall", "Grow", first, second)
    agent, hold = paused(team, task)
    assert hold.maximum == 10
    comment = tells(team, task, "/squadron raise max_turns +5\n/squadron resume")
    words = answer_to(team, task, comment)
    assert "`max_turns` cannot be raised far enough: the ceiling of 50 turns" in words
    assert team.agent(task) == agent, "all of it, or nothing"
    refused = resume(team, agent, {"limit": "max_spawns", "amount": 1})
    assert refused.status_code == 409 and "held by `max_tool_calls`" in refused.json()["detail"]

    words = answer_to(team, task, tells(team, task, "/squadron raise max_tool_calls +100"))
    assert "Squadron raised `max_tool_calls` by 2 tool calls only, to 12 tool calls" in words
    stopped = team.until_escalated(task)
    assert stopped.trip is not None
    assert (stopped.trip.limit, stopped.trip.observed, stopped.trip.maximum) == (
        "max_tool_calls",
        12,
        12,
    )
    assert len(ran(team, agent)) == 12
    words = answer_to(team, task, tells(team, task, "/squadron resume"))
    assert "was stopped for good." in words and "`/squadron retry tall`" in words


def test_a_command_that_makes_no_sense_is_answered_once(team: Squad) -> None:
    """However often it is heard of: by a doubled webhook, and by every pass."""
    task = team.give("pauser", "Mistype", *(runs(f"echo {n}") for n in range(3)), says("?"))
    agent, _ = paused(team, task)
    with team.github.trouble(kind="doubled", event="issue_comment"):
        comment = tells(
            team, task, "/squadron raise max_tool_cals +1\n/squadron halt\n/squadron resume"
        )
    words = answer_to(team, task, comment)
    assert "expected the limit `max_tool_calls`, not `max_tool_cals`" in words
    assert "expected one of `/squadron raise LIMIT +AMOUNT [ROLE]`" in words
    team.settle()
    team.reconciles(2)
    assert len(team.comments(task)) == 2
    assert team.agent(task) == agent, "nothing of such a comment is done"
    answered = answer_to(team, task, tells(team, task, "/squadron resume fixer"))
    assert "No agent `fixer` works on this issue; there is `pauser`." in answered
    team.close(task)


def test_of_two_that_are_paused_the_command_says_which(team: Squad) -> None:
    """Both roles go through the same steps, and stop at their limits."""
    asking = team.issue("Two", *(runs(f"echo {n}") for n in range(4)), completes("Done."))
    for role in ("pauser", "asker"):
        team.label(asking, f"squadron:{role}")
    one, two = asking.by("pauser"), asking.by("asker")
    for each in (one, two):
        team.until(each, State.PAUSED)
    words = answer_to(team, one, tells(team, asking, "/squadron resume"))
    assert "`/squadron resume asker` or `/squadron resume pauser`" in words
    is_approved(team, tells(team, asking, "/squadron resume asker"))
    team.until(two, State.COMPLETED)
    assert team.agent(one).state is State.PAUSED
    is_approved(team, tells(team, asking, "/squadron resume pauser"))
    until(lambda: len(of(team, team.agent(one), Raised)) == 1, "only the other goes on")
    team.close(asking)


def test_a_command_whose_webhook_was_lost_is_found_by_reconciliation(team: Squad) -> None:
    """docs/design.md, promise 10."""
    task = team.give("pauser", "Lost", *(runs(f"echo {n}") for n in range(3)), completes("Done."))
    agent, _ = paused(team, task)
    content = {"body": "/squadron raise max_tool_calls +3"}
    team.github.silently("maria", "POST", f"{task.path}/comments", content)
    team.until(task, State.COMPLETED)
    [raised] = of(team, agent, Raised)
    assert (raised.by, raised.maximum) == ("maria", 5)
    is_approved(team, f"/repos/octo/demo/issues/comments/{raised.comment}")


def test_a_command_is_obeyed_once_though_github_fails_before_it_is_answered(team: Squad) -> None:
    """The delivery is handled again; what was done is found in the log."""
    task = team.give("pauser", "Twice", *(runs(f"echo {n}") for n in range(3)), completes("Done."))
    agent, _ = paused(team, task)
    with team.github.trouble(kind="error", method="POST", path="reactions", count=1):
        comment = tells(team, task, "/squadron raise max_tool_calls +7")
        until(team.github.fired, "GitHub refuses the reaction", failing=team.check_alive)
    is_approved(team, comment)
    team.until(task, State.COMPLETED)
    assert [one.maximum for one in of(team, agent, Raised)] == [9]
    assert len(team.comments(task)) == 1, "nobody is told that it works already"


def test_a_sleeping_agent_is_not_woken_by_a_command_but_told_of(team: Squad) -> None:
    task = team.give("early", "Question", is_blocked("Which colour?"), completes("Blue."))
    asleep = team.until(task, State.SLEEPING, Waits.ANSWER)
    words = answer_to(team, task, tells(team, task, "/squadron resume"))
    assert "`early` waits for an answer: write it as an ordinary comment." in words
    team.reconciles()
    assert team.agent(task).segment == asleep.segment
    tells(team, task, "Blue.")
    team.until(task, State.COMPLETED)


def test_a_pause_that_nobody_answers_ends_with_a_human_being_called(team: Squad) -> None:
    """docs/design.md, States: `max_sleep_duration` bounds each pause."""
    task = team.give("forgotten", "Forget", runs("echo 1"), runs("echo 2"))
    stopped = team.until_escalated(task)
    assert stopped.trip is not None
    assert (stopped.trip.limit, stopped.trip.layer) == ("max_sleep_duration", Layer.RECONCILIATION)
    assert [one.hold.limit for one in of(team, stopped, Held)] == ["max_tool_calls"]
    team.until_logged("AGENT_FAILED", agent=str(stopped.id), limit="max_sleep_duration")


# --- kill -9 -----------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_a_paused_agent_survives_kill_9_and_goes_on_from_the_same_figures(team: Squad) -> None:
    """docs/design.md, promise 2."""
    task = team.give(
        "pauser", "Sleep on", *(runs(f"echo {n}") for n in range(4)), completes("Done.")
    )
    agent, hold = paused(team, task)
    before = team.registry.counters(agent.id)
    team.service.kill()
    team.service.start()
    team.reconciles()
    assert team.agent(task) == agent
    assert team.registry.counters(agent.id) == before
    is_approved(team, tells(team, task, "/squadron resume"))
    team.until(task, State.COMPLETED)
    assert ran(team, agent) == ["echo 0", "echo 1", "echo 3"]
    assert [one.hold for one in of(team, agent, Held)] == [hold]


@pytest.mark.both_databases
def test_kill_9_in_the_middle_of_pausing_pauses_once(team: Squad) -> None:
    """The hold is in the log, the work not yet kept: the next start ends what was begun."""
    task = team.give(
        "pauser",
        "Die",
        writes("kept.txt", "kept\n"),
        waits_for(team.signal("die")),
        runs("echo denied"),
        completes("Done."),
    )
    agent = team.agent(task)
    until(lambda: len(ran(team, agent)) == 2, "the second call", failing=team.check_alive)
    with team.github.trouble(kind="slow", path="git-receive-pack", seconds=20):
        team.go("die")
        until(team.github.fired, "the push hangs", failing=team.check_alive)
        assert team.registry.agent(agent.id).state is State.ACTIVE
        before = team.registry.counters(agent.id)
        assert before.hold is not None
        team.service.kill()
    pushes = processes.carrying(str(team.directory / "data"))
    team.service.start()
    again, hold = paused(team, task)
    after = team.registry.counters(agent.id)
    assert hold == before.hold and after.tool_calls == before.tool_calls == 2
    assert after.turns == before.turns and after.active >= before.active
    assert len(of(team, again, Held)) == len(of(team, again, ToolDenied)) == 1
    files = team.github.sees(f"/repos/octo/demo/contents/?ref={again.sha}")
    assert "kept.txt" in {one["path"] for one in files}
    is_approved(team, tells(team, task, "/squadron resume"))
    team.until_handed_over(task)
    until(  # git outlives who started it, for as long as GitHub does not answer
        lambda: not pushes.keys() & processes.carrying(str(team.directory / "data")).keys(),
        "the push that was cut off has ended",
        failing=team.check_alive,
    )
