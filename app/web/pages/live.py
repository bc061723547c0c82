"""Pages that are open follow what happens: their browser is sent the whole page again whenever it
would look otherwise. The events are those of the HTML standard, "server-sent events"."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.responses import Response

from app.ports import Clock, StoreUnavailable
from app.web.pages.addresses import NotThere, NotUnderstood

LOOK_SECONDS: Final = 0.2
"""Between two looks whether anything was committed."""
STALE_SECONDS: Final = 10.0
"""After so long a page is made again though nothing was: it tells how long ago something is."""
QUIET_SECONDS: Final = 15.0
"""After so long without news a browser is told that there are none: else it takes the line for
dead, as does a proxy."""
SHARE: Final = 1 / 3
"""Of the process's time, for all open pages together."""
MOST_OPEN: Final = 32

_ALIVE: Final = format_sse_event(event="alive", data_str="")


class TooManyOpen(Exception):
    """As many pages follow what happens as may."""

    def __init__(self) -> None:
        super().__init__(f"{MOST_OPEN} pages are open already. This one does not follow.")


class Live:
    """All pages that are open."""

    def __init__(
        self,
        commit_mark: Callable[[], Awaitable[str]],
        clock: Clock,
        is_closing: Callable[[], bool],
    ) -> None:
        """`commit_mark`: the store's; `is_closing`: whether nobody is to be told anything any
        more."""
        self._commit_mark = commit_mark
        self._clock = clock
        self._is_closing = is_closing
        self._open = 0
        self._turn = asyncio.Lock()
        self._free_at = 0.0
        """When the next page may be made, by the monotonic clock."""

    async def follow(self, make: Callable[[], Awaitable[str]]) -> Response:
        """`make`: the page as it is now. Raises what that raises, and `TooManyOpen`."""
        if self._open >= MOST_OPEN:
            raise TooManyOpen
        mark, page = await self._made(make)
        headers = {"X-Accel-Buffering": "no"}  # nginx would keep events until there are more
        return EventSourceResponse(self._events(make, mark, page), headers=headers)

    async def _events(
        self, make: Callable[[], Awaitable[str]], mark: str, page: str
    ) -> AsyncIterator[bytes]:
        self._open += 1
        try:
            yield _news(page)
            made_at = told_at = self._clock.monotonic()
            while not self._is_closing():
                await self._clock.sleep(LOOK_SECONDS)
                is_stale = self._clock.monotonic() - made_at >= STALE_SECONDS
                if is_stale or await self._commit_mark() != mark:
                    before = page
                    mark, page = await self._made(make)
                    made_at = self._clock.monotonic()
                    if page != before:
                        yield _news(page)
                        told_at = made_at
                if self._clock.monotonic() - told_at >= QUIET_SECONDS:
                    yield _ALIVE
                    told_at = self._clock.monotonic()
        except (NotThere, NotUnderstood, StoreUnavailable):
            return  # the browser asks again, and is told what is wrong
        finally:
            self._open -= 1

    async def _made(self, make: Callable[[], Awaitable[str]]) -> tuple[str, str]:
        """A page, after what was committed before it was made; one at a time."""
        async with self._turn:
            if (wait := self._free_at - self._clock.monotonic()) > 0:
                await self._clock.sleep(wait)
            began = self._clock.monotonic()
            mark = await self._commit_mark()
            page = await make()
            self._free_at = began + (self._clock.monotonic() - began) / SHARE
            return mark, page


def _news(page: str) -> bytes:
    return format_sse_event(event="page", data_str=page)
