"""The box as one ASGI application: faults first, then git, REST or a page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime

import httpx
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.githubbox import (
    graphql,
    rest_app,
    rest_checks,
    rest_comments,
    rest_issues,
    rest_labels,
    rest_pulls,
    rest_repositories,
    rest_reviews,
    smarthttp,
)
from app.githubbox.control import Control
from app.githubbox.events import Events
from app.githubbox.faults import Fault, Faults
from app.githubbox.http import DOCUMENTATION, Call, Refused, Reply, etag
from app.githubbox.identity import BadCredentials, Caller, Identity, Suspended
from app.githubbox.pages import Pages
from app.githubbox.recorder import Recorder
from app.githubbox.registration import Registration
from app.githubbox.render import Render
from app.githubbox.routing import Router, authorise
from app.githubbox.state import Json, World
from app.githubbox.talk import Talk
from app.githubbox.webhooks import Webhooks

_BY_NAME = re.compile(r"/repos/([^/]+/[^/]+)(?=/|$)")
_ISSUE = re.compile(r"/repos/([^/]+/[^/]+)/issues/([0-9]+)(?=/|$)")
_BY_ID = re.compile(r"/repositories/([0-9]+)(?=/|$)")
API_VERSIONS = ("2022-11-28", "2026-03-10")
"""That GitHub knows; the first one counts where a call names none."""
MAX_BODY_BYTES = 10_000_000
CALLS_PER_HOUR = 15_000
MAX_UNKNOWN = 1_000
_MODULES = (
    graphql,
    rest_app,
    rest_checks,
    rest_comments,
    rest_issues,
    rest_labels,
    rest_pulls,
    rest_repositories,
    rest_reviews,
)


class Dropped(httpx.RemoteProtocolError):
    """A fault cut the connection: in process the client gets this, over a socket its like."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that an answer may need; made once by the Box."""

    world: World
    identity: Identity
    render: Render
    events: Events
    webhooks: Webhooks
    faults: Faults
    recorder: Recorder


class Application:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._router = Router(route for module in _MODULES for route in module.ROUTES)
        self._pages = Pages(parts.world, parts.render)
        self._registration = Registration(
            parts.identity, parts.render, parts.events, parts.webhooks, self._pages
        )
        self.control = Control(
            parts.world,
            parts.identity,
            parts.render,
            parts.events,
            parts.webhooks,
            parts.faults,
            self.perform,
        )
        self._talk = Talk(parts.world, self._pages, self.perform)
        self._used: dict[str, int] = {}
        self._unknown: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        raw_path = (scope.get("raw_path") or scope["path"].encode()).decode("ascii")
        if raw_path.startswith("/_box/"):
            answer = await self.control.answer(request, raw_path, self._unknown)
            await answer(scope, receive, send)
            return
        fault = self._parts.faults.for_call(request.method, raw_path)
        response = await self._answer_with(fault, request, raw_path)
        if response is None:
            await _drop(send)
        else:
            response.headers["Date"] = format_datetime(self._parts.world.now(), usegmt=True)
            await response(scope, receive, send)

    async def _answer_with(
        self, fault: Fault | None, request: Request, raw_path: str
    ) -> Response | None:
        """The answer, or what a fault makes of it; None cuts the connection."""
        if fault is not None and fault.kind == "order":
            await self.control.order(fault.order, fault.body)
            return await self._answer(request, raw_path)
        if fault is None:
            return await self._answer(request, raw_path)
        if fault.kind == "slow":
            await self._parts.world.clock.sleep(fault.seconds)
            return await self._answer(request, raw_path)
        if fault.after:
            lost = await self._answer(request, raw_path)
            if isinstance(lost, StreamingResponse):
                async for _ in lost.body_iterator:
                    pass
        if fault.kind == "timeout":
            await self._parts.world.clock.sleep(fault.seconds)
            return None
        if fault.kind == "token_expired":
            self._parts.identity.forget(request.headers.get("authorization", ""))
        refusal = _refusal(fault, self._parts.identity.installation_id, self._parts.world.now())
        return _json(refusal.status, refusal.body, refusal.headers)

    async def _answer(self, request: Request, raw_path: str) -> Response:
        git = smarthttp.ROUTE.fullmatch(raw_path)
        if git:
            name, world = f"{git['owner']}/{git['repo']}", self._parts.world
            repository = world.repository(name) or world.moved(name)
            return await smarthttp.serve(
                request,
                repository,
                git["service"],
                self._parts.identity,
                self._parts.events,
                self._parts.world.now(),
            )
        for part in (self._registration, self._talk):
            page = await part.answer(request, raw_path)
            if page is not None:
                return page
        if request.method == "GET" and self._router.find("GET", raw_path) is None:
            page = await self._pages.answer(request, raw_path)
            if page is not None:
                return page
        present = self._present_path(raw_path)
        if present is None:
            return await self._rest(request, raw_path)
        if raw_path.startswith("/repositories/"):
            return await self._rest(request, present)
        location = f"{self._parts.render.url}{present}"
        moved = {"message": "Moved Permanently", "url": location}
        return _json(301, moved | {"documentation_url": DOCUMENTATION}, {"Location": location})

    def _present_path(self, raw_path: str) -> str | None:
        """Where what lies below a former name, or below an id, is to be had; None: right here."""
        world = self._parts.world
        if named := _BY_NAME.match(raw_path):
            repository = world.moved(named[1])
            if repository is not None:
                return f"/repositories/{repository.id}{raw_path[named.end() :]}"
        if issue := _ISSUE.match(raw_path):
            repository = world.repository(issue[1])
            there = repository.transferred.get(int(issue[2])) if repository else None
            if there is not None:
                target, number = there
                return f"/repos/{target.full_name}/issues/{number}{raw_path[issue.end() :]}"
        if numbered := _BY_ID.match(raw_path):
            for one in world.repositories.values():
                if one.id == int(numbered[1]):
                    return f"/repos/{one.full_name}{raw_path[numbered.end() :]}"
        return None

    async def _rest(self, request: Request, raw_path: str) -> Response:
        """One REST exchange from the credential to the headers that every answer carries."""
        authorization = request.headers.get("authorization")
        rate = self._count(authorization)
        query = dict(request.query_params)
        body: object = None
        try:
            body = await _body(request)
            _check_version(request, raw_path)
            caller = self._parts.identity.caller(authorization)
            reply = await self.perform(
                caller, request.method, raw_path, query, request.headers, _as_object(body), rate
            )
        except Suspended:
            refused = Refused(403, "This installation has been suspended")
            reply = Reply(refused.status, refused.body)
        except BadCredentials:
            refused = Refused(401, "Bad credentials")
            reply = Reply(refused.status, refused.body)
        except Refused as refused:
            reply = Reply(refused.status, refused.body, refused.headers)
        if reply.raw is None:  # whoever judges what was said knows GitHub's JSON alone
            self._parts.recorder.exchange(
                request.method, raw_path, query, body, reply.status, reply.body
            )
        headers = {
            "X-GitHub-Media-Type": "github.v3; format=json",
            **reply.headers,
            "X-RateLimit-Limit": str(rate["limit"]),
            "X-RateLimit-Remaining": str(rate["remaining"]),
            "X-RateLimit-Used": str(rate["used"]),
            "X-RateLimit-Reset": str(rate["reset"]),
            "X-RateLimit-Resource": "core",
        }
        return _conditional(request, reply, headers)

    async def perform(
        self,
        caller: Caller,
        method: str,
        raw_path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: Json,
        rate: Json | None = None,
        *,
        silent: bool = False,
    ) -> Reply:
        """Carry out one REST call in a caller's name; Refused when GitHub would refuse it."""
        found = self._router.find(method, raw_path)
        if found is None:
            self._unknown = [*self._unknown, f"{method} {raw_path}"][-MAX_UNKNOWN:]
            raise Refused(404, "Not Found")
        route, params = found
        events = self._parts.events.silenced() if silent else self._parts.events
        call = Call(
            self._parts.world,
            self._parts.identity,
            self._parts.render,
            events,
            self._parts.webhooks,
            caller,
            self._parts.world.now(),
            raw_path,
            params,
            query,
            headers,
            body,
            rate or self._count(None),
        )
        authorise(call, route.access)
        return await route.handler(call)

    def _count(self, authorization: str | None) -> Json:
        """Count a call against its caller's hour; the count is shown, never enforced."""
        key = authorization or ""
        used = self._used[key] = self._used.get(key, 0) + 1
        reset = self._parts.world.now() + timedelta(hours=1)
        return {
            "limit": CALLS_PER_HOUR,
            "used": used,
            "remaining": max(0, CALLS_PER_HOUR - used),
            "reset": int(reset.timestamp()),
        }


async def _body(request: Request) -> object:
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MAX_BODY_BYTES:
            raise Refused(413, "Request body is too large")
    if not raw.strip():
        return None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise Refused(400, "Problems parsing JSON") from None


def _check_version(request: Request, raw_path: str) -> None:
    """GraphQL has no versions."""
    version = request.headers.get("x-github-api-version", API_VERSIONS[0])
    if version in API_VERSIONS or raw_path == "/graphql":
        return
    known = ", ".join(f'"{each}"' for each in reversed(API_VERSIONS))
    raise Refused(
        400,
        f'The version you specified in the "X-GitHub-API-Version" request header, "{version}", '
        f"is not a supported version. The following versions are currently supported: {known}.",
    )


def _as_object(body: object) -> Json:
    if body is None:
        return {}
    if isinstance(body, list):  # labels may be given as a bare list
        return {"labels": body}
    if not isinstance(body, dict):
        raise Refused(400, "Body should be a JSON object")
    return body


def _json(status: int, body: object, headers: Mapping[str, str]) -> Response:
    return JSONResponse(body, status, dict(headers), "application/json; charset=utf-8")


def _conditional(request: Request, reply: Reply, headers: dict[str, str]) -> Response:
    """The answer with its ETag, or 304 when the client has it already."""
    if reply.status == 204:
        return Response(None, 204, headers)
    if reply.raw is not None:
        response = Response(reply.raw, reply.status, headers)
    else:
        response = _json(reply.status, reply.body, headers)
    if request.method == "GET" and reply.status == 200:
        tag = etag(bytes(response.body))
        response.headers["ETag"] = tag
        if request.headers.get("if-none-match") == tag:
            return Response(None, 304, headers | {"ETag": tag})
    return response


def _refusal(fault: Fault, installation_id: int, now: datetime) -> Refused:
    """What the client is told by a fault that answers."""
    retry = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    if fault.kind in ("unauthorized", "token_expired"):
        return Refused(401, "Bad credentials")
    if fault.kind == "primary_limit":
        reset = now + timedelta(seconds=fault.retry_after or 60)
        return Refused(
            fault.status,
            f"API rate limit exceeded for installation ID {installation_id}.",
            headers=retry
            | {
                "X-RateLimit-Limit": str(CALLS_PER_HOUR),
                "X-RateLimit-Remaining": "0",
                "X-RateLimit-Used": str(CALLS_PER_HOUR),
                "X-RateLimit-Reset": str(int(reset.timestamp())),
                "X-RateLimit-Resource": "core",
            },
        )
    if fault.kind == "secondary_limit":
        return Refused(
            fault.status,
            "You have exceeded a secondary rate limit. Please wait a few minutes "
            "before you try again.",
            headers=retry,
        )
    return Refused(fault.status, "Server Error", headers=retry)


async def _drop(send: Send) -> None:
    """Promise an answer and break off; a server then closes the socket."""
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]}
    )
    raise Dropped("the box dropped the connection, as a fault asked it to")
