"""Carries the CLI's requests from its pipe to the door of its model.

The CLI is told of an address that does not exist and hands each request over its pipe; so its
process can be without a network, and no key is ever inside it.
"""

import json
import logging
from typing import Any, Final

import httpx
from copilot.copilot_request_handler import CopilotRequestHandler

from app.adapters.runtimes.door import ModelDoor

HOST: Final = "model.invalid"
KEY: Final = "none"
"""What the CLI takes for its key."""

log = logging.getLogger("squadron.copilot")


class Relay(CopilotRequestHandler):
    """One for each session; `close` it at the end."""

    def __init__(self, door: ModelDoor, request_seconds: float) -> None:
        self._door = door
        self._http = httpx.AsyncClient(timeout=request_seconds, follow_redirects=False)
        self.calls_left: int | None = None
        """How often the model may still be asked; None: as often as the door allows."""
        self.is_shut = True
        """Nothing is carried between two turns, nor once a turn has to end."""

    async def send_request(self, request: httpx.Request, ctx: Any) -> httpx.Response:
        """The door's answer, streamed; a refusal is an answer too."""
        if request.url.host != HOST:
            log.warning("not carried for the Copilot CLI: %s", request.url.host[:200])
            return _refusal(403, "only the model can be reached")
        if self.is_shut or self.calls_left == 0:
            return _refusal(400, "the turn is over: nothing is sent to the model any more")
        if request.method == "POST" and self.calls_left is not None:
            self.calls_left -= 1
        headers = {
            **{n: v for n, v in request.headers.items() if n not in ("x-api-key", "host")},
            "authorization": f"Bearer {self._door.key}",
        }
        path = request.url.raw_path.decode()
        carried = httpx.Request(
            request.method, self._door.url + path, headers=headers, content=request.content
        )
        return await self._http.send(carried, stream=True)

    async def open_websocket(self, ctx: Any) -> Any:
        """Never: what is not a request cannot be judged."""
        raise RuntimeError("the model is asked by requests")

    async def close(self) -> None:
        """Let go of all connections."""
        self.is_shut = True
        await self._http.aclose()


def _refusal(status: int, words: str) -> httpx.Response:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    headers = {"content-type": "application/json", "x-should-retry": "false"}
    return httpx.Response(status, headers=headers, content=json.dumps(error).encode())
