"""What each process shows of itself: what it is, that it lives, if it can work, and its figures."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from app.adapters.metrics import show
from app.bootstrap import Service
from app.ports import StoreUnavailable
from app.services.figures import figures
from app.web.bearers import BearersOnly, bearer_of
from app.web.readiness import Readiness
from app.web.sharing import OnceForAll

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]

_PAGE: Final = """\
<!doctype html>
<html lang="en">
<title>Squadron</title>
<h1>Squadron</h1>
<p>This is a GitHub App that puts coding agents to work on labelled issues, within hard limits.
{what_it_is}</p>
<ul>
<li><a href="/healthz">/healthz</a>: the process answers</li>
<li><a href="/readyz">/readyz</a>: it can work</li>
<li><a href="/metrics">/metrics</a>: its figures, for Prometheus</li>
{more}</ul>
<p>README.md and docs/, which come with Squadron, say how it is used and run.</p>
</html>
"""


def front_page(what_it_is: str, more: str = "") -> str:
    """For whoever meets the process in a browser; `more`: further items of the list, in HTML."""
    return _PAGE.format(what_it_is=what_it_is, more=more)


def face(service: Service, page: str, lifespan: Lifespan, stopped: Callable[[], str]) -> FastAPI:
    """`/`, `/healthz`, `/readyz` and `/metrics`. `stopped`: why the process does not work, in
    people's words; nothing if it does."""
    readiness = Readiness(service.store, service.clock, stopped)

    # The description is the API's: it is there behind the API's token, or not at all.
    app = FastAPI(title="Squadron", lifespan=lifespan, openapi_url=None)
    if service.settings.admin_tokens:
        app.add_middleware(BearersOnly, tokens=service.settings.admin_tokens)

    @app.get("/", include_in_schema=False)
    async def front() -> HTMLResponse:
        """What this is."""
        return HTMLResponse(page, headers={"Content-Security-Policy": "default-src 'none'"})

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/readyz", responses={503: {"description": "It cannot work now; `detail` says why"}})
    async def readyz(request: Request) -> dict[str, str]:
        """It takes work, and the database keeps what it is given. What the database says is told to
        bearers of the operator's tokens alone."""
        if (wrong := await readiness.why_not()) is not None:
            raise HTTPException(503, wrong.in_full if bearer_of(request) else wrong.why)
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

    @app.exception_handler(StoreUnavailable)
    async def unavailable(_: Request, error: StoreUnavailable) -> JSONResponse:
        """Another try may find the database again."""
        return JSONResponse({"detail": f"the database is unavailable: {error}"}, 503)

    return app
