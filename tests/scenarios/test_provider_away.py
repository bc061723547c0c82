"""A provider of models that is away for a while ends no agent, and is asked by one at a time.

Issues, "What cannot wait", 6: an agent whose model did not answer for a minute was ended for good.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from app.core.agents.agent import Agent
from app.core.agents.counters import fold
from app.core.agents.events import HeldUp, SegmentEnded, Waits
from app.core.agents.lifecycle import State
from app.scripted.script import Answer, Call, Failure, Script, Step
from app.scripted.server import Silence
from tests.support.people import REPOSITORY, SUMMARY, Task, repository
from tests.support.squad import ServedSquad, squad
from tests.support.steps import commits, completes, runs, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.full

TROUBLES: dict[str, tuple[Step | Silence, str]] = {
    "401": (Failure(401), "HTTP status 401 (1 try): check the model's API key"),
    "402": (Failure(402), "HTTP status 402"),
    "403": (Failure(403), "HTTP status 403"),
    "429": (Failure(429, headers={"Retry-After": "6"}), "HTTP status 429"),
    "503": (Failure(503), "HTTP status 503"),
    "half an answer": (Answer("hello " * 200, breaks_off=True), "broke off"),
    "garbage": (Failure(200, "<html>"), "gave no answer that can be understood"),
    "no answer": (Silence(), "cannot be reached"),
}
AWAY_SECONDS = 75
"""How long it is away is part of the story of who asks it meanwhile."""
WAITS = "The agent waits for the model's provider"


@pytest.fixture(scope="module")
def team(
    tmp_path_factory: pytest.TempPathFactory, database_url: str | None
) -> Iterator[ServedSquad]:
    roles = {"docs": {"max_turns": 3, "max_model_calls": 8}, "lead": {}, "helper": {}}
    with squad(
        tmp_path_factory.mktemp("provider"),
        {REPOSITORY: repository(roles)},
        database_url=database_url,
    ) as team:
        yield team


def begun(team: ServedSquad, title: str) -> tuple[Task, Agent]:
    """An agent in the middle of its work, which asks its model after `team.go(title)`."""
    go = team.signal(title)
    steps = [waits_for(go), writes("news.md", "news\n"), commits("News"), completes("Told.")]
    task = team.give("docs", title, *steps)
    agent = team.until(task, State.ACTIVE)
    until(lambda: team.processes(agent.id), "a command at work", failing=team.check_alive)
    return task, agent


def tries(team: ServedSquad) -> int:
    """How often it was asked in vain, with a pause before each time."""
    said = "the model's provider is away"
    return max((one["tries"] for one in team.service.lines() if said in one["message"]), default=0)


def held_up(team: ServedSquad, agent: Agent) -> list[HeldUp]:
    return [each for each in team.registry.log(agent.id) if isinstance(each, HeldUp)]


def check_unharmed(team: ServedSquad, task: Task, agent: Agent) -> None:
    """It is the same agent that hands over, and what it asked in vain counts for nothing."""
    handed_over = team.until_handed_over(task)
    assert handed_over.id == agent.id
    counters = fold(team.registry.log(agent.id))
    assert counters.turns <= 1 + len(held_up(team, agent))
    assert counters.trip is None and counters.hold is None
    assert not team.github.escalations(task.repository, task.number)


def listed(team: ServedSquad, agent: Agent) -> Any:
    """What `squadron agents --json` says of it."""
    agents = json.loads(team.service.commands("agents", "--json").stdout)["agents"]
    return next(one for one in agents if one["id"] == str(agent.id))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_whatever_it_does_instead_of_answering_its_agent_waits(
    team: ServedSquad, trouble: str
) -> None:
    step, reason = TROUBLES[trouble]
    task, agent = begun(team, trouble.replace(" ", "-"))
    team.model.trouble = step
    team.go(trouble.replace(" ", "-"))
    held = team.until(task, State.QUEUED, Waits.PROVIDER)
    assert reason in team.until_comment(task, WAITS)
    assert held.retry_at is not None and held.worker is None
    said = listed(team, agent)
    assert said["waits_for"] in ("provider", None)
    team.model.trouble = None
    check_unharmed(team, task, agent)


def test_a_minute_and_more_without_it_ends_nobody_and_one_asks_at_a_time(team: ServedSquad) -> None:
    begins = [begun(team, f"away-{n}") for n in range(4)]
    with team.model.refusing():
        for task, _ in begins:
            team.go(task_title(team, task))
        for task, _ in begins:
            team.until(task, State.QUEUED, Waits.PROVIDER)
        later = team.give("docs", "Comes later", completes("Nothing to do."))
        team.until(later, State.QUEUED, Waits.PROVIDER)
        assert "cannot be reached" in team.until_comment(later, WAITS)
        assert not team.prompts(later)
        time.sleep(AWAY_SECONDS)
        worked = [asked_in_vain(team, agent) for _, agent in begins]
        # Each has found out by itself; after that, one of them a pause: 5, 10, 20, 40 seconds.
        assert len(begins) + 2 <= sum(worked) + asked_in_vain(team, team.agent(later)) <= 12
        assert [agent.state for agent in team.registry.agents(REPOSITORY) if agent.is_final] == []
    for task, agent in begins:
        check_unharmed(team, task, agent)
    assert team.until(later, State.COMPLETED)
    team.reconciles(2)
    assert not [one for one in team.repairs(2) if "let on" in one]


def task_title(team: ServedSquad, task: Task) -> str:
    title: str = team.github.sees(task.path)["title"]
    return title


def asked_in_vain(team: ServedSquad, agent: Agent) -> int:
    """How many of its segments ended because it does not answer."""
    log = team.registry.log(agent.id)
    return sum(isinstance(each, SegmentEnded) and "cannot be reached" in each.why for each in log)


def test_a_sub_agents_provider_that_is_away_ends_neither(team: ServedSquad) -> None:
    go = team.signal("below")
    script = Script("below", (waits_for(go), completes("Looked.")), SUMMARY)
    known = team.model.scripts
    team.model.scripts = replace(known, scripts=(*known.scripts, script))
    call = Call("task", {"role": "helper", "prompt": "SCENARIO:below\nLook.", "limits": {}})
    task = team.give("lead", "Leads", Answer("", (call,)), runs("echo on"), completes("Led."))
    agent = team.until(task, State.ACTIVE)
    until(lambda: team.processes(agent.id), "a command below", failing=team.check_alive)
    team.model.trouble = Failure(503)
    team.go("below")
    team.until(task, State.QUEUED, Waits.PROVIDER)
    team.model.trouble = None
    team.until(task, State.COMPLETED)
    agents = team.registry.agents(REPOSITORY, task.number)
    assert not [one for one in agents if one.trip is not None]


def test_without_a_key_nothing_begins_and_its_operator_is_told_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    repositories = {REPOSITORY: repository({"docs": {}})}
    directory = tmp_path_factory.mktemp("keyless")
    without = {"SQUADRON_MODEL_API_KEY": "", "SQUADRON_MODEL_BASE_URL": ""}
    with squad(directory, repositories, further_environment=without) as team:
        team.tolerates("ALERT: ")
        tasks = [team.give("docs", f"Nobody has a key {n}", completes("Done.")) for n in range(3)]
        for task in tasks:
            team.until(task, State.QUEUED, Waits.PROVIDER)
            assert "there is no key for " in team.until_comment(task, WAITS)
        until(lambda: tries(team) >= 3, "it was tried again", failing=team.check_alive)
        alerts = [each for each in team.service.lines() if each["message"].startswith("ALERT: ")]
        assert len(alerts) == 1 and "there is no key for " in alerts[0]["message"]
        team.service.stop()
        key, url = "canary-model-key", f"{team.model.url}/v1"
        team.service.environment = {
            **team.service.environment,
            "SQUADRON_MODEL_API_KEY": key,
            "SQUADRON_MODEL_BASE_URL": url,
        }
        team.service.start()
        for task in tasks:
            team.until(task, State.COMPLETED)
