"""Engines to try: the durable one in real time, and its twin of the stories by a turned clock."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol

import sqlalchemy as sa

from app.adapters.clock import SystemClock
from app.adapters.engine import (
    ClusterMembership,
    DurableEngine,
    Membership,
    RunningEngine,
    SingleProcess,
)
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.ports import HandleDelivery, Work, WorkKind
from tests.twins.clock import TurnedClock
from tests.twins.engine import TwinEngine
from tests.twins.loop import StoryLoop

QUEUES: Final = {WorkKind.DELIVERY: 3, WorkKind.SEGMENT: 2}
MOST_SECONDS: Final = 120.0
"""Far more than anything takes: a machine that is busy with other things proves nothing."""


@dataclass
class Desk:
    """Where work is performed."""

    doing: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    """What is done for a delivery, or for other work by its id; nothing for any other."""
    begun: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    async def handle(self, work: Work) -> None:
        name = work.delivery if isinstance(work, HandleDelivery) else work.id
        self.begun.append(name)
        if name in self.doing:
            await self.doing[name]()
        self.ended.append(name)


class Bench(Protocol):
    """An engine, and how time passes around it."""

    engine: RunningEngine
    database: sa.Engine
    desk: Desk
    handed_over: threading.Event
    """Whether the engine has asked for its agents to go on elsewhere."""

    def run(self, work: Coroutine[Any, Any, Any]) -> Any: ...

    def until(self, is_so: Callable[[], object]) -> None:
        """Let time pass until it is so."""

    async def pause(self) -> None:
        """Let a moment pass, within a handler."""

    def crash(self) -> None:
        """Its process ends in the middle of its work, and the next one starts."""


class DurableBench:
    """The real engine, in real time; on SQLite if it gets no address of a database."""

    def __init__(self, directory: Path, postgresql: str | None = None) -> None:
        self.desk = Desk()
        self._file = directory / "engine.sqlite"
        self._postgresql = postgresql
        self.database = make_engine(postgresql or f"sqlite:///{self._file}")
        migrate(self.database)
        self._loop = asyncio.new_event_loop()
        self._starts = 0
        self.start()

    def start(self) -> None:
        self.handed_over = threading.Event()
        self._starts += 1
        membership = self._joined(f"start-{self._starts}")
        self.engine = DurableEngine(
            self.database, membership, QUEUES, SystemClock().now, self.handed_over.set
        )
        self.run(self.engine.start(self.desk.handle))

    def _joined(self, worker: str) -> Membership:
        if self._postgresql is None:
            return SingleProcess(self._file.parent, self.database, worker)
        return ClusterMembership(self._postgresql, worker, 60, lambda: 0.0, lambda _: None)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)

    def until(self, is_so: Callable[[], object]) -> None:
        deadline = time.monotonic() + MOST_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, "it never came"
            self.run(asyncio.sleep(0.05))

    async def pause(self) -> None:
        await asyncio.sleep(0.02)

    def crash(self) -> None:
        self.run(self.engine.stop(0))
        self.start()

    def close(self) -> None:
        self.run(self.engine.stop(1))
        self.database.dispose()
        self._loop.close()


class TwinBench:
    """The twin, by a clock that is turned."""

    def __init__(self, directory: Path) -> None:
        self.desk = Desk()
        self.database = make_engine(f"sqlite:///{directory / 'engine.sqlite'}")
        migrate(self.database)
        self._clock = TurnedClock(datetime.now(UTC))
        self._loop = StoryLoop()
        self._starts = 0
        self.start()

    def start(self) -> None:
        self.handed_over = threading.Event()
        self._starts += 1
        name = f"start-{self._starts}"
        self.engine = TwinEngine(self._clock, name, self.database, QUEUES, self.handed_over.set)
        self.run(self.engine.start(self.desk.handle))

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.finish(self._loop.create_task(work))

    def until(self, is_so: Callable[[], object]) -> None:
        deadline = self._clock.now() + timedelta(seconds=MOST_SECONDS)
        while not is_so():
            assert self._clock.now() < deadline, "it never came"
            self._clock.turn(self._clock.next_in or timedelta(seconds=1))
            self._loop.run_until_quiet()

    async def pause(self) -> None:
        await self._clock.sleep(0.2)

    def crash(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_quiet()
        self.start()

    def close(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_quiet()
        self.database.dispose()
        self._loop.close()


def work(name: str, delay_seconds: float = 0) -> Work:
    return HandleDelivery(name, delay_seconds=delay_seconds)
