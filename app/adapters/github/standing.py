"""How the App stands with GitHub: do the clocks agree, does its key work, what has it not got."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Final

import httpx
from pydantic import SecretStr

from app.adapters.github.access import lacking, settings_page, words
from app.adapters.github.call import Call
from app.adapters.github.connection import Connection
from app.adapters.github.delivered import Delivered, delivered_again, last_delivered
from app.adapters.github.reading import dig, needed_list, needed_text, text
from app.adapters.github.registration import APP_EVENTS, APP_PERMISSIONS
from app.core.text.redact import Redactor
from app.ports import Clock, Refused, Unreachable

MOST_SECONDS: Final = 60.0
"""For everything that is asked."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Where the App is installed."""

    account: str
    page: str
    """On which its owner accepts what the App asks for."""
    is_suspended: bool
    lacking: str
    """What Squadron needs, the App asks for, and the owner has not granted: `checks=write, …`."""


@dataclass(frozen=True, slots=True)
class KnownApp:
    """What GitHub knows of the App."""

    page: str
    """Its public page, from which it is installed."""
    settings: str
    """Where its owner changes what it asks for."""
    lacking: str
    """What Squadron needs and the App does not ask for: `checks=write, …`."""
    unheard: Sequence[str]
    """Events that Squadron acts on and the App does not subscribe to."""
    installations: Sequence[Installation]
    delivered: Delivered | None
    """What GitHub tried to deliver last; None: nothing in the days that it remembers."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What there is to say of one App with its keys."""

    ahead: timedelta
    """How far this machine's clock is ahead of GitHub's; it tells whole seconds."""
    refusals: Sequence[str]
    """Of each key why GitHub does not take it; empty: it does."""
    app: KnownApp | None
    """None: no key works."""


async def standing(
    app_id: int,
    private_keys: Sequence[SecretStr],
    api_url: str,
    clock: Clock,
    transport: httpx.AsyncBaseTransport | None = None,
    *,
    pings: bool = False,
) -> Standing:
    """Asks GitHub; `pings`: and lets it deliver the last delivery once more.

    Raises `RateLimited` and `Unreachable`, the latter also after `MOST_SECONDS`.
    """
    try:
        async with asyncio.timeout(MOST_SECONDS):
            ahead = await _ahead(api_url, clock, transport)
            refusals, app = list[str](), None
            for key in private_keys:
                connection = Connection(app_id, [key], api_url, clock, transport, None, Redactor())
                try:
                    found = (await connection.send(Call("GET", "/app"))).body
                    app = app or await _known(found, connection, pings=pings)
                except Refused as refused:
                    refusals.append(str(refused))
                else:
                    refusals.append("")
    except TimeoutError:
        raise Unreachable(f"GitHub did not answer everything in {MOST_SECONDS:.0f} s") from None
    return Standing(ahead, refusals, app)


async def _ahead(
    api_url: str, clock: Clock, transport: httpx.AsyncBaseTransport | None
) -> timedelta:
    """Asked without a key, for none works where the clocks differ."""
    # Imported at the call: 0.3 s and 30 MB that no other command waits for.
    from app.adapters.github.wire import unsigned

    call = "GET /rate_limit"  # which does not count itself
    try:
        async with unsigned(api_url, transport) as client:
            answer = await client.get("/rate_limit")
        now = clock.now()
        return now - parsedate_to_datetime(answer.headers["date"])
    except httpx.HTTPError as error:
        what = type(error).__name__
        raise Unreachable(f"{call}: GitHub could not be reached ({what})") from None
    except (KeyError, ValueError, TypeError):  # TypeError: a date without its offset
        raise Unreachable(f"{call}: the answer has no date; is this GitHub's API?") from None


async def _known(app: object, connection: Connection, *, pings: bool) -> KnownApp:
    asked_for = lacking(APP_PERMISSIONS, app)
    installations = list[Installation]()
    async with aclosing(connection.pages(Call("GET", "/app/installations"))) as entries:
        async for entry in entries:
            missing = lacking(APP_PERMISSIONS, entry).items()
            installations.append(
                Installation(
                    text(entry, "account", "login") or "a deleted account",
                    needed_text(entry, "html_url"),
                    dig(entry, "suspended_at") is not None,
                    words({name: level for name, level in missing if name not in asked_for}),
                )
            )
    heard = needed_list(app, "events")
    delivered = await last_delivered(connection)
    if pings and delivered is not None:
        delivered = await delivered_again(connection, delivered) or delivered
    return KnownApp(
        needed_text(app, "html_url"),
        settings_page(app),
        words(asked_for),
        [event for event in APP_EVENTS if event not in heard],
        installations,
        delivered,
    )
