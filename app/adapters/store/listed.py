"""Whom a repository's `trust` block lists, by GitHub's ids: a login can pass to somebody else."""

from collections.abc import Collection, Mapping
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import LISTED_ACCOUNTS

_COLUMNS: Final = LISTED_ACCOUNTS.c


def of(connection: sa.Connection, repository: str) -> Mapping[str, int | None]:
    """By login; None: nobody had it."""
    asked = sa.select(LISTED_ACCOUNTS).where(_COLUMNS.repository == repository)
    return {row["login"]: row["account_id"] for row in connection.execute(asked).mappings()}


def put(
    connection: sa.Connection,
    repository: str,
    logins: Collection[str],
    accounts: Mapping[str, int | None],
) -> None:
    """Forget who is no longer among `logins`, and keep these accounts; what is kept stays as it
    is."""
    gone = (_COLUMNS.repository == repository) & _COLUMNS.login.not_in(sorted(logins))
    connection.execute(sa.delete(LISTED_ACCOUNTS).where(gone))
    for login, account in accounts.items():
        row = {"repository": repository, "login": login, "account_id": account}
        connection.execute(insert(connection, LISTED_ACCOUNTS).values(row).on_conflict_do_nothing())
