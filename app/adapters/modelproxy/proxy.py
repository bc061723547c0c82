"""The proxy of one session: who is let in, what is sent on, and where it listens."""

import asyncio
import contextlib
import hmac
import json
import logging
import os
import re
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.adapters.modelproxy.books import Books, Terms
from app.adapters.modelproxy.bounds import Bounds
from app.adapters.modelproxy.exchange import Exchange
from app.adapters.modelproxy.requests import BadRequest, asked_of
from app.adapters.modelproxy.upstream import Asking, Trouble, Upstream
from app.adapters.modelproxy.wires import (
    COUNT_TOKENS_PATH,
    NOT_AGAIN,
    REFUSED,
    WIRES,
    Wire,
    error_body,
)
from app.core.agents.events import Phase
from app.core.breaker.verdict import Verdict
from app.core.rules.outages import ProviderFailure
from app.ports import Gate

log = logging.getLogger("squadron.modelproxy")

_MODELS: Final = re.compile(r"/v1/models(/[A-Za-z0-9][\w.:-]*)?", re.ASCII)
_KEEP_ALIVE_SECONDS: Final = 75
"""Longer than the CLIs keep an idle connection, so that none is closed under a request."""
_MOST_PATH_CHARACTERS: Final = 200
_OVER: Final = "the session is over"


class _Server(uvicorn.Server):
    """A server among others in a process that has its own handlers of signals; it never wakes up
    without being asked."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ending = asyncio.Event()
        """Set when it shall end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self.ending.wait()


class ModelProxy:
    """An async context manager: it listens on loopback while it is open.

    The session's CLI gets `url` (OpenAI's clients want `/v1` added to it) and `key`. `stopped` is
    set when a request was refused for good in the present turn: by the gate (`halted`), or because
    the model's endpoint failed too often or an answer could not be counted (`failed`).
    """

    def __init__(
        self,
        upstream: Upstream,
        gate: Gate,
        *,
        model: str,
        phase: Phase = Phase.EXECUTION,
        most_output_tokens: int | None = None,
        bounds: Bounds | None = None,
        socket_path: Path | None = None,
    ) -> None:
        """`model` is `provider:name`; with `socket_path` it listens on a Unix socket as well."""
        self._bounds = bounds or Bounds()
        self._upstream = upstream
        self._books = Books(gate, Terms(model, phase, most_output_tokens), self._bounds)
        self._socket_path = socket_path
        self._wires = {wire.path: wire for wire in WIRES[upstream.provider]}
        self._slots = asyncio.Semaphore(self._bounds.most_at_once)
        self._running: dict[Exchange, asyncio.Task[None]] = {}
        self._is_closing = False
        self._asking: Asking
        self._server: _Server
        self._serving: asyncio.Task[None]
        self._port = 0
        self.key: Final = f"sk-squadron-{secrets.token_urlsafe(24)}"
        """Made for this session; without it a request is answered 401."""

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def socket(self) -> Path | None:
        """The Unix socket; None: it listens on loopback only."""
        return self._socket_path

    @property
    def halted(self) -> Verdict | None:
        """The first verdict of the present turn that let a request not be sent."""
        return self._books.halted

    @property
    def failed(self) -> str | None:
        """Why nothing is sent on any more in the present turn, in people's words."""
        return self._books.failed

    @property
    def away(self) -> ProviderFailure | None:
        """How the provider failed last in the present turn, if it has not answered since."""
        return self._books.away

    @property
    def stopped(self) -> asyncio.Event:
        """Set while `halted` or `failed` is."""
        return self._books.stopped

    def begin_turn(
        self,
        *,
        model: str | None = None,
        phase: Phase = Phase.EXECUTION,
        most_output_tokens: int | None = None,
    ) -> None:
        """What holds from now on; `halted` and `failed` are those of this turn.

        No `model`: the same as before.
        """
        model = model or self._books.terms.model
        self._books.begin_turn(Terms(model, phase, most_output_tokens))

    async def __aenter__(self) -> Self:
        """Listen. Raises `OSError` if an address cannot be had."""
        sockets = [socket.create_server(("127.0.0.1", 0))]
        # Connections inherit it; without it the second piece of an answer waits 40 ms.
        sockets[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._port = sockets[0].getsockname()[1]
        try:
            if self._socket_path is not None:
                sockets.append(_unix_socket(self._socket_path))
        except OSError:
            sockets[0].close()
            raise
        self._asking = Asking(self._upstream, self._bounds)
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=self._bounds.most_connections,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=1,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=sockets))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop; answers that are still being read are counted as far as they are known."""
        self._is_closing = True
        for exchange in self._running:
            exchange.cut(within_seconds=0)
        if self._running:
            await asyncio.wait(self._running.values(), timeout=2 * self._bounds.gate_seconds)
        self._server.ending.set()
        await self._serving
        await self._asking.close()
        if self._socket_path is not None:
            self._socket_path.unlink(missing_ok=True)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application: one request."""
        request = Request(scope, receive)
        method, path = request.method, request.url.path
        if method == "HEAD" and path == "/":  # a CLI looks whether anybody is there
            await Response()(scope, receive, send)
            return
        if not self._has_key(request):
            await self._refuse(request, send, 401, "this is not the key of this session")
            return
        wire = self._wires.get(path) if method == "POST" else None
        is_known = wire is not None or self._is_harmless(method, path)
        if not is_known:
            shown = ascii(f"{method} {path}"[:_MOST_PATH_CHARACTERS])
            log.warning("not sent on to the model's endpoint: %s", shown)
            await self._refuse(request, send, 404, "this address is not sent on")
            return
        try:
            raw = await self._body(request)
        except ClientDisconnect:
            return  # nobody is there to be told
        except TimeoutError:
            await self._refuse(request, send, 408, "the request did not come to its end")
            return
        if raw is None:
            await self._refuse(request, send, 413, "the request is too large")
            return
        try:
            async with asyncio.timeout(self._bounds.slot_seconds):
                await self._slots.acquire()
        except TimeoutError:
            await self._refuse(request, send, 503, "too many requests at once; try again")
            return
        try:
            if self._is_closing:
                await self._refuse(request, send, REFUSED[self._upstream.provider], _OVER)
            elif wire is not None:
                await self._exchange(wire, request, raw, send)
            else:
                await self._pass_on(request, raw, send)
        finally:
            self._slots.release()

    async def _exchange(self, wire: Wire, request: Request, raw: bytes, send: Send) -> None:
        exchange = Exchange(wire, self._asking, self._books, self._bounds, send)
        task = asyncio.current_task()
        assert task is not None
        self._running[exchange] = task
        watching = asyncio.create_task(self._watch(request, exchange))
        try:
            await exchange.run(request.headers, raw, beta=_is_beta(request))
        finally:
            watching.cancel()
            del self._running[exchange]

    async def _watch(self, request: Request, exchange: Exchange) -> None:
        """Tell the exchange when the CLI hangs up."""
        while (await request.receive())["type"] != "http.disconnect":
            pass
        exchange.cut(self._bounds.drain_seconds)

    async def _pass_on(self, request: Request, raw: bytes, send: Send) -> None:
        """A request that costs nothing and is neither judged nor counted."""
        path, provider = request.url.path, self._upstream.provider
        try:
            if request.method == "POST":
                raw = json.dumps(asked_of(raw, self._books.terms.name, is_anthropic=True)).encode()
            async with (
                asyncio.timeout(self._bounds.total_seconds),
                self._asking.answer(
                    request.method, path, request.headers, raw, beta=_is_beta(request)
                ) as answer,
            ):
                most = self._bounds.most_answer_bytes
                body = b"".join([piece async for piece in self._asking.pieces(answer, most)])
                status, headers = answer.status_code, self._asking.headers_back(answer)
        except BadRequest as error:
            await self._refuse(request, send, 400, str(error))
            return
        except (Trouble, TimeoutError) as error:
            await self._refuse(request, send, 502, str(error) or "the model took too long")
            return
        if status in (401, 403) or status < 200 or 300 <= status < 400:
            status, headers = 502, {"content-type": "application/json"}
            body = error_body(provider, status, "the model's endpoint refused the request")
        told = Response(self._upstream.without_key(body), status, headers)
        await told(request.scope, request.receive, send)

    def _is_harmless(self, method: str, path: str) -> bool:
        if method == "GET":
            return _MODELS.fullmatch(path) is not None
        is_count = method == "POST" and path == COUNT_TOKENS_PATH
        return is_count and self._upstream.provider == "anthropic"

    def _has_key(self, request: Request) -> bool:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = (bearer, request.headers.get("x-api-key", ""))
        return any(hmac.compare_digest(each.encode(), self.key.encode()) for each in given)

    async def _body(self, request: Request) -> bytes | None:
        """The request's body; None if it is too large. Raises `TimeoutError`."""
        body = bytearray()
        async with asyncio.timeout(self._bounds.idle_seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > self._bounds.most_request_bytes:
                    return None
        return bytes(body)

    async def _refuse(self, request: Request, send: Send, status: int, words: str) -> None:
        is_unread = status in (408, 413)
        headers = {"connection": "close"} if is_unread else {}
        if status < 500:
            headers |= NOT_AGAIN
        body = error_body(self._upstream.provider, status, words)
        told = Response(body, status, headers, media_type="application/json")
        await told(request.scope, request.receive, send)


def _is_beta(request: Request) -> bool:
    return request.query_params.get("beta") == "true"


def _unix_socket(path: Path) -> socket.socket:
    """A listening socket that only this user may connect to; one left over is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_socket():
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # A socket's name has room for 107 bytes, a path may be longer: named by its directory.
        directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            listener.bind(f"/proc/self/fd/{directory}/{path.name}")
        finally:
            os.close(directory)
        path.chmod(0o600)
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener
