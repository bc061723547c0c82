"""The model proxy lets nobody use a model's provider as a way out of a sandbox."""

import json
from typing import Any

import pytest

from app.adapters.modelproxy.requests import BadRequest, prepared
from app.adapters.modelproxy.wires import CHAT, MESSAGES, RESPONSES, Wire
from tests.contract.embedded import RecordingGate
from tests.contract.model_proxy import Endpoint, error_of, proxied, says

AWAY = "https://elsewhere.example/?what=was-read"
DATA = "data:image/png;base64,AAAA"


def said(content: object, role: str = "user") -> dict[str, object]:
    return {"messages": [{"role": role, "content": content}]}


def image(wire: Wire, address: str) -> dict[str, object]:
    if wire is RESPONSES:
        part = {"type": "input_image", "image_url": address}
        return {"input": [{"role": "user", "content": [part]}]}
    return said([{"type": "image_url", "image_url": {"url": address}}])


REACHING: list[tuple[Wire, dict[str, Any]]] = [
    (CHAT, {"web_search_options": {"search_context_size": "low"}}),
    (CHAT, {"tools": [{"type": "function"}, {"type": "web_search"}]}),
    (CHAT, {"tools": ["web_search"]}),
    (CHAT, {"tools": [{"type": None}]}),
    (CHAT, image(CHAT, AWAY)),
    (RESPONSES, image(RESPONSES, AWAY)),
    (RESPONSES, {"tools": [{"type": "web_search_preview"}]}),
    (RESPONSES, {"tools": [{"type": "mcp", "server_url": AWAY}]}),
    (RESPONSES, {"tools": [{"type": "code_interpreter"}]}),
    (RESPONSES, {"prompt": {"id": "pmpt_1"}}),
    (RESPONSES, {"input": [{"role": "user", "content": [{"file_url": AWAY}]}]}),
    (MESSAGES, {"mcp_servers": [{"type": "url", "url": AWAY}]}),
    (MESSAGES, {"tools": [{"type": "web_search_20250305"}]}),
    (MESSAGES, {"tools": [{"type": "web_fetch_20250910"}]}),
    (MESSAGES, {"tools": [{"type": "code_execution_20250522"}]}),
    (MESSAGES, {"container": "c1"}),
    (MESSAGES, said([{"type": "image", "source": {"type": "url", "url": AWAY}}])),
    (MESSAGES, {"system": [{"type": "document", "source": {"type": "url", "url": AWAY}}]}),
    (MESSAGES, said([{"type": "tool_result", "content": [
        {"type": "image", "source": {"type": "url", "url": AWAY}}]}])),
]  # fmt: skip
STAYING: list[tuple[Wire, dict[str, Any]]] = [
    (CHAT, {"tools": [{"type": "function", "function": {"name": "web_search"}}], "prompt": None}),
    (CHAT, image(CHAT, DATA)),
    (CHAT, said(f"look at {AWAY}")),
    (RESPONSES, image(RESPONSES, DATA)),
    (RESPONSES, {"input": f"look at {AWAY}", "tools": [{"type": "custom"}]}),
    (MESSAGES, {"tools": [{"name": "Bash"}, {"type": "custom"}, {"type": "bash_20250124"}]}),
    (MESSAGES, {"mcp_servers": []}),
    (MESSAGES, said([{"type": "image", "source": {"type": "base64", "data": "AAAA"}}])),
    (MESSAGES, said([{"type": "tool_use", "input": {"type": "url", "url": AWAY}}], "assistant")),
]


@pytest.mark.parametrize(("wire", "body"), REACHING)
def test_what_reaches_out_is_not_sent_on(wire: Wire, body: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="nothing is reached but the model"):
        prepared(wire, json.dumps(body).encode(), "m")


@pytest.mark.parametrize(("wire", "body"), STAYING)
def test_what_stays_is_sent_on(wire: Wire, body: dict[str, Any]) -> None:
    assert prepared(wire, json.dumps(body).encode(), "m").body == {**body, "model": "m"}


async def test_it_is_refused_before_anybody_is_asked() -> None:
    gate, tools = RecordingGate(), [{"type": "web_search"}]
    async with (
        Endpoint(says(200, "{}")).listening() as endpoint,
        proxied(endpoint.url, gate, "messages") as client,
    ):
        for path in ("/v1/messages", "/v1/messages/count_tokens"):
            told = await client.http.post(path, json={"messages": [], "tools": tools})
            assert told.status_code == 400
            assert "web_search" in error_of(told)
    assert not endpoint.asked
    assert not gate.requests
