"""`ports.Rates` on a database: a row for each user, locked while one process counts, and beside it
a row for each thing that counts in the user's window.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert, upsert
from app.adapters.store.tables import HITS, HITTERS
from app.adapters.store.writer import GroupWriter
from app.core.budgets.rates import HOUR, Allowed, Counted, Hits, Refused, hit
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
        name = None if what is None else whole(what)
        return await self._writer.run_batched(count, Hit(login, most, at, name, window))


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
    logins = sorted({each.login for each in hits})  # one order for all processes: no deadlock
    connection.execute(
        insert(connection, HITTERS).on_conflict_do_nothing(),
        [_hitter(login, Hits()) for login in logins],
    )
    stored = _stored(connection, logins)
    after = {login: kept.hits for login, kept in stored.items()}
    over = dict.fromkeys(logins, datetime.min.replace(tzinfo=UTC))
    answers = []
    for each in hits:
        known = after[each.login]
        after[each.login], answer = hit(known, each.most, each.at, each.what, each.window)
        over[each.login] = max(over[each.login], each.at - each.window)
        answers.append(answer)
    for login in logins:
        _write(connection, login, stored[login], after[login], over[login])
    return answers


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is stored of a user."""

    hits: Hits
    last_number: int = 0
    """Of the hits that are stored."""


_LOGINS: Final[sa.BindParameter[str]] = sa.bindparam("logins", expanding=True)
_LOCKED: Final = (
    sa.select(HITTERS)
    .where(HITTERS.c.login.in_(_LOGINS))
    .order_by(HITTERS.c.login)
    .with_for_update()
)
_HITS: Final = (
    sa.select(HITS).where(HITS.c.login.in_(_LOGINS)).order_by(HITS.c.login, HITS.c.number)
)
_FORGET: Final = sa.delete(HITS).where(
    HITS.c.login == sa.bindparam("of"), HITS.c.at <= sa.bindparam("over")
)


def _stored(connection: sa.Connection, logins: Sequence[str]) -> Mapping[str, _Kept]:
    """What is kept of `logins`, whose rows are locked from now on."""
    stored = {
        row.login: _Kept(Hits(told_at=row.told_at, told=row.told))
        for row in connection.execute(_LOCKED, {"logins": logins})
    }
    for row in connection.execute(_HITS, {"logins": logins}):
        hits = stored[row.login].hits
        counted = (*hits.counted, Counted(row.at, row.what))
        stored[row.login] = _Kept(replace(hits, counted=counted), row.number)
    return stored


def _write(
    connection: sa.Connection, login: str, stored: _Kept, after: Hits, over: datetime
) -> None:
    """What has changed of one user. `over`: what was counted then, or before, counts no more."""
    before = stored.hits
    left = sum(each.at > over for each in before.counted)
    if left < len(before.counted):
        connection.execute(_FORGET, {"of": login, "over": over})
    new = [
        {"login": login, "number": number, "at": each.at, "what": each.what}
        for number, each in enumerate(after.counted[left:], stored.last_number + 1)
    ]
    if new:
        connection.execute(sa.insert(HITS), new)
    if (before.told_at, before.told) != (after.told_at, after.told):
        connection.execute(upsert(connection.dialect.name, HITTERS), [_hitter(login, after)])


def _hitter(login: str, hits: Hits) -> dict[str, object]:
    return {"login": login, "told_at": hits.told_at, "told": hits.told}
