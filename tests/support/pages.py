"""Whoever reads the pages of a service in a story, at the machine on which it runs."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import quote

import httpx
from pydantic import SecretStr
from starlette.types import ASGIApp, Message, Scope

from app.doctor.check import Check
from app.web.pages.site import LocalPages, site
from tests.twins.story import Story

PORT = 8001
TOKEN = "the-token-of-the-link"
CHECKS = [
    Check("git", True, "git version 2.39.5"),
    Check("price", False, "nobody knows what x costs", "name it under `pricing`"),
]
"""What the doctor finds."""
_INLINE = frozenset({"a", "code", "span", "strong", "time"})


class Reader:
    """A browser that has opened the link, without scripts. It asks for no styles: those are read by
    threads, which no story has."""

    def __init__(self, squad: Story) -> None:
        self._squad = squad
        self.is_closing = False
        local = LocalPages(PORT, SecretStr(TOKEN), lambda: self.is_closing, CHECKS.copy)
        self._site = site(squad.service, local)
        self._cookies = httpx.Cookies()

    def get(self, path: str) -> httpx.Response:
        """What it is shown."""
        return self._squad.run(self._ask("GET", path))

    def brings(self, cookie: str, value: str) -> None:
        """Shows a cookie that somebody else has made."""
        self.get("/")
        self._cookies.set(cookie, quote(value, safe="=."))

    def is_known_as(self, login: str) -> None:
        """Says who they are on GitHub."""
        form = self.page("/you").form("That is me")
        assert self.sends(form, login=login).status_code == 303

    def sends(
        self,
        form: "Form",
        button: str = "",
        headers: Mapping[str, str] | None = None,
        /,
        **fields: str | Sequence[str],
    ) -> httpx.Response:
        """A form, filled in, by one of its buttons."""
        filled: dict[str, str | Sequence[str]] = {**form.fields, **fields}
        if button:
            filled["do"] = form.buttons[button]
        return self._squad.run(self._ask("POST", form.action, filled, headers))

    def presses(self, path: str, button: str, **fields: str | Sequence[str]) -> "Page":
        """What a page shows after one of its buttons was pressed."""
        answer = self.sends(self.page(path).form(button), button, None, **fields)
        assert answer.status_code == 303, answer.text
        return self.page(answer.headers["location"])

    def read(self, answer: httpx.Response) -> "Page":
        """A page that came as an answer to a form."""
        assert answer.status_code == 200, answer.text
        return Page(answer.text)

    def page(self, path: str) -> "Page":
        """A page that is there."""
        return self.read(self.get(path))

    def follow(self, path: str) -> "Followed":
        """A page that stays open. Time has to pass for it to follow."""
        self.get("/")
        followed = Followed(self._squad, self._site, path, self._cookies)
        self._squad.settle()
        return followed

    async def _ask(
        self,
        method: str,
        path: str,
        form: Mapping[str, str | Sequence[str]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        base, transport = f"http://127.0.0.1:{PORT}", httpx.ASGITransport(self._site)
        async with httpx.AsyncClient(
            transport=transport, base_url=base, cookies=self._cookies
        ) as client:
            if not self._cookies:
                await client.get("/", params={"token": TOKEN})
            answer = await client.request(method, path, data=form, headers=headers)
            self._cookies = client.cookies
            return answer


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


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a page, as it stands there."""

    action: str
    fields: dict[str, list[str]]
    buttons: dict[str, str]
    """Values by their words."""


class Page(HTMLParser):
    """A page as a person sees it, and where its links lead."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.links: dict[str, str] = {}
        """By their text."""
        self.tags: set[str] = set()
        self._words = list[str]()
        self.forms = list[Form]()
        self._link: tuple[str, int] | None = None
        self._button: tuple[str, int] | None = None
        self.feed(html)

    @property
    def text(self) -> str:
        """All words, with one space between two, and between two blocks."""
        return " ".join("".join(self._words).split())

    def form(self, button: str, agent: str = "") -> Form:
        """The first one with that button, of that agent."""
        return next(
            form
            for form in self.forms
            if button in form.buttons and (not agent or agent in form.fields["agent"])
        )

    def forms_to(self, action: str) -> list[Form]:
        """All that are sent there."""
        return [form for form in self.forms if form.action == action]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Of the parser."""
        self.tags.add(tag)
        if tag not in _INLINE:
            self._words.append(" ")
        named = {name: value or "" for name, value in attrs}
        match tag:
            case "a":
                self._link = named.get("href", ""), len(self._words)
            case "form":
                self.forms.append(Form(named["action"], {}, {}))
            case "input" if named.get("type") != "checkbox" or "checked" in named:
                values = self.forms[-1].fields.setdefault(named["name"], [])
                values.append(named.get("value", ""))
            case "button":
                self._button = named.get("value", ""), len(self._words)
            case _:
                pass

    def handle_endtag(self, tag: str) -> None:
        """Of the parser."""
        if tag not in _INLINE:
            self._words.append(" ")
        if tag == "a" and self._link is not None:
            href, since = self._link
            self.links[" ".join("".join(self._words[since:]).split())] = href

        if tag == "button" and self._button is not None:
            value, since = self._button
            words = " ".join("".join(self._words[since:]).split())
            self.forms[-1].buttons[words] = value

    def handle_data(self, data: str) -> None:
        """Of the parser."""
        self._words.append(data)
