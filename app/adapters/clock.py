"""The system's clock and its source of random names: the only file that may use either."""

import secrets
from datetime import UTC, datetime


class SystemClock:
    """Implements `ports.Clock` by the clock of this machine."""

    def now(self) -> datetime:
        """This instant, aware, in UTC."""
        return datetime.now(UTC)


def new_name() -> str:
    """A name that nothing else has: 16 hexadecimal digits."""
    return secrets.token_hex(8)
