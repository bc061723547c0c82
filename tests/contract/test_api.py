"""`/api` as its users meet it (`docs/reference/http.md`)."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from pydantic import SecretStr

from app.bootstrap import Service, build
from app.config.settings import AdminToken, Settings
from app.core.agents.agent import Agent
from app.core.agents.events import Raised
from app.core.agents.lifecycle import State
from app.web import bearers
from app.web.application import rest
from tests.contract.github_support import app_key
from tests.support.people import repository
from tests.support.squad import ADMIN_TOKEN, CANARIES, Squad, squad
from tests.support.steps import completes, runs, waits_for
from tests.support.waiting import MOST_SECONDS, until

NAMED = {"ci": "canary-token-of-the-ci", "Ada.L": "canary-token-of-ada-l"}
ROLES = {"pauser": {"max_tool_calls": 2, "on_limit": "pause"}, "free": {}}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    operator = {
        "rate": {"starts_per_user_per_hour": 25},
        "ceilings": {"max_tool_calls": 4},
        "budgets": [{"scope": "role", "name": "free", "window": "day", "max_cost_usd": 2}],
        "pricing": {"scripted": {"input": 1, "output": 1}},
    }
    places, directory = {"octo/demo": repository(ROLES)}, tmp_path_factory.mktemp("api")
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in NAMED.items()))
    named = {"SQUADRON_ADMIN_TOKENS_FILE": str(tokens)}
    with squad(directory, places, operator=operator, further_environment=named) as team:
        yield team


@pytest.fixture(scope="module")
def held(team: Squad) -> Agent:
    """An agent that is paused at 2 of 2 tool calls; the ceiling is 4."""
    task = team.give("pauser", "Hold", *(runs(f"echo {n}") for n in range(3)), completes("Done."))
    return team.until(task, State.PAUSED)


def as_named(team: Squad, name: str, method: str, path: str) -> httpx.Response:
    bearer = {"Authorization": f"Bearer {NAMED[name]}"}
    return team.service.http.request(method, path, headers=bearer)


def path_of(agent: Agent, more: str = "") -> str:
    return f"/api/agents/{quote(str(agent.id))}{more}"


def resume(team: Squad, agent: Agent, content: Any = None) -> httpx.Response:
    return team.asks_api("POST", path_of(agent, "/resume"), content)


def service_of(directory: Path, *tokens: AdminToken) -> Service:
    """A service that is not started."""
    (directory / "operator.yaml").write_text("sandbox: {mode: off}")
    settings = Settings(
        github_app_id=1,
        github_private_keys=(app_key(),),
        webhook_secrets=(SecretStr("s"),),
        github_api_url="http://127.0.0.1:1",
        data_dir=directory,
        database_url=SecretStr(f"sqlite:///{directory / 's.sqlite'}"),
        config=directory / "operator.yaml",
        admin_tokens=tokens,
    )
    return build(settings)


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {ADMIN_TOKEN}x"},
        {"Authorization": "Bearer"},
        {"Authorization": f"Basic {ADMIN_TOKEN}"},
        {"Authorization": ADMIN_TOKEN},
        {"Authorization": "Bearer wr\xf6ng".encode("latin-1")},
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/agents"),
        ("GET", "/api/agents/octo/demo%231/pauser/1"),
        ("POST", "/api/agents/octo/demo%231/pauser/1/resume"),
    ],
)
def test_without_the_token_nothing_is_told_or_done(
    team: Squad, method: str, path: str, header: dict[str, Any]
) -> None:
    answer = team.service.http.request(method, path, headers=header)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "SQUADRON_ADMIN_TOKEN" in answer.json()["detail"]
    assert ADMIN_TOKEN not in answer.text


def test_a_stranger_is_turned_away_before_anything_is_read(team: Squad) -> None:
    """However long the body is said to be, and although none of it comes."""
    port = team.service.http.base_url.port
    for path in ("/api/agents/x/resume", "/api/unknown", "/openapi.json"):
        with socket.create_connection(("127.0.0.1", port), timeout=MOST_SECONDS) as stranger:
            head = f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n"
            stranger.sendall(head.encode())
            assert stranger.recv(100).startswith(b"HTTP/1.1 401 "), path


def test_a_bearer_sends_no_endless_body_either(team: Squad, held: Agent) -> None:
    authorization = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    url = path_of(held, "/resume")
    spaces = b" " * 1_000_000
    answer = team.service.http.post(url, headers=authorization, content=spaces)
    assert answer.status_code == 413
    parts = iter([b" ", b" "])
    answer = team.service.http.post(url, headers=authorization, content=parts)
    assert answer.status_code == 411


def test_every_route_but_those_for_everybody_needs_the_token(tmp_path: Path) -> None:
    """Also a route that is added some day."""
    service = service_of(tmp_path, AdminToken("api", SecretStr(ADMIN_TOKEN)))
    paths = set(rest(service).openapi()["paths"])
    service.writer.close()
    service.database.dispose()
    guarded = {path for path in paths if path.startswith(bearers.GUARDED)}
    assert paths - guarded == {"/healthz", "/readyz", "/metrics"}
    assert guarded > {"/api/agents"}


async def test_where_no_token_is_set_there_is_no_api(tmp_path: Path) -> None:
    service = service_of(tmp_path)
    transport = httpx.ASGITransport(rest(service))
    async with httpx.AsyncClient(transport=transport, base_url="http://squadron") as anybody:
        for method, path in (("GET", "/api/agents"), ("POST", "/api/agents/o/r%231/x/1/resume")):
            answer = await anybody.request(method, path, headers={"Authorization": "Bearer "})
            assert answer.status_code == 404
        for path in ("/openapi.json", "/docs", "/redoc"):
            assert (await anybody.get(path)).status_code == 404
    service.writer.close()
    service.database.dispose()


@pytest.mark.full
def test_the_registry_and_one_agent_have_the_shape_of_the_examples(
    team: Squad, held: Agent
) -> None:
    """EXAMPLES, "JSON"."""
    listed = team.asks_api("GET", "/api/agents").json()
    shown = team.asks_api("GET", path_of(held)).json()
    assert [one for one in listed["agents"] if one["id"] == str(held.id)] == [shown]
    assert shown["id"] == f"octo/demo#{held.id.issue}/pauser/1"
    assert (shown["state"], shown["waits_for"]) == ("PAUSED", "raise")
    assert shown["limits"]["max_tool_calls"] == {"observed": 2, "maximum": 2}
    assert shown["limits"]["max_active_duration"]["maximum"] == 7200
    assert (shown["trip"], shown["pull_request"]) == (None, None)
    assert shown["cost_usd"] == shown["tokens"] / 1_000_000
    assert shown["tokens"] > 0 and shown["branch"] == held.branch and shown["sha"] == held.sha


@pytest.mark.parametrize(
    "name", ["octo/demo%239/pauser/1", "octo/demo%231/pauser/2", "octo/demo", "x%00y", "resume"]
)
@pytest.mark.parametrize(("method", "more"), [("GET", ""), ("POST", "/resume")])
def test_an_unknown_agent_is_not_found(team: Squad, method: str, more: str, name: str) -> None:
    answer = team.asks_api(method, f"/api/agents/{name}{more}")
    assert answer.status_code == 404, answer.text
    assert "agent" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"amount": 0}, "above 0"),
        ({"amount": -5}, "above 0"),
        ({"amount": 1.5}, "a whole number above 0"),
        ({"amount": "5"}, "amount"),
        ({"amount": True}, "amount"),
        ({"limit": "max_tool_cals"}, "max_tool_calls"),
        ({"limit": "max_sleep_duration"}, "cannot be raised"),
        ({"limit": 5}, "limit"),
        ({"limits": "max_tool_calls"}, "limits"),
        ({"note": "x" * 10_001}, "note"),
        ([], "body"),
    ],
)
def test_what_makes_no_sense_is_refused_with_words_and_changes_nothing(
    team: Squad, held: Agent, content: Any, words: str
) -> None:
    answer = resume(team, held, content)
    assert answer.status_code == 422, answer.text
    assert words in answer.text
    assert team.registry.agent(held.id) == held


@pytest.mark.parametrize(
    "body", [b"{", b'{"amount": NaN}', b'{"amount": Infinity}', b'{"limit": NaN}', b"\xff"]
)
def test_a_body_that_is_no_json_is_refused(team: Squad, held: Agent, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "Content-Type": "application/json"}
    answer = team.service.http.post(path_of(held, "/resume"), content=body, headers=headers)
    assert answer.status_code in (400, 422), answer.text
    assert team.registry.agent(held.id) == held


def test_another_limit_than_the_one_that_holds_it_is_refused(team: Squad, held: Agent) -> None:
    answer = resume(team, held, {"limit": "max_turns", "amount": 5})
    assert answer.status_code == 409
    assert "held by `max_tool_calls`" in answer.json()["detail"]


def test_an_agent_at_work_is_refused(team: Squad) -> None:
    task = team.give("free", "Work", waits_for(team.signal("work")), completes("Done."))
    agent = team.until(task, State.ACTIVE)
    answer = resume(team, agent)
    assert answer.status_code == 409
    assert "is at work" in answer.json()["detail"]
    team.go("work")
    team.until(task, State.COMPLETED)


def test_the_description_names_the_token_and_every_answer(team: Squad) -> None:
    """docs/design.md, Outside interface: OpenAPI."""
    assert team.service.http.get("/openapi.json").status_code == 401
    described = team.asks_api("GET", "/openapi.json").json()
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    paths = described["paths"]
    operation = paths["/api/agents/{agent_id}/resume"]["post"]
    assert operation["security"] == [{"HTTPBearer": []}]
    assert {"200", "401", "404", "409", "422", "429"} <= operation["responses"].keys()
    assert set(described["components"]["schemas"]["Resume"]["properties"]) == {
        "limit",
        "amount",
        "note",
    }
    assert paths["/api/agents/{agent_id}"]["get"]["parameters"][0]["name"] == "agent_id"


def test_the_front_page_says_what_this_is_and_where_to_look(team: Squad) -> None:
    front = team.service.http.get("/")
    assert (front.status_code, front.headers["content-type"]) == (200, "text/html; charset=utf-8")
    for path in re.findall('href="([^"]+)"', front.text):
        assert team.service.http.get(path).status_code == 200
    assert not [canary for canary in CANARIES if canary in front.text]


def test_more_than_the_ceiling_is_granted_as_far_as_it_goes_then_the_rate_is_kept(
    team: Squad, held: Agent
) -> None:
    answer = resume(team, held, {"limit": "max_tool_calls", "amount": 100})
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert shown["granted"] == [{"limit": "max_tool_calls", "amount": 2, "maximum": 4}]
    assert (shown["state"], shown["segment"]) != ("PAUSED", 0)
    until(lambda: team.registry.agent(held.id).state is State.COMPLETED, "it goes on to its end")
    answers = [resume(team, held) for _ in range(25)]
    assert {answer.status_code for answer in answers} == {409, 429}
    assert 0 < int(answers[-1].headers["retry-after"]) <= 3600


@pytest.mark.full
def test_what_the_last_look_at_github_has_cost_is_told_alike_everywhere(team: Squad) -> None:
    """Issue 4: one pass says its cost; in the log, by the API, the metrics, and a command."""
    until(
        lambda: any(line["message"] == "reconciled" for line in team.service.lines()),
        "a pass has ended",
        failing=team.check_alive,
    )
    team.service.stop()
    logged = [line for line in team.service.lines() if line["message"] == "reconciled"][-1]
    told = json.loads(team.service.commands("agents", "--json").stdout)["last_pass"]
    assert told.items() <= {**logged, "ended_at": told["ended_at"]}.items()
    team.service.start()
    began = told["ended_at"]

    def everywhere() -> bool:
        shown = team.asks_api("GET", "/api/agents").json()["last_pass"]
        figure = f"squadron_last_pass_requests {float(shown['requests'])}"
        lines = team.service.http.get("/metrics").text.splitlines()
        is_whole = shown["requests"] >= 3 and shown["put_off"] == {}  # who stops cuts one off
        return bool(shown["ended_at"] > began and is_whole and figure in lines)

    until(everywhere, "the API and the metrics tell of a later pass", failing=team.check_alive)


@pytest.mark.full
def test_a_token_with_a_name_has_its_own_rate_and_its_name_stands_beside_its_deeds(
    team: Squad,
) -> None:
    steps = (runs("echo 1"), runs("echo 2"), runs("echo 3"), completes("Done."))
    task = team.give("pauser", "Hold again", *steps)
    agent = team.until(task, State.PAUSED)
    answer = as_named(team, "Ada.L", "POST", path_of(agent, "/resume"))
    assert answer.status_code == 200, answer.text
    until(lambda: team.registry.agent(agent.id).state is State.COMPLETED, "it goes on")
    [raised] = [event for event in team.registry.log(agent.id) if isinstance(event, Raised)]
    assert raised.by == "api:Ada.L"
    told = team.service.commands("explain", str(agent.id)).stdout
    assert "api:Ada.L" in told
    answers = [as_named(team, "ci", "POST", path_of(agent, "/resume")) for _ in range(26)]
    assert [answer.status_code for answer in answers] == [409] * 25 + [429]
    assert "`api:ci`" in answers[-1].json()["detail"]
    assert as_named(team, "Ada.L", "POST", path_of(agent, "/resume")).status_code == 409
    assert as_named(team, "ci", "GET", "/api/agents").status_code == 200
    assert not [one for one in team.service.lines() if NAMED["ci"] in str(one)]


def test_what_is_left_of_budgets_is_told_as_the_command_tells_it(team: Squad) -> None:
    answer = team.asks_api("GET", "/api/budgets")
    assert answer.status_code == 200
    [budget] = answer.json()["budgets"]
    assert (budget["budget"], budget["maximum_usd"]) == ("role:free", 2.0)
    assert answer.json() == json.loads(team.service.commands("costs", "--budgets", "--json").stdout)


def test_ctrl_c_is_an_orderly_end(team: Squad) -> None:
    """As `docs/how-to/stop-everything.md` says."""
    assert team.service.interrupt() == 0
    assert team.service.lines()[-1]["message"] == "stopped"
    team.service.start()
