"""Sub-agents: a part of an agent's work, out of what the agent has left (seed 003)."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from app.adapters.store.database import make_engine
from app.adapters.store.ledger import SqlLedger
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.adapters.workspace import agent_directory
from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import (
    Held,
    ModelAsked,
    ModelCalled,
    Returned,
    SegmentStarted,
    Spawned,
    ToolAsked,
    ToolDenied,
    Tripped,
)
from app.core.agents.lifecycle import State
from app.core.limits import LimitName
from app.core.money import nanousd
from app.core.words.prompts import COMPACTION_MARK, SUMMARY_MARK
from app.ports import NewAgent, Repository
from app.scripted.script import Answer, Call, ComputedStep, Script, Scripts, Speaker, Step
from tests.support.people import SUMMARY, Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import (
    commits,
    completes,
    is_blocked,
    runs,
    runs_at_once,
    says,
    waits_for,
    writes,
)
from tests.support.waiting import until

pytestmark = pytest.mark.full

ROLES = {
    "lead": {},
    "helper": {},
    "small": {"max_tool_calls": 20},
    "short": {"max_active_duration": 12, "summary_wait": 20},
    "silent": {"max_idle_duration": 3},
    "careful": {"max_tool_calls": 2, "on_limit": "pause"},
    "broken": {"max_tool_cals": 3},
    "example": {"max_model_calls": 30, "max_cost_usd": 0.50, "max_depth": 5 - 1},
    "example-parent": {"max_model_calls": 30, "max_cost_usd": 1.00, "max_depth": 4 - 1},
    "payer": {"max_cost_usd": 1.0},
    "dear": {"max_cost_usd": 0.4, "max_tool_calls": 5},
}
CONFIG = {
    "budgets": [
        {"scope": "role", "name": "payer", "window": "total", "max_cost_usd": 5},
        {"scope": "role", "name": "dear", "window": "total", "max_cost_usd": 0.5},
    ]
}
OPERATOR = {"pricing": {"scripted": {"input": 2.0, "output": 10.0}}}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("subagents")
    demo = repository(ROLES, CONFIG)
    with squad(
        directory, {"octo/demo": demo}, database_url=database_url, operator=OPERATOR
    ) as team:
        yield team


# --- words of the stories --------------------------------------------------------------------


def story(team: Squad, name: str, *steps: Step | ComputedStep, summary: Answer = SUMMARY) -> str:
    """The prompt with which a sub-agent takes these steps."""
    script = Script(name, steps, summary)
    known = team.model.scripts.scripts
    team.model.scripts = Scripts((*known, script), (SUMMARY_MARK,), (COMPACTION_MARK,))
    return f"SCENARIO:{name}\nDo your part."


def task_call(prompt: str, role: str = "helper", **limits: object) -> Call:
    return Call("task", {"role": role, "prompt": prompt, "limits": limits})


def asks(prompt: str, role: str = "helper", **limits: object) -> Answer:
    """The tool that starts a sub-agent."""
    return Answer("", (task_call(prompt, role, **limits),))


def children(team: Squad, agent: AgentId) -> list[Agent]:
    """The sub-agents of an agent, oldest first."""
    found = team.registry.agents(agent.repository, agent.issue)
    return [one for one in found if one.parent == str(agent)]


def until_at_work(team: Squad, agent: AgentId) -> Agent:
    """The only sub-agent of an agent, once it works."""
    return until(
        lambda: next((one for one in children(team, agent) if one.state is State.ACTIVE), None),
        f"a sub-agent of {agent}",
        failing=team.check_alive,
    )


def read_by(team: Squad, task: Task) -> str:
    """All tool results that the task's agent has read."""
    return "\n".join(team.prompts(task)[-1].conversation.said_by(Speaker.TOOL))


def counted(team: Squad, *agents: AgentId) -> tuple[int, ...]:
    """Tool calls, model calls, tokens and nano-USD of these agents themselves, by their logs."""
    log = [event for agent in agents for event in team.registry.log(agent)]
    called = [event for event in log if isinstance(event, ModelCalled)]
    return (
        sum(isinstance(event, ToolAsked) for event in log),
        sum(isinstance(event, ModelAsked) for event in log),
        sum(event.input_tokens + event.output_tokens for event in called),
        sum(event.cost_nanousd or 0 for event in called),
    )


def used_by(team: Squad, agent: AgentId) -> tuple[int, ...]:
    """The same as an agent's limits see it, its sub-agents' included."""
    used = team.registry.counters(agent)
    assert (used.children, used.unpriced_calls) == ((), 0)
    return (used.tool_calls, used.model_calls, used.tokens, used.cost_nanousd)


def in_json(team: Squad, agent: AgentId) -> dict[str, Any]:
    """AGENT."""
    answer = team.asks_api("GET", "/api/agents")
    assert answer.status_code == 200, answer.text
    [found] = [one for one in answer.json()["agents"] if one["id"] == str(agent)]
    return dict(found)


# --- a sub-agent's life ----------------------------------------------------------------------


@pytest.mark.both_databases
def test_a_sub_agent_works_in_its_parents_clone_and_what_it_uses_counts_for_both(
    team: Squad,
) -> None:
    """Issue 3, "Sub-agents"; docs/design.md, Words."""
    prompt = story(
        team,
        "part",
        runs("cat own.txt && echo by the helper > part.txt"),
        completes("Done: part.txt."),
    )
    task = team.give(
        "lead",
        "Two parts",
        writes("own.txt", "by the lead\n"),
        asks(prompt),
        commits("Both"),
        completes("Both parts."),
    )
    agent = team.until_handed_over(task)
    [child] = children(team, agent.id)
    assert (child.state, child.depth, child.summary) == (State.COMPLETED, 1, "Done: part.txt.")
    files = team.github.lists(f"/repos/octo/demo/pulls/{agent.pull_request}/files")
    assert {one["filename"] for one in files} == {"own.txt", "part.txt"}
    assert "Done: part.txt." in read_by(team, task)

    assert counted(team, child.id)[:2] == (1, 2)
    assert used_by(team, child.id) == counted(team, child.id)
    assert counted(team, agent.id)[:2] == (3, 4)
    assert used_by(team, agent.id) == counted(team, agent.id, child.id)
    shown, below = in_json(team, agent.id), in_json(team, child.id)
    assert (shown["parent"], below["parent"]) == (None, str(agent.id))
    own = counted(team, agent.id)
    assert shown["limits"]["max_tool_calls"] == {"observed": 4, "maximum": 200}
    assert shown["limits"]["max_spawns"]["observed"] == 1
    assert shown["limits"]["max_depth"]["observed"] == 1
    assert shown["tokens"] == own[2] + below["tokens"]
    assert shown["cost_usd"] == pytest.approx(own[3] / 1e9 + below["cost_usd"], abs=1e-9)
    assert below["cost_usd"] > 0


def test_github_hears_of_a_sub_agent_only_through_its_parent(team: Squad) -> None:
    """Neither its end nor its trip is published, and it holds no post."""
    prompt = story(team, "quiet", runs("true"), runs("true"), summary=completes("Half."))
    task = team.give(
        "lead", "Only one voice", asks(prompt, max_tool_calls=1), completes("Nothing to do.")
    )
    agent = team.until(task, State.COMPLETED)
    [child] = children(team, agent.id)
    assert child.state is State.ESCALATED
    team.until_check(task, "success")
    team.until_comment(task, "The agent is done")
    assert team.registry.effects(child.id) == {}
    assert len(team.comments(task)) == 1
    assert team.github.escalations("octo/demo", task.number) == []
    assert team.checks(task.by("helper"), task.branch) == []

    own = team.issue("Its own", completes("Nothing to do."))
    post = Task(task.repository, task.number, "helper")
    team.label(post, "squadron:helper")
    until(lambda: len(team.agents(post)) > 1, "the label starts an agent of its own")
    started = team.agents(post)[1]
    assert (started.parent, started.predecessor) == (None, None)
    assert started.id.attempt == child.id.attempt + 1
    assert own.number != task.number


def test_a_sub_agent_that_trips_tells_its_parent_why_and_the_parent_goes_on(team: Squad) -> None:
    """Seed 003, "Limit Checking": the limit and its figures."""
    prompt = story(
        team, "trips", *(runs("true") for _ in range(3)), summary=completes("Two of three.")
    )
    task = team.give(
        "lead", "Too much for one", asks(prompt, max_tool_calls=2), completes("Nothing to do.")
    )
    agent = team.until(task, State.COMPLETED)
    [child] = children(team, agent.id)
    assert child.trip is not None
    assert (child.state, child.trip.limit, child.trip.observed, child.trip.maximum) == (
        State.ESCALATED,
        "max_tool_calls",
        2,
        2,
    )
    read = read_by(team, task)
    assert "It was stopped: max_tool_calls reached: 2 of 2 tool calls." in read
    assert "Two of three." in read
    assert used_by(team, agent.id) == counted(team, agent.id, child.id)


def test_a_hold_of_a_sub_agent_asks_its_parent_which_may_do_without_it(team: Squad) -> None:
    """A limit that pauses, and a sub-agent that asks for more by itself."""
    pauses = story(team, "pauses", *(runs("true") for _ in range(3)))
    more = {"limit": "max_tool_calls", "amount": 5, "evidence": "Nearly there."}
    wants = story(team, "wants", runs("true"), Answer("", (Call("request_increase", more),)))
    task = team.give(
        "lead",
        "Ask its parent",
        asks(pauses, "careful"),
        asks(wants),
        completes("Nothing to do."),
    )
    agent = team.until(task, State.COMPLETED)
    for child in children(team, agent.id):
        log = team.registry.log(child.id)
        assert child.state is State.CANCELLED, "it ends with its parent"
        assert sum(isinstance(event, Held) for event in log) == 1
        assert child.trip is None and not any(isinstance(event, Tripped) for event in log)
    said = read_by(team, task)
    assert "It has paused, and asks you for 2 tool calls more of max_tool_calls" in said
    assert "asks you for 5 tool calls more of max_tool_calls" in said and "Nearly there." in said
    assert used_by(team, agent.id) == counted(
        team, agent.id, *(child.id for child in children(team, agent.id))
    )


def test_a_sub_agent_that_gives_up_or_falls_silent_says_so_to_its_parent(team: Squad) -> None:
    blocked = story(team, "blocked", is_blocked("The file is not there.", 7))
    silent = story(team, "silent", says("Well …"), says("No more to say."))
    task = team.give("lead", "No answer", asks(blocked), asks(silent), completes("Nothing to do."))
    agent = team.until(task, State.COMPLETED)
    gave_up, fell_silent = children(team, agent.id)
    assert (gave_up.state, fell_silent.state) == (State.COMPLETED, State.COMPLETED)
    assert gave_up.blocked_by == ()
    read = read_by(team, task)
    assert "It could not go on: The file is not there. (blocked by #7)" in read
    assert "It ended without a report. Its last words: No more to say." in read


def test_what_cannot_start_is_answered_in_words(team: Squad) -> None:
    """Roles, limits and prompts that do not exist or make no sense; no row is made."""
    task = team.give(
        "lead",
        "Nonsense",
        asks("Go.", "nobody"),
        asks("Go.", "broken"),
        asks("Go.", max_tool_cals=3),
        asks("Go.", max_tool_calls="many"),
        asks("Go.", max_tool_calls=-1),
        asks("   "),
        completes("Nothing to do."),
    )
    agent = team.until(task, State.COMPLETED)
    assert children(team, agent.id) == []
    read = read_by(team, task)
    for words in (
        "there is no role `nobody`",
        "Known roles: `bug-fix`",
        ".squadron/agents/broken.md:2:",
        "max_tool_cals is no limit; there are: max_iterations",
        "max_tool_calls must be a number or null, not 'many'",
        "max_tool_calls must be 1 to 1000000, not -1",
        "`prompt` is empty",
    ):
        assert words in read, read
    assert used_by(team, agent.id) == counted(team, agent.id)


# --- never more than its parent --------------------------------------------------------------


def test_a_sub_agent_that_wants_more_gets_what_its_parent_has_left(team: Squad) -> None:
    """Seed 003, "Layer 4": a child can never exceed its parent."""
    greedy = runs_at_once(*(f"echo {number}" for number in range(25)))
    prompt = story(team, "greedy", greedy, summary=completes("Enough."))
    task = team.give(
        "small",
        "Everything",
        *(runs("true") for _ in range(4)),
        asks(prompt, max_tool_calls=1_000),
        runs("true"),
        summary=completes("Nothing is left."),
    )
    agent = team.until(task, State.ESCALATED)
    [child] = children(team, agent.id)
    assert child.assignment.limits.max_tool_calls == 15
    assert counted(team, child.id)[0] == 15
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.observed) == ("max_tool_calls", 20)
    assert used_by(team, agent.id)[0] == 20


def test_sub_agents_at_once_never_get_more_than_there_is(team: Squad) -> None:
    """Seed 003, "Reservation Serialization"; the limit stays exact under parallel calls."""
    prompts = [
        story(team, f"crowd-{number}", runs_at_once(*["true"] * 8), summary=completes("Enough."))
        for number in range(6)
    ]
    task = team.give(
        "small",
        "All at once",
        Answer("", tuple(task_call(prompt, max_tool_calls=5) for prompt in prompts)),
        completes("Nothing to do."),
    )
    agent = team.until(task, State.COMPLETED)
    started = children(team, agent.id)
    parts = [one.assignment.limits.max_tool_calls or 0 for one in started]
    assert sorted(parts) == [2, 2, 2, 2, 3, 3], "20 less the six calls, in equal parts"
    assert used_by(team, agent.id) == counted(team, agent.id, *(one.id for one in started))
    assert used_by(team, agent.id)[0] == 20
    log = team.registry.log(agent.id)
    promised = [dict(event.reserved) for event in log if isinstance(event, Spawned)]
    assert sum(one[LimitName.MAX_TOOL_CALLS] for one in promised) == 14


def test_each_level_has_one_level_less_below_it(team: Squad) -> None:
    """Seed 003, "Depth Decrement": its depth N is `max_depth` N - 1 here."""
    none = story(team, "level-3", completes("Never reached."))
    third = story(team, "level-2", asks(none), completes("I am the last."))
    second = story(team, "level-1", asks(third), runs("true"), completes("One below me."))
    task = team.give("lead", "Deep", asks(second), completes("Nothing to do."))
    agent = team.until(task, State.COMPLETED)
    [child] = children(team, agent.id)
    [grandchild] = children(team, child.id)
    assert children(team, grandchild.id) == []
    family = (agent, child, grandchild)
    assert [one.assignment.limits.max_depth for one in family] == [2, 1, 0]
    assert [one.depth for one in family] == [0, 1, 2]
    assert [team.registry.counters(one.id).levels for one in family] == [2, 1, 0]
    asked = [one for one in team.model.requests if "SCENARIO:level-2" in _words(one)]
    assert "Depth limit exhausted: max_depth allows no further level" in _words(asked[-1])
    assert used_by(team, child.id) == counted(team, child.id, grandchild.id)
    assert used_by(team, agent.id) == counted(team, *(one.id for one in family))


def _words(request: Any) -> str:
    return "\n".join(message.text for message in request.conversation.messages)


def test_the_eleventh_sub_agent_trips_max_spawns(team: Squad) -> None:
    """Seed 003, `spawns`: ten may be started, asking for one more trips."""
    prompt = story(team, "one-of-ten", completes("Here."))
    task = team.give(
        "lead",
        "Eleven",
        *(asks(f"{prompt} Number {number}.") for number in range(11)),
        summary=completes("Ten were here."),
    )
    agent = team.until_escalated(task)
    assert agent.trip is not None
    assert (agent.trip.limit, agent.trip.observed, agent.trip.maximum) == ("max_spawns", 10, 10)
    started = children(team, agent.id)
    assert [one.state for one in started] == [State.COMPLETED] * 10
    [denied] = [one for one in team.registry.log(agent.id) if isinstance(one, ToolDenied)]
    assert denied.tool == "task"


def test_the_resolution_example_through_the_tool(team: Squad) -> None:
    """Seed 003, "Resolution Example": turns=10, spend=0.10, depth=3 (its depth N is N - 1 here)."""
    prompt = story(team, "resolution", completes("Here."))
    task = team.give(
        "example-parent",
        "Resolve",
        asks(prompt, "example", max_model_calls=10, max_cost_usd=0.10),
        completes("Nothing to do."),
    )
    agent = team.until(task, State.COMPLETED)
    [child] = children(team, agent.id)
    limits = child.assignment.limits
    assert (limits.max_model_calls, limits.max_cost_usd) == (10, 0.10)
    assert limits.max_depth == 3 - 1


# --- money -----------------------------------------------------------------------------------


@contextmanager
def database(team: Squad) -> Iterator[tuple[sa.Engine, GroupWriter]]:
    """The service's database, beside it."""
    engine = make_engine(f"sqlite:///{team.directory / 'data' / 'squadron.sqlite'}")
    writer = GroupWriter(engine)
    try:
        yield engine, writer
    finally:
        writer.close()
        engine.dispose()


def test_a_sub_agent_is_paid_out_of_its_parents_grant(team: Squad) -> None:
    """Seed 003, "Budget Ledger": reserved before it starts, told and released at its end."""
    prompt = story(team, "paid", waits_for(team.signal("paid")), completes("Done."))
    task = team.give("payer", "Pay", asks(prompt, max_cost_usd=0.3), completes("Nothing to do."))
    agent = team.agent(task)
    child = until_at_work(team, agent.id)
    until(lambda: team.processes(agent.id), "its shell runs", failing=team.check_alive)
    with database(team) as (engine, writer):
        books = SqlLedger(engine, writer)
        assert {agent.id, child.id} <= set(asyncio.run(books.open_reservations()))
        own = counted(team, agent.id)[3]
        assert asyncio.run(books.remaining(agent.id)) == nanousd(1.0) - own - nanousd(0.3)
        team.go("paid")
        team.until(task, State.COMPLETED)
        until(
            lambda: not {agent.id, child.id} & set(asyncio.run(books.open_reservations())),
            "both have let go",
        )
    assert used_by(team, agent.id) == counted(team, agent.id, child.id)


def test_the_budget_of_a_role_counts_its_sub_agents_too(team: Squad) -> None:
    """A parent that no budget applies to cannot give what the budget of another role refuses."""
    waits = waits_for(team.signal("dear"))
    either = [story(team, f"dear-{n}", waits, completes("Done.")) for n in (1, 2)]
    calls = tuple(task_call(prompt, "dear") for prompt in either)
    task = team.give("lead", "Dear", Answer("", calls), completes("Nothing to do."))
    agent = team.agent(task)
    until_at_work(team, agent.id)
    until(lambda: team.processes(agent.id), "its shell runs", failing=team.check_alive)
    assert len(children(team, agent.id)) == 1
    team.go("dear")
    team.until(task, State.COMPLETED)
    assert len(children(team, agent.id)) == 1
    read = read_by(team, task)
    assert "may need up to $0.40" in read
    assert "the budget `role:octo/demo:dear` has $0.10 left" in read


# --- what ends the parent ends its sub-agents ------------------------------------------------


def test_a_parent_that_trips_ends_its_sub_agents_first(team: Squad) -> None:
    """The sub-agent has a minute to say what it did, its parent has not."""
    never = waits_for(team.signal("never"))
    prompt = story(team, "outlived", never, completes("Late."))
    task = team.give("short", "Too long", asks(prompt), never, summary=completes("I waited."))
    agent = team.until_escalated(task)
    assert agent.trip is not None
    assert agent.trip.limit == "max_active_duration"
    [child] = children(team, agent.id)
    left = child.assignment.limits.max_active_duration
    assert isinstance(left, int) and 0 < left < 12, "whole seconds that its parent had left"
    if child.trip is None:  # its seconds began later: then its parent's end comes first
        assert child.state is State.CANCELLED
        told = "It was stopped together with you."
    else:
        assert (child.trip.limit, child.trip.maximum) == ("max_active_duration", left)
        told = "It was stopped: max_active_duration reached"
    assert child.assignment.limits.summary_wait == 60
    assert used_by(team, agent.id) == counted(team, agent.id, child.id)
    assert team.processes(agent.id) == {}
    assert told in read_by(team, task)
    assert agent.summary.startswith("I waited.")


def test_work_that_is_taken_away_ends_with_its_sub_agents(team: Squad) -> None:
    prompt = story(team, "taken", waits_for(team.signal("never")), completes("Late."))
    task = team.give("lead", "Never mind", asks(prompt), completes("Late."))
    agent = team.agent(task)
    child = until_at_work(team, agent.id)
    until(lambda: team.processes(agent.id), "its shell runs")
    team.close(task)
    team.until(task, State.CANCELLED)
    until(lambda: team.registry.agent(child.id).state is State.CANCELLED, "it is ended too")
    until(lambda: not team.processes(agent.id), "nothing of it runs on")


def test_who_waits_for_a_sub_agent_is_not_idle(team: Squad) -> None:
    """`max_idle_duration` finds a runtime that hangs; the sub-agent has a clock of its own."""
    prompt = story(team, "busy", *(runs("sleep 1.5") for _ in range(4)), completes("Done."))
    task = team.give("silent", "Patience", asks(prompt), completes("Nothing to do."))
    agent = team.until(task, State.COMPLETED)
    [child] = children(team, agent.id)
    assert child.state is State.COMPLETED
    assert team.registry.counters(agent.id).active.total_seconds() > 6


def test_a_stop_of_the_service_ends_sub_agents_and_the_parent_goes_on_without(
    team: Squad,
) -> None:
    """docs/design.md, promise 2."""
    prompt = story(team, "drained", waits_for(team.signal("never")), completes("Late."))
    task = team.give("lead", "Stopped", asks(prompt), completes("Nothing to do."))
    agent = team.agent(task)
    child = until_at_work(team, agent.id)
    until(lambda: team.processes(agent.id), "its shell runs")
    team.service.stop()
    assert team.processes(agent.id) == {}
    assert team.registry.agent(child.id).state is State.CANCELLED
    assert used_by(team, agent.id) == counted(team, agent.id, child.id)
    team.service.start()
    team.until(task, State.COMPLETED)
    assert [one.state for one in children(team, agent.id)] == [State.CANCELLED]


@pytest.mark.both_databases
def test_after_kill_9_sub_agents_are_settled_and_nothing_is_counted_twice(team: Squad) -> None:
    """Issue 3, "How it is judged"; docs/design.md, promise 2."""
    begun = team.signal("killed-begun")
    leaves = runs(f"setsid sleep 300 & echo > {begun}; sleep 300")
    below = story(team, "killed-2", runs("true"), leaves)
    prompt = story(team, "killed-1", runs("true"), asks(below), completes("Late."))
    done = story(team, "returned-before", runs("true"), completes("Done."))
    task = team.give(
        "lead", "Killed", asks(done), asks(prompt), runs("true"), completes("Nothing to do.")
    )
    agent = team.agent(task)
    until(lambda: len(children(team, agent.id)) == 2, "the second sub-agent")
    child = until_at_work(team, agent.id)
    grandchild = until_at_work(team, child.id)
    until(begun.exists, "its shell runs", failing=team.check_alive)
    before = counted(team, agent.id, child.id, grandchild.id)
    assert team.processes(agent.id)
    team.service.kill()
    until(lambda: not team.processes(agent.id), "nothing outlives the service")
    team.service.start()
    team.until(task, State.COMPLETED)
    finished, killed = children(team, agent.id)
    assert (finished.state, killed.state) == (State.COMPLETED, State.CANCELLED)
    assert team.registry.agent(grandchild.id).state is State.CANCELLED

    family = (agent.id, finished.id, child.id, grandchild.id)
    assert used_by(team, child.id) == counted(team, child.id, grandchild.id)
    assert used_by(team, agent.id) == counted(team, *family)
    assert all(was <= now for was, now in zip(before, used_by(team, agent.id), strict=True))
    assert team.registry.counters(agent.id).levels == 2
    log = team.registry.log(agent.id)
    settled = [event.child for event in log if isinstance(event, Returned)]
    assert settled == [str(finished.id), str(child.id)]
    starts = [at for at, event in enumerate(log) if isinstance(event, SegmentStarted)]
    assert len(starts) == 2
    assert isinstance(log[starts[1] + 1], Returned), "settled before the agent goes on"
    for one in (child.id, grandchild.id):
        directory = agent_directory(team.directory / "data", str(one))
        assert not (directory / "workspace").exists()


def test_a_sub_agent_that_its_parent_has_forgotten_is_ended_by_reconciliation(
    team: Squad,
) -> None:
    """A parent that neither works nor will settles nothing: the third layer does."""
    prompt = story(team, "remembered", completes("Here."))
    task = team.give("lead", "Forget", asks(prompt), completes("Nothing to do."))
    parent = team.until(task, State.COMPLETED)
    [remembered] = children(team, parent.id)
    new = NewAgent(
        repository=Repository("octo/demo", parent.installation_id),
        repository_id=parent.repository_id,
        issue=task.number,
        role="helper",
        assignment=parent.assignment,
        branch=parent.branch,
        default_branch=parent.default_branch,
        started_by=parent.started_by,
        trigger=f"task of {parent.id}",
        parent=parent.id,
        depth=1,
    )
    with database(team) as (engine, writer):
        store = SqlStore(engine, writer, lambda *_: pytest.fail("nothing of it is enqueued"))
        child = asyncio.run(store.create(new, parent.updated_at))
    assert child is not None
    until(
        lambda: team.registry.agent(child.id).state is State.CANCELLED,
        "it is ended",
        failing=team.check_alive,
    )
    repaired = f"ended a sub-agent that nobody runs: {child.id}"
    assert team.until_logged("repaired", repair=repaired)
    assert team.repairs(2) == []
    assert team.registry.effects(remembered.id) == {}, "its end is not published by the way"
    assert len(team.comments(task)) == 1
