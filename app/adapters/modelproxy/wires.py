"""The wire formats that are sent on: their addresses, and how each one says that it failed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from app.adapters.modelproxy.meters import ChatMeter, MessagesMeter, Meter, ResponsesMeter

Provider = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Wire:
    """One address at which a model answers."""

    name: Literal["chat", "responses", "messages"]
    path: str
    meter: Meter
    output_keys: tuple[str, ...]
    """How a request names the most that the answer may be; the first is set where none is."""


CHAT: Final = Wire(
    "chat", "/v1/chat/completions", ChatMeter(), ("max_completion_tokens", "max_tokens")
)
RESPONSES: Final = Wire("responses", "/v1/responses", ResponsesMeter(), ("max_output_tokens",))
MESSAGES: Final = Wire("messages", "/v1/messages", MessagesMeter(), ("max_tokens",))

WIRES: Final[Mapping[Provider, tuple[Wire, ...]]] = {
    "openai": (CHAT, RESPONSES),
    "anthropic": (MESSAGES,),
}
COUNT_TOKENS_PATH: Final = "/v1/messages/count_tokens"
"""Anthropic's; it costs nothing."""

NOT_AGAIN: Final = {"x-should-retry": "false"}
"""What both providers' own clients read before they try a request again."""

REFUSED: Final[Mapping[Provider, int]] = {"openai": 400, "anthropic": 402}
"""The status of what is refused for good. The Copilot CLI shows a 400 and ends; the Claude CLI
tries a 400 five times more, with less in the request, and takes a 403 for a wrong key."""

_KINDS: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    404: "not_found_error",
    413: "request_too_large",
}


def error_body(provider: Provider, status: int, words: str) -> bytes:
    """An error as the provider itself would write it."""
    kind = _KINDS.get(status, "api_error")
    if provider == "anthropic":
        told: object = {"type": "error", "error": {"type": kind, "message": words}}
    else:
        told = {"error": {"message": words, "type": kind, "param": None, "code": "squadron"}}
    return json.dumps(told).encode()


def error_event(wire: Wire, words: str) -> bytes:
    """An error in the middle of a stream; an event that was cut off is ended first."""
    if wire is RESPONSES:
        told: object = {
            "type": "error",
            "sequence_number": 0,
            "code": "server_error",
            "message": words,
            "param": None,
        }
        data = json.dumps(told).encode()
    else:
        data = error_body("anthropic" if wire is MESSAGES else "openai", 500, words)
    name = b"" if wire is CHAT else b"event: error\n"
    return b"\n\n" + name + b"data: " + data + b"\n\n"
