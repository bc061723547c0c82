"""The embedded runtime when its model fails: what is repeated, what is said, what never leaks."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from pydantic_ai.exceptions import ModelHTTPError

from app.adapters.runtimes.embedded import Bounds, models_of
from app.adapters.runtimes.embedded.calls import wait_seconds
from app.adapters.runtimes.embedded.models import context_tokens
from app.config.names import MODEL_PROVIDERS
from app.core.rules import outages
from app.ports import Idle, ModelAccess, ModelUnusable, NoProvider, ProviderAway, RuntimeFailed
from app.scripted.script import Answer, Failure, text
from app.scripted.server import ScriptedServer
from tests.contract.embedded import KEY, QUICK, World, story

ENDPOINTS = ("openai:gpt-4o", "anthropic:scripted", "anthropic:claude-haiku-4-5")


@pytest.fixture(params=ENDPOINTS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with ScriptedServer(story(text("hello")), api_key=KEY) as server:
        yield World(tmp_path, server.scripts, request.param, server=server)


async def outcome(world: World) -> Idle | RuntimeFailed | ProviderAway:
    async with world.session() as session:
        end = await session.turn("SCENARIO:story")
    assert isinstance(end, Idle | RuntimeFailed | ProviderAway)
    assert KEY not in str(end)
    saved = world.directory / "session" / "session.json"
    assert KEY not in saved.read_text()
    return end


async def failure(world: World) -> outages.ProviderFailure:
    """How the provider is away."""
    end = await outcome(world)
    assert isinstance(end, ProviderAway)
    assert end.failure.provider == world.model.partition(":")[0]
    return end.failure


def server_of(world: World) -> ScriptedServer:
    assert world.server is not None
    return world.server


@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_a_passing_failure_is_survived(world: World, status: int) -> None:
    server_of(world).fail_next(*[Failure(status, headers={"Retry-After": "0"})] * 2)
    assert await outcome(world) == Idle("hello")
    assert len(server_of(world).requests) == 3


@pytest.mark.parametrize("status", [429, 500])
async def test_a_lasting_failure_is_given_up_and_named(world: World, status: int) -> None:
    echo = f'{{"error": {{"type": "x", "message": "your key {KEY}"}}}}'
    server_of(world).fail_next(*[Failure(status, echo)] * 10)
    away = await failure(world)
    assert f"status {status} (3 tries)" in away.reason
    assert "127.0.0.1" in away.reason
    assert not away.is_refused
    assert len(server_of(world).requests) == 3


async def test_who_is_asked_to_wait_for_long_does_not_wait_here(world: World) -> None:
    server_of(world).fail_next(Failure(429, headers={"Retry-After": "90"}))
    assert (await failure(world)).retry_after_seconds == 90
    assert len(server_of(world).requests) == 1


@pytest.mark.parametrize(("status", "is_refused"), [(401, True), (402, False), (403, True)])
async def test_who_lets_nobody_in_is_away(world: World, status: int, is_refused: bool) -> None:
    echo = f'{{"error": {{"type": "x", "message": "your key {KEY}"}}}}'
    server_of(world).fail_next(Failure(status, echo))
    away = await failure(world)
    assert f"status {status} (1 try)" in away.reason
    assert away.is_refused is is_refused
    assert len(server_of(world).requests) == 1


@pytest.mark.parametrize("status", [400, 404, 413, 422])
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
    away = await failure(world)
    assert "401" in away.reason
    assert "key" in away.reason
    assert away.is_refused


@pytest.mark.parametrize(
    "body", ["not json", "[]", "{}", '{"choices": []}', '{"content": 3, "choices": 3}', ""]
)
async def test_garbage_is_no_answer(world: World, body: str) -> None:
    server_of(world).fail_next(*[Failure(200, body)] * 10)
    assert not (await failure(world)).is_refused


async def test_an_answer_that_breaks_off_is_asked_for_again(world: World) -> None:
    server = server_of(world)
    server.scripts = story(Answer("hello " * 200, breaks_off=True))
    assert not (await failure(world)).is_refused
    assert len(server.requests) == 3


async def test_a_model_that_hangs_is_given_up(world: World) -> None:
    server_of(world).scripts = story(Answer("late", think_seconds=60.0))
    world.bounds = replace(QUICK, request_seconds=0.1)
    assert "within 0.1 seconds (1 try)" in (await failure(world)).reason


async def test_a_model_that_is_not_there(world: World) -> None:
    server_of(world).close()
    away = await failure(world)
    assert "cannot be reached" in away.reason
    assert "(3 tries, ConnectError)" in away.reason


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_without_a_key_a_providers_own_endpoint_cannot_be_asked(provider: str) -> None:
    with pytest.raises(NoProvider, match="there is no key for ") as raised:
        models_of({provider: ModelAccess(SecretStr(""))})(f"{provider}:any")
    assert raised.value.failure.is_refused
    assert raised.value.failure.provider == provider
    models_of({provider: ModelAccess(SecretStr(""), "http://127.0.0.1:9")})(f"{provider}:any")


@pytest.mark.parametrize("name", ["gpt-4o", "openai:", "telepathy:gpt-4o", ""])
def test_a_model_nobody_can_make(name: str) -> None:
    with pytest.raises(ModelUnusable, match="model"):
        models_of(dict.fromkeys(MODEL_PROVIDERS, ModelAccess(SecretStr(KEY))))(name)


@pytest.mark.parametrize(
    ("name", "tokens"),
    [("anthropic:claude-haiku-4-5", 200_000), ("openai:some-local-model", 128_000)],
)
def test_the_context_window_of_a_model(name: str, tokens: int) -> None:
    providers = dict.fromkeys(MODEL_PROVIDERS, ModelAccess(SecretStr(KEY)))
    assert context_tokens(models_of(providers)(name)) == tokens


def test_the_key_is_in_no_repr() -> None:
    access = ModelAccess(SecretStr(KEY), "http://127.0.0.1:1")
    assert KEY not in repr(access)
    assert KEY not in repr(models_of({"openai": access})("openai:gpt-4o"))


@pytest.mark.parametrize(
    ("retries", "asked", "waits"),
    [
        (0, None, 1.0),
        (1, None, 2.0),
        (2, None, None),
        (0, "5", 5.0),
        (0, "6", None),
        (1, "0", 0.0),
        (0, "3600", None),
        (2, "1", None),
    ],
)
def test_how_long_a_rate_limited_request_waits(
    retries: int, asked: str | None, waits: float | None
) -> None:
    headers = {} if asked is None else {"retry-after": asked}
    error = ModelHTTPError(429, "m", headers=headers)
    assert wait_seconds(error, retries, Bounds()) == waits
