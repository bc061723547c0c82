"""A real browser, before the pages of a service in a story.

Chromium and the web server that it speaks to live in threads of their own. The server hands each
request on to the loop of the story, on which the service lives. While the browser does something,
time passes for the story as it does for the browser.
"""

import asyncio
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Final, TypeVar

import pytest
import uvicorn
from pydantic import SecretStr
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.pages.door import TOKEN
from app.web.pages.site import LOOPBACK, LocalPages, site
from tests.support.pages import CHECKS
from tests.twins.story import Story

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium: Final = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
LINK_TOKEN: Final = "the-token-of-the-link"
MOST_SECONDS: Final = 60.0
"""Of everything that the browser is told to do at once, and of the end of a thread."""
MOST_WAIT_MS: Final = 20_000
TICK: Final = timedelta(milliseconds=50)

Found = TypeVar("Found")


class Browser:
    """One window, with the link opened."""

    def __init__(
        self,
        squad: Story,
        hands: ThreadPoolExecutor,
        window: Any,
        address: str,
        trouble: list[str],
    ) -> None:
        self.address = address
        self.trouble = trouble
        """What the window's console has complained of."""
        self._squad = squad
        self._hands = hands
        self._window = window

    def does(self, what: Callable[[Any], Found]) -> Found:
        """What somebody does in the window, a page of Playwright's."""
        doing = self._hands.submit(what, self._window)
        wait_for(self._squad, doing)
        return doing.result()

    def opens(self, path: str) -> None:
        """A page, and waits until it follows what happens."""

        def go(window: Any) -> None:
            window.goto(f"{self.address}{path}")
            window.get_by_text("Live", exact=True).wait_for()

        self.does(go)

    def reads(self) -> str:
        """What stands on the page."""
        return self.does(lambda window: str(window.locator("main").inner_text()))

    def waits_for(self, words: str) -> None:
        """Until they stand on the page."""
        self.does(lambda window: window.get_by_text(words).first.wait_for())


def wait_for(squad: Story, doing: "Future[Any]") -> None:
    """Let the story go on while a thread does something."""
    until = time.monotonic() + MOST_SECONDS
    while not doing.done():
        assert time.monotonic() < until, f"not done within {MOST_SECONDS:g} s"
        tick_at = time.monotonic() + TICK.total_seconds()

        def is_on(tick_at: float = tick_at) -> bool:
            return not doing.done() and time.monotonic() < tick_at

        squad.loop.busy.append(is_on)
        squad.loop.run_until_quiet()
        squad.loop.busy.remove(is_on)
        squad.clock.turn(TICK)


@contextmanager
def browsing(squad: Story, **window: Any) -> Iterator[Browser]:
    """`window`: options of Playwright's `new_page`."""
    with _served(squad) as (port, hands):
        trouble = list[str]()
        begun = hands.submit(_begin, window, trouble)
        wait_for(squad, begun)
        context, chromium, page = begun.result()
        address = f"http://{LOOPBACK}:{port}"
        browser = Browser(squad, hands, page, address, trouble)
        try:
            browser.does(lambda page: page.goto(f"{address}/?{TOKEN}={LINK_TOKEN}"))
            yield browser
        finally:
            ended = hands.submit(lambda: (chromium.close(), context.stop()))
            wait_for(squad, ended)


def _begin(window: dict[str, Any], trouble: list[str]) -> tuple[Any, Any, Any]:
    """In the thread of the browser: Playwright's objects are of one thread alone."""
    context = playwright.sync_playwright().start()
    chromium = context.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    page = chromium.new_page(**window)
    page.set_default_timeout(MOST_WAIT_MS)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda said: trouble.append(said.text))
    return context, chromium, page


@contextmanager
def _served(squad: Story) -> Iterator[tuple[int, ThreadPoolExecutor]]:
    """The pages at a port of this machine; and a thread for the browser."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        local = LocalPages(port, SecretStr(LINK_TOKEN), lambda: server.should_exit, CHECKS.copy)
        bridge = _Bridge(squad.loop, site(squad.service, local))
        server = uvicorn.Server(uvicorn.Config(bridge, log_config=None, lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, args=([listener],), name="pages")
        thread.start()
        with ThreadPoolExecutor(1, "browser") as hands:
            try:
                yield port, hands
            finally:
                server.should_exit = True
                ended = hands.submit(thread.join, MOST_SECONDS)
                wait_for(squad, ended)


class _Bridge:
    """ASGI on the loop of a web server, for an application on another loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, app: ASGIApp) -> None:
        self._loop = loop
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        here = asyncio.get_running_loop()

        async def from_here() -> Message:
            taken = asyncio.run_coroutine_threadsafe(_of(receive()), here)
            return await asyncio.wrap_future(taken)

        async def to_here(message: Message) -> None:
            given = asyncio.run_coroutine_threadsafe(_of(send(message)), here)
            await asyncio.wrap_future(given)

        answering = asyncio.run_coroutine_threadsafe(
            _of(self._app(scope, from_here, to_here)), self._loop
        )
        with suppress(asyncio.CancelledError):
            await asyncio.wrap_future(answering)


async def _of(work: Any) -> Any:
    return await work
