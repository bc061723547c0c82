"""What everybody in a story saw, in one order: people, GitHub, the service's log."""

import asyncio
import json
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from app.ports import Clock

MOST_LINES: Final = 400
MOST_LENGTH: Final = 200
_USUAL: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "taskName"}


@dataclass(frozen=True, slots=True)
class Seen:
    """One line of the timeline."""

    at: str
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.at} {self.who:<9} {self.what}"


class Timeline:
    """All that was seen, oldest first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.seen: list[Seen] = []
        self.records: list[logging.LogRecord] = []
        """What the service logged."""
        self.effects: list[tuple[str, str]] = []
        """Agents, and what was brought about for them on GitHub."""
        self.held_up: set[str] = set()
        """Agents of which GitHub has failed to take something at first."""

    def note(self, who: str, what: str) -> None:
        """One line more."""
        self.seen.append(Seen(f"{self._clock.now():%d %H:%M:%S.%f}"[:-3], who, what))

    def errors(self) -> list[Seen]:
        """Error lines of the service."""
        return [each for each in self.seen if each.who in ("ERROR", "CRITICAL")]

    def told(self) -> str:
        """Its newest lines."""
        lines = [str(each) for each in self.seen[-MOST_LINES:]]
        return "\n".join(["", "--- what everybody saw ---", *lines])


class _Lines(logging.Handler):
    """Puts what the service logs on a loop into a timeline."""

    def __init__(self, timeline: Timeline, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.INFO)
        self._timeline = timeline
        self._loop = loop

    def filter(self, record: logging.LogRecord) -> bool:
        """Not what belongs to another story that is told at once."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return True

    def emit(self, record: logging.LogRecord) -> None:
        self._timeline.records.append(record)
        # That an agent is stopped is an error of the agent, and none of the service.
        is_wrong = record.levelno >= logging.ERROR and record.getMessage() != "AGENT_FAILED"
        who = record.levelname if is_wrong else record.name[-9:]
        error = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
        further = {k: v for k, v in vars(record).items() if k not in _USUAL}
        if record.getMessage() == "effect" and further.get("state") == "done":
            self._timeline.effects.append((further["agent"], further["effect"]))
        elif record.getMessage() == "effect" and further.get("error"):
            self._timeline.held_up.add(further["agent"])
        self._timeline.note(who, f"{record.getMessage()} {further or ''} {error}".rstrip())


@contextmanager
def service_log(timeline: Timeline, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """What the service logs within the block stands in the timeline."""
    told, lines = logging.getLogger("squadron"), _Lines(timeline, loop)
    before = told.level, told.propagate
    told.addHandler(lines)
    told.setLevel(logging.INFO)
    told.propagate = False
    try:
        yield
    finally:
        told.removeHandler(lines)
        told.level, told.propagate = before


def short(content: Any) -> str:
    """JSON for one line of the timeline."""
    return "" if content is None else json.dumps(content)[:MOST_LENGTH]
