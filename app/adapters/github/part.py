"""What every part of the `GitHub` port's adapter has."""

import asyncio
from dataclasses import dataclass, field

from app.adapters.github import reading
from app.adapters.github.at import At
from app.adapters.github.call import Call
from app.adapters.github.connection import Connection
from app.ports import Repository


@dataclass(slots=True)
class _Bot:
    """The account of the App, as soon as it is known; it never changes."""

    login: str | None = None
    email: str | None = None
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Who asks for the login: the others wait for the answer."""


class Part:
    """One App's connection, and its name."""

    def __init__(self, app_id: int, connection: Connection) -> None:
        self._app_id = app_id
        self._connection = connection
        self._urgent = False
        self._bot = _Bot()

    async def bot_login(self) -> str:
        async with self._bot.asking:
            if self._bot.login is None:
                answer = await self._connection.send(Call("GET", "/app"))
                self._bot.login = f"{reading.needed_text(answer.body, 'slug')}[bot]"
            return self._bot.login

    def _at(self, repository: Repository) -> At:
        return At(self._connection, repository, urgent=self._urgent)
