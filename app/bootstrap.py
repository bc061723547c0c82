"""The one place that joins ports to adapters, and the order in which a service starts and ends."""

import asyncio
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import psycopg
import sqlalchemy as sa
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import SecretStr

from app.adapters.clock import SystemClock, new_name
from app.adapters.engine import (
    ClusterMembership,
    DurableEngine,
    Handler,
    Membership,
    SingleProcess,
)
from app.adapters.exclusive import NamedLocks
from app.adapters.github import GitHubApp
from app.adapters.processes import ProcessGroups
from app.adapters.runtimes.embedded import EmbeddedRuntime, ModelAccess, models_of
from app.adapters.shell import parse
from app.adapters.store.database import make_engine, migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.adapters.workspace import GitWorkspace, agent_directory
from app.config.operator import OperatorConfig, load_operator
from app.config.repository import read_repository
from app.config.settings import Settings
from app.ports import StoreUnavailable, Work, WorkKind
from app.services.agents import Segments
from app.services.closing import Closing
from app.services.dispatch import Dispatcher
from app.services.drain import Drain
from app.services.intake import Intake
from app.services.plans import Plans
from app.services.publish import Publisher
from app.services.reconcile import TIDY, Reconciliation
from app.services.routing import Routing
from app.services.starting import Starting
from app.services.world import PlanReading, World

SWEEP_SECONDS: Final = 5
FINISHED_WORK_KEPT_FOR: Final = timedelta(days=7)
"""Bodies of deliveries and records of work. Delivery ids stay, so that a redelivery is known."""
DRAIN_SECONDS: Final = 60
"""Most time that running segments get to keep their work when the service stops."""
AT_ONCE: Final = {WorkKind.DELIVERY: 16, WorkKind.EFFECTS: 8, WorkKind.RECONCILIATION: 1}

log = logging.getLogger("squadron.service")


class CannotServe(Exception):
    """What is missing or wrong before the service can start; one problem a line."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service that was built; `start` and `stop` it once."""

    settings: Settings
    engine: DurableEngine
    store: SqlStore
    intake: Intake
    dispatcher: Dispatcher
    handlers: Mapping[WorkKind, Handler]
    scheduler: AsyncIOScheduler
    writer: GroupWriter
    database: sa.Engine
    drain: Drain
    interval_seconds: int
    clock: SystemClock

    async def start(self) -> None:
        """Recover what was interrupted, begin to take work, reconcile at once."""
        await asyncio.to_thread(self.engine.start, self.handlers)
        await self.engine.enqueue(
            Work(WorkKind.RECONCILIATION, f"reconcile:start:{self.engine.worker}", "start")
        )
        self.scheduler.add_job(self._reconcile, "interval", seconds=self.interval_seconds)
        self.scheduler.add_job(self._forget, "interval", hours=1)
        self.scheduler.add_job(self._tidy, "interval", days=1)
        if self.database.dialect.name == "postgresql":
            self.scheduler.add_job(self._sweep, "interval", seconds=SWEEP_SECONDS)
        self.scheduler.start()
        log.info("serving", extra={"worker": self.engine.worker})

    async def stop(self) -> None:
        """Drain: running agents keep their work, then everything ends. Bounded."""
        self.drain.request()
        self.scheduler.shutdown(wait=False)
        await asyncio.to_thread(self.engine.stop, DRAIN_SECONDS)
        await asyncio.to_thread(self.writer.close)
        self.database.dispose()
        log.info("stopped", extra={"worker": self.engine.worker})

    async def _reconcile(self) -> None:
        """One pass a cluster and interval: every process names the same pass alike."""
        pass_number = int(self.clock.now().timestamp() // self.interval_seconds)
        await self.engine.enqueue(
            Work(WorkKind.RECONCILIATION, f"reconcile:{pass_number}", "interval")
        )

    async def _tidy(self) -> None:
        today = self.clock.now().date().isoformat()
        await self.engine.enqueue(Work(WorkKind.RECONCILIATION, f"reconcile:tidy:{today}", TIDY))

    async def _forget(self) -> None:
        before = self.clock.now() - FINISHED_WORK_KEPT_FOR
        await self.store.forget_deliveries(before)
        await asyncio.to_thread(self.engine.forget_finished, before)

    async def _sweep(self) -> None:
        await asyncio.to_thread(self.engine.sweep_dead_workers)


def build(settings: Settings, *, runs_agents: bool = True) -> Service:
    """Join everything. Raises `CannotServe` or `AlreadyRunning`."""
    problems = list(settings.problems_for_serving())
    operator_reading = load_operator(settings.config)
    problems += map(str, operator_reading.problems)
    problems += _key_problems(settings.github_private_key)
    if problems or operator_reading.config is None:
        raise CannotServe("\n".join(problems))
    operator = operator_reading.config
    drain = Drain()
    database = make_engine(settings.database_url.get_secret_value())
    try:
        membership = _membership(settings, database, drain)
        migrate(database)
    except (StoreUnavailable, psycopg.OperationalError) as error:
        raise CannotServe(f"SQUADRON_DATABASE_URL: the database cannot be used: {error}") from error
    queues = {**AT_ONCE, **({WorkKind.SEGMENT: operator.worker_agents} if runs_agents else {})}
    engine = DurableEngine(database, membership, queues)
    writer = GroupWriter(database)
    store = SqlStore(database, writer, engine.enqueue_with)
    world = _world(settings, operator, engine, store, NamedLocks(database))
    assert settings.webhook_secret is not None
    return Service(
        settings=settings,
        engine=engine,
        store=store,
        intake=Intake(settings.webhook_secret.get_secret_value().encode(), store, SystemClock()),
        dispatcher=Dispatcher(store, world.exclusive),
        handlers=_handlers(world, drain),
        scheduler=AsyncIOScheduler(job_defaults={"coalesce": True, "max_instances": 1}),
        writer=writer,
        database=database,
        drain=drain,
        interval_seconds=operator.reconciliation_interval_seconds,
        clock=SystemClock(),
    )


def _key_problems(key: SecretStr | None) -> list[str]:
    """Found here, because a key that GitHub never sees fails at each call, long after the start."""
    if key is None:
        return []
    try:
        load_pem_private_key(key.get_secret_value().encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return ["SQUADRON_GITHUB_PRIVATE_KEY is no private key in PEM form without a password"]
    return []


def open_registry(settings: Settings) -> SqlStore:
    """The registry for a command that only reads. Raises `FileNotFoundError` if there is none."""
    database = make_engine(settings.database_url.get_secret_value())
    path = database.url.database
    if database.dialect.name == "sqlite" and path and not Path(path).exists():
        raise FileNotFoundError(f"there is no registry at {path}; has `squadron serve` run here?")
    return SqlStore(database, GroupWriter(database), _refuse_work)


def _refuse_work(_: sa.Connection, work: Work) -> None:
    raise RuntimeError(f"this process only reads; it cannot enqueue {work.id}")


def _membership(settings: Settings, database: sa.Engine, drain: Drain) -> Membership:
    if database.dialect.name != "postgresql":
        return SingleProcess(settings.data_dir, new_name())
    dsn = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    return ClusterMembership(dsn, new_name(), drain.request)


def _world(
    settings: Settings,
    operator: OperatorConfig,
    engine: DurableEngine,
    store: SqlStore,
    exclusive: NamedLocks,
) -> World:
    assert settings.github_app_id is not None
    assert settings.github_private_key is not None
    clock = SystemClock()
    github = GitHubApp(
        settings.github_app_id, settings.github_private_key, settings.github_api_url, clock
    )
    processes = ProcessGroups()
    access = ModelAccess(settings.model_api_key or SecretStr(""), settings.model_base_url)
    return World(
        store=store,
        engine=engine,
        exclusive=exclusive,
        github=github,
        workspace=GitWorkspace(settings.data_dir, settings.github_git_url, github.token, processes),
        processes=processes,
        runtime=EmbeddedRuntime(processes, models_of(access)),
        parse=partial(parse, pipefail=True),
        clock=clock,
        read_configuration=partial(_read_configuration, operator),
        default_model=settings.model,
        worker=engine.worker,
        agents_directory=partial(agent_directory, settings.data_dir),
        path=os.environ.get("PATH", os.defpath),
    )


def _read_configuration(operator: OperatorConfig, files: Mapping[str, bytes]) -> PlanReading:
    reading = read_repository(files, operator)
    return PlanReading(reading.plan, reading.problems)


def _handlers(world: World, drain: Drain) -> Mapping[WorkKind, Handler]:
    closing = Closing(world)
    plans = Plans(world)
    publisher = Publisher(world)
    starting = Starting(world, plans)
    routing = Routing(world, starting, closing, plans)
    reconciliation = Reconciliation(world, closing, routing, starting, publisher, plans)
    return {
        WorkKind.DELIVERY: routing.handle,
        WorkKind.SEGMENT: Segments(world, closing, drain).run,
        WorkKind.EFFECTS: publisher.handle,
        WorkKind.RECONCILIATION: reconciliation.handle,
    }
