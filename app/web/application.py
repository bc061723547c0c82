"""The HTTP side of a service: webhook, health, metrics, and the API."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from app.bootstrap import Service
from app.services.intake.intake import MOST_BODY_BYTES
from app.web import api
from app.web.face import face, front_page
from app.web.pages.site import LOOPBACK, LocalPages, site
from app.web.webhook import WebhookEndpoint

BODY_BYTES: Final = {"/webhook": MOST_BODY_BYTES}
"""Paths whose bodies have a bound of their own."""
DISPATCHER_ENDS_WITHIN_SECONDS = 5.0

WHAT_IT_IS: Final = """\
People meet it on GitHub; here it takes GitHub's webhooks at <code>/webhook</code>."""
API_ITEM: Final = """\
<li><code>/api/…</code>: the registry, for the bearer of the operator's token;
<code>/openapi.json</code> describes it to the same</li>
"""


class Application:
    """ASGI: deliveries go straight to their endpoint, what comes to the listener of the pages to
    those, everything else through FastAPI."""

    def __init__(self, service: Service, pages: LocalPages | None = None) -> None:
        """`pages`: where they are opened; None: nowhere."""
        self._webhook = WebhookEndpoint(service.intake, service.dispatcher.notify)
        self._rest = rest(service)
        self._at_pages = None if pages is None else (LOOPBACK, pages.port)
        self._pages = self._rest if pages is None else site(service, pages)

    def running(self) -> AbstractAsyncContextManager[object]:
        """The service works, from its start to its end; as the lifespan of ASGI does it."""
        return self._rest.router.lifespan_context(self._rest)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry."""
        if scope["type"] == "http" and scope["server"] == self._at_pages:
            await self._pages(scope, receive, send)
            return
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

    app = face(service, front_page(WHAT_IT_IS, API_ITEM), lifespan, stopped)
    if service.settings.admin_tokens:
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

    return app
