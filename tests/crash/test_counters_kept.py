"""`kill -9` in the middle of everything: no counter of any agent ever becomes less.

Issue, "How it is judged"; docs/design.md, promise 2. Agents that differ in one limit do the
same work at the same time: prompts, model calls, tools, test runs, sub-agents. The service dies
once or twice in each of their segments. In the end each is stopped by its own limit, at exactly
its maximum.

A limit that counts anew by its own rule goes on by that rule alone: a death is no prompt's end, no
word of the agent, no other result. So agents that do the same thing in vain again and again are
killed in the middle of their row, and stopped as if nothing had happened.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters, after, fold
from app.core.agents.events import (
    AgentEvent,
    ModelAsked,
    ModelCalled,
    SegmentStarted,
    Spawned,
    ToolAsked,
    ToolEnded,
    Tripped,
    TurnAsked,
    Waits,
)
from app.core.agents.lifecycle import State
from app.core.words.prompts import COMPACTION_MARK, SUMMARY_MARK
from app.scripted.script import Answer, Call, Script, Scripts
from tests.support.people import TRIES, Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes, is_blocked, runs, writes
from tests.support.waiting import until

pytestmark = pytest.mark.crash

SEGMENT_SECONDS = 60.0
EVERYTHING: Mapping[str, Any] = {
    "max_iterations": 1_000,
    "max_tool_calls": 1_000,
    "max_turns": 1_000,
    "max_active_duration": 3_600,
    "max_model_calls": 1_000,
    "max_tokens": 100_000_000,
    "max_cost_usd": 100,
    "max_planning_cost_usd": 100,
    "max_execution_cost_usd": 100,
    "max_spawns": 1_000,
    "max_depth": 10,
    "max_consecutive_tools": 1_000,
    "max_tool_calls_per_turn": 1_000,
    "max_repeated_errors": 1_000,
    "max_repeated_calls": 1_000,
    "max_idle_duration": 3_600,
    "max_sleep_duration": 3_600,
    "summary_wait": 5,
}
"""Every limit that can trip is shown, and none is close to its maximum."""
OWN: Mapping[str, tuple[str, float]] = {
    "tools": ("max_tool_calls", 16),
    "cycles": ("max_iterations", 3),
    "spawner": ("max_spawns", 4),
    "coins": ("max_cost_usd", 0.16),
    "clock": ("max_active_duration", 25),
}
"""Role → the limit that stops it: in its third segment, unless the machine is slow."""
IN_A_ROW: Mapping[str, tuple[str, float]] = {
    "errors": ("max_repeated_errors", 6),
    "rounds": ("max_repeated_calls", 6),
    "silent": ("max_consecutive_tools", 7),
    "talker": ("max_tool_calls_per_turn", 4),
    "prompts": ("max_turns", 2),
    "requests": ("max_model_calls", 8),
    "reader": ("max_tokens", 75_000),
    "planner": ("max_planning_cost_usd", 0.07),
    "worker": ("max_execution_cost_usd", 0.07),
}
"""Role → the limit that stops it, while it fails in the same way again and again."""
CUT_OFF = (3, 5)
"""The calls of such a row in which the service dies; they are counted, and have no result."""
ROLES = {
    role: {**EVERYTHING, name: maximum} for role, (name, maximum) in {**OWN, **IN_A_ROW}.items()
}
ROLES["planner"]["planning_model"] = "openai:plans"
A_PRICE = {"input": 0, "output": 0, "cache_read": 1.0}
OPERATOR = {"models": ["openai:*"], "pricing": {"scripted": A_PRICE, "plans": A_PRICE}}
A_CENT = 10_000
"""Tokens from the cache; so much costs each answer of the model but those to sub-agents."""


@pytest.fixture
def team(tmp_path: Path, database_url: str | None) -> Iterator[Squad]:
    demo = repository({**ROLES, "sleeper": EVERYTHING, "helper": {}})
    with squad(
        tmp_path,
        {"octo/demo": demo},
        database_url=database_url,
        workers=len(IN_A_ROW),
        operator=OPERATOR,
    ) as team:
        part = Script("part", (runs("sleep 0.2; echo part"), completes("My part is done.")))
        team.model.scripts = Scripts((part,), (SUMMARY_MARK,), (COMPACTION_MARK,))
        yield team


def dear(step: Answer) -> Answer:
    """The same for a cent, after a moment in which the process may die."""
    return Answer(step.text, step.calls, think_seconds=0.1, cache_read_tokens=A_CENT)


def round_of_work(number: int) -> tuple[Answer, ...]:
    """A fix that does not help, a test run, a sub-agent, and something slow: without a word."""
    delegates = Call("task", {"role": "helper", "prompt": f"SCENARIO:part\nPart {number}."})
    return (
        writes("answer", f"{number}\n"),
        runs(f"echo {number}; sleep 0.1; sh {TRIES}"),
        Answer("", (delegates,)),
        runs(f"sleep 0.2; echo {number}"),
    )


def a_life() -> tuple[Answer, ...]:
    """Two segments of a round each that end with a question; in the third the limit comes."""
    question = is_blocked("Which way?")
    first, second, *others = (round_of_work(number) for number in range(1, 30))
    end = [step for each in others for step in each]
    return tuple(map(dear, (*first, question, *second, question, *end)))


def test_no_kill_makes_any_counter_smaller_and_each_trip_comes_at_its_maximum(
    team: Squad,
) -> None:
    tasks = {role: team.give(role, f"Work of {role}", *a_life()) for role in OWN}
    for kinds in ((ModelAsked, Spawned), (ToolAsked,), (ModelAsked,)):
        for kind in kinds:
            dies_when(team, tasks, kind)
        until(
            lambda: all(waits(team, task) for task in tasks.values()),
            "every agent asks its question, or was stopped",
            within_seconds=SEGMENT_SECONDS,
            failing=team.check_alive,
        )
        wake(team, tasks)
    until_all_are_stopped(team, tasks)
    for role, task in tasks.items():
        assert_stopped_by(team, team.agent(task), *OWN[role])


def in_vain(team: Squad, role: str) -> Answer:
    """A command that fails like the time before, once the story lets its n-th call go on."""
    count, signal = team.signal(f"{role}-calls"), team.signal(f"{role}-")
    waits = f"for n in $(seq 1200); do [ -e {signal}$(wc -l < {count}) ] && break; sleep 0.05; done"
    return dear(runs(f"echo >> {count}; {waits}; cat missing"))


def test_a_row_goes_on_over_every_kill_as_if_nothing_had_happened(team: Squad) -> None:
    """What starts anew with a prompt, a word or another result starts anew with nothing else; and
    who sleeps sleeps on."""
    tasks = {"sleeper": team.give("sleeper", "Sleep", is_blocked("Which way?"))}
    team.until(tasks["sleeper"], State.SLEEPING, Waits.ANSWER)
    for role in IN_A_ROW:
        for number in set(range(1, 20)) - {*CUT_OFF}:
            team.go(f"{role}-{number}")
        tasks[role] = team.give(role, f"Row of {role}", *[in_vain(team, role)] * 19)
    for number in CUT_OFF:
        until(
            partial(are_in_call, team, [tasks[role] for role in IN_A_ROW], number),
            f"every agent is in its call {number}",
            within_seconds=SEGMENT_SECONDS,
            failing=team.check_alive,
        )
        with dying(team, tasks):
            for role in IN_A_ROW:
                team.go(f"{role}-{number}")
    until(
        lambda: all(team.agent(tasks[role]).is_final for role in IN_A_ROW),
        "every agent was stopped",
        within_seconds=SEGMENT_SECONDS,
        failing=team.check_alive,
    )
    for role, (limit, maximum) in IN_A_ROW.items():
        agent = team.agent(tasks[role])
        assert agent.trip is not None, team.story(agent.id)
        assert (agent.trip.limit, agent.trip.maximum) == (limit, maximum), team.story(agent.id)
        log = [*team.registry.log(agent.id)]
        before = log[: next(n for n, one in enumerate(log) if isinstance(one, Tripped))]
        assert count(before, SegmentStarted) == 1 + len(CUT_OFF)
        assert agent.trip.observed == in_a_row(before)[limit], team.story(agent.id)
        if limit == "max_tokens":
            *_, less, reached = tokens_after_each_answer(before)
            assert less < maximum <= reached
        else:
            assert agent.trip.observed == maximum


# --- the deaths --------------------------------------------------------------------------------


def dies_when(team: Squad, tasks: Mapping[str, Task], kind: type[AgentEvent]) -> None:
    """The service dies while something of this kind is under way; then it starts again."""
    until(
        lambda: any(under_way(team, task, kind) for task in tasks.values()),
        f"{kind.__name__} is the last that happened to an agent",
        failing=team.check_alive,
    )
    with dying(team, tasks):
        pass


@contextmanager
def dying(team: Squad, tasks: Mapping[str, Task]) -> Iterator[None]:
    """`kill -9`; what is done while the service is dead; and every limit before and after it."""
    shown_before = shown(team, tasks)
    team.service.kill()
    died = {role: team.registry.log(team.agent(task).id) for role, task in tasks.items()}
    counted = {role: fold(log) for role, log in died.items()}
    alive = [role for role, counters in counted.items() if counters.trip is None]
    for role in alive:
        # shown up to that instant; of time, a death costs what the timer had not yet written
        figures = without(shown_before[role], "max_active_duration", *BY_RULE)
        assert_not_less(role, figures, of_counters(counted[role]))
    yield
    started = time.monotonic()
    team.service.start()
    for role, task in tasks.items():
        until_it_goes_on(team, task, died[role])
    now_shown = shown(team, tasks)
    lived_seconds = time.monotonic() - started
    for role, task in tasks.items():
        log = team.registry.log(team.agent(task).id)
        assert log[: len(died[role])] == died[role], f"the log of {role} lost something"
        if role not in alive:
            continue  # what stopped an agent is shown as it was at that moment
        figures = now_shown[role]
        assert_not_less(role, without(of_counters(counted[role]), *BY_RULE), figures)
        assert_not_less(role, {SLEEP: shown_before[role].get(SLEEP, 0)}, figures)
        if team.agent(task).trip is None:
            assert_by_rule(role, figures, died[role], log)
            assert figures[IDLE] <= lived_seconds, "a silence began before the process did"


def under_way(team: Squad, task: Task, kind: type[AgentEvent]) -> bool:
    """Whether this was the last that happened to the agent, which works."""
    agent = team.agent(task)
    return agent.state is State.ACTIVE and isinstance(team.registry.log(agent.id)[-1], kind)


def until_it_goes_on(team: Squad, task: Task, died: Sequence[AgentEvent]) -> None:
    """An agent that worked when the process died has begun its segment again."""
    starts = sum(isinstance(event, SegmentStarted) for event in died)

    def look() -> bool:
        agent = team.agent(task)
        if agent.state is not State.ACTIVE:
            return True
        log = team.registry.log(agent.id)
        return sum(isinstance(event, SegmentStarted) for event in log) > starts

    if team.agent(task).state is State.ACTIVE:
        until(look, f"{task} goes on", failing=team.check_alive)


def are_in_call(team: Squad, tasks: Sequence[Task], number: int) -> bool:
    """Whether the tool call of that number has begun, and not ended, in every agent."""
    logs = [team.registry.log(team.agent(task).id) for task in tasks]
    calls = [[one for one in log if isinstance(one, ToolAsked | ToolEnded)] for log in logs]
    return all(count(log, ToolAsked) == number and isinstance(log[-1], ToolAsked) for log in calls)


# --- figures -----------------------------------------------------------------------------------

SLEEP, IDLE = "max_sleep_duration", "max_idle_duration"
BY_RULE = (
    "max_consecutive_tools",
    "max_tool_calls_per_turn",
    "max_repeated_errors",
    "max_repeated_calls",
    IDLE,
)
"""Figures that begin anew by their own definition: with a prompt, a text, a human's word, another
result or a sign of life. All others only ever grow."""


def shown(team: Squad, tasks: Mapping[str, Task]) -> dict[str, dict[str, float]]:
    """What AGENT shows of each role's agent; of sleep only while it sleeps."""
    answer = team.asks_api("GET", "/api/agents")
    assert answer.status_code == 200, answer.text
    figures = {}
    for agent in answer.json()["agents"]:
        if agent["parent"] is None and agent["role"] in tasks:
            limits = {name: use["observed"] for name, use in agent["limits"].items()}
            own = {"tokens": agent["tokens"], "cost_usd": agent["cost_usd"]}
            if agent["state"] != State.SLEEPING:
                del limits[SLEEP]
            figures[agent["role"]] = {**limits, **own}
    return figures


def of_counters(counters: Counters) -> dict[str, float]:
    """The same figures, as the stored log has them."""
    return {
        "max_tool_calls": counters.tool_calls,
        "max_turns": counters.turns,
        "max_model_calls": counters.model_calls,
        "max_iterations": counters.fix_cycles,
        "max_spawns": counters.spawns,
        "max_depth": counters.levels,
        "max_tokens": counters.tokens,
        "max_cost_usd": counters.cost_nanousd / 1e9,
        "max_execution_cost_usd": counters.execution_nanousd / 1e9,
        "max_planning_cost_usd": counters.planning_nanousd / 1e9,
        "max_active_duration": int(counters.active.total_seconds() * 1_000) / 1_000,
        "max_consecutive_tools": counters.calls_since_text,
        "max_tool_calls_per_turn": counters.calls_in_turn,
        "max_repeated_errors": counters.loops.errors,
        "max_repeated_calls": counters.loops.rounds,
        "tokens": counters.tokens,
        "cost_usd": counters.cost_nanousd / 1e9,
    }


def without(figures: Mapping[str, float], *names: str) -> dict[str, float]:
    """All other figures."""
    return {name: each for name, each in figures.items() if name not in names}


def assert_by_rule(
    role: str,
    figures: Mapping[str, float],
    died: Sequence[AgentEvent],
    log: Sequence[AgentEvent],
) -> None:
    """What counts anew is shown as the log has it at one of the moments since the death."""
    moments = accumulate(log[len(died) :], after, initial=fold(died))
    seen = [of_counters(counters) for counters in moments]
    for name in set(BY_RULE) - {IDLE}:
        allowed = {each[name] for each in seen}
        assert figures[name] in allowed, f"{name} of {role} is {figures[name]}, not {allowed}"


def assert_not_less(role: str, before: Mapping[str, float], now: Mapping[str, float]) -> None:
    """Each figure of `before` is there now, and not smaller."""
    for name, was in before.items():
        if name in now:
            assert now[name] >= was, f"{name} of {role} fell from {was} to {now[name]}"


# --- the people, and the end -------------------------------------------------------------------


def waits(team: Squad, task: Task) -> bool:
    """Whether the agent has asked its question, or was stopped."""
    agent = team.agent(task)
    return agent.waits_for is Waits.ANSWER or agent.is_final


def wake(team: Squad, tasks: Mapping[str, Task]) -> None:
    """Maria answers all questions."""
    for task in tasks.values():
        if team.agent(task).waits_for is Waits.ANSWER:
            team.comment(task, "Go on as you think best.")


def until_all_are_stopped(team: Squad, tasks: Mapping[str, Task]) -> None:
    """Whoever asks again is answered again."""

    def look() -> bool:
        wake(team, tasks)
        return all(team.agent(task).is_final for task in tasks.values())

    until(look, "every agent was stopped", within_seconds=SEGMENT_SECONDS, failing=team.check_alive)


def assert_stopped_by(team: Squad, agent: Agent, limit: str, maximum: float) -> None:
    """By its own limit, at exactly its maximum, and nothing more was done than the trip says; of
    time: as soon as it was seen to be reached."""
    trip = agent.trip
    assert agent.state is State.ESCALATED and trip is not None, team.story(agent.id)
    assert (trip.limit, trip.maximum) == (limit, maximum), team.story(agent.id)
    assert trip.observed is not None
    if limit == "max_active_duration":
        assert trip.observed >= maximum
    else:
        assert trip.observed == maximum == of_counters(team.registry.counters(agent.id))[limit]


# --- rows, added up by hand --------------------------------------------------------------------


def count(log: Sequence[AgentEvent], kind: type[AgentEvent]) -> int:
    """How many events of a kind are in a log."""
    return sum(isinstance(event, kind) for event in log)


def tokens_after_each_answer(log: Sequence[AgentEvent]) -> list[int]:
    """The sum of all tokens, answer by answer."""
    answers = [event for event in log if isinstance(event, ModelCalled)]
    return [*accumulate(one.input_tokens + one.output_tokens for one in answers)]


def in_a_row(log: Sequence[AgentEvent]) -> dict[str, float]:
    """What an agent has used that did nothing but the same in vain, and never said a word."""
    turn = max(n for n, event in enumerate(log) if isinstance(event, TurnAsked))
    cents = [one.cost_nanousd or 0 for one in log if isinstance(one, ModelCalled)]
    return {
        "max_repeated_errors": count(log, ToolEnded),
        "max_repeated_calls": count(log, ToolEnded),
        "max_consecutive_tools": count(log, ToolAsked),
        "max_tool_calls_per_turn": count(log[turn:], ToolAsked),
        "max_turns": count(log, TurnAsked),
        "max_model_calls": count(log, ModelAsked),
        "max_tokens": tokens_after_each_answer(log)[-1],
        "max_planning_cost_usd": sum(cents) / 1e9,
        "max_execution_cost_usd": sum(cents) / 1e9,
    }
