"""Takes work from the queues and starts it: at once when it is called, and every few seconds.

The engine's own threads ask each queue again and again, whether there is work or not: five times a
second they made most of the statements of a process that had nothing to do. They are ended here.
Their functions, by which work is claimed and started, are used; they are private to DBOS, whose
version is pinned.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Final

import sqlalchemy as sa
from dbos import DBOS
from dbos._core import execute_dequeued_workflow
from dbos._queue import Queue
from dbos._utils import generate_uuid

from app.adapters.engine.calls import LATER

LOOK_SECONDS: Final = 5.0
"""Between two looks at all queues, whatever was called: a call can be lost with its process."""
LEAST_SECONDS: Final = 0.02
"""Between two looks for what is due: the clock of whoever queued it may be ahead."""
RETRY_SECONDS: Final = 1.0
"""After the database could not be asked."""
MOST_STOP_SECONDS: Final = 10.0

log = logging.getLogger("squadron.engine")


class Pump:
    """One thread that fills this process's places with what is queued."""

    def __init__(
        self,
        dbos: DBOS,
        executor_id: str,
        version: str,
        places: Mapping[str, int],
        now: Callable[[], datetime],
    ) -> None:
        """`dbos`: launched; `places`: for how much work of each queue at once."""
        _end_its_own_threads(dbos)
        self._dbos = dbos
        self._executor_id = executor_id
        self._version = version
        self._now = now
        self._queues = {name: _registered(name, many) for name, many in places.items()}
        self._places = dict(places)
        self._at_work: dict[str, set[str]] = {name: set() for name in places}
        self._may_hold_more = set[str]()
        """Queues of which not all was taken, as far as is known: each place that is free counts."""
        self._called = {LATER}
        self._is_stopped = False
        self._bell = threading.Condition()
        self._look_at = 0.0
        """By the monotonic clock: when to look at all queues."""
        self._thread = threading.Thread(target=self._run, name="squadron-pump", daemon=True)

    def start(self) -> None:
        """Take what is there, and go on."""
        self._thread.start()

    def stop(self) -> None:
        """Take nothing more."""
        with self._bell:
            self._is_stopped = True
            self._bell.notify()
        self._thread.join(MOST_STOP_SECONDS)

    def call(self, queue: str) -> None:
        """There is work in a queue, or some that waits for its time (`LATER`)."""
        with self._bell:
            self._called.add(queue)
            self._bell.notify()

    def takes(self, queue: str) -> bool:
        """Whether work of this queue is begun here."""
        with self._bell:
            return self._places.get(queue, 0) > 0

    def take_no_more(self, queue: str) -> None:
        """What is taken ends; nothing more of this queue is begun here."""
        with self._bell:
            self._places[queue] = 0

    def is_at_work(self, work_id: str) -> bool:
        """Whether this process has taken it, and has not ended it."""
        with self._bell:
            return any(work_id in ids for ids in self._at_work.values())

    def ended(self, queue: str, work_id: str) -> None:
        """Its place is free."""
        with self._bell:
            self._at_work[queue].discard(work_id)
            if queue in self._may_hold_more:
                self._called.add(queue)
                self._bell.notify()

    def _run(self) -> None:
        while (queues := self._until_called()) is not None:
            try:
                if LATER in queues:
                    self._look_at = time.monotonic() + self._let_on()
                    queues = self._queues.keys()
                for queue in queues & self._queues.keys():
                    self._fill(queue)
            except sa.exc.SQLAlchemyError as error:
                self._look_at = time.monotonic() + RETRY_SECONDS
                reason = next(iter(str(error).splitlines()), type(error).__name__)
                log.warning("the queues cannot be looked at: %s", reason)
            except Exception:  # without this thread nothing would be begun here any more
                self._look_at = time.monotonic() + RETRY_SECONDS
                log.exception("work could not be taken")

    def _until_called(self) -> Collection[str] | None:
        """The queues to look at, with `LATER` for all; None: it is over."""
        with self._bell:
            self._bell.wait_for(
                lambda: self._called or self._is_stopped,
                max(0.0, self._look_at - time.monotonic()),
            )
            if self._is_stopped:
                return None
            called, self._called = self._called, set()
        return called if time.monotonic() < self._look_at else called | {LATER}

    def _let_on(self) -> float:
        """Queue whatever has waited for its time; after how many seconds to do so again."""
        system = self._dbos._sys_db
        system.transition_delayed_workflows()
        work = system.tables.workflow_status.c
        first = sa.select(sa.func.min(work.delay_until_epoch_ms)).where(work.status == "DELAYED")
        with system.engine.connect() as connection:
            due: int | None = connection.scalar(first)
        if due is None:
            return LOOK_SECONDS
        return max(LEAST_SECONDS, min(LOOK_SECONDS, due / 1000 - self._now().timestamp()))

    def _fill(self, queue: str) -> None:
        with self._bell:
            self._may_hold_more.add(queue)
            at_work = len(self._at_work[queue])
            room = self._places[queue] - at_work
        if room <= 0:
            return
        owner, system = generate_uuid(), self._dbos._sys_db
        taken, _ = system.start_queued_workflows(
            self._queues[queue],
            self._executor_id,
            self._version,
            None,
            at_work,
            owner_xid=owner,
            is_latest_version=False,  # all work names its version
        )
        if len(taken) < room:
            with self._bell:
                self._may_hold_more.discard(queue)
        if taken:
            self._begin(queue, taken, owner)

    def _begin(self, queue: str, taken: Collection[str], owner: str) -> None:
        """What cannot be begun has no place here, so that the next sweep queues it again."""
        begun = set[str]()
        with self._bell:
            self._at_work[queue].update(taken)
        try:
            for status in self._dbos._sys_db.get_workflow_statuses([*taken]):
                if status["status"] == "PENDING":  # nobody has taken it from us since
                    execute_dequeued_workflow(self._dbos, status, owner)
                    begun.add(status["workflow_uuid"])
        finally:
            for work_id in set(taken) - begun:
                self.ended(queue, work_id)


def _registered(name: str, places: int) -> Queue:
    """With the places of this process: what the database keeps of a queue is common to all."""
    queue = DBOS.register_queue(name)
    queue._worker_concurrency = places
    return queue


def _end_its_own_threads(dbos: DBOS) -> None:
    """Those that look at queues and at what is delayed, and the scheduler of DBOS, which has
    nothing to do here. They end within a second."""
    for event in (*dbos.background_thread_stop_events, dbos._background_jobs_stop_event):
        event.set()
