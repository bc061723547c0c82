"""Where the model proxy listens, and which session is given one."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.modelproxy import doors_of
from app.adapters.runtimes.door import OpenDoor
from app.ports import ModelAccess, ModelUnusable, SessionOrder
from app.scripted.script import Script, Scripts, text
from app.scripted.server import ScriptedServer
from tests.contract.embedded import KEY, RecordingGate, World
from tests.contract.model_proxy import proxied, request_body


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Scripts((Script("story", (text("done"),)),)), api_key=KEY) as server:
        yield server


async def test_it_listens_on_a_unix_socket_too(server: ScriptedServer, tmp_path: Path) -> None:
    path = tmp_path / "model.sock"
    async with proxied(server.url, socket_path=path) as client:
        assert path.stat().st_mode & 0o777 == 0o600
        transport = httpx.AsyncHTTPTransport(uds=str(path))
        async with httpx.AsyncClient(transport=transport, base_url="http://model") as http:
            body, key = request_body("chat", "SCENARIO:story"), {"x-api-key": client.proxy.key}
            assert (await http.post("/v1/chat/completions", json=body)).status_code == 401
            answer = await http.post("/v1/chat/completions", json=body, headers=key)
            assert answer.status_code == 200
        assert (await client.ask()).status_code == 200
    assert not path.exists()


async def test_nobody_listens_when_it_is_closed(server: ScriptedServer) -> None:
    async with proxied(server.url) as client:
        url, key = client.proxy.url, client.proxy.key
    async with proxied(server.url) as other, httpx.AsyncClient() as http:
        assert other.proxy.key != key
        with pytest.raises(httpx.ConnectError):
            await http.get(f"{url}/v1/models")


def order(model: str, planning_model: str | None = None) -> SessionOrder:
    world = World(Path("/nowhere"), Scripts(()), model, planning_model, most_output_tokens=300)
    return world.order()


async def test_a_door_is_opened_for_a_session(server: ScriptedServer) -> None:
    gate = RecordingGate()
    doors: OpenDoor = doors_of({"openai": ModelAccess(SecretStr(KEY), server.url + "/v1")})
    async with (
        doors(order("openai:gpt", "openai:mini"), gate) as door,
        httpx.AsyncClient(verify=False) as http,
    ):
        body, key = request_body("chat", "SCENARIO:story"), {"x-api-key": door.key}
        await http.post(f"{door.url}/v1/chat/completions", json=body, headers=key)
    assert server.requests[0].body["model"] == "gpt"
    assert server.requests[0].body["max_tokens"] == 300
    assert [each.model for each in gate.usage] == ["openai:gpt"]


@pytest.mark.parametrize(
    ("model", "planning_model", "words"),
    [
        ("gpt", None, "provider:name"),
        ("openai:", None, "provider:name"),
        ("elsewhere:gpt", None, "must be openai or anthropic"),
        ("openai:gpt", "anthropic:claude", "one provider"),
    ],
)
def test_a_model_that_cannot_be_had_has_no_door(
    model: str, planning_model: str | None, words: str
) -> None:
    with pytest.raises(ModelUnusable, match=words):
        doors_of({})(order(model, planning_model), RecordingGate())
