"""The page of `squadron setup`, and what comes back to it from GitHub.

It listens on the loopback interface alone and answers to one name alone, so that no page of
somebody else can read the state by giving its own host name this machine's address. Each browser
that opens the page gets a state of its own, and an answer counts in that browser alone.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import jinja2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.adapters.github.registration import APP_EVENTS, APP_PERMISSIONS, NewApp
from app.cli.setup.folder import AppFolder, CannotKeep
from app.core.github.registration import Begun, Order
from app.ports import Clock, GitHubFailed, Refused

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
COOKIE: Final = "squadron-setup"
MOST_BROWSERS: Final = 20
"""Whose states are remembered, the latest."""
NOTHING_WRITTEN: Final = "Nothing was written."


@dataclass(frozen=True, slots=True)
class Means:
    """What a registration needs of the world."""

    convert: Callable[[str], Awaitable[NewApp]]
    """A code to an App; raises `GitHubFailed`."""
    new_state: Callable[[], str]
    folder: AppFolder
    clock: Clock
    tell: Callable[[str], None]
    """Says to the person at the terminal what went wrong; never a code, a state or a secret."""


class Registration:
    """One registration, from the page to the files. For one event loop."""

    def __init__(self, order: Order, ends_at: datetime, means: Means) -> None:
        self._order = order
        self._ends_at = ends_at
        self._means = means
        self._begun: dict[str, Begun] = {}
        """By what a browser was given to remember, the oldest first."""
        self._alone = asyncio.Lock()
        self.over = asyncio.Event()
        """Set when there is nothing left to do here, for better or worse."""
        self.app: NewApp | None = None
        """The App, once its secrets are kept."""
        self.address = ""
        """Of the page, without a slash at the end; known when it listens."""
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("app.cli.setup", "pages"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
        )

    def asgi(self) -> Starlette:
        """The two pages."""
        return Starlette(routes=[Route("/", self._open), Route("/created", self._created)])

    async def _open(self, request: Request) -> Response:
        if self._is_elsewhere(request):
            return self._answer(421, f"Open {self.address}/ instead")
        browser = request.cookies.get(COOKIE, "")
        if browser not in self._begun:
            browser = self._begin()
        manifest = self._order.manifest(f"{self.address}/created", APP_PERMISSIONS, [*APP_EVENTS])
        text = self._templates.get_template("open.html").render(
            order=self._order,
            target=self._order.page(self._begun[browser].state),
            manifest=json.dumps(manifest),
            permissions=APP_PERMISSIONS,
            events=APP_EVENTS,
            file=self._means.folder.environment,
        )
        opened = Response(text, 200, HEADERS, "text/html")
        # Lax: GitHub's answer is a link that the browser follows, and has to bring it.
        opened.set_cookie(COOKIE, browser, httponly=True, samesite="lax")
        return opened

    def _begin(self) -> str:
        """For a browser that is new here; what it is to remember."""
        while len(self._begun) >= MOST_BROWSERS:
            del self._begun[next(iter(self._begun))]
        browser = self._means.new_state()
        self._begun[browser] = Begun(self._means.new_state(), self._ends_at)
        return browser

    async def _created(self, request: Request) -> Response:
        if self._is_elsewhere(request):
            return self._answer(421, f"Open {self.address}/ instead")
        query, browser = request.query_params, request.cookies.get(COOKIE, "")
        async with self._alone:
            return await self._finish(browser, query.get("code", ""), query.get("state", ""))

    async def _finish(self, browser: str, code: str, state: str) -> Response:
        if self.over.is_set():
            return self._answer(409, "This setup has ended already; see its terminal")
        begun = self._begun.get(browser)
        if begun is None:
            return self._refuse(
                403, f"This browser has not opened the page: begin at {self.address}/ in it"
            )
        problem = begun.problem(code, state, self._means.clock.now())
        if problem is not None:
            return self._refuse(403, problem)
        try:
            self._means.folder.check_free()
        except CannotKeep as error:
            return self._end(str(error))
        try:
            app = await self._means.convert(code)
        except Refused as refused:
            self._begun[browser] = Begun(self._means.new_state(), self._ends_at)
            hint = " The code was used before, or is older than an hour." * (refused.status == 404)
            return self._refuse(502, f"{refused}.{hint} Begin again at {self.address}/")
        except GitHubFailed as failed:
            return self._refuse(503, f"{failed}. Reload this page to try again")
        return self._keep(app)

    def _keep(self, app: NewApp) -> Response:
        wanted = self._order.organization
        if wanted is not None and app.owner.lower() != wanted.lower():
            return self._end(
                f"The App {app.page} belongs to {app.owner}, not to {wanted}, so its secrets were"
                " not kept. Delete it if it is yours, and begin again"
            )
        try:
            self._means.folder.write(app)
        except CannotKeep as error:
            return self._end(
                f"{error}. The App {app.page} is registered, but its secrets are lost: delete it"
                " in its settings, and begin again"
            )
        self.app = app
        self.over.set()
        text = self._templates.get_template("done.html").render(
            app=app, file=self._means.folder.environment
        )
        return Response(text, 200, HEADERS, "text/html")

    def _end(self, why: str) -> Response:
        self.over.set()
        return self._refuse(500, why)

    def _refuse(self, status: int, why: str) -> Response:
        self._means.tell(f"{why}. {NOTHING_WRITTEN}")
        return self._answer(status, f"{why}. {NOTHING_WRITTEN}")

    def _answer(self, status: int, text: str) -> Response:
        page = self._templates.get_template("message.html").render(text=text)
        return Response(page, status, HEADERS, "text/html")

    def _is_elsewhere(self, request: Request) -> bool:
        return f"http://{request.headers.get('host', '')}" != self.address
