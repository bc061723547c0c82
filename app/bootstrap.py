"""The one place that joins ports to adapters, and the order in which a service starts and ends."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import psycopg
import sqlalchemy as sa
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import SecretStr

from app.adapters.alarms import OperatorAlarms
from app.adapters.clock import SystemClock, new_name
from app.adapters.disk import free_mib
from app.adapters.engine import (
    ClusterMembership,
    DurableEngine,
    Handler,
    Membership,
    SingleProcess,
)
from app.adapters.exclusive import NamedLocks
from app.adapters.github import GitHubApp
from app.adapters.markdown import visible_lines
from app.adapters.metrics import count_limit_events
from app.adapters.modelproxy.doors import doors_of
from app.adapters.pricing import price_of
from app.adapters.processes import NoWalls, ProcessGroups
from app.adapters.runtimes.chosen import ChosenRuntime
from app.adapters.runtimes.claude import ClaudeRuntime
from app.adapters.runtimes.copilot import CopilotRuntime
from app.adapters.runtimes.embedded import EmbeddedRuntime, ModelAccess, models_of
from app.adapters.sandbox import (
    ALLOW_SANDBOX,
    SMALL,
    ArchivedSetups,
    Bounds,
    Broken,
    Egress,
    NoSetups,
    OpenedPreparation,
    PlainPreparation,
    SandboxedProcesses,
    broken_door,
    broken_walls,
)
from app.adapters.shell import parse
from app.adapters.store.database import make_engine, migrate
from app.adapters.store.ledger import SqlLedger
from app.adapters.store.pacing import SqlPacing
from app.adapters.store.rates import SqlRates
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.adapters.workspace import GitWorkspace, agent_directory
from app.config import yamledit
from app.config.operator import OperatorConfig, SandboxRules, load_operator
from app.config.repository import read_repository
from app.config.settings import Settings
from app.core.effects.pacing import is_limited
from app.core.limits import LimitName
from app.core.rules.operator import HouseRules
from app.core.text.redact import Redactor
from app.ports import (
    Preparation,
    Processes,
    Runtime,
    Setups,
    StoreUnavailable,
    Walls,
    Work,
    WorkKind,
)
from app.services.commands.answers import Hearing
from app.services.commands.hear import Commanding
from app.services.commands.obey import Obeying
from app.services.commands.raise_limits import Raising
from app.services.configuration.adapting import Adapting
from app.services.configuration.broken_issue import ConfigTrouble
from app.services.configuration.moved_repositories import Moving
from app.services.configuration.plans import Plans
from app.services.configuration.pull_request_check import ConfigReviews
from app.services.drain import Drain
from app.services.effects.needs_human import NeedsHuman
from app.services.effects.publisher import Publisher
from app.services.guard import Guard
from app.services.handlers.delivery import Routing
from app.services.handlers.effects import Publishing
from app.services.handlers.reconciliation import ADAPT, START, TIDY, Reconciliation
from app.services.handlers.redelivery import Redelivery
from app.services.handlers.segment import Segments
from app.services.intake.dispatch import Dispatcher
from app.services.intake.intake import Intake
from app.services.money.alerts import Alerting
from app.services.money.funding import Money
from app.services.moves.brakes import BrakeWatch, Braking
from app.services.moves.closing import Closing
from app.services.moves.providers import Providers
from app.services.moves.room import Room
from app.services.moves.stopping import Stopping
from app.services.reconciling.needs_human import NeedsHumanTurns
from app.services.reconciling.repository import Looking
from app.services.reconciling.reviews import Judging
from app.services.segment.attempt import Stops
from app.services.segment.open_issue import Opening
from app.services.segment.sub_agent_rows import SubAgents
from app.services.starting.put_off import WaitingStarts
from app.services.starting.start import Starting
from app.services.starting.taken_back import NotBegun
from app.services.starting.trust import Trusting
from app.services.steering.access import Access
from app.services.steering.blockers import Blockers
from app.services.steering.feedback import Feedback
from app.services.steering.ownership import Overriding
from app.services.steering.pull_request_ended import PullRequestEnds
from app.services.steering.taken_away import EndsByPeople
from app.services.views import REFUSED_SHOWN_FOR
from app.services.world import PlanReading, World

SWEEP_SECONDS: Final = 5
FINISHED_WORK_KEPT_FOR: Final = timedelta(days=7)
"""Bodies of deliveries and records of work. Delivery ids stay, so that a redelivery is known."""
DRAIN_SECONDS: Final = 60
"""Most time that running segments get to keep their work when the service stops."""
AT_ONCE: Final = {
    WorkKind.DELIVERY: 16,
    WorkKind.EFFECTS: 8,
    WorkKind.RECONCILIATION: 1,
    WorkKind.REDELIVERY: 1,
}

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
    raising: Raising
    scheduler: AsyncIOScheduler
    writer: GroupWriter
    database: sa.Engine
    drain: Drain
    brakes: BrakeWatch
    interval_seconds: int
    is_adaptive: bool
    """Whether limits follow what agents use."""
    clock: SystemClock
    address: str | None
    """Where its web side is reached; None: it has none."""

    async def start(self) -> None:
        """Recover what was interrupted, begin to take work, reconcile at once."""
        await asyncio.to_thread(self.engine.start, self.handlers)
        self.brakes.start()
        await self.engine.enqueue(
            Work(WorkKind.RECONCILIATION, f"reconcile:{START}:{self.engine.worker}", START)
        )
        await self.engine.enqueue(
            Work(WorkKind.REDELIVERY, f"redelivery:start:{self.engine.worker}", "start")
        )
        self._repeat(self._reconcile, seconds=self.interval_seconds)
        self._repeat(self._forget, hours=1)
        self._repeat(self._tidy, days=1)
        if self.is_adaptive:
            # Asked for often, so that a service which is seldom up for long does it too.
            self._repeat(self._adapt, hours=1, next_run_time=self.clock.now())
        self._repeat(self._sweep, seconds=SWEEP_SECONDS)
        self.scheduler.start()
        if self.settings.model is None:
            log.warning(
                "SQUADRON_MODEL is not set: an agent whose role names no model cannot start. Set"
                " it to provider:name, or name a model for each role in .squadron/"
            )
        where = {} if self.address is None else {"address": self.address}
        log.info("serving", extra={"worker": self.engine.worker, **where})

    async def stop(self) -> None:
        """Drain: running agents keep their work, then everything ends. Bounded."""
        self.drain.request()
        self.scheduler.shutdown(wait=False)
        await self.brakes.stop()
        await asyncio.to_thread(self.engine.stop, DRAIN_SECONDS)
        await asyncio.to_thread(self.writer.close)
        self.database.dispose()
        log.info("stopped", extra={"worker": self.engine.worker})

    def _repeat(self, job: Callable[[], Awaitable[None]], **when: object) -> None:
        self.scheduler.add_job(_unless_stopped, "interval", args=[job], **when)

    async def _reconcile(self) -> None:
        """One pass a cluster and interval: every process names the same pass alike. What GitHub
        could not deliver is asked for beside it, on a queue of its own."""
        pass_number = int(self.clock.now().timestamp() // self.interval_seconds)
        await self.engine.enqueue(
            Work(WorkKind.RECONCILIATION, f"reconcile:{pass_number}", "interval")
        )
        await self.engine.enqueue(
            Work(WorkKind.REDELIVERY, f"redelivery:{pass_number}", "interval")
        )

    async def _tidy(self) -> None:
        today = self.clock.now().date().isoformat()
        await self.engine.enqueue(Work(WorkKind.RECONCILIATION, f"reconcile:tidy:{today}", TIDY))

    async def _adapt(self) -> None:
        """Once a cluster and week: an id that was used never runs again."""
        year, week, _ = self.clock.now().isocalendar()
        work_id = f"reconcile:adapt:{year}-W{week:02}"
        await self.engine.enqueue(Work(WorkKind.RECONCILIATION, work_id, ADAPT))

    async def _forget(self) -> None:
        before = self.clock.now() - FINISHED_WORK_KEPT_FOR
        await self.store.forget_deliveries(before)
        await self.store.forget_refused(self.clock.now() - REFUSED_SHOWN_FOR)
        await asyncio.to_thread(self.engine.forget_finished, before)

    async def _sweep(self) -> None:
        await asyncio.to_thread(self.engine.sweep)


async def _unless_stopped(job: Callable[[], Awaitable[None]]) -> None:
    """Who stops the service cuts off what is scheduled just then, which is no failure of it."""
    with suppress(asyncio.CancelledError):
        await job()


def build(
    settings: Settings,
    *,
    runs_agents: bool = True,
    address: str | None = None,
    redact: Redactor | None = None,
) -> Service:
    """Join everything; `address` is where the web side will be reached, `redact` learns the secrets
    of this installation. Raises `CannotServe` or `AlreadyRunning`."""
    redact = redact or Redactor()
    redact.learn(settings.secret_values)
    problems = list(settings.problems_for_serving())
    operator_reading = load_operator(settings.config)
    problems += map(str, operator_reading.problems)
    problems += key_problems(settings.github_private_keys)
    if problems or operator_reading.config is None:
        raise CannotServe("\n".join(problems))
    operator = operator_reading.config
    _make_data_directory(settings.data_dir)
    processes = ProcessGroups()
    machine = _machine(processes, operator.sandbox, settings)
    count_limit_events()
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
    host = urlsplit(settings.github_api_url).hostname or ""
    pacing = SqlPacing(writer, limited=is_limited(host))
    books = Books(SqlLedger(database, writer), SqlRates(writer), pacing)
    world = _world(settings, redact, operator, engine, store, books, NamedLocks(database), machine)
    secrets = [each.get_secret_value().encode() for each in settings.webhook_secrets]
    brakes = BrakeWatch(store, engine, world.clock)
    raising, handlers = _services(world, drain, brakes)
    return Service(
        settings=settings,
        engine=engine,
        store=store,
        intake=Intake(secrets, store, SystemClock()),
        dispatcher=Dispatcher(store, world.exclusive),
        handlers=handlers,
        raising=raising,
        scheduler=AsyncIOScheduler(job_defaults={"coalesce": True, "max_instances": 1}),
        writer=writer,
        database=database,
        drain=drain,
        brakes=brakes,
        interval_seconds=operator.reconciliation_interval_seconds,
        is_adaptive=operator.adaptive != "off",
        clock=SystemClock(),
        address=address,
    )


def _make_data_directory(path: Path) -> None:
    """For this user alone, if it is missing; one that is there stays as it is. Raises
    `CannotServe`."""
    setting = "SQUADRON_DATA_DIR"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise CannotServe(f"{setting}: {path} is not a directory: name another") from None
    except OSError as error:
        raise CannotServe(f"{setting}: {path} cannot be made: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise CannotServe(f"{setting}: {path} cannot be written by user {os.getuid()}")


def _machine(processes: Processes, rules: SandboxRules, settings: Settings) -> "Machine":
    """What runs agents' processes, as the operator wants it; that the walls hold is tried, each
    time. Raises `CannotServe`."""
    plain = Machine(processes, processes, NoWalls(), PlainPreparation(processes), NoSetups())
    if rules.mode == "off":
        return plain
    place = settings.data_dir / "sandbox"
    broken = sandbox_trial(processes, rules, place)
    if not broken:
        walls = SandboxedProcesses(processes, place / "accounts", rules.mounts, Bounds())
        rest = (*map(str, rules.mounts), *rules.egress)
        setups = ArchivedSetups(settings.data_dir.absolute() / "setups", walls, processes, rest)
        return Machine(processes, walls, walls, _preparation(walls, rules), setups)
    found = "; ".join(f"{each.attack}: {each.why}" for each in broken)
    if rules.mode == "required":
        raise CannotServe(
            f"{settings.config or 'by default'}: sandbox.mode: required, but here the sandbox"
            f" does not hold: {found}. `squadron doctor` says more. {ALLOW_SANDBOX}"
        )
    log.warning("agents run without a sandbox (sandbox: best_effort): %s", found)
    return plain


def _preparation(walls: SandboxedProcesses, rules: SandboxRules) -> Preparation:
    if not rules.egress:
        return PlainPreparation(walls)
    return OpenedPreparation(walls, Egress(rules.egress))


def sandbox_trial(processes: Processes, rules: SandboxRules, place: Path) -> Sequence[Broken]:
    """Which attacks get through the sandbox, here and now. Raises `OSError` if nothing can be
    laid out in `place`."""
    walls = SandboxedProcesses(processes, place / "accounts", rules.mounts, SMALL)
    broken = asyncio.run(broken_walls(walls, processes, place / "trial"))
    if broken or not rules.egress:
        return broken
    opened = OpenedPreparation(walls, Egress(rules.egress))
    return asyncio.run(broken_door(opened, place / "trial"))


def key_problems(keys: Sequence[SecretStr]) -> list[str]:
    """Found here, because a key that GitHub never sees fails at each call, long after the start."""
    for position, key in enumerate(keys):
        try:
            load_pem_private_key(key.get_secret_value().encode(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            which = ": the second key" if position else ""
            return [
                f"SQUADRON_GITHUB_PRIVATE_KEY{which} is no private key in PEM form without a"
                " password"
            ]
    return []


def _membership(settings: Settings, database: sa.Engine, drain: Drain) -> Membership:
    if database.dialect.name != "postgresql":
        return SingleProcess(settings.data_dir, new_name())
    dsn = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    return ClusterMembership(dsn, new_name(), drain.request)


class Machine(NamedTuple):
    """What runs processes."""

    own: Processes
    agents: Processes
    walls: Walls
    """Around programs that go on for longer than one command."""
    preparation: Preparation
    setups: Setups


class Books(NamedTuple):
    """What is counted beside the registry."""

    ledger: SqlLedger
    rates: SqlRates
    pacing: SqlPacing


def _world(
    settings: Settings,
    redact: Redactor,
    operator: OperatorConfig,
    engine: DurableEngine,
    store: SqlStore,
    books: "Books",
    exclusive: NamedLocks,
    machine: Machine,
) -> World:
    assert settings.github_app_id is not None
    clock = SystemClock()
    github = GitHubApp(
        settings.github_app_id,
        settings.github_private_keys,
        settings.github_api_url,
        clock,
        pacing=books.pacing,
        redact=redact,
    )
    return World(
        store=store,
        ledger=books.ledger,
        rates=books.rates,
        alarms=OperatorAlarms(operator.alerts.webhook),
        engine=engine,
        exclusive=exclusive,
        github=github,
        hook=github.hook,
        workspace=GitWorkspace(
            settings.data_dir,
            settings.github_git_url,
            github.token,
            machine.own,
            machine.agents,
            redact,
        ),
        processes=machine.agents,
        preparation=machine.preparation,
        setups=machine.setups,
        walls=machine.walls,
        runtime=_runtime(settings, machine),
        redact=redact,
        parse=partial(parse, pipefail=True),
        visible_lines=visible_lines,
        price_of=partial(price_of, overrides=operator.pricing),
        clock=clock,
        free_mib=partial(free_mib, settings.data_dir),
        read_configuration=partial(_read_configuration, operator),
        edit_limits=_edit_limits,
        house=HouseRules(
            budgets=operator.budgets,
            on_unmeasurable=operator.on_unmeasurable,
            starts_per_user_per_hour=operator.starts_per_user_per_hour,
            alerts=operator.alerts,
            adaptive=operator.adaptive,
            min_free_mib=operator.min_free_mib,
        ),
        default_model=settings.model,
        worker=engine.worker,
        agents_directory=partial(agent_directory, settings.data_dir),
        path=os.environ.get("PATH", os.defpath),
    )


def _runtime(settings: Settings, machine: Machine) -> Runtime:
    """What a role's `runtime` names."""
    key, url = settings.model_api_key or SecretStr(""), settings.model_base_url
    doors, own, walls = doors_of(key, url), machine.own, machine.walls
    unpacked = settings.data_dir / "copilot-cli"
    return ChosenRuntime(
        {
            "embedded": EmbeddedRuntime(machine.agents, models_of(ModelAccess(key, url))),
            "copilot": CopilotRuntime(own, walls, doors, unpacked, settings.copilot_cli),
            "claude": ClaudeRuntime(own, walls, doors),
        }
    )


async def _read_configuration(operator: OperatorConfig, files: Mapping[str, bytes]) -> PlanReading:
    reading = await asyncio.to_thread(read_repository, files, operator)
    return PlanReading(reading.plan, reading.problems, reading.is_switched_off)


def _edit_limits(content: bytes, changes: Mapping[str, Mapping[LimitName, float]]) -> bytes:
    """Raises `ValueError` (`CannotEdit`, or for a file that is no UTF-8)."""
    values: dict[yamledit.Path, yamledit.Value] = {
        ("circuit_breakers", "roles", role, name.value): value
        for role, limits in changes.items()
        for name, value in limits.items()
    }
    return yamledit.with_values(content.decode(), values).encode()


def _services(
    world: World, drain: Drain, brakes: BrakeWatch
) -> tuple[Raising, Mapping[WorkKind, Handler]]:
    alerting = Alerting(world)
    guard = Guard()
    moving = Moving(world, guard)
    plans = Plans(world, moving)
    money = Money(world, alerting, plans)
    closing = Closing(world, money)
    braking, room = Braking(world, closing), Room(world, closing)
    providers = Providers(world, closing, alerting)
    publisher = Publisher(world)
    starting = Starting(world, plans, money, Trusting(world, plans), moving)
    raising = Raising(world, starting, money)
    config_trouble = ConfigTrouble(world, plans)
    feedback = Feedback(world, starting, closing)
    obeying = Obeying(world, starting, closing, raising, NotBegun(world), feedback)
    commanding = Commanding(world, starting, obeying)
    hearing = Hearing(world, starting, closing, commanding)
    needs_human = NeedsHuman(world)
    config_reviews = ConfigReviews(world, plans)
    overriding = Overriding(world, plans, starting)
    pull_request_ends = PullRequestEnds(world, closing)
    blockers = Blockers(world, closing)
    routing = Routing(
        world,
        starting,
        EndsByPeople(world, closing, overriding, pull_request_ends, blockers, needs_human),
        pull_request_ends,
        commanding,
        hearing,
        feedback,
        config_reviews,
        config_trouble,
    )
    stopping = Stopping(world, closing)
    access = Access(world, closing, stopping, guard)
    looking = Looking(
        world,
        closing,
        pull_request_ends,
        blockers,
        overriding,
        starting,
        plans,
        config_trouble,
        config_reviews,
        hearing,
        feedback,
        access,
        guard,
    )
    sub_agents = SubAgents(world, plans, money)
    reconciliation = Reconciliation(
        world,
        closing,
        stopping,
        WaitingStarts(world, starting, guard),
        publisher,
        money,
        alerting,
        sub_agents,
        Adapting(world, plans, guard),
        NeedsHumanTurns(world, needs_human, guard),
        Judging(world, feedback, guard),
        access,
        looking,
        braking,
        room,
        providers,
        moving,
        drain,
        guard,
    )
    handlers: Mapping[WorkKind, Handler] = {
        WorkKind.DELIVERY: routing.handle,
        WorkKind.SEGMENT: Segments(
            world,
            closing,
            stopping,
            publisher,
            sub_agents,
            braking,
            room,
            providers,
            Stops(drain, brakes),
            Opening(world),
            feedback,
        ).run,
        WorkKind.EFFECTS: Publishing(world, publisher, feedback).handle,
        WorkKind.RECONCILIATION: reconciliation.handle,
        WorkKind.REDELIVERY: Redelivery(world).handle,
    }
    return raising, handlers
