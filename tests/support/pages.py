"""Whoever reads the pages of a service in a story, at the machine on which it runs."""

from html.parser import HTMLParser

import httpx
from pydantic import SecretStr

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
        self._site = site(squad.service, LocalPages(PORT, SecretStr(TOKEN)))
        self._cookies = httpx.Cookies()

    def get(self, path: str) -> httpx.Response:
        """What it is shown."""
        return self._squad.run(self._get(path))

    def page(self, path: str) -> "Page":
        """A page that is there."""
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return Page(answer.text)

    async def _get(self, path: str) -> httpx.Response:
        base, transport = f"http://127.0.0.1:{PORT}", httpx.ASGITransport(self._site)
        async with httpx.AsyncClient(
            transport=transport, base_url=base, cookies=self._cookies
        ) as client:
            if not self._cookies:
                await client.get("/", params={"token": TOKEN})
                self._cookies = client.cookies
            return await client.get(path)


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
