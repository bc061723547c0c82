"""A page, served to people as HTML and to programs as JSON: both tell the same."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.ports import Clock
from app.services.views import Json
from app.web.pages.html import Templates, ages


class NotThere(Exception):
    """There is nothing under an address. Says what is missing, for people."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be seen under an address."""

    shown: Mapping[str, Any]
    """What the page's template is given."""
    told: Callable[[], Json]
    """The same, for programs."""


class Page(Protocol):
    """What is behind one path."""

    template: str

    async def answer(self, request: Request, now: datetime) -> Answer:
        """Raises `NotUnderstood`, `NotThere` and `StoreUnavailable`."""
        ...


class Pages:
    """Pages with their paths, and what is told instead of one."""

    def __init__(self, templates: Templates, clock: Clock) -> None:
        self._templates = templates
        self._clock = clock

    def routes(self, page: Page, path: str, json_path: str | None = None) -> list[Route]:
        """Of one page: for people, and for programs (the same path with `.json` behind it, unless
        it is told)."""

        async def for_people(request: Request) -> Response:
            now = self._clock.now()
            answer = await page.answer(request, now)
            query = f"?{request.url.query}" if request.url.query else ""
            as_json = f"{json_path or f'{request.url.path}.json'}{query}"
            return self._templates.page(page.template, **answer.shown, **ages(now), as_json=as_json)

        async def for_programs(request: Request) -> Response:
            return JSONResponse((await page.answer(request, self._clock.now())).told())

        return [Route(json_path or f"{path}.json", for_programs), Route(path, for_people)]

    async def not_understood(self, request: Request, error: Exception) -> Response:
        """An address that asks for what there cannot be."""
        return self._instead(request, 400, "Not understood", str(error))

    async def not_there(self, request: Request, error: Exception) -> Response:
        """An address under which there is nothing."""
        is_path = isinstance(error, HTTPException)
        why = f"There is no page {request.url.path}." if is_path else str(error)
        return self._instead(request, 404, "Not found", why)

    async def unavailable(self, request: Request, error: Exception) -> Response:
        """A database that does not answer."""
        return self._instead(request, 503, "Try again", f"The database does not answer: {error}")

    def _instead(self, request: Request, status: int, title: str, why: str) -> Response:
        if request.url.path.endswith(".json"):
            return JSONResponse({"detail": why}, status)
        return self._templates.page("trouble.html", status_code=status, title=title, why=why)
