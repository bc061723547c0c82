"""What the database's failures mean to whoever asked."""

from typing import Final

import sqlalchemy as sa

from app.ports import StoreUnavailable

_FULL: Final = (
    "too many clients",
    "too many connections",
    "remaining connection slots",
    "no more connections allowed",
)
"""PostgreSQL's words and PgBouncer's."""


def is_connection_lost(error: BaseException) -> bool:
    """Whether the connection is gone, and a new one may do better."""
    return isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated


def translated(error: BaseException) -> BaseException:
    """`StoreUnavailable` for a database that is away, full, locked or too slow; else `error`."""
    is_away = isinstance(
        error, sa.exc.OperationalError | sa.exc.InterfaceError | sa.exc.TimeoutError
    )
    if not (is_away or is_connection_lost(error)):
        return error
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    if isinstance(error, sa.exc.TimeoutError):
        reason = "all connections of this process are busy (SQUADRON_DATABASE_POOL)"
    unavailable = StoreUnavailable(f"the database cannot be used: {reason}{if_full(error)}")
    unavailable.__cause__ = error
    return unavailable


def if_full(error: BaseException) -> str:
    """What to do about a server that takes no more connections; empty: that is not why it failed.
    Its words are all that tells: the driver has no code of what keeps a connection from being
    made."""
    if not any(words in str(error) for words in _FULL):
        return ""
    return (
        ". The server takes no more connections: each process of Squadron keeps up to"
        " SQUADRON_DATABASE_POOL for its queries, and 3 besides. Lower that, or raise"
        " `max_connections` of the server"
    )
