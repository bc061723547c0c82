"""What the service and the box of a story say to each other, without a network."""

import asyncio
import json
from collections.abc import Callable

import httpx
from starlette.types import ASGIApp

from tests.twins.lives import check_alive, outside
from tests.twins.timeline import MOST_LENGTH, Timeline


class ToGitHub(httpx.AsyncBaseTransport):
    """What the service asks of GitHub. What was asked is done, even if the service dies then."""

    def __init__(self, box: ASGIApp, timeline: Timeline) -> None:
        self._box = httpx.ASGITransport(box)
        self._timeline = timeline
        self.is_away = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        check_alive()
        if self.is_away:
            raise httpx.ConnectError("GitHub does not answer", request=request)
        response = await asyncio.shield(outside(self._box.handle_async_request(request)))
        if request.method != "GET":
            content = request.content.decode()[:MOST_LENGTH]
            what = f"{request.method} {request.url.path} {content} → {response.status_code}"
            self._timeline.note("Squadron", what)
        return response


class ToService(httpx.AsyncBaseTransport):
    """What GitHub tells the service, if the service listens."""

    def __init__(self, endpoint: Callable[[], ASGIApp | None], timeline: Timeline) -> None:
        self._endpoint = endpoint
        self._timeline = timeline

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        endpoint = self._endpoint()
        if endpoint is None:
            raise httpx.ConnectError("nobody listens", request=request)
        event = request.headers["X-GitHub-Event"]
        action = json.loads(request.content).get("action", "")
        response = await httpx.ASGITransport(endpoint).handle_async_request(request)
        self._timeline.note("GitHub", f"tells {event} {action} → {response.status_code}")
        return response
