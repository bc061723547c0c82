"""The embedded runtime when its model fails: what is repeated, what is said, what never leaks."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from pydantic_ai.exceptions import ModelHTTPError

from app.adapters.runtimes.embedded import Bounds, ModelAccess, models_of
from app.adapters.runtimes.embedded.calls import wait_seconds
from app.adapters.runtimes.embedded.models import context_tokens
from app.ports import Idle, RuntimeFailed
from app.scripted.script import Answer, Failure, text
from app.scripted.server import ScriptedServer
from tests.contract.embedded import KEY, QUICK, World, story

ENDPOINTS = ("openai:gpt-4o", "anthropic:scripted", "anthropic:claude-haiku-4-5")


@pytest.fixture(params=ENDPOINTS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with ScriptedServer(story(text("hello")), api_key=KEY) as server:
        yield World(tmp_path, server.scripts, request.param, server=server)


async def outcome(world: World) -> Idle | RuntimeFailed:
    async with world.session() as session:
        end = await session.turn("SCENARIO:story")
    assert isinstance(end, Idle | RuntimeFailed)
    assert KEY not in str(end)
    saved = world.directory / "session" / "session.json"
    assert KEY not in saved.read_text()
    return end


def server_of(world: World) -> ScriptedServer:
    assert world.server is not None
    return world.server


@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_a_passing_failure_is_survived(world: World, status: int) -> None:
    server_of(world).fail_next(*[Failure(status, headers={"Retry-After": "0"})] * 4)
    assert await outcome(world) == Idle("hello")
    assert len(server_of(world).requests) == 5


@pytest.mark.parametrize("status", [429, 500])
async def test_a_lasting_failure_is_given_up_and_named(world: World, status: int) -> None:
    echo = f'{{"error": {{"type": "x", "message": "your key {KEY}"}}}}'
    server_of(world).fail_next(*[Failure(status, echo)] * 10)
    end = await outcome(world)
    assert isinstance(end, RuntimeFailed)
    assert f"status {status} (5 tries)" in end.reason
    assert "127.0.0.1" in end.reason
    assert len(server_of(world).requests) == 5


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_refused_request_is_not_repeated(world: World, status: int) -> None:
    echo = f'{{"error": {{"type": "x", "message": "your key {KEY}"}}}}'
    server_of(world).fail_next(Failure(status, echo))
    end = await outcome(world)
    assert isinstance(end, RuntimeFailed)
    assert f"status {status} (1 try)" in end.reason
    assert len(server_of(world).requests) == 1


async def test_an_answer_comes_whole_or_streamed(world: World) -> None:
    assert await outcome(world) == Idle("hello")
    (request,) = server_of(world).requests
    assert bool(request.body.get("stream")) is (world.model == "anthropic:claude-haiku-4-5")


async def test_a_wrong_key_is_said_without_it(world: World) -> None:
    server_of(world).api_key = "another"
    end = await outcome(world)
    assert isinstance(end, RuntimeFailed)
    assert "401" in end.reason
    assert "key" in end.reason


@pytest.mark.parametrize(
    "body", ["not json", "[]", "{}", '{"choices": []}', '{"content": 3, "choices": 3}', ""]
)
async def test_garbage_is_no_answer(world: World, body: str) -> None:
    server_of(world).fail_next(*[Failure(200, body)] * 10)
    assert isinstance(await outcome(world), RuntimeFailed)


async def test_an_answer_that_breaks_off_is_asked_for_again(world: World) -> None:
    server = server_of(world)
    server.scripts = story(Answer("hello " * 200, breaks_off=True))
    end = await outcome(world)
    assert isinstance(end, RuntimeFailed)
    assert len(server.requests) == 5


async def test_a_model_that_hangs_is_given_up(world: World) -> None:
    server_of(world).scripts = story(Answer("late", think_seconds=60.0))
    world.bounds = replace(QUICK, request_seconds=0.1, most_retries=1)
    end = await outcome(world)
    assert isinstance(end, RuntimeFailed)
    assert "within 0.1 seconds (2 tries)" in end.reason


async def test_a_model_that_is_not_there(world: World) -> None:
    server_of(world).close()
    end = await outcome(world)
    assert isinstance(end, RuntimeFailed)
    assert "cannot be reached" in end.reason
    assert "(5 tries, ConnectError)" in end.reason


@pytest.mark.parametrize("name", ["gpt-4o", "openai:", "telepathy:gpt-4o", ""])
def test_a_model_nobody_can_make(name: str) -> None:
    with pytest.raises(ValueError, match="model"):
        models_of(ModelAccess(SecretStr(KEY)))(name)


@pytest.mark.parametrize(
    ("name", "tokens"),
    [("anthropic:claude-haiku-4-5", 200_000), ("openai:some-local-model", 128_000)],
)
def test_the_context_window_of_a_model(name: str, tokens: int) -> None:
    assert context_tokens(models_of(ModelAccess(SecretStr(KEY)))(name)) == tokens


def test_the_key_is_in_no_repr() -> None:
    access = ModelAccess(SecretStr(KEY), "http://127.0.0.1:1")
    assert KEY not in repr(access)
    assert KEY not in repr(models_of(access)("openai:gpt-4o"))


@pytest.mark.parametrize(
    ("retries", "asked", "waits"),
    [
        (0, None, 1.0),
        (1, None, 2.0),
        (3, None, 8.0),
        (4, None, None),
        (0, "7", 7.0),
        (3, "0", 0.0),
        (0, "3600", 60.0),
        (4, "7", None),
    ],
)
def test_how_long_a_rate_limited_request_waits(
    retries: int, asked: str | None, waits: float | None
) -> None:
    headers = {} if asked is None else {"retry-after": asked}
    error = ModelHTTPError(429, "m", headers=headers)
    assert wait_seconds(error, retries, Bounds()) == waits
