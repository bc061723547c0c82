"""Whoever reads the pages of a service in a story, at the machine on which it runs."""

import asyncio
from html.parser import HTMLParser

import httpx
from pydantic import SecretStr
from starlette.types import ASGIApp, Message, Scope

from app.web.pages.site import LocalPages, site
from tests.twins.story import Story

PORT = 8001
TOKEN = "the-token-of-the-link"
_INLINE = frozenset({"a", "code", "span", "strong", "time"})


class Reader:
    """A browser that has opened the link, without scripts. It asks for no styles: those are read by
    threads, which no story has."""

    def __init__(self, squad: Story) -> None:
        self._squad = squad
        self.is_closing = False
        local = LocalPages(PORT, SecretStr(TOKEN), lambda: self.is_closing)
        self._site = site(squad.service, local)
        self._cookies = httpx.Cookies()

    def get(self, path: str) -> httpx.Response:
        """What it is shown."""
        return self._squad.run(self._get(path))

    def page(self, path: str) -> "Page":
        """A page that is there."""
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return Page(answer.text)

    def follow(self, path: str) -> "Followed":
        """A page that stays open. Time has to pass for it to follow."""
        self.get("/")
        followed = Followed(self._squad, self._site, path, self._cookies)
        self._squad.settle()
        return followed

    async def _get(self, path: str) -> httpx.Response:
        base, transport = f"http://127.0.0.1:{PORT}", httpx.ASGITransport(self._site)
        async with httpx.AsyncClient(
            transport=transport, base_url=base, cookies=self._cookies
        ) as client:
            if not self._cookies:
                await client.get("/", params={"token": TOKEN})
                self._cookies = client.cookies
            return await client.get(path)


class Followed:
    """The events of an open page, as they come over the wire."""

    def __init__(self, squad: Story, site: ASGIApp, path: str, cookies: httpx.Cookies) -> None:
        self.status = 0
        self._events = list[tuple[str, str]]()
        """Kind and data."""
        self._rest = ""
        self._is_left = asyncio.Event()
        at = httpx.URL(path)
        cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
        scope: Scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "path": at.path,
            "query_string": at.query,
            "headers": [(b"host", f"127.0.0.1:{PORT}".encode()), (b"cookie", cookie.encode())],
            "server": ("127.0.0.1", PORT),
        }
        self._answering = squad.loop.create_task(self._answer(site, scope))

    def pages(self) -> list["Page"]:
        """Those that have come since the last call."""
        taken, self._events = self._events, []
        return [Page(data) for kind, data in taken if kind == "page"]

    def kinds(self) -> list[str]:
        """Of the events since the last call."""
        taken, self._events = self._events, []
        return [kind for kind, _ in taken]

    @property
    def is_over(self) -> bool:
        """Whether no more comes."""
        return self._answering.done()

    def leave(self) -> None:
        """The browser closes the connection."""
        self._is_left.set()

    async def _answer(self, site: ASGIApp, scope: Scope) -> None:
        await site(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        await self._is_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        *whole, self._rest = (self._rest + message["body"].decode()).split("\n\n")
        for event in whole:
            fields = [line.partition(": ")[::2] for line in event.split("\n")]
            [kind] = [value for name, value in fields if name == "event"]
            data = "\n".join(value for name, value in fields if name == "data")
            self._events.append((kind, data))


class Page(HTMLParser):
    """A page as a person sees it, and where its links lead."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.links: dict[str, str] = {}
        """By their text."""
        self.tags: set[str] = set()
        self._words = list[str]()
        self._link: tuple[str, int] | None = None
        self.feed(html)

    @property
    def text(self) -> str:
        """All words, with one space between two, and between two blocks."""
        return " ".join("".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Of the parser."""
        self.tags.add(tag)
        if tag not in _INLINE:
            self._words.append(" ")
        if tag == "a":
            self._link = dict(attrs).get("href") or "", len(self._words)

    def handle_endtag(self, tag: str) -> None:
        """Of the parser."""
        if tag not in _INLINE:
            self._words.append(" ")
        if tag == "a" and self._link is not None:
            href, since = self._link
            self.links[" ".join("".join(self._words[since:]).split())] = href

    def handle_data(self, data: str) -> None:
        """Of the parser."""
        self._words.append(data)
