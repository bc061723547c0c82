"""How long something is ago, or off, in few characters."""

from datetime import timedelta


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
