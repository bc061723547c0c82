"""Group commit: one thread writes; all that waits for it shares a transaction and its fsync.

Jobs of all event loops of the process come here, so the database has one writer per process,
nobody blocks a loop, and the cost of durability is paid once for many.
"""

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from app.adapters.store.failures import is_connection_lost, translated
from app.ports import StoreUnavailable

MOST_JOBS_A_COMMIT: Final = 256
MOST_WAITING_JOBS: Final = 10_000
MOST_WAIT_SECONDS: Final = 10.0

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Batched = Callable[[sa.Connection, Sequence[Item]], Sequence[Answer]]
"""Does many jobs of one kind with few statements; one answer an item, in the order of items."""

_log = logging.getLogger(__name__)


class _CommitFailed(Exception):
    """The database did not confirm the commit: whether the jobs are done is not known."""


@dataclass(frozen=True, slots=True, eq=False)
class _Ask:
    """A job, and who waits for its answer."""

    batched: Batched[Any, Any]
    item: Any
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class GroupWriter:
    """The thread through which this process writes.

    Jobs of one transaction run in any order among themselves: whoever needs an order waits for
    the first answer. A job whose caller was cancelled before it began does not run.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._waiting: SimpleQueue[_Ask | None] = SimpleQueue()
        self._entrance = threading.Lock()
        self._is_open = True
        self._unanswered = 0
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._thread.start()

    async def run(self, job: Callable[[sa.Connection], Answer]) -> Answer:
        """Run `job` in a transaction and wait until it is committed.

        Raises what the job raises, after its part was rolled back, and `StoreUnavailable` when
        too many wait, the wait was too long, or the database failed; then the job may be done.
        """
        return await self.run_batched(_one_by_one, job)

    async def run_batched(self, batched: Batched[Item, Answer], item: Item) -> Answer:
        """As `run`, for a kind of job that does many items at once."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        self._enter(_Ask(batched, item, loop, future))
        try:
            async with asyncio.timeout(MOST_WAIT_SECONDS):
                return await future
        except TimeoutError as error:
            raise StoreUnavailable(
                f"the database took longer than {MOST_WAIT_SECONDS:g} s for a write"
            ) from error

    @property
    def unanswered(self) -> int:
        """How many jobs came in whose callers have no answer yet."""
        return self._unanswered

    def close(self) -> None:
        """Let what waits be written, for at most 10 s, and refuse everything after it."""
        with self._entrance:
            if self._is_open:
                self._is_open = False
                self._waiting.put(None)
        self._thread.join(MOST_WAIT_SECONDS)
        if self._thread.is_alive():
            _log.warning(
                "gave up on %d writes that the database did not take within %g s",
                self._waiting.qsize(),
                MOST_WAIT_SECONDS,
            )

    def _enter(self, ask: _Ask) -> None:
        with self._entrance:
            if not self._is_open:
                raise StoreUnavailable("the store is closed: this process is stopping")
            if self._waiting.qsize() >= MOST_WAITING_JOBS:
                raise StoreUnavailable(f"more than {MOST_WAITING_JOBS:,} writes are waiting")
            self._unanswered += 1
            self._waiting.put(ask)

    def _serve(self) -> None:
        is_last = False
        while not is_last:
            asks, is_last = self._take()
            wanted = [ask for ask in asks if not ask.future.cancelled()]
            if wanted:
                _hand_out(wanted, self._write(wanted))
            with self._entrance:
                self._unanswered -= len(asks)

    def _take(self) -> tuple[list[_Ask], bool]:
        """All that waits, at least one and at most a commit's worth; whether it is the last."""
        asks: list[_Ask] = []
        ask = self._waiting.get()
        while ask is not None:
            asks.append(ask)
            if len(asks) == MOST_JOBS_A_COMMIT:
                return asks, False
            try:
                ask = self._waiting.get_nowait()
            except Empty:
                return asks, False
        return asks, True

    def _write(self, asks: Sequence[_Ask]) -> Sequence["_Outcome"]:
        """One transaction for all; if one fails, one for each, so that only the guilty fails."""
        try:
            return self._commit(asks)
        except _CommitFailed as error:
            return [_Outcome(error=error.__cause__)] * len(asks)
        except BaseException as error:  # handed to the callers, whatever it is
            if len(asks) == 1 and not is_connection_lost(error):
                return [_Outcome(error=error)]
        return [self._write_alone(ask) for ask in asks]

    def _write_alone(self, ask: _Ask) -> "_Outcome":
        if ask.future.cancelled():
            return _Outcome()
        try:
            return self._commit([ask])[0]
        except _CommitFailed as error:
            return _Outcome(error=error.__cause__)
        except BaseException as error:  # handed to the caller, whatever it is
            return _Outcome(error=error)

    def _commit(self, asks: Sequence[_Ask]) -> Sequence["_Outcome"]:
        kinds: dict[Batched[Any, Any], list[int]] = defaultdict(list)
        for place, ask in enumerate(asks):
            kinds[ask.batched].append(place)
        outcomes = [_Outcome()] * len(asks)
        with self._engine.connect() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")  # before the first read, too
            for batched, places in sorted(kinds.items(), key=_name):  # locks in one order
                answers = batched(connection, [asks[place].item for place in places])
                for place, answer in zip(places, answers, strict=True):
                    outcomes[place] = _Outcome(answer)
            try:
                connection.commit()
            except sa.exc.SQLAlchemyError as error:
                raise _CommitFailed from error
        return outcomes


def _name(kind: tuple[Batched[Any, Any], list[int]]) -> str:
    return f"{kind[0].__module__}.{kind[0].__qualname__}"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a job came to."""

    answer: Any = None
    error: BaseException | None = None


def _one_by_one(
    connection: sa.Connection, jobs: Sequence[Callable[[sa.Connection], Answer]]
) -> Sequence[Answer]:
    return [job(connection) for job in jobs]


def _hand_out(asks: Sequence[_Ask], outcomes: Sequence[_Outcome]) -> None:
    """Wake each event loop once, however many of its callers have an answer."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], _Outcome]]]
    by_loop = defaultdict(list)
    for ask, outcome in zip(asks, outcomes, strict=True):
        by_loop[ask.loop].append((ask.future, outcome))
    for loop, settled in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits there any more
            loop.call_soon_threadsafe(_settle, settled)


def _settle(settled: Sequence[tuple[asyncio.Future[Any], _Outcome]]) -> None:
    for future, outcome in settled:
        if future.done():
            continue
        if outcome.error is None:
            future.set_result(outcome.answer)
        else:
            future.set_exception(translated(outcome.error))
