"""`ports.Rates` on a database: each user's window is one row, counted by one process at a time.

Beside it stands a row for each thing with a name that was counted in the window, and for the first
that was refused; they go when the next window begins.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert, upsert
from app.adapters.store.tables import HITS, NAMED_HITS
from app.adapters.store.writer import GroupWriter
from app.core.budgets.rates import HOUR, Allowed, Hits, Refused, hit
from app.core.text.unicode import whole


class SqlRates:
    """Implements `ports.Rates` on SQLite and PostgreSQL."""

    def __init__(self, writer: GroupWriter) -> None:
        self._writer = writer

    async def hit(
        self,
        user: str,
        most: int,
        at: datetime,
        what: str | None = None,
        window: timedelta = HOUR,
    ) -> Allowed | Refused:
        """Count one hit of `user`; the one after the limit is refused."""
        login = whole(user.casefold())
        return await self._writer.run_batched(count, Hit(login, most, at, what, window))


@dataclass(frozen=True, slots=True)
class Hit:
    """Somebody did something."""

    login: str
    """In small letters, as it is stored."""
    most: int
    at: datetime
    what: str | None
    """Its name, if it has one."""
    window: timedelta


def count(connection: sa.Connection, hits: Sequence[Hit]) -> Sequence[Allowed | Refused]:
    """Count all, each after the one before it."""
    first_by_login = {each.login: each for each in reversed(hits)}
    logins = sorted(first_by_login)  # one order for all processes: no deadlock
    connection.execute(
        insert(connection, HITS).on_conflict_do_nothing(),
        [_columns(login, Hits(since=first_by_login[login].at)) for login in logins],
    )
    stored = _stored(connection, logins, {each.what for each in hits if each.what is not None})
    windows = dict(stored)
    answers = []
    for each in hits:
        windows[each.login], answer = hit(
            windows[each.login], each.most, each.at, each.what, each.window
        )
        answers.append(answer)
    connection.execute(
        upsert(connection.dialect.name, HITS), [_columns(login, windows[login]) for login in logins]
    )
    _keep_names(connection, stored, windows)
    return answers


_LOGINS: Final[sa.BindParameter[str]] = sa.bindparam("logins", expanding=True)
_NAMES: Final[sa.BindParameter[str]] = sa.bindparam("names", expanding=True)
_LOCKED: Final = (
    sa.select(HITS).where(HITS.c.login.in_(_LOGINS)).order_by(HITS.c.login).with_for_update()
)
_NAMED: Final = sa.select(NAMED_HITS).where(
    NAMED_HITS.c.login.in_(_LOGINS), NAMED_HITS.c.what.in_(_NAMES)
)
_FORGET: Final = sa.delete(NAMED_HITS).where(NAMED_HITS.c.login.in_(_LOGINS))


def _stored(
    connection: sa.Connection, logins: Sequence[str], names: Collection[str]
) -> Mapping[str, Hits]:
    """The windows of `logins`, whose rows are locked from now on; of the names, those asked for."""
    windows = {
        row.login: Hits(row.since, row.allowed, row.refused)
        for row in connection.execute(_LOCKED, {"logins": logins})
    }
    if not names:
        return windows
    for row in connection.execute(_NAMED, {"logins": logins, "names": sorted(names)}):
        known = windows[row.login]
        if row.is_counted:
            windows[row.login] = replace(known, counted=known.counted | {row.what})
        else:
            windows[row.login] = replace(known, first_refused=row.what)
    return windows


def _keep_names(
    connection: sa.Connection, before: Mapping[str, Hits], after: Mapping[str, Hits]
) -> None:
    """Write the names that are new, after those of windows that are over are gone."""
    over = [login for login, hits in before.items() if after[login].since != hits.since]
    if over:
        connection.execute(_FORGET, {"logins": over})
    known = {**before, **{login: Hits(after[login].since) for login in over}}
    new = [
        {"login": login, "what": what, "is_counted": int(is_counted)}
        for login, hits in after.items()
        for what, is_counted in _names(hits).items()
        if _names(known[login]).get(what) is not is_counted
    ]
    if new:
        connection.execute(upsert(connection.dialect.name, NAMED_HITS), new)


def _names(hits: Hits) -> Mapping[str, bool]:
    """What has a name, and whether it was counted; an allowance that was raised wins."""
    refused = {} if hits.first_refused is None else {hits.first_refused: False}
    return {**refused, **dict.fromkeys(hits.counted, True)}


def _columns(login: str, hits: Hits) -> dict[str, object]:
    return {
        "login": login,
        "since": hits.since,
        "allowed": hits.allowed,
        "refused": hits.refused,
    }
