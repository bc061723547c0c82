"""Providers of models that are away: one row each, as long as it lasts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import OUTAGES
from app.core.rules.outages import Outage, ProviderFailure, after_failure, asked, may_ask

_COLUMNS: Final = OUTAGES.c


def all_of_them(connection: sa.Connection) -> Mapping[str, Outage]:
    """By the provider's name."""
    rows = connection.execute(sa.select(OUTAGES)).mappings()
    return {row["provider"]: _outage(row) for row in rows}


def note(connection: sa.Connection, failure: ProviderFailure, by: str, at: datetime) -> Outage:
    """The provider was asked in vain."""
    after = after_failure(_locked(connection, failure.provider), failure, by, at)
    _save(connection, after)
    return after


def ask(connection: sa.Connection, provider: str, by: str, at: datetime) -> Outage | None:
    """Let an agent ask, and nobody else meanwhile; what keeps it from that, None: nothing."""
    outage = _locked(connection, provider)
    if outage is None:
        return None
    if not may_ask(outage, by, at):
        return outage
    _save(connection, asked(outage, by, at))
    return None


def ask_at_once(connection: sa.Connection, at: datetime) -> None:
    """Whoever needs a provider may ask it now."""
    connection.execute(sa.update(OUTAGES).values(retry_at=at, probe="", probe_until=None))


def over(connection: sa.Connection, provider: str) -> Outage | None:
    """The provider has answered; the outage that is over with that, if there was one."""
    outage = _locked(connection, provider)
    connection.execute(sa.delete(OUTAGES).where(_COLUMNS.provider == provider))
    return outage


def _locked(connection: sa.Connection, provider: str) -> Outage | None:
    rows = sa.select(OUTAGES).where(_COLUMNS.provider == provider).with_for_update()
    row = connection.execute(rows).mappings().one_or_none()
    return None if row is None else _outage(row)


def _save(connection: sa.Connection, outage: Outage) -> None:
    row = {
        "reason": outage.failure.reason,
        "is_refused": outage.failure.is_refused,
        "since": outage.since,
        "tries": outage.tries,
        "retry_at": outage.retry_at,
        "probe": outage.probe,
        "probe_until": outage.probe_until,
    }
    connection.execute(
        insert(connection, OUTAGES)
        .values(provider=outage.failure.provider, **row)
        .on_conflict_do_update(index_elements=["provider"], set_=row)
    )


def _outage(row: sa.RowMapping) -> Outage:
    return Outage(
        failure=ProviderFailure(row["provider"], row["reason"], row["is_refused"]),
        since=row["since"],
        tries=row["tries"],
        retry_at=row["retry_at"],
        probe=row["probe"],
        probe_until=row["probe_until"],
    )
