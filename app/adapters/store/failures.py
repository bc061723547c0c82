"""What the database's failures mean to whoever asked."""

import sqlalchemy as sa

from app.ports import StoreUnavailable


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
    unavailable = StoreUnavailable(f"the database cannot be used: {reason}")
    unavailable.__cause__ = error
    return unavailable
