"""The system's clock and its source of random names: the only file that may use either."""

import asyncio
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime


class SystemClock:
    """Implements `ports.Clock` by the clock of this machine."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """`monotonic`: seconds since some instant in which agents may have worked."""
        self._monotonic = monotonic

    def now(self) -> datetime:
        """This instant, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some instant, without those in which this process stood still."""
        return self._monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for so long."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """A bound on what happens in it. Raises `TimeoutError`."""
        return asyncio.timeout(seconds)


def new_name() -> str:
    """A name that nothing else has: 16 hexadecimal digits."""
    return secrets.token_hex(8)
