"""How long something is ago, or off, in few characters; and instants as people write them."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

_UNITS: Final = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_AGO: Final = re.compile(rf"([0-9]{{1,6}})([{''.join(_UNITS)}])")


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
    3339 writes it. Raises `ValueError` for all else, in words for people."""
    try:
        ago = _AGO.fullmatch(text)
        if ago is not None:
            return now - int(ago[1]) * _UNITS[ago[2]]
        if len(text) <= len("2026-11-29"):
            return datetime.combine(date.fromisoformat(text), time(), UTC)
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        words = f"{text!r} is no instant: write 30m, 2h, 3d, or a date as 2026-11-29"
        raise ValueError(words) from None
