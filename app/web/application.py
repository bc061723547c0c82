"""The HTTP side of a service: webhook, health, metrics and the read-only API."""

import asyncio
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.types import ASGIApp, Receive, Scope, Send

from app.bootstrap import Service
from app.core.agent import AgentId
from app.core.report import report
from app.ports import StoreUnavailable
from app.services.views import Json, agent_json
from app.web.webhook import WebhookEndpoint

DISPATCHER_ENDS_WITHIN_SECONDS = 5.0


class Application:
    """ASGI: deliveries go straight to their endpoint, everything else through FastAPI."""

    def __init__(self, service: Service) -> None:
        self._webhook = WebhookEndpoint(service.intake, service.dispatcher.notify)
        self._rest: ASGIApp = rest(service)

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

    app = FastAPI(title="Squadron", lifespan=lifespan, docs_url=None, redoc_url=None)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        """The engine and the dispatcher run, and the database can be read."""
        if not dispatching:
            raise HTTPException(503, "starting or stopping")
        if any(task.done() for task in dispatching):
            raise HTTPException(503, "the dispatcher has ended; see the log and start again")
        try:
            await service.store.undispatched(1)
        except StoreUnavailable as error:
            raise HTTPException(503, f"the database cannot be read: {error}") from error
        return {"status": "ready"}

    @app.get("/metrics")
    async def metrics() -> Response:
        """Prometheus text format."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    _add_api(app, service)
    return app


def _add_api(app: FastAPI, service: Service) -> None:
    token = service.settings.admin_token
    if token is None:
        return
    wanted = f"Bearer {token.get_secret_value()}".encode()

    def is_admin(authorization: Annotated[str, Header()] = "") -> None:
        if not hmac.compare_digest(authorization.encode(), wanted):
            raise HTTPException(401, "a bearer token is needed: SQUADRON_ADMIN_TOKEN")

    async def view(agent_id: AgentId) -> Json:
        agent = await service.store.agent(agent_id)
        if agent is None:
            raise HTTPException(404, f"there is no agent {agent_id}")
        log = await service.store.log(agent_id)
        return agent_json(report(agent, log, service.clock.now()))

    @app.get("/api/agents", dependencies=[Depends(is_admin)])
    async def agents() -> dict[str, list[Json]]:
        """The registry."""
        found = await service.store.agents()
        return {"agents": [await view(agent.id) for agent in found]}

    @app.get("/api/agents/{agent_id:path}", dependencies=[Depends(is_admin)])
    async def agent(agent_id: str) -> Json:
        """One agent."""
        try:
            return await view(AgentId.parse(agent_id))
        except ValueError as error:
            raise HTTPException(400, str(error)) from error
