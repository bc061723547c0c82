"""Work that survives `kill -9`: one DBOS workflow a piece of work, one step that performs it.

A piece of work runs at least once: a process that dies leaves it pending, and the next start of
the data directory (SQLite) or another worker's sweep (PostgreSQL) runs it again. Handlers are
therefore repeatable. Traps and measurements: `facts/engine.md`.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, EnqueueOptions

from app.adapters.engine.calls import LATER, call, hear_own
from app.adapters.engine.membership import Listener, Membership
from app.adapters.engine.pump import Pump
from app.ports import Handler, RunSegment, Work, WorkKind, about, work_of

APP_VERSION: Final = "squadron-1"
"""Pinned: with a version that follows the source, any edit would strand running agents."""
MOST_ATTEMPTS_OF_A_STEP: Final = 4
MOST_FORGOTTEN_AT_ONCE: Final = 5_000

log = logging.getLogger("squadron.engine")
# Where its logger has a handler the engine adds none of its own: its lines go where all lines go.
logging.getLogger("dbos").addHandler(logging.NullHandler())

_perform: Handler | None = None
"""Does one piece of work; None before the engine has started."""
_pump: Pump | None = None
"""Has begun the work, and has a place for the next when it ends."""


@DBOS.step(
    preemptible=True,
    retries_allowed=True,
    max_attempts=MOST_ATTEMPTS_OF_A_STEP,
    interval_seconds=1,
    backoff_rate=2,
)
async def perform(kind: str, work_id: str, subject: str, segment: int) -> None:
    """Run the handler of one piece of work."""
    if _perform is None:
        raise RuntimeError("work was taken from a queue before the engine had started")
    work = work_of(WorkKind(kind), work_id, subject, segment)
    try:
        await _perform(work)
    except Exception:
        log.exception("work failed", extra={"work": work_id})
        raise


@DBOS.workflow(name="squadron_work", max_recovery_attempts=None)
async def squadron_work(kind: str, work_id: str, subject: str, segment: int) -> None:
    """The only workflow: its arguments are ids, so that its history stays small and readable."""
    pump = _pump
    try:
        await perform(kind, work_id, subject, segment)
    finally:
        if pump is not None:
            pump.ended(kind, work_id)


class DurableEngine:
    """`RunningEngine` on DBOS. One per process: DBOS keeps its registry in the module."""

    def __init__(
        self,
        engine: sa.Engine,
        membership: Membership,
        queues: Mapping[WorkKind, int],
        now: Callable[[], datetime],
        hand_over: Callable[[], None],
    ) -> None:
        """`queues`: how many pieces of each kind this process works on at once; `hand_over` is
        called, from any thread, when the process was told to take no further agents."""
        self._now = now
        self._hand_over = hand_over
        self._engine = engine
        self._membership = membership
        self._queues = queues
        self._url = engine.url.render_as_string(hide_password=False)
        self._json = DBOSPortableJSONSerializer()
        self._client: DBOSClient | None = None
        self._pump: Pump | None = None
        self._hear_no_more: Callable[[], None] = lambda: None
        self._missed: frozenset[str] = frozenset()
        """Work that counts as running here, and was not when it was looked for."""
        self._launched = threading.Event()

    @property
    def worker(self) -> str:
        """This process's name, unique per start."""
        return self._membership.worker

    async def start(self, perform: Handler) -> None:
        """Migrate the engine's tables, recover this executor's own work, take from the queues."""
        await asyncio.to_thread(self._start, perform)

    def _start(self, handler: Handler) -> None:
        """Takes about a second."""
        global _perform, _pump
        _perform = handler
        dbos = DBOS(
            config=DBOSConfig(
                name="squadron",
                system_database_url=self._url,
                system_database_engine=self._engine,
                serializer=self._json,
                executor_id=self.worker,
                application_version=APP_VERSION,
                log_level="WARNING",
            )
        )
        DBOS.listen_queues([])
        DBOS.launch()
        places = {kind.value: at_once for kind, at_once in self._queues.items()}
        self._pump = _pump = Pump(dbos, self.worker, APP_VERSION, places, self._now)
        self._client = DBOSClient(
            system_database_url=self._url,
            system_database_engine=self._engine,
            serializer=self._json,
        )
        self._hear_no_more = hear_own(self._engine, self._pump.call)
        self._membership.watch(
            self._queues.get(WorkKind.SEGMENT, 0),
            Listener(self._take_over, self._pump.call, self._drain),
        )
        self._sweep()
        self._pump.start()
        self._launched.set()

    async def stop(self, within_seconds: int) -> None:
        """Take nothing new, let running work end for at most `within_seconds`."""
        await asyncio.to_thread(self._stop, within_seconds)

    def _stop(self, within_seconds: int) -> None:
        self._launched.clear()
        if self._pump is not None:
            self._pump.stop()
        self._hear_no_more()
        DBOS.destroy(workflow_completion_timeout_sec=within_seconds)
        self._membership.leave()

    def _drain(self) -> None:
        assert self._pump is not None  # whoever tells this process so was told of the pump
        if self._pump.takes(WorkKind.SEGMENT.value):
            log.warning("told to take no further agents: those at work here go on elsewhere")
            self._pump.take_no_more(WorkKind.SEGMENT.value)
            self._hand_over()

    def enqueue_with(self, connection: sa.Connection, work: Work) -> None:
        """Enqueue inside the caller's transaction: the work exists if and only if it commits."""
        if self._client is None:
            raise RuntimeError("work was enqueued before the engine had started")
        subject, number = about(work)
        self._client.enqueue_in_transaction(
            connection, _options(work), work.kind.value, work.id, subject, number
        )
        call(connection, LATER if work.delay_seconds > 0 else work.kind.value)

    async def enqueue(self, work: Work) -> None:
        """Enqueue by itself; an id that was used before runs nothing."""

        def commit() -> None:
            with self._engine.begin() as connection:
                self.enqueue_with(connection, work)

        await asyncio.to_thread(commit)

    async def is_at_work(self, worker: str) -> bool:
        """Whether the process that goes by this name lives, and was heard of lately."""
        return await asyncio.to_thread(self._membership.is_at_work, worker)

    async def is_pending(self, work_id: str) -> bool:
        """Whether the work is queued or running, so that it will end without our help."""
        return await asyncio.to_thread(_is_pending, work_id)

    def _take_over(self, dead_worker: str) -> None:
        """Queue a dead worker's work again. Called with its membership lock held."""
        queues = _queues_of_pending(dead_worker)
        if queues:
            log.warning("taking over %d pieces of work of %s", len(queues), dead_worker)
        self._queue_again(queues)

    async def forget_finished(self, before: datetime) -> int:
        """Delete the records of work that ended before an instant; how many, bounded.

        Their ids could be used again afterwards; nothing does, since the registry has moved on.
        """
        return await asyncio.to_thread(_forget_finished, before)

    def workers_with_pending_work(self) -> set[str]:
        """Names of executors that own running work, for the sweep of dead workers."""
        pending = DBOS.list_workflows(status="PENDING", load_input=False, load_output=False)
        return {workflow.executor_id for workflow in pending if workflow.executor_id}

    async def sweep(self) -> None:
        """Find work that nobody performs and queue it again: its process is gone (PostgreSQL; on
        SQLite the next start finds it), or the engine could not record how it ended, since the
        database took nothing. Such work would count as running until the next start, and would
        keep its place among those that run at once."""
        await asyncio.to_thread(self._sweep)

    def _sweep(self) -> None:
        self._membership.look()
        for worker in self.workers_with_pending_work() - {self.worker}:
            self._membership.take_over(worker)
        self._queue_missed_again()

    def _queue_missed_again(self) -> None:
        """What was missed twice: what begins or ends just now is not in two sweeps."""
        assert self._pump is not None
        queues = _queues_of_pending(self.worker)
        missed = frozenset(work_id for work_id in queues if not self._pump.is_at_work(work_id))
        lost = {work_id: queues[work_id] for work_id in missed & self._missed}
        if lost:
            log.warning("nobody performs %d pieces of work: they are queued again", len(lost))
        self._queue_again(lost)
        self._missed = missed - lost.keys()

    def _queue_again(self, queues: Mapping[str, str]) -> None:
        """`queues`: by the id of the work."""
        for queue in set(queues.values()):
            ids = [work_id for work_id, its_queue in queues.items() if its_queue == queue]
            DBOS.resume_workflows(ids, queue_name=queue)
        with self._engine.begin() as connection:
            for queue in set(queues.values()):
                call(connection, queue)


def migrate_queues(engine: sa.Engine) -> None:
    """Make what the engine keeps in the database, or bring it up to date. It does so itself when
    it starts. Raises what SQLAlchemy raises."""
    DBOS.migrate(engine.url.render_as_string(hide_password=False))


def _is_pending(work_id: str) -> bool:
    # The asynchronous function gives the caller's loop the engine's threads for its own, and no
    # thread any more once the engine has ended.
    found = DBOS.list_workflows(
        workflow_ids=[work_id],
        status=["PENDING", "ENQUEUED", "DELAYED"],
        load_input=False,
        load_output=False,
    )
    return bool(found)


def _forget_finished(before: datetime) -> int:
    finished = DBOS.list_workflows(
        status=["SUCCESS", "ERROR", "CANCELLED"],
        completed_before=before.isoformat(),
        limit=MOST_FORGOTTEN_AT_ONCE,
        load_input=False,
        load_output=False,
    )
    DBOS.delete_workflows([workflow.workflow_id for workflow in finished])
    return len(finished)


def _queues_of_pending(worker: str) -> dict[str, str]:
    """The queues of what counts as running at a worker, by id."""
    pending = DBOS.list_workflows(
        status="PENDING", executor_id=worker, load_input=False, load_output=False
    )
    return {
        workflow.workflow_id: workflow.queue_name or WorkKind.RECONCILIATION.value
        for workflow in pending
    }


def _options(work: Work) -> EnqueueOptions:
    options: EnqueueOptions = {
        "workflow_name": "squadron_work",
        "queue_name": work.kind.value,
        "workflow_id": work.id,
        "app_version": APP_VERSION,
    }
    if work.delay_seconds > 0:
        options["delay_seconds"] = work.delay_seconds
    if isinstance(work, RunSegment) and work.rank > 0:
        options["priority"] = work.rank
    return options
