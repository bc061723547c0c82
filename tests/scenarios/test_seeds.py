"""What the seeds promise of limits, told by the running service: each test cites its words.

Seed 000: `max_turns` counts tool calls, our `max_tool_calls`; where it says `failed`, an agent is
ESCALATED and its reason names the limit; where it says `in_progress`, it goes on to its end.
Seed 004's User Story 3 and its edge case of many connections are told in `test_seed_004_rates`.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import ModelCalled, Passed, ToolAsked, ToolEnded, TurnAsked, Waits
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer
from app.scripted.script import Answer, Call
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes, is_blocked, runs, says, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.full

ROLES: dict[str, dict[str, Any]] = {
    # 000
    "five": {"max_tool_calls": 5},
    "lenient": {"max_tool_calls": 5, "on_limit": "warn"},
    "brief": {"max_active_duration": 3},
    "dime": {"max_cost_usd": 0.1},
    "dear": {"max_cost_usd": 0.1, "model": "openai:dear", "max_output_tokens_per_call": 1_000},
    "developer": {"preset": "developer"},
    # 001
    "reader": {"max_tokens": 30_000},
    "terse": {"max_output_tokens_per_call": 321},
    "strange": {"max_cost_usd": 0.01, "model": "openai:nobody-knows-it"},
    "stubborn": {},
    # 004
    "per-turn": {"max_tool_calls_per_turn": 20},
    "silent": {"max_consecutive_tools": 10},
    "interactive": {"preset": "interactive"},
    "pair": {"max_tool_calls_per_turn": 1},
}
STRICT: dict[str, dict[str, Any]] = {
    "plain": {},
    "lower": {"max_tool_calls": 2},
    "unbound": {"max_tool_calls": None, "max_repeated_calls": None},
}
"""Of a repository whose own defaults allow four tool calls."""
OPERATOR = {
    "models": ["openai:*"],
    "pricing": {
        # $0.01 for an answer that read 10,000 tokens from the cache, whatever else was said
        "scripted": {"input": 0, "output": 0, "cache_read": 1.0},
        # $0.03 at most for each answer, beside what was asked
        "dear": {"input": 0, "output": 30.0},
    },
}
TEN_THOUSAND = 10_000


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("seeds")
    long_file = {"long.txt": "".join(f"line {n}\n" for n in range(60))}
    strict = {"circuit_breakers": {"defaults": {"max_tool_calls": 4}}}
    places = {
        "octo/demo": repository(ROLES, files=long_file),
        "octo/strict": repository(STRICT, strict),
    }
    with squad(directory, places, database_url=database_url, operator=OPERATOR) as team:
        yield team


# --- words of the stories ----------------------------------------------------------------------


def reads(lines: int) -> Answer:
    """The seed's `Read` tool; each number of lines is another call."""
    return Answer("", (Call("view", {"path": "long.txt", "last_line": lines}),))


def tools(count: int) -> tuple[Answer, ...]:
    """So many tool calls without a word, none like the other."""
    return tuple(reads(number) for number in range(1, count + 1))


def at_once(*steps: Answer, say: str = "") -> Answer:
    """The tool calls of all of them in one answer."""
    return Answer(say, tuple(call for step in steps for call in step.calls))


def expensive(step: Answer) -> Answer:
    """The same, and it reads 10,000 tokens from the cache: $0.01."""
    return Answer(step.text, step.calls, cache_read_tokens=TEN_THOUSAND)


def ran(team: Squad, agent: Agent) -> int:
    """Tool calls that happened."""
    return of(team, agent, ToolAsked)


def of(team: Squad, agent: Agent, kind: type) -> int:
    """How many events of a kind the agent's log has."""
    return sum(isinstance(event, kind) for event in team.registry.log(agent.id))


def stopped(team: Squad, task: Task, limit: str, at: float, maximum: float) -> Agent:
    """The agent, stopped for good by that limit, of which a human was told."""
    agent = team.until_escalated(task)
    trip = agent.trip
    assert trip is not None
    assert (trip.limit, trip.observed, trip.maximum, trip.layer) == (limit, at, maximum, Layer.HOOK)
    assert limit in trip.reason
    return agent


def told(team: Squad, task: Task, limit: str) -> str:
    """Our one comment on the issue, which names the limit."""
    words = team.until_comment(task, f"{limit} reached")
    assert len(team.comments(task)) == 1
    return words


def logged(team: Squad, agent: Agent, event: str, limit: str) -> dict[str, Any]:
    """The line of the service's log about that limit."""
    return team.until_logged(event, agent=str(agent.id), limit=limit)


def shown(team: Squad, agent: Agent) -> dict[str, Any]:
    """AGENT."""
    answer = team.asks_api("GET", f"/api/agents/{quote(str(agent.id))}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


# --- seed 000, "Testing Strategy", unit tests --------------------------------------------------


def test_000_should_terminate_agent_when_max_turns_exceeded(team: Squad) -> None:
    """Seed 000, "Unit Tests" 1: `max_turns: 5`, six turns; failed, and the error names it."""
    task = team.give("five", "Six turns", *tools(6), completes("Never."))
    agent = stopped(team, task, "max_tool_calls", 5, 5)
    assert ran(team, agent) == 5
    assert "max_tool_calls" in told(team, task, "max_tool_calls")


def test_000_should_terminate_agent_when_max_duration_ms_exceeded(team: Squad) -> None:
    """Seed 000, "Unit Tests" 2: a little more than `max_duration_ms` is slept, then one turn."""
    task = team.give("brief", "Sleep", runs("sleep 3.1"), *tools(1), completes("Never."))
    agent = team.until_escalated(task)
    trip = agent.trip
    assert trip is not None and trip.observed is not None
    assert (trip.limit, trip.maximum) == ("max_active_duration", 3)
    assert trip.observed >= 3
    assert ran(team, agent) <= 1, "what was asked after the sleep did not run"


def test_000_should_terminate_agent_when_max_cost_usd_exceeded(team: Squad) -> None:
    """Seed 000, "Unit Tests" 3: `max_cost_usd: 0.1`, calls of 10,000 tokens go on until $0.11.

    Ours stops when the amount has reached it: after the tenth cent there is no eleventh.
    """
    task = team.give("dime", "Spend", *map(expensive, tools(12)), completes("Never."))
    agent = stopped(team, task, "max_cost_usd", 0.1, 0.1)
    assert shown(team, agent)["limits"]["max_cost_usd"] == {"observed": 0.1, "maximum": 0.1}
    cents = [
        one.cost_nanousd for one in team.registry.log(agent.id) if isinstance(one, ModelCalled)
    ]
    assert cents[:10] == [10_000_000] * 10
    assert not any(cents[10:]), "after the trip only the summary was asked for, and it is short"
    assert "$0.10 of $0.10" in told(team, task, "max_cost_usd")


def test_000_should_warn_but_continue_when_timeout_action_is_warn(team: Squad) -> None:
    """Seed 000, "Unit Tests" 4: `timeout_action: warn`, six turns of five; still in progress."""
    task = team.give(
        "lenient", "Go on", *tools(5), waits_for(team.signal("sixth")), completes("All six.")
    )
    agent = team.agent(task)
    until(lambda: ran(team, agent) == 6, "the sixth turn", failing=team.check_alive)
    assert team.agent(task).state is State.ACTIVE
    [passed] = [one for one in team.registry.log(agent.id) if isinstance(one, Passed)]
    assert (passed.limit, passed.observed, passed.maximum) == ("max_tool_calls", 5, 5)
    team.go("sixth")
    team.until(task, State.COMPLETED)
    line = team.until_logged("AGENT_WARNING", agent=str(agent.id), how="warn")
    assert (line["limit"], line["observed"], line["maximum"]) == ("max_tool_calls", 5, 5)


# --- seed 000, "Testing Strategy", integration tests, and what they rest on --------------------


def test_000_should_terminate_developer_agent_after_25_turns(team: Squad) -> None:
    """Seed 000, "Integration Tests": a developer loops infinitely calling Read."""
    task = team.give("developer", "Test task", *tools(30))
    agent = stopped(team, task, "max_tool_calls", 25, 25)
    assert ran(team, agent) == 25


def test_000_the_same_read_again_and_again_is_stopped_even_sooner(team: Squad) -> None:
    """Seed 000, "Why this matters": infinite loops, an agent calling the same tool repeatedly."""
    task = team.give("developer", "Loop", *(reads(1) for _ in range(30)))
    agent = stopped(team, task, "max_repeated_calls", 5, 5)
    assert ran(team, agent) == 5


def test_000_five_turns_are_five_tool_calls_and_nothing_else_is_a_turn(team: Squad) -> None:
    """Seed 000, "Turn Counting Implementation": Read, Read, Write, Bash, one more; no words."""
    task = team.give(
        "five",
        "Five turns",
        reads(1),
        Answer("I think, and then I read.", reads(2).calls, thinking="Hm."),
        writes("schema.json", "{}\n"),
        says("Only words: no turn."),
        runs("cat schema.json"),
        runs("git rm --quiet --force --ignore-unmatch schema.json; rm -f schema.json"),
        completes("Nothing is left to do."),
    )
    agent = team.until(task, State.COMPLETED)
    assert ran(team, agent) == 5
    assert shown(team, agent)["limits"]["max_tool_calls"] == {"observed": 5, "maximum": 5}


def test_000_the_call_that_would_exceed_the_money_is_never_made(team: Squad) -> None:
    """Seed 000, "Cost Tracking Implementation" 4: accumulated + next, before each call."""
    wordy = tuple(at_once(step, say="Well. " * 300) for step in tools(12))
    task = team.give("dear", "Expensive words", *wordy)
    agent = team.until_escalated(task)
    trip = agent.trip
    assert trip is not None and trip.observed is not None
    assert (trip.limit, trip.maximum) == ("max_cost_usd", 0.1)
    assert 0.07 < trip.observed < 0.1, "with the $0.03 of one more it might have been too much"
    assert "spent, and the next model call may cost $0.03" in trip.reason
    assert logged(team, agent, "AGENT_FAILED", "max_cost_usd")["cost_usd"] == trip.observed


# --- seed 001, "How Limits Work" ---------------------------------------------------------------


def test_001_max_execution_tokens_sums_input_and_output_across_all_calls(team: Squad) -> None:
    """Seed 001, "How Limits Work": `max_execution_tokens`; each answer reads 10,000 tokens."""
    task = team.give("reader", "Read", *map(expensive, tools(9)), completes("Never."))
    agent = team.until_escalated(task)
    trip = agent.trip
    assert trip is not None and trip.observed is not None
    assert (trip.limit, trip.maximum) == ("max_tokens", 30_000)
    calls = [one for one in team.registry.log(agent.id) if isinstance(one, ModelCalled)]
    sums = [sum(one.input_tokens + one.output_tokens for one in calls[: n + 1]) for n in range(9)]
    reached = next(each for each in sums if each >= 30_000)
    assert trip.observed == reached


def test_001_max_tokens_of_one_response_is_sent_to_the_provider(team: Squad) -> None:
    """Seed 001, "Understanding token limits": the per-call output limit sent to the provider."""
    task = team.give("terse", "Briefly", *tools(2), completes("Short."))
    team.until(task, State.COMPLETED)
    bodies = [one.body for one in team.prompts(task)]
    assert len(bodies) == 3
    sent = [body.get("max_completion_tokens", body.get("max_tokens")) for body in bodies]
    assert sent == [321] * 3


def test_001_without_pricing_data_a_warning_is_logged_and_the_cap_is_not_enforced(
    team: Squad,
) -> None:
    """Seed 001, "How Limits Work": `max_cost_usd`. The cost is then unknown, which is never 0."""
    task = team.give("strange", "Unknown", *map(expensive, tools(3)), completes("Done."))
    agent = team.until(task, State.COMPLETED)
    assert shown(team, agent)["cost_usd"] is None
    words = "cost unknown: openai:nobody-knows-it has no price"
    lines = [one for one in team.service.lines() if one["message"] == words]
    assert [(one["agent"], one["level"]) for one in lines] == [(str(agent.id), "WARNING")]


def test_001_three_identical_errors_of_one_tool_abort(team: Squad) -> None:
    """Seed 001, "How Limits Work": the last three error responses, same tool, same error."""
    commands = ("cat a", "cat a", "cd . && cat a", "cat b")
    task = team.give("stubborn", "Again", *map(runs, commands), completes("Never."))
    agent = stopped(team, task, "max_repeated_errors", 3, 3)
    assert ran(team, agent) == 3


def test_001_errors_that_differ_or_that_a_success_parts_go_on(team: Squad) -> None:
    """Seed 001, "How Limits Work": only if all three are identical."""
    commands = ("cat a", "cat a", "cat b", "cat a", "cat a", "true", "cat a", "cat a")
    task = team.give("stubborn", "Different", *map(runs, commands), completes("Nothing to do."))
    agent = team.until(task, State.COMPLETED)
    assert ran(team, agent) == len(commands)


@pytest.mark.parametrize(("role", "maximum"), [("plain", 4), ("lower", 2)])
def test_001_frontmatter_wins_over_the_configuration(team: Squad, role: str, maximum: int) -> None:
    """Seed 001, "Global Defaults": frontmatter, then config.yaml, then what is built in (200)."""
    steps = tuple(runs(f"echo {number}") for number in range(6))
    task = team.give(role, "Priority", *steps, repository="octo/strict")
    agent = stopped(team, task, "max_tool_calls", maximum, maximum)
    assert ran(team, agent) == maximum


def test_001_any_limit_set_to_null_is_disabled(team: Squad) -> None:
    """Seed 001, "Configuration": `max_tool_calls: null`, no limit."""
    steps = tuple(runs("echo the same") for _ in range(9))
    task = team.give(
        "unbound", "No limit", *steps, completes("Nothing to do."), repository="octo/strict"
    )
    agent = team.until(task, State.COMPLETED)
    assert ran(team, agent) == 9
    assert not {"max_tool_calls", "max_repeated_calls"} & shown(team, agent)["limits"].keys()


# --- seed 004, User Story 1: max tool calls per turn -------------------------------------------


def test_004_us1_of_25_tools_the_first_20_run(team: Squad) -> None:
    """Seed 004, User Story 1, independent test and scenario 1. FR-001, FR-004 and FR-005: the user
    is notified (scenario 2), and it is logged."""
    batches = [at_once(*tools(5)) for _ in range(5)]
    task = team.give("per-turn", "25 tools", *batches)
    agent = stopped(team, task, "max_tool_calls_per_turn", 20, 20)
    assert (ran(team, agent), of(team, agent, TurnAsked)) == (20, 1)
    assert "20 of 20 tool calls" in told(team, task, "max_tool_calls_per_turn")
    line = logged(team, agent, "AGENT_FAILED", "max_tool_calls_per_turn")
    assert (line["observed"], line["maximum"], line["tool_calls"]) == (20, 20, 20)


def test_004_us1_each_turn_has_20_calls_of_its_own(team: Squad) -> None:
    """Seed 004, User Story 1, "per user message": 18 and 19 in two turns are no 21."""
    task = team.give(
        "per-turn",
        "Two turns",
        at_once(*tools(18)),
        says("Well?"),
        at_once(*tools(19)),
        completes("Nothing to do."),
    )
    agent = team.until(task, State.COMPLETED)
    assert (ran(team, agent), of(team, agent, TurnAsked)) == (37, 2)


def in_conversation(team: Squad, task: Task, limit: str, maximum: int) -> Agent:
    """The agent, which has stopped there, has told its user, and waits to be told to go on."""
    agent = team.until(task, State.PAUSED, Waits.RAISE)
    hold = team.registry.counters(agent.id).hold
    assert hold is not None
    assert (hold.limit, hold.observed, hold.maximum) == (limit, maximum, maximum)
    assert f"The agent is paused: {hold.reason}" in told(team, task, limit)
    assert not team.github.escalations(task.repository, task.number)
    assert logged(team, agent, "AGENT_PAUSED", limit)["maximum"] == maximum
    return agent


def test_004_us1_a_conversation_stops_at_20_by_default_and_its_user_lets_it_go_on(
    team: Squad,
) -> None:
    """Seed 004, FR-001, "configurable, default 20": the preset `interactive`."""
    batches = [at_once(*tools(5), say="I look.") for _ in range(5)]
    task = team.give("interactive", "25 tools", *batches, completes("Nothing to do."))
    agent = in_conversation(team, task, "max_tool_calls_per_turn", 20)
    assert ran(team, agent) == 20
    team.comment(task, "/squadron resume")
    team.until(task, State.COMPLETED)


# --- seed 004, User Story 2: max consecutive tools ---------------------------------------------


def test_004_us2_ten_tools_without_a_word_stop_the_loop(team: Squad) -> None:
    """Seed 004, User Story 2, independent test and scenario 1; FR-002, FR-004 and FR-005."""
    task = team.give("silent", "Silent", *tools(15))
    agent = stopped(team, task, "max_consecutive_tools", 10, 10)
    assert ran(team, agent) == 10
    assert "10 of 10 tool calls" in told(team, task, "max_consecutive_tools")
    logged(team, agent, "AGENT_FAILED", "max_consecutive_tools")


def test_004_us2_a_text_between_tools_resets_the_count(team: Squad) -> None:
    """Seed 004, User Story 2, scenario 2, and FR-006: ten, a word with the eleventh, nine more."""
    task = team.give(
        "silent",
        "Not silent",
        at_once(*tools(10)),
        at_once(reads(11), say="Half of it is read."),
        at_once(*tools(9)),
        completes("Nothing to do."),
    )
    agent = team.until(task, State.COMPLETED)
    assert ran(team, agent) == 20


def test_004_us2_a_conversation_stops_at_10_by_default(team: Squad) -> None:
    """Seed 004, FR-002, "configurable, default 10": the preset `interactive`."""
    task = team.give("interactive", "Silent", *tools(15))
    agent = in_conversation(team, task, "max_consecutive_tools", 10)
    assert ran(team, agent) == 10
    team.close(task)
    team.until(task, State.CANCELLED)


# --- seed 004, edge cases ----------------------------------------------------------------------


def test_004_a_limit_hit_mid_tool_completes_the_current_tool_and_then_stops(team: Squad) -> None:
    """Seed 004, "Edge Cases": complete the current tool, then stop."""
    running = waits_for(team.signal("mid-tool")).calls
    beyond = Call("bash", {"command": "touch beyond"})
    task = team.give("pair", "Mid-tool", Answer("", (*running, beyond)), is_blocked("Stopped."))
    agent = team.agent(task)
    until(lambda: team.registry.counters(agent.id).trip, "the limit", failing=team.check_alive)
    until(lambda: team.processes(agent.id), "the current tool runs on")
    assert team.agent(task).state is State.ACTIVE
    team.go("mid-tool")
    agent = stopped(team, task, "max_tool_calls_per_turn", 1, 1)
    ends: Sequence[bool] = [
        one.ok for one in team.registry.log(agent.id) if isinstance(one, ToolEnded)
    ]
    assert ends == [True]
    assert not (team.workspace(agent.id) / "beyond").exists()
