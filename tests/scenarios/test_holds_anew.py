"""Limits that count anew, limits that only look on, and silence that is none.

Issue, "What happens at a limit" and "Limits". The stories of each `on_limit` are in `test_holds`.
"""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from app.core.agents.agent import Agent
from app.core.agents.counters import fold
from app.core.agents.events import (
    AgentEvent,
    ClockSet,
    Passed,
    Raised,
    SegmentStarted,
    ToolAsked,
    Tripped,
    TurnAsked,
)
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer
from tests.support.people import Task, repository
from tests.support.squad import Squad, json_text, squad
from tests.support.steps import completes, runs, thinks, waits_for
from tests.support.waiting import until

pytestmark = pytest.mark.full

ANEW = (
    "max_consecutive_tools",
    "max_tool_calls_per_turn",
    "max_repeated_errors",
    "max_repeated_calls",
)
ROLES: dict[str, dict[str, Any]] = {
    **{name.replace("_", "-"): {name: 2, "on_limit": "pause"} for name in ANEW},
    "watched": {"max_tool_calls": 5, "shadow": ["max_tool_calls"]},
    "warned": {"max_tool_calls": 5, "on_limit": "warn"},
    "builder": {"max_idle_duration": 8, "setup": ["sleep 10"]},
    "hung": {"max_idle_duration": 3, "summary_wait": 1},
    "waiting": {"max_idle_duration": 12, "max_active_duration": 25, "summary_wait": 1},
}
DONE = completes("Nothing to do.")
STANDS_STILL = 40.0
"""Seconds."""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("anew")
    places = {"octo/demo": repository(ROLES)}
    with squad(directory, places, database_url=database_url) as team:
        yield team


def in_each_segment(log: Sequence[AgentEvent]) -> list[int]:
    """How many tools ran from one start of the agent to the next."""
    starts = [n for n, one in enumerate(log) if isinstance(one, SegmentStarted)]
    return [
        sum(isinstance(one, ToolAsked) for one in log[start:end])
        for start, end in pairwise([*starts, len(log)])
    ]


def held_again(team: Squad, task: Task, segment: int) -> Agent:
    """The agent, once it pauses in that segment."""

    def look() -> Agent | None:
        agent = team.agent(task)
        assert not agent.is_final, team.story(agent.id)
        return agent if (agent.state, agent.segment) == (State.PAUSED, segment) else None

    return until(look, f"{task} pauses in segment {segment}", failing=team.check_alive)


def words_to_the_model(team: Squad, task: Task) -> str:
    """All that the model was ever told about the issue."""
    return "\n".join(json_text(prompt) for prompt in team.prompts(task))


# --- once more, and not more than that ---------------------------------------------------------


@pytest.mark.parametrize("limit", ANEW)
def test_each_resume_grants_a_limit_that_counts_anew_its_own_amount_once_more(
    team: Squad, limit: str
) -> None:
    """The issue: "`/squadron resume`, which grants the limit's own amount once more": two calls,
    and two, and two, and two. A maximum that grew as well would grant two, four, six, eight."""
    fails = runs("cat missing")
    task = team.give(limit.replace("_", "-"), "Go on", *[fails] * 3 * 3, fails, fails, DONE)
    for times in range(3):
        agent = held_again(team, task, times)
        hold = team.registry.counters(agent.id).hold
        assert hold is not None
        assert (hold.limit, hold.observed, hold.maximum) == (limit, 2, 2)
        if times == 1:
            team.comment(task, "/squadron resume")
            continue
        answer = team.asks_api("POST", f"/api/agents/{quote(str(agent.id))}/resume")
        assert answer.status_code == 200, answer.text
        assert answer.json()["granted"] == [{"limit": limit, "amount": 0, "maximum": 2}]
    agent = team.until(task, State.COMPLETED)
    log = team.registry.log(agent.id)
    assert in_each_segment(log) == [2, 2, 2, 2]
    raises = [(one.amount, one.maximum) for one in log if isinstance(one, Raised)]
    assert raises == [(0, 2)] * 3


# --- a shadow limit ----------------------------------------------------------------------------


def test_a_shadow_limit_is_never_told_to_the_model(team: Squad) -> None:
    """The issue: "judged, logged and shown, never acted on". Who is told of it acts on it: neither
    the first prompt names it, nor a warning, nor anything after it was passed. Another agent, which
    differs in that alone, is told."""
    steps = (*(runs(f"echo {n}") for n in range(7)), DONE)
    watched, warned = team.give("watched", "Work", *steps), team.give("warned", "Work", *steps)
    agent = team.until(watched, State.COMPLETED)
    [passed] = [one for one in team.registry.log(agent.id) if isinstance(one, Passed)]
    assert (passed.limit, passed.observed, passed.shadow) == ("max_tool_calls", 5, True)
    words = words_to_the_model(team, watched)
    assert "max_tool_calls" not in words and "Approaching a limit" not in words
    team.until(warned, State.COMPLETED)
    assert "Approaching a limit: max_tool_calls at 4 of 5" in words_to_the_model(team, warned)
    answer = team.asks_api("GET", f"/api/agents/{quote(str(agent.id))}")
    assert answer.json()["limits"]["max_tool_calls"] == {"observed": 7, "maximum": 5}, "shown"


# --- silence -----------------------------------------------------------------------------------


def test_a_setup_that_is_longer_than_the_longest_silence_is_no_silence(team: Squad) -> None:
    """The issue, `max_idle_duration`: "seconds without any event from a running session"; before
    its first prompt there is none."""
    agent = team.until(team.give("builder", "Build", DONE), State.COMPLETED)
    log = team.registry.log(agent.id)
    [start] = [one.at for one in log if isinstance(one, SegmentStarted)]
    prompt = next(one.at for one in log if isinstance(one, TurnAsked))
    assert (prompt - start).total_seconds() >= 10
    assert not any(isinstance(one, Tripped) for one in log)


def test_a_session_that_is_silent_for_longer_is_stopped(team: Squad) -> None:
    """The same limit, when it is the model that says nothing."""
    agent = team.until_escalated(team.give("hung", "Hang", thinks(60)))
    trip = agent.trip
    assert trip is not None and trip.observed is not None
    assert (trip.limit, trip.maximum, trip.layer) == ("max_idle_duration", 3, Layer.TIMER)
    assert trip.observed >= 3


def test_time_in_which_the_process_stood_still_is_no_time(team: Squad, tmp_path: Path) -> None:
    """More of it than both limits together, in which its agent could do nothing."""
    task = team.give("waiting", "Wait", waits_for(tmp_path / "go"), DONE)

    def log() -> Sequence[AgentEvent]:
        agent = team.agents(task)[-1:]
        return team.registry.log(agent[0].id) if agent else ()

    until(lambda: any(isinstance(event, ToolAsked) for event in log()), "it waits in a shell")
    os.kill(team.service.pid, signal.SIGSTOP)
    time.sleep(STANDS_STILL)  # for nobody: it is what the test is about
    os.kill(team.service.pid, signal.SIGCONT)
    until(lambda: any(isinstance(event, ClockSet) for event in log()), "it is noted")
    (tmp_path / "go").touch()
    agent = team.until(task, State.COMPLETED)
    counters = fold(team.registry.log(agent.id))
    assert agent.trip is None
    assert counters.active.total_seconds() < STANDS_STILL
    assert any("this process stood still for" in line["message"] for line in team.service.lines())
