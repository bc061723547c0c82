"""The request to stop: set once, from any thread or loop, by SIGTERM or by a lost membership."""

import threading


class Drain:
    """Whether this process is ending. Running segments look at it and wrap up."""

    def __init__(self) -> None:
        self._requested = threading.Event()

    def request(self) -> None:
        """Ask every running segment to keep its work and end."""
        self._requested.set()

    @property
    def is_requested(self) -> bool:
        """Whether somebody asked."""
        return self._requested.is_set()
