"""The request to wrap up, from any thread or loop: of all that this process does, or of its agents
alone."""

import threading


class Drain:
    """Whether this process is ending, and whether its agents are to go on elsewhere."""

    def __init__(self) -> None:
        self._ending = threading.Event()
        self._handing_over = threading.Event()

    def end(self) -> None:
        """The process ends: by SIGTERM, or since it is no worker any more."""
        self._ending.set()

    def hand_over(self) -> None:
        """Its agents keep their work and go on in another process; this one lives on."""
        self._handing_over.set()

    @property
    def is_ending(self) -> bool:
        """Whether the process ends."""
        return self._ending.is_set()

    @property
    def hands_over(self) -> bool:
        """Whether agents have to keep their work and leave: also where the process ends."""
        return self._handing_over.is_set() or self.is_ending
