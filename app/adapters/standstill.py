"""How long this process stood still: it was stopped by a signal, or starved of its machine.

No time passes for the agents of such a process. What stands still cannot notice it; so a thread
looks at the clock again and again, and whoever asks first after a gap sees that it was missing.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

LOOK_SECONDS: Final = 1.0
LEAST_SECONDS: Final = 5.0
"""Between two looks: shorter gaps are how busy machines are."""

log = logging.getLogger("squadron.service")


class Standstill:
    """One a process. It may be asked from any thread."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """`monotonic`: the clock of this machine."""
        self._clock = monotonic
        self._lock = threading.Lock()
        self._looked_at: float | None = None
        """By the monotonic clock; None: nobody watches."""
        self.seconds = 0.0
        """For how long, in all."""
        self._is_over = threading.Event()

    def watch(self) -> None:
        """From now on, until `end`. Called once."""
        self._looked_at = self._clock()
        threading.Thread(target=self._watch, name="squadron-standstill", daemon=True).start()

    def end(self) -> None:
        """Watch no longer."""
        self._is_over.set()
        with self._lock:
            self._looked_at = None

    def monotonic(self) -> float:
        """Seconds since some instant in which this process ran, as far as somebody watched."""
        now, gap = self._looked()
        if gap >= LEAST_SECONDS:
            log.warning("this process stood still for %.1f s: nobody's time passes for that", gap)
        return now

    def _looked(self) -> tuple[float, float]:
        with self._lock:
            now, gap = self._clock(), 0.0
            if self._looked_at is not None:
                gap, self._looked_at = now - self._looked_at, now
            if gap >= LEAST_SECONDS:
                self.seconds += gap
            return now - self.seconds, gap

    def _watch(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            self.monotonic()
