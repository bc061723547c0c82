"""The HTTP side of a service: webhook, health, metrics, and the API."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.types import Receive, Scope, Send

from app.adapters.metrics import show
from app.bootstrap import Service
from app.ports import StoreUnavailable
from app.services.figures import figures
from app.services.intake.intake import MOST_BODY_BYTES
from app.web import api
from app.web.readiness import Readiness
from app.web.sharing import OnceForAll
from app.web.webhook import WebhookEndpoint

BODY_BYTES: Final = {"/webhook": MOST_BODY_BYTES}
"""Paths whose bodies have a bound of their own."""
DISPATCHER_ENDS_WITHIN_SECONDS = 5.0

FRONT_PAGE: Final = """\
<!doctype html>
<html lang="en">
<title>Squadron</title>
<h1>Squadron</h1>
<p>This is a GitHub App that puts coding agents to work on labelled issues, within hard limits.
People meet it on GitHub; here it takes GitHub's webhooks at <code>/webhook</code>.</p>
<ul>
<li><a href="/healthz">/healthz</a>: the process answers</li>
<li><a href="/readyz">/readyz</a>: it can work</li>
<li><a href="/metrics">/metrics</a>: its figures, for Prometheus</li>
<li><code>/api/…</code>: the registry, for the bearer of the operator's token;
<code>/openapi.json</code> describes it to the same</li>
</ul>
<p>README.md and docs/, which come with Squadron, say how it is used and run.</p>
</html>
"""


class Application:
    """ASGI: deliveries go straight to their endpoint, everything else through FastAPI."""

    def __init__(self, service: Service) -> None:
        self._webhook = WebhookEndpoint(service.intake, service.dispatcher.notify)
        self._rest = rest(service)

    def running(self) -> AbstractAsyncContextManager[object]:
        """The service works, from its start to its end; as the lifespan of ASGI does it."""
        return self._rest.router.lifespan_context(self._rest)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry."""
        is_delivery = scope["type"] == "http" and scope["path"] == "/webhook"
        if is_delivery and scope["method"] == "POST":
            await self._webhook(scope, receive, send)
        else:
            await self._rest(scope, receive, send)


def rest(service: Service) -> FastAPI:
    """Everything but the webhook."""
    dispatching: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        dispatcher = asyncio.create_task(service.dispatcher.run(), name="dispatcher")
        dispatching.add(dispatcher)
        try:
            yield
        finally:
            dispatching.clear()
            dispatcher.cancel()
            await asyncio.wait({dispatcher}, timeout=DISPATCHER_ENDS_WITHIN_SECONDS)
            await service.stop()

    def stopped() -> str:
        if not dispatching:
            return "starting or stopping"
        if any(task.done() for task in dispatching):
            return "the dispatcher has ended; see the log and start again"
        return ""

    readiness = Readiness(service.store, service.clock, stopped)

    # The description is the API's: it is there behind the API's token, or not at all.
    app = FastAPI(title="Squadron", lifespan=lifespan, openapi_url=None)

    @app.get("/", include_in_schema=False)
    async def front() -> HTMLResponse:
        """What this is, for whoever meets it in a browser."""
        return HTMLResponse(FRONT_PAGE, headers={"Content-Security-Policy": "default-src 'none'"})

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/readyz", responses={503: {"description": "It cannot work now; `detail` says why"}})
    async def readyz(request: Request) -> dict[str, str]:
        """The engine and the dispatcher run, and the database keeps what it is given. What the
        database says is told to bearers of the operator's tokens alone."""
        if (wrong := await readiness.why_not()) is not None:
            raise HTTPException(503, wrong.in_full if api.bearer_of(request) else wrong.why)
        return {"status": "ready"}

    async def exposition() -> bytes:
        try:
            show(await figures(service.store, service.ledger, service.clock.now()))
        except StoreUnavailable:  # what this process counts itself is told all the same
            show(None)
        return generate_latest()

    latest = OnceForAll(exposition)

    @app.get("/metrics")
    async def metrics() -> Response:
        """Prometheus text format."""
        return Response(await latest(), media_type=CONTENT_TYPE_LATEST)

    if service.settings.admin_tokens:
        app.add_middleware(api.BearersOnly, tokens=service.settings.admin_tokens)
        app.include_router(api.router(service))

        @app.get("/openapi.json", include_in_schema=False)
        async def described() -> JSONResponse:
            """OpenAPI of all this."""
            return JSONResponse(app.openapi())

    @app.exception_handler(RequestValidationError)
    async def misread(_: Request, error: RequestValidationError) -> JSONResponse:
        """Says what is wrong and where, without saying again what was sent."""
        problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        return JSONResponse({"detail": "; ".join(problems)}, 422)

    @app.exception_handler(StoreUnavailable)
    async def unavailable(_: Request, error: StoreUnavailable) -> JSONResponse:
        """Another try may find the database again."""
        return JSONResponse({"detail": f"the database is unavailable: {error}"}, 503)

    return app
