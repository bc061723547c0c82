"""Instants on a terminal, by how far they are away, and as people write them."""

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


def age_words(age: timedelta) -> str:
    """`45s`, `12m`, `3h`, `5d`: at most four characters, for half a lifetime."""
    seconds = max(int(age.total_seconds()), 0)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 48 * 3600:
        return f"{seconds // 3600}h"
    return f"{seconds // 86400}d"


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
