"""What outlasts a death, and what does not last for ever: `open_issue` and the conversations.

Issue 4: issues that agents open are opened once; sessions are kept for 30 days.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.adapters.workspace import agent_directory
from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import State
from app.scripted.script import Answer, Call
from app.services.reconciling.housekeeping import SESSIONS_KEPT_FOR
from tests.contract.store_support import NOON
from tests.scenarios.test_adapting import house
from tests.support.past import Past
from tests.support.people import Task, repository
from tests.support.squad import Squad, json_text, squad
from tests.support.steps import completes, waits_for
from tests.support.waiting import until

pytestmark = pytest.mark.full

OPENER = {"opener": {"tools": ["bash", "open_issue"]}}
TOO_DEEP = {"escalation": {"max_issue_depth": 0}}
PLACES = ("octo/before", "octo/after", "octo/told", "octo/deep")
TITLE = "Follow up"


# --- open_issue and kill -9 --------------------------------------------------------------------


def opens() -> Answer:
    return Answer("", (Call("open_issue", {"title": TITLE, "body": "It is needed."}),))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Squad, dict[str, Task]]]:
    """Four agents that open an issue, all killed at once at the worst moment for each: before
    GitHub has it, before its answer is heard, and after that; one may not open any. They are told
    that nobody knows what became of it, and ask again."""
    directory = tmp_path_factory.mktemp("killed")
    places = {name: repository(OPENER, TOO_DEEP if name == "octo/deep" else {}) for name in PLACES}
    with squad(directory, places, reconciliation_seconds=3600) as team:
        tasks = {name: asked(team, name) for name in PLACES}
        with ExitStack() as stack:
            for name, phase in (("before", "before"), ("after", "after"), ("deep", "after")):
                path = f"^/repos/octo/{name}/issues$"
                hangs = {"kind": "timeout", "method": "POST", "phase": phase, "seconds": 60}
                stack.enter_context(team.github.trouble(**hangs, path=path, count=1))
            for task in tasks.values():
                team.label(task, "squadron:opener")
            until(lambda: team.github.fired() == 3, "all are asked for", failing=team.check_alive)
            agent = team.agent(tasks["octo/told"])
            until(lambda: team.processes(agent.id), "the next tool runs", failing=team.check_alive)
            team.service.kill()
        team.go("told")
        team.service.start()
        for task in tasks.values():
            team.until(task, State.COMPLETED)
        team.settle()
        yield team, tasks


def asked(team: Squad, name: str) -> Task:
    after = (waits_for(team.signal("told")),) if name == "octo/told" else ()
    steps = (opens(), *after, opens(), completes("Done."))
    return team.issue("Above", *steps, repository=name).by("opener")


def opened(team: Squad, name: str) -> list[Any]:
    """Issues of our App in a repository."""
    found = team.github.lists(f"/repos/{name}/issues?state=all")
    return [one for one in found if one["user"]["type"] == "Bot"]


@pytest.mark.parametrize("name", ["octo/before", "octo/after", "octo/told"])
def test_an_issue_that_an_agent_opens_is_there_once_whenever_it_dies(
    killed: tuple[Squad, dict[str, Task]], name: str
) -> None:
    team, tasks = killed
    [issue] = opened(team, name)
    assert issue["title"] == TITLE
    assert f"Opened as #{issue['number']}." in json_text(team.prompts(tasks[name])[-1])


def test_a_human_is_asked_once_whenever_it_dies(killed: tuple[Squad, dict[str, Task]]) -> None:
    team, tasks = killed
    [human] = opened(team, "octo/deep")
    task = tasks["octo/deep"]
    assert human in team.github.escalations("octo/deep", task.number)
    assert human["body"].count(f"**{TITLE}**") == 1
    assert team.comments(Task("octo/deep", human["number"], "")) == []


# --- sessions ----------------------------------------------------------------------------------


def test_a_conversation_is_deleted_30_days_after_its_agents_end(tmp_path: Path) -> None:
    """The log of events stays, and with it what `explain` and an export say."""
    assert timedelta(days=30) == SESSIONS_KEPT_FOR
    now = datetime.now(UTC)
    hours = {days: (now - timedelta(days=days) - NOON) // timedelta(hours=1) for days in (29, 31)}
    ended: dict[int, AgentId] = {}

    async def history(past: Past) -> None:
        for days, since_noon in hours.items():
            past.at_issue(since_noon)
            ended[days] = await past.worked(1)

    with house(tmp_path, "off", history) as (_, service, _):
        files = {days: agent_directory(tmp_path / "data", str(one)) for days, one in ended.items()}
        for place in files.values():
            for name in ("session", "home"):
                (place / name).mkdir(parents=True)
                (place / name / "words").write_text("What was said.")

        async def tidies() -> None:
            await service.tidy_own_directory()

        for _ in range(2):
            (tmp_path / "data" / "tidied").unlink(missing_ok=True)
            asyncio.run(tidies())
            kept = {days: [each.name for each in place.iterdir()] for days, place in files.items()}
            assert {"session", "home"} <= {*kept[29]}
            assert {"session", "home"}.isdisjoint(kept[31])
        assert asyncio.run(service.store.log(ended[31]))
