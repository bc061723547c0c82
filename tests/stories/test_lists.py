"""What lists show of agents, as `GET /api/agents` answers: all that their logs say, without reading
one."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx
import sqlalchemy as sa

from app.adapters.store.tables import GLANCES
from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.words.glance import glance
from app.core.words.report import report
from app.ports import FleetAgent, FleetFilter
from app.services.effects.on_github import seen_on_github
from app.services.views import report_json
from app.web.application import Application
from tests.stories.happening import ASKS, FIXES, ROLES, at_work
from tests.support.people import REPOSITORY, Task, repository
from tests.support.squad import ADMIN_TOKEN
from tests.support.steps import runs
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository(ROLES), "octo/other": repository(ROLES)}


def asked(squad: Story, **query: Any) -> httpx.Response:
    """What `/api/agents` answers."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(Application(squad.service))
        bearer = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://squadron") as client:
            return await client.get("/api/agents", params=query, headers=bearer)

    return squad.run(ask())


def listed(squad: Story, task: Task) -> FleetAgent:
    """What lists show of its agent, as it is kept."""
    fleet = squad.run(squad.service.store.fleet(FleetFilter(), after=None, most=100))
    [found] = [each for each in fleet if each.agent.id == squad.agent(task).id]
    return found


def as_the_log_says(squad: Story, agent: Agent) -> Mapping[str, Any]:
    """An agent, from all that is kept of it."""
    store = squad.service.store
    log, effects = squad.run(store.log(agent.id)), squad.run(store.effects(agent.id))
    return report_json(seen_on_github(report(agent, log, squad.clock.now()), effects))


def test_a_list_tells_of_each_agent_what_its_log_says() -> None:
    """Agents in all states in which a story leaves them by itself."""
    with story(PLACES) as squad:
        squad.give("fixer", "The answer is wrong", *FIXES)
        squad.give("fixer", "The colour is wrong", *ASKS)
        squad.give("pauser", "Two calls are too many", runs("true"), runs("true"))
        squad.give("stopper", "So are these", runs("true"), runs("true"))
        squad.settle()
        squad.passes(hours=2)
        answer: Mapping[str, Any] = asked(squad).json()
        assert answer["next"] is None
        states = {agent["state"] for agent in answer["agents"]}
        assert states == {"SLEEPING", "PAUSED", "ESCALATED"}
        told = {agent["id"]: agent for agent in answer["agents"]}
        expected = [
            as_the_log_says(squad, agent) for agent in squad.run(squad.service.store.agents())
        ]
        assert told == {agent["id"]: agent for agent in json.loads(json.dumps(expected))}


def test_a_list_is_read_page_by_page() -> None:
    with story(PLACES) as squad:
        for number in range(5):
            squad.give("fixer", f"Question {number}", *ASKS)
        squad.settle()
        everybody = [agent["id"] for agent in asked(squad).json()["agents"]]
        pages, query = list[list[str]](), dict[str, Any](limit=2)
        while True:
            page = asked(squad, **query).json()
            pages.append([agent["id"] for agent in page["agents"]])
            if page["next"] is None:
                break
            query["after"] = page["next"]
        assert [len(page) for page in pages] == [2, 2, 1]
        assert [one for page in pages for one in page] == everybody
        one = asked(squad, limit=1, state=["SLEEPING", "PAUSED"], repository="OCTO/demo").json()
        assert [agent["id"] for agent in one["agents"]] == everybody[:1]
        assert asked(squad, role="pauser").json()["agents"] == []
        since = (squad.clock.now() + timedelta(seconds=1)).isoformat()
        assert asked(squad, since=since).json()["agents"] == []
        assert asked(squad, after="octo/demo#99/fixer/1").status_code == 404
        for wrong in ({"limit": 0}, {"limit": 501}, {"state": "ASLEEP"}, {"sort": "cost"}):
            assert asked(squad, **wrong).status_code == 422, wrong


def test_who_is_at_work_is_listed_with_what_its_log_says() -> None:
    with story(PLACES) as squad:
        task = at_work(squad)
        squad.passes(seconds=3)
        agent, log = squad.agent(task), squad.log(squad.agent(task).id)
        assert agent.state is State.ACTIVE
        seen = listed(squad, task).seen
        assert seen == glance(report(agent, log, squad.clock.now()))
        assert seen.tokens > 0
        (squad.directory / "go").touch()


def test_a_pass_makes_up_for_what_lists_were_not_told() -> None:
    """As another version of Squadron leaves it, which knows of no such lists."""
    with story(PLACES) as squad:
        task = squad.give("pauser", "Two calls are too many", runs("true"), runs("true"))
        with squad.service.database.begin() as connection:
            connection.execute(sa.delete(GLANCES))
        assert listed(squad, task).seen.why == ""
        squad.passes(hours=1)
        assert "max_tool_calls" in listed(squad, task).seen.why
