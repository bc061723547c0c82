"""The system's clock and its source of random names: the only file that may use either."""

import asyncio
import secrets
import time
from datetime import UTC, datetime


class SystemClock:
    """Implements `ports.Clock` by the clock of this machine."""

    def now(self) -> datetime:
        """This instant, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some instant."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for so long."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """A bound on what happens in it. Raises `TimeoutError`."""
        return asyncio.timeout(seconds)


def new_name() -> str:
    """A name that nothing else has: 16 hexadecimal digits."""
    return secrets.token_hex(8)
