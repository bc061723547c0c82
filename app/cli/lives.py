"""The lives of a process that serves or works: its first, and those in which it comes back."""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import psycopg
import sqlalchemy as sa
from pydantic import SecretStr

from app.adapters.anew import Comeback, end_children, start_anew
from app.adapters.clock import SystemClock
from app.adapters.engine import AlreadyRunning
from app.adapters.logs import log_to_stderr
from app.adapters.secrecy import keep_to_itself
from app.adapters.store.database import why_away
from app.adapters.store.schema import WrongSchema
from app.bootstrap import EXIT_GIVEN_UP, Adapters, CannotServe, DatabaseAway, Service, build
from app.cli.failing import EXIT_CONFIGURATION, fail
from app.cli.listening import CannotListen, address_of, taken
from app.cli.terminal import say
from app.config.operator import OperatorConfig, load_operator
from app.config.settings import Pages, SettingsError, load_settings
from app.core.text.redact import Redactor
from app.doctor.check import Check
from app.ports import StoreUnavailable
from app.web.pages.door import TOKEN
from app.web.pages.site import LOOPBACK, LocalPages

PAGES_ARE: Final = "Pages, for you at this machine: "
"""Before their link, on a line of its own."""
TOKEN_BYTES: Final = 16
LOOK_SECONDS: Final = 1.0
"""Between two looks whether the database is back."""
_AWAY: Final = (DatabaseAway, StoreUnavailable, sa.exc.DBAPIError, psycopg.OperationalError)
_IN_WORDS: Final = (SettingsError, CannotServe, AlreadyRunning, OSError)

log = logging.getLogger("squadron.service")


class DatabaseGone(Exception):
    """The database did not come back as long as the operator wants to wait."""


class Life:
    """This life of the process."""

    def __init__(
        self, adapters: Adapters, *, runs_agents: bool = True, migrates: bool = True
    ) -> None:
        """Call it before anything reads a secret."""
        keep_to_itself()
        self._redact = Redactor()
        log_to_stderr(self._redact)
        self._adapters = adapters
        self._runs_agents = runs_agents
        self._migrates = migrates
        self._clock = SystemClock()
        self._comeback = Comeback.taken(os.environ)
        self.listeners: Sequence[socket.socket] = ()
        self.page_listeners: Sequence[socket.socket] = ()
        self.pages: LocalPages | None = None
        """Where people at this machine open them."""
        self._failure: tuple[str, int] | None = None
        if self._comeback is not None:
            end_children()

    @property
    def is_first(self) -> bool:
        """Whether no life came before."""
        return self._comeback is None

    def listen(self, host: str, port: int) -> None:
        """Where the life before has listened, or else there."""
        if self._comeback is not None:
            self.listeners = self._comeback.listeners()
            return
        try:
            self.listeners = taken(host, port)
        except CannotListen as error:
            fail(str(error))

    def open_pages(self, is_closing: Callable[[], bool]) -> None:
        """Listen for people at this machine, and print their link, unless nobody is to look or the
        port is somebody else's. Ends the command where settings are wrong.

        `is_closing`: whether the server that serves them ends.
        """
        try:
            settings = load_settings(os.environ)
        except SettingsError as error:
            fail(str(error))
        if settings.pages is Pages.OFF:
            return
        try:
            [listener] = taken(LOOPBACK, settings.pages_port)
        except CannotListen:
            log.warning(
                "no pages: port %d of this machine is in use; SQUADRON_PAGES_PORT takes another",
                settings.pages_port,
            )
            return
        self.page_listeners = [listener]
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._redact.learn(lambda: [token])
        say(f"{PAGES_ARE}{address_of(listener)}/?{TOKEN}={token}")
        self.pages = LocalPages(listener.getsockname()[1], SecretStr(token), is_closing, _examined)

    def built(self) -> Service:
        """The service of a first life. Ends the command where it cannot be."""
        try:
            return self._build()
        except WrongSchema as error:
            fail(str(error), EXIT_CONFIGURATION)
        except _IN_WORDS as error:
            fail(str(error))

    async def come_back(self) -> Service:
        """The service of a further life, as soon as there is a database to work with. Raises
        `DatabaseGone`, and what `build` raises."""
        assert self._comeback is not None
        await self._until_back(self._comeback.since)
        return await asyncio.to_thread(self._build)

    def fails(self, error: Exception) -> None:
        """What has kept the service from its start: the process begins anew, or has to end."""
        if isinstance(error, _AWAY) and self._comeback is not None:
            log.warning("the database went away again: %s", error)
            start_anew(self._comeback.since, self.listeners)
        code = 1
        if isinstance(error, DatabaseGone):
            code = EXIT_GIVEN_UP
        elif isinstance(error, WrongSchema):
            code = EXIT_CONFIGURATION
        elif not isinstance(error, _IN_WORDS):
            log.error("cannot come back, as nobody has foreseen", exc_info=error)
        self._failure = (str(error), code)

    def end(self) -> None:
        """Ends the command with what went wrong, if anything did."""
        if self._failure is not None:
            fail(*self._failure)

    def _build(self) -> Service:
        return build(
            load_settings(os.environ),
            runs_agents=self._runs_agents,
            migrates=self._migrates,
            address=address_of(self.listeners[0]) if self.listeners else None,
            redact=self._redact,
            adapters=self._adapters,
            give_up=lambda: start_anew(self._clock.now(), self.listeners),
        )

    async def _until_back(self, since: datetime) -> None:
        settings = load_settings(os.environ)
        operator = load_operator(settings.config).config or OperatorConfig()
        wait = timedelta(seconds=operator.database_wait_seconds)
        self._redact.learn(settings.secret_values)
        url, told = settings.database_url.get_secret_value(), ""
        while why := await asyncio.to_thread(why_away, url):
            if why != told:
                log.warning("waiting for the database, for %s at most: %s", wait, why)
                told = why
            if self._clock.now() - since >= wait:
                raise DatabaseGone(f"the database did not come back within {wait}: {why}")
            await self._clock.sleep(LOOK_SECONDS)
        log.info("the database can be used", extra={"away_since": since})


def _examined() -> Sequence[Check]:
    from app.doctor.examined import examined

    return [*examined(os.environ, is_offline=False, pings=False)]
