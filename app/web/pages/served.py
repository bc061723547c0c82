"""A page, served to people as HTML and to programs as JSON: both tell the same. In a browser it
follows what happens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from app.ports import Clock
from app.services.views import Json
from app.web.pages.forms import NOTE_COOKIE, note_of
from app.web.pages.html import Templates, ages
from app.web.pages.live import Live
from app.web.pages.visitors import visitor_of

JSON_SUFFIX: Final = ".json"
LIVE_SUFFIX: Final = ".live"
NEVER: Final[Mapping[str, Any]] = {"note": "", "loaded_at": None}
"""Of what is shown once, in a page that follows."""


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
    is_live: bool
    """Whether to make it costs nobody outside anything, so that it follows what happens."""

    async def answer(self, request: Request, now: datetime) -> Answer:
        """Raises `NotUnderstood`, `NotThere` and `StoreUnavailable`."""
        ...


class Pages:
    """Pages with their paths, and what is told instead of one."""

    def __init__(self, templates: Templates, live: Live, clock: Clock) -> None:
        self._templates = templates
        self._live = live
        self._clock = clock

    def routes(self, page: Page, path: str, alias: str = "") -> list[Route]:
        """Of one page: for people, and with `.json` and `.live` behind its path for programs and
        for browsers that follow it. `alias`: stands for a path behind which nothing can stand."""

        async def html(request: Request, own: str, once: Mapping[str, Any]) -> str:
            now = self._clock.now()
            answer = await page.answer(request, now)
            query = f"?{request.url.query}" if request.url.query else ""
            return self._templates.text(
                page.template,
                **answer.shown,
                **ages(now),
                **once,
                as_json=f"{alias or own}{JSON_SUFFIX}{query}",
                as_events=f"{alias or own}{LIVE_SUFFIX}{query}" if page.is_live else "",
                at=f"{own}{query}",
                visitor=visitor_of(request),
            )

        async def for_people(request: Request) -> Response:
            once = {"note": note_of(request), "loaded_at": self._clock.now()}
            answer = HTMLResponse(await html(request, request.url.path, once))
            if NOTE_COOKIE in request.cookies:
                answer.delete_cookie(NOTE_COOKIE)
            return answer

        async def for_programs(request: Request) -> Response:
            return JSONResponse((await page.answer(request, self._clock.now())).told())

        async def for_browsers(request: Request) -> Response:
            own = path if alias else request.url.path.removesuffix(LIVE_SUFFIX)
            return await self._live.follow(lambda: html(request, own, NEVER))

        beyond = alias or path
        routes = [Route(f"{beyond}{JSON_SUFFIX}", for_programs), Route(path, for_people)]
        if page.is_live:
            routes.insert(0, Route(f"{beyond}{LIVE_SUFFIX}", for_browsers))
        return routes

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

    async def not_own(self, request: Request, error: Exception) -> Response:
        """A form that no page of the session has made."""
        return self._instead(request, 403, "Not done", str(error))

    async def too_many(self, request: Request, error: Exception) -> Response:
        """More pages than can follow what happens."""
        return self._instead(request, 503, "Not live", str(error))

    def _instead(self, request: Request, status: int, title: str, why: str) -> Response:
        if request.url.path.endswith((JSON_SUFFIX, LIVE_SUFFIX)):
            return JSONResponse({"detail": why}, status)
        return self._templates.page("trouble.html", status_code=status, title=title, why=why)
