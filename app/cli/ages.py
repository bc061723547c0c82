"""Instants as people write them on a command line."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

_UNITS: Final = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_AGO: Final = re.compile(rf"(\d{{1,6}})([{''.join(_UNITS)}])")


def instant_of(text: str, now: datetime) -> datetime:
    """`30m`, `2h`, `3d` and `1w` ago; a date, of which the day begins in UTC; or an instant as RFC
    3339 writes it. Raises `ValueError` for all else."""
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - int(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError:
        at = datetime.fromisoformat(text)
        return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
