"""Agents that real CLIs run: the same breaker, the same ends, seen on GitHub."""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from app.core.agents.counters import fold
from app.core.agents.events import ModelCalled, SegmentEnded, SegmentStarted, Waits
from app.core.agents.lifecycle import State
from app.scripted.script import Answer, Call, calls
from tests.support.clis import COPILOT_CLI, NEEDS_CLAUDE, NEEDS_COPILOT
from tests.support.people import TRIES, repository
from tests.support.sandbox import HAS_SANDBOX
from tests.support.squad import CANARIES, ServedSquad, json_text, squad
from tests.support.waiting import until

pytestmark = pytest.mark.full

AWAY_SECONDS = 75
"""How long the provider is away is part of the story: longer than any CLI tries by itself."""

WALLS = {"sandbox": {"mode": "required" if HAS_SANDBOX else "off"}}


@dataclass(frozen=True)
class Cli:
    """How its runtime is chosen, and what it calls things."""

    runtime: str
    model: str
    shell_tool: str
    shell_args: Mapping[str, object] = field(default_factory=dict)
    """That it wants besides the command."""
    prefix: str = ""
    """Of our own tools."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of the service."""

    def shell(self, command: str) -> Answer:
        return calls(Call(self.shell_tool, {"command": command, **self.shell_args}))

    def reports(self, summary: str) -> Answer:
        return calls(Call(f"{self.prefix}report_complete", {"summary": summary}))


CLAUDE = Cli("claude", "anthropic:claude-haiku-4-5", "Bash", prefix="mcp__squadron__")
COPILOT = Cli(
    "copilot",
    "openai:gpt-4o",
    "bash",
    {"description": "says what"},
    environment={} if COPILOT_CLI is None else {"SQUADRON_COPILOT_CLI": str(COPILOT_CLI)},
)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(CLAUDE, id="claude", marks=NEEDS_CLAUDE),
        pytest.param(COPILOT, id="copilot", marks=NEEDS_COPILOT),
    ],
)
def cli(request: pytest.FixtureRequest) -> Cli:
    chosen: Cli = request.param
    return chosen


@pytest.fixture(scope="module")
def team(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSquad]:
    roles: dict[str, Any] = {
        "docs": {"runtime": cli.runtime},
        "bug-fix": {"runtime": cli.runtime, "max_iterations": 1},
    }
    with squad(
        tmp_path_factory.mktemp(cli.runtime),
        {"octo/demo": repository(roles)},
        model_name=cli.model,
        operator=WALLS,
        further_environment=cli.environment,
    ) as team:
        yield team


def test_an_agent_works_and_hands_over_without_a_secret(team: ServedSquad, cli: Cli) -> None:
    looks = cli.shell("cat /proc/$PPID/environ /proc/self/environ | tr '\\0' '\\n'; id")
    commit = cli.shell("echo news >> README.md && git commit --quiet --all --message News")
    task = team.give("docs", "Tell the news", looks, commit, cli.reports("Told the news."))
    agent = team.until_handed_over(task)
    said = json_text(team.prompts(task)[-1])
    assert "SQUADRON_SEGMENT=" in said
    assert f"uid={1000 if HAS_SANDBOX else os.getuid()}(" in said
    assert not [canary for canary in CANARIES if canary in said]
    called = [each for each in team.registry.log(agent.id) if isinstance(each, ModelCalled)]
    assert len(called) == len(team.prompts(task)) == 3
    assert all(each.input_tokens and each.cost_nanousd for each in called)
    assert not team.processes(agent.id)


def test_a_provider_that_is_away_ends_nobody(team: ServedSquad, cli: Cli) -> None:
    """However the CLI takes it: what is known of the endpoint decides."""
    # GitHub's SDK tells the loop of an answer that nobody waits for any more.
    team.tolerates("Exception in callback Future.set_result")
    go = team.signal("go")
    waits = cli.shell(f"for n in $(seq 600); do [ -e {go} ] && exit 0; sleep 0.1; done; exit 1")
    task = team.give("docs", "Outlive it", waits, cli.reports("It came back."))
    agent = team.until(task, State.ACTIVE).id
    until(
        lambda: any("seq 600" in line for line in team.processes(agent).values()),
        "its command at work",
        failing=team.check_alive,
    )
    with team.model.refusing():
        team.go("go")
        team.until(task, State.QUEUED, Waits.PROVIDER)
        words = team.until_comment(task, "The agent waits for the model's provider")
        assert "cannot be reached" in words
        time.sleep(AWAY_SECONDS)
        assert team.agent(task).state in (State.QUEUED, State.ACTIVE)
    assert team.until(task, State.COMPLETED).id == agent
    log = team.registry.log(agent)
    begun = [each.at for each in log if isinstance(each, SegmentStarted)]
    ended = [each.at for each in log if isinstance(each, SegmentEnded)]
    at_work = sum((end - start for start, end in zip(begun, ended, strict=True)), timedelta())
    assert fold(log).active <= at_work, "what was queued for the provider counts for nothing"
    assert len(begun) > 1
    assert not team.github.escalations(task.repository, task.number)


def test_its_fix_cycles_are_counted_and_stop_it(team: ServedSquad, cli: Cli) -> None:
    rounds = [
        step for n in range(9) for step in (cli.shell(f"echo {n} > answer"), cli.shell(TRIES))
    ]
    report = cli.reports("It never passed.")
    task = team.give("bug-fix", "Make it pass", cli.shell(TRIES), *rounds, summary=report)
    agent = team.until_escalated(task)
    assert agent.state is State.ESCALATED
    assert agent.trip is not None and agent.trip.limit == "max_iterations", agent.trip
    assert team.until_comment(task, "It never passed.")
