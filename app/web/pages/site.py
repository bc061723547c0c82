"""The pages, and who comes in."""

from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from app.bootstrap import Service
from app.ports import StoreUnavailable
from app.web.pages.agent import PATH, AgentPage
from app.web.pages.door import LocalDoor
from app.web.pages.html import Templates
from app.web.pages.needs_you import NeedsYouPage

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class LocalPages:
    """Where people at this machine open the pages."""

    port: int
    """Of the loopback address."""
    token: SecretStr
    """In the link that lets them in."""


def site(service: Service, local: LocalPages) -> ASGIApp:
    """All pages of an installation, for HTTP."""
    templates = Templates()
    needs_you = NeedsYouPage(service, templates)
    agent = AgentPage(service, templates)

    async def unavailable(_: Request, error: Exception) -> Response:
        why = f"The database does not answer: {error}"
        return templates.page("trouble.html", status_code=503, title="Try again", why=why)

    async def missing(request: Request, _: Exception) -> Response:
        why = f"There is no page {request.url.path}."
        return templates.page("trouble.html", status_code=404, title="Not found", why=why)

    app = Starlette(
        routes=[
            Route("/", needs_you.page),
            Route("/needs-you.json", needs_you.as_json),
            Route(PATH, agent.page),
            Route(f"{PATH}.json", agent.as_json),
            Mount("/static", StaticFiles(packages=[("app.web.pages", "static")])),
        ],
        exception_handlers={StoreUnavailable: unavailable, 404: missing},
    )
    return LocalDoor(app, local.token, templates)
