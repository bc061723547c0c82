"""A twin of the durable engine: work in the store's own database, performed by the clock."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Final

import sqlalchemy as sa

from app.adapters.store.tables import WORKERS
from app.ports import Clock, Handler, RunSegment, Work, WorkKind, about, work_of
from tests.twins.lives import check_alive

POLL_SECONDS: Final = 0.2
BACKOFF_SECONDS: Final = (1.0, 2.0, 4.0)
"""Between the attempts of work that fails; after the last it has failed."""

log = logging.getLogger("squadron.engine")

WORK: Final = sa.Table(
    "twin_work",
    sa.MetaData(),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("segment", sa.Integer, nullable=False),
    sa.Column("due", sa.Text, nullable=False),
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("ended_at", sa.Text),
)
IN_ORDER: Final[sa.ColumnElement[int]] = sa.literal_column("rowid", sa.Integer)
AT_ONCE: Final = ""
"""Due whatever the clock says, before any instant."""
QUEUED, RUNNING, DONE, FAILED = "queued", "running", "done", "failed"


class TwinEngine:
    """Implements `RunningEngine` for one life of a process; the table outlives it."""

    def __init__(
        self,
        clock: Clock,
        name: str,
        database: sa.Engine,
        queues: Mapping[WorkKind, int],
        hand_over: Callable[[], None],
    ) -> None:
        self.repeats = False
        """Whether work that has ended runs a second time, as after a crash at its very end."""
        self._clock = clock
        self._name = name
        self._database = database
        self._places = dict(queues)
        self._hand_over = hand_over
        self._handler: Handler
        self._running: dict[str, tuple[WorkKind, asyncio.Task[None]]] = {}
        self._pump: asyncio.Task[None] | None = None
        WORK.metadata.create_all(database)

    @property
    def worker(self) -> str:
        return self._name

    async def start(self, perform: Handler) -> None:
        self._handler = perform
        with self._database.begin() as connection:
            running = WORK.c.status == RUNNING
            connection.execute(sa.update(WORK).where(running).values(status=QUEUED))
            self._join(connection)
        self._pump = asyncio.create_task(self._take_on(), name="twin engine")

    async def stop(self, within_seconds: int) -> None:
        if self._pump is not None:
            self._pump.cancel()
        tasks = [task for _, task in self._running.values()]
        try:
            async with self._clock.timeout(within_seconds):
                await asyncio.gather(*tasks, return_exceptions=True)
        except TimeoutError:
            return
        with self._database.begin() as connection:
            connection.execute(sa.delete(WORKERS))

    def enqueue_with(self, connection: sa.Connection, work: Work) -> None:
        check_alive()
        due = AT_ONCE
        if work.delay_seconds > 0:
            due = (self._clock.now() + timedelta(seconds=work.delay_seconds)).isoformat()
        known = connection.execute(sa.select(WORK.c.id).where(WORK.c.id == work.id)).first()
        if known is not None:
            return
        subject, number = about(work)
        connection.execute(
            sa.insert(WORK).values(
                id=work.id,
                kind=work.kind.value,
                subject=subject,
                segment=number,
                due=due,
                rank=work.rank if isinstance(work, RunSegment) else 0,
                status=QUEUED,
            )
        )

    async def enqueue(self, work: Work) -> None:
        def commit() -> None:
            with self._database.begin() as connection:
                self.enqueue_with(connection, work)

        await asyncio.to_thread(commit)

    async def is_at_work(self, worker: str) -> bool:
        return worker == self._name

    async def is_pending(self, work_id: str) -> bool:
        with self._database.connect() as connection:
            wanted = sa.select(WORK.c.status).where(WORK.c.id == work_id)
            return connection.execute(wanted).scalar() in (QUEUED, RUNNING)

    async def forget_finished(self, before: datetime) -> int:
        over = WORK.c.status.in_((DONE, FAILED)) & (WORK.c.ended_at < before.isoformat())
        with self._database.begin() as connection:
            return connection.execute(sa.delete(WORK).where(over)).rowcount

    async def sweep(self) -> None:
        """Nothing is missed here: it only beats, and hears if it is to take no further agents."""
        mine = sa.update(WORKERS).where(WORKERS.c.name == self._name)
        beat = mine.values(beat_at=self._clock.now()).returning(WORKERS.c.drain_asked_at)
        with self._database.begin() as connection:
            if connection.execute(beat).scalar() is not None:
                self._places[WorkKind.SEGMENT] = 0
                self._hand_over()

    def due_within(self, wait: timedelta) -> list[str]:
        """Ids of the work that is to be done by then and can be, and of what is being done; but
        not of segments at work, which may take as long as they like."""
        until = (self._clock.now() + wait).isoformat()
        with self._database.connect() as connection:
            rows = connection.execute(
                sa.select(WORK.c.id, WORK.c.kind)
                .where((WORK.c.status == QUEUED) & (WORK.c.due <= until))
                .order_by(WORK.c.rank, IN_ORDER)
            ).all()
        waiting = [row.id for row in rows if self._room(WorkKind(row.kind)) > 0]
        busy = [name for name, (kind, _) in self._running.items() if kind is not WorkKind.SEGMENT]
        return waiting + busy

    def failed(self) -> list[str]:
        """Ids of the work that came to no end in any attempt."""
        with self._database.connect() as connection:
            return [
                *connection.execute(sa.select(WORK.c.id).where(WORK.c.status == FAILED)).scalars()
            ]

    def _room(self, kind: WorkKind) -> int:
        taken = sum(each is kind for each, _ in self._running.values())
        return self._places.get(kind, 0) - taken

    def _join(self, connection: sa.Connection) -> None:
        now = self._clock.now()
        connection.execute(sa.delete(WORKERS))
        connection.execute(
            sa.insert(WORKERS).values(
                name=self._name,
                version=version("squadron"),
                places=self._places.get(WorkKind.SEGMENT, 0),
                started_at=now,
                beat_at=now,
                settled_at=now,
            )
        )

    async def _take_on(self) -> None:
        while True:
            self._take()
            await self._clock.sleep(POLL_SECONDS)

    def _take(self) -> None:
        """Begin what is due, as far as there is room."""
        now = self._clock.now().isoformat()
        with self._database.begin() as connection:
            rows = connection.execute(
                sa.select(WORK)
                .where((WORK.c.status == QUEUED) & (WORK.c.due <= now))
                .order_by(WORK.c.rank, IN_ORDER)
            ).all()
            for row in rows:
                kind = WorkKind(row.kind)
                if self._room(kind) <= 0:
                    continue
                mine = WORK.c.id == row.id
                connection.execute(sa.update(WORK).where(mine).values(status=RUNNING))
                work = work_of(kind, row.id, row.subject, row.segment)
                task = asyncio.create_task(self._perform(work), name=f"work {work.id}")
                self._running[work.id] = (kind, task)

    async def _perform(self, work: Work) -> None:
        status = FAILED
        try:
            if await self._attempts(work):
                status = DONE
                if self.repeats:
                    await self._attempts(work)
            mine = WORK.c.id == work.id
            ended = {"status": status, "ended_at": self._clock.now().isoformat()}
            with self._database.begin() as connection:
                connection.execute(sa.update(WORK).where(mine).values(ended))
        finally:
            del self._running[work.id]

    async def _attempts(self, work: Work) -> bool:
        """Whether one of them came to its end."""
        for pause in (*BACKOFF_SECONDS, None):
            try:
                await self._handler(work)
            except Exception:
                log.exception("work failed", extra={"work": work.id})
                if pause is not None:
                    await self._clock.sleep(pause)
            else:
                return True
        return False
