"""The one place that joins ports to adapters, and the order in which a service starts and ends."""

import asyncio
import logging
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import httpx
import psycopg
import sqlalchemy as sa
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import SecretStr

from app.adapters.alarms import OperatorAlarms
from app.adapters.artifacts import MOST_MIB_IN_FILES, artifact_problems, artifacts_at
from app.adapters.clock import SystemClock, new_name
from app.adapters.disk import free_mib
from app.adapters.engine import (
    ClusterMembership,
    CutOffNotes,
    DurableEngine,
    Membership,
    RunningEngine,
    SingleProcess,
    application_name,
    worker_name,
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
from app.adapters.runtimes.embedded import EmbeddedRuntime, models_of
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
    UnwalledProcesses,
    broken_door,
    broken_walls,
    search_path,
)
from app.adapters.shell import parse
from app.adapters.standstill import Standstill
from app.adapters.store.database import make_engine
from app.adapters.store.failures import if_full
from app.adapters.store.ledger import SqlLedger
from app.adapters.store.pacing import SqlPacing
from app.adapters.store.rates import SqlRates
from app.adapters.store.schema import migrate, require_current
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.adapters.timetable import ScheduledTimes
from app.adapters.workspace import GitWorkspace, agent_directory
from app.config import yamledit
from app.config.operator import OperatorConfig, SandboxRules, load_operator
from app.config.providers import read_providers
from app.config.repository import read_repository
from app.config.settings import Settings
from app.core.effects.pacing import is_limited
from app.core.limits import LimitName
from app.core.rules.operator import HouseRules
from app.core.text.redact import Redactor
from app.ports import (
    Clock,
    Handler,
    Job,
    Preparation,
    Processes,
    Providers,
    Reconcile,
    Redeliver,
    Runtime,
    Setups,
    StoreUnavailable,
    Timetable,
    Walls,
    WorkKind,
    Workspace,
)
from app.services.commands.acting import Acting
from app.services.commands.handbrakes import Handbrakes
from app.services.commands.raise_limits import Raising
from app.services.configuration.in_force import InForce
from app.services.drain import Drain
from app.services.handlers.reconciliation import ADAPT, START, TIDY
from app.services.intake.dispatch import Dispatcher
from app.services.intake.intake import Intake
from app.services.moves.brakes import BrakeWatch
from app.services.reconciling.ageing import FINISHED_WORK_KEPT_FOR
from app.services.wiring import wired
from app.services.world import PlanReading, World

EXIT_GIVEN_UP: Final = 70
"""Of a process that has lost its database, or was taken for dead, and cannot come back."""
SWEEP_EVERY: Final = timedelta(seconds=5)
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


class DatabaseAway(CannotServe):
    """All is there but the database."""


MakeEngine = Callable[[sa.Engine, Mapping[WorkKind, int], Callable[[], None]], RunningEngine]
"""Of the store's database, of how many pieces of each kind are done at once, and of what is called
when this process is to take no further agents."""


@dataclass(frozen=True, slots=True)
class Adapters:
    """What takes the place of a part of the world: for whoever runs a service where that part is
    another one. What is None is the real one."""

    clock: Clock | None = None
    timetable: Timetable | None = None
    database: Callable[[str], sa.Engine] | None = None
    """Made of its URL."""
    engine: MakeEngine | None = None
    github: httpx.AsyncBaseTransport | None = None
    """Instead of the network, for calls of the API."""
    processes: Processes | None = None
    """All that are started, agents' and our own."""
    workspace: Workspace | None = None
    runtime: Runtime | None = None
    """For every role, whatever it names."""
    bounds: Bounds | None = None
    """Of an agent's processes, in the sandbox."""
    egress: Callable[[tuple[str, ...]], Egress] = Egress
    """What setups reach of the hosts that the operator allows."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service that was built; `start` and `stop` it once."""

    settings: Settings
    engine: RunningEngine
    store: SqlStore
    ledger: SqlLedger
    intake: Intake
    dispatcher: Dispatcher
    perform: Handler
    """Does one piece of durable work."""
    tidy_own_directory: Job
    """If that is due."""
    let_age: Job
    """What the database holds."""
    raising: Raising
    in_force: InForce
    acting: Acting
    handbrakes: Handbrakes
    timetable: Timetable
    writer: GroupWriter
    database: sa.Engine
    drain: Drain
    brakes: BrakeWatch
    standstill: Standstill | None
    """None: somebody else turns the clock."""
    interval_seconds: int
    is_adaptive: bool
    """Whether limits follow what agents use."""
    clock: Clock
    address: str | None
    """Where its web side is reached; None: it has none."""

    async def start(self) -> None:
        """Recover what was interrupted, begin to take work, reconcile at once."""
        if self.standstill is not None:
            self.standstill.watch()
        notes = CutOffNotes(self.settings.data_dir)
        for worker, at in notes.left().items():
            await self.store.note_cut_off(worker, at)
            notes.forget(worker)
        await self.engine.start(self.perform)
        self.brakes.start()
        await self.engine.enqueue(Reconcile(START, f"{START}:{self.engine.worker}"))
        await self.engine.enqueue(Redeliver("start", f"start:{self.engine.worker}"))
        self.timetable.every(timedelta(seconds=self.interval_seconds), self._reconcile)
        # Asked for at once and often, so that a service which is seldom up for long does it too.
        self.timetable.every(timedelta(hours=1), self._forget, at_once=True)
        self.timetable.every(timedelta(hours=1), self._tidy, at_once=True)
        self.timetable.every(timedelta(hours=1), self.tidy_own_directory, at_once=True)
        if self.is_adaptive:
            self.timetable.every(timedelta(hours=1), self._adapt, at_once=True)
        self.timetable.every(SWEEP_EVERY, self.engine.sweep)
        self.timetable.start()
        if self.settings.model is None:
            log.warning(
                "SQUADRON_MODEL is not set: an agent whose role names no model cannot start. Set"
                " it to provider:name, or name a model for each role in .squadron/"
            )
        where = {} if self.address is None else {"address": self.address}
        log.info(
            "serving",
            extra={"worker": self.engine.worker, "version": version("squadron"), **where},
        )

    async def stop(self) -> None:
        """Drain: running agents keep their work, then everything ends. Bounded."""
        self.drain.end()
        await self.timetable.stop()
        await self.brakes.stop()
        await self.engine.stop(DRAIN_SECONDS)
        await asyncio.to_thread(self.writer.close)
        self.database.dispose()
        if self.standstill is not None:
            self.standstill.end()
        log.info("stopped", extra={"worker": self.engine.worker})

    async def _reconcile(self) -> None:
        """One pass a cluster and interval: every process names the same pass alike, by the one
        before it too, or there would be none for an hour where a clock is set back by an hour. What
        GitHub could not deliver is asked for beside it, on a queue of its own."""
        before, interval = await self.store.last_pass(), self.interval_seconds
        occasion = f"{self.clock.now().timestamp() // interval:.0f}"
        if before is not None:
            began = before.ended_at.timestamp() - before.seconds
            if f"{began // interval:.0f}" == occasion:
                return
            occasion += f":{before.ended_at.timestamp():.6f}"
        await self.engine.enqueue(Reconcile("interval", occasion))
        await self.engine.enqueue(Redeliver("interval", occasion))

    async def _tidy(self) -> None:
        """Once a cluster and day."""
        today = self.clock.now().date().isoformat()
        await self.engine.enqueue(Reconcile(TIDY, f"tidy:{today}"))

    async def _adapt(self) -> None:
        """Once a cluster and week: an id that was used never runs again."""
        year, week, _ = self.clock.now().isocalendar()
        await self.engine.enqueue(Reconcile(ADAPT, f"adapt:{year}-W{week:02}"))

    async def _forget(self) -> None:
        await self.let_age()
        await self.engine.forget_finished(self.clock.now() - FINISHED_WORK_KEPT_FOR)


def build(
    settings: Settings,
    *,
    runs_agents: bool = True,
    migrates: bool = True,
    address: str | None = None,
    redact: Redactor | None = None,
    adapters: Adapters = Adapters(),
    give_up: Callable[[], None] = lambda: os._exit(EXIT_GIVEN_UP),
) -> Service:
    """Join everything; `migrates`: older tables are brought up to this version; `address` is where
    the web side will be reached, `redact` learns the secrets of this installation; `give_up` ends
    all that this process does, at once, since it is no worker of its database any more. Raises
    `CannotServe`, `AlreadyRunning` or `WrongSchema`."""
    redact = redact or Redactor()
    redact.learn(settings.secret_values)
    problems = list(settings.problems_for_serving())
    operator_reading = load_operator(settings.config)
    problems += map(str, operator_reading.problems)
    problems += key_problems(settings.github_private_keys)
    operator = operator_reading.config or OperatorConfig()
    asked = read_providers(settings, operator)
    problems += asked.problems
    problems += artifact_problems(settings.artifacts)
    if problems:
        raise CannotServe("\n".join(problems))
    redact.learn(asked.secret_values)
    make_data_directory(settings.data_dir)
    processes = adapters.processes or ProcessGroups()
    machine = _machine(processes, operator.sandbox, settings, adapters)
    count_limit_events()
    drain, standstill = Drain(), Standstill()
    clock = adapters.clock or SystemClock(standstill.monotonic)
    name = worker_name(new_name())
    make_database = adapters.database or partial(
        make_engine,
        application=application_name(name),
        most_connections=settings.database_pool,
    )
    database = make_database(settings.database_url.get_secret_value())
    queues = {**AT_ONCE, **({WorkKind.SEGMENT: operator.worker_agents} if runs_agents else {})}
    make = adapters.engine or partial(
        _durable_engine,
        _Membership(settings, operator, drain, standstill, name, give_up),
        clock.now,
    )
    try:
        engine = make(database, queues, drain.hand_over)
        if migrates:
            migrate(database)
        else:
            require_current(database)
    except (StoreUnavailable, psycopg.OperationalError) as error:
        raise DatabaseAway(
            f"SQUADRON_DATABASE_URL: the database cannot be used: {error}{if_full(error)}"
        ) from error
    writer = GroupWriter(database)
    store = SqlStore(database, writer, engine.enqueue_with)
    host = urlsplit(settings.github_api_url).hostname or ""
    pacing = SqlPacing(writer, limited=is_limited(host))
    books = Books(SqlLedger(database, writer), SqlRates(writer), pacing)
    world = _world(
        settings,
        redact.hiding(str(settings.data_dir)),
        operator,
        adapters,
        engine=engine,
        store=store,
        books=books,
        exclusive=NamedLocks(database),
        machine=machine,
        providers=asked.providers,
        clock=clock,
    )
    secrets = [each.get_secret_value().encode() for each in settings.webhook_secrets]
    brakes = BrakeWatch(store, engine, world.clock)
    services = wired(world, drain, brakes)
    return Service(
        settings=settings,
        engine=engine,
        store=store,
        ledger=books.ledger,
        intake=Intake(secrets, store, world.clock),
        dispatcher=Dispatcher(store, world.exclusive, world.clock, services.plans),
        perform=services.perform,
        tidy_own_directory=services.housekeeping.tidy_if_due,
        let_age=services.ageing.go_on,
        raising=services.raising,
        in_force=services.in_force,
        acting=services.acting,
        handbrakes=services.handbrakes,
        timetable=adapters.timetable or ScheduledTimes(world.clock),
        writer=writer,
        database=database,
        drain=drain,
        brakes=brakes,
        standstill=None if adapters.clock else standstill,
        interval_seconds=operator.reconciliation_interval_seconds,
        is_adaptive=operator.adaptive != "off",
        clock=world.clock,
        address=address,
    )


def make_data_directory(path: Path) -> None:
    """For this user alone, if it is missing; one that is there stays as it is, and whoever is not
    of its group must have no way into it: the registry holds people's words. Raises `CannotServe`.
    """
    setting = "SQUADRON_DATA_DIR"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise CannotServe(f"{setting}: {path} is not a directory: name another") from None
    except OSError as error:
        raise CannotServe(f"{setting}: {path} cannot be made: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise CannotServe(f"{setting}: {path} cannot be written by user {os.getuid()}")
    mode = path.stat().st_mode & 0o777
    if mode & 0o007:
        raise CannotServe(
            f"{setting}: {path} is open to every user of this machine (mode {mode:o}): `chmod o="
            f" {shlex.quote(str(path))}`, or name a directory below it, which Squadron makes for"
            " itself alone"
        )


def _machine(
    processes: Processes, rules: SandboxRules, settings: Settings, adapters: Adapters
) -> "Machine":
    """What runs agents' processes, as the operator wants it; that the walls hold is tried, each
    time. Raises `CannotServe`."""
    if rules.mode == "off":
        return _without_sandbox(processes, adapters)
    place = settings.data_dir / "sandbox"
    broken = sandbox_trial(processes, rules, place)
    if not broken:
        walls = SandboxedProcesses(
            processes, place / "accounts", rules.mounts, adapters.bounds or Bounds()
        )
        rest = (*map(str, rules.mounts), *rules.egress)
        setups = ArchivedSetups(settings.data_dir.absolute() / "setups", walls, processes, rest)
        preparation = (
            OpenedPreparation(walls, adapters.egress(rules.egress))
            if rules.egress
            else PlainPreparation(walls)
        )
        return Machine(processes, walls, walls, preparation, setups)
    found = "; ".join(f"{each.attack}: {each.why}" for each in broken)
    if rules.mode == "required":
        raise CannotServe(
            f"{settings.config or 'by default'}: sandbox.mode: required, but here the sandbox"
            f" does not hold: {found}. `squadron doctor` says more. {ALLOW_SANDBOX}"
        )
    log.warning("agents run without a sandbox (sandbox: best_effort): %s", found)
    return _without_sandbox(processes, adapters)


def _without_sandbox(processes: Processes, adapters: Adapters) -> "Machine":
    if adapters.processes is not None:  # of another machine, which ends them itself
        return Machine(processes, processes, NoWalls(), PlainPreparation(processes), NoSetups())
    agents = UnwalledProcesses(processes, adapters.bounds or Bounds())
    return Machine(processes, agents, agents, PlainPreparation(agents), NoSetups())


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


@dataclass(frozen=True, slots=True)
class _Membership:
    """How this process becomes a worker of its database."""

    settings: Settings
    operator: OperatorConfig
    drain: Drain
    standstill: Standstill
    worker: str
    give_up: Callable[[], None]

    def __call__(self, database: sa.Engine) -> Membership:
        if database.dialect.name != "postgresql":
            return SingleProcess(self.settings.data_dir, database, self.worker)
        return ClusterMembership(
            database.url.set(drivername="postgresql").render_as_string(hide_password=False),
            self.worker,
            self.operator.worker_timeout_seconds,
            lambda: self.standstill.seconds,
            self._give_up,
        )

    def _give_up(self, worker: str) -> None:
        is_ending = self.drain.is_ending
        self.drain.end()
        try:
            CutOffNotes(self.settings.data_dir).leave(worker)
        finally:
            if is_ending:
                os._exit(EXIT_GIVEN_UP)
            self.give_up()


def _durable_engine(
    membership: _Membership,
    now: Callable[[], datetime],
    database: sa.Engine,
    queues: Mapping[WorkKind, int],
    hand_over: Callable[[], None],
) -> DurableEngine:
    return DurableEngine(database, membership(database), queues, now, hand_over)


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
    adapters: Adapters,
    *,
    engine: RunningEngine,
    store: SqlStore,
    books: "Books",
    exclusive: NamedLocks,
    machine: Machine,
    providers: Providers,
    clock: Clock,
) -> World:
    assert settings.github_app_id is not None
    github = GitHubApp(
        settings.github_app_id,
        settings.github_private_keys,
        settings.github_api_url,
        clock,
        transport=adapters.github,
        pacing=books.pacing,
        redact=redact,
    )
    return World(
        store=store,
        artifacts=artifacts_at(settings.artifacts, store, new_name),
        ledger=books.ledger,
        rates=books.rates,
        alarms=OperatorAlarms(operator.alerts.webhook),
        engine=engine,
        exclusive=exclusive,
        github=github,
        hook=github.hook,
        workspace=adapters.workspace
        or GitWorkspace(
            settings.data_dir,
            settings.github_git_url,
            github.token,
            machine.own,
            machine.agents,
            redact,
            new_name,
        ),
        processes=machine.agents,
        preparation=machine.preparation,
        setups=machine.setups,
        walls=machine.walls,
        runtime=adapters.runtime or _runtime(settings, machine, providers),
        redact=redact,
        parse=parse,
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
            max_starts_per_pass=operator.max_starts_per_pass,
            alerts=operator.alerts,
            adaptive=operator.adaptive,
            min_free_mib=operator.min_free_mib,
            caps=operator.caps,
            artifact_mib_per_agent=(
                operator.artifact_mib_per_agent
                if settings.artifacts is None
                else max(operator.artifact_mib_per_agent, MOST_MIB_IN_FILES)
            ),
            pack_after_days=operator.pack_after_days,
        ),
        default_model=settings.model,
        worker=engine.worker,
        agents_directory=partial(agent_directory, settings.data_dir),
        path=search_path(operator.sandbox.mounts),
    )


def _runtime(settings: Settings, machine: Machine, providers: Providers) -> Runtime:
    """What a role's `runtime` names."""
    doors, own, walls = doors_of(providers), machine.own, machine.walls
    unpacked = settings.data_dir / "copilot-cli"
    return ChosenRuntime(
        {
            "embedded": EmbeddedRuntime(machine.agents, models_of(providers)),
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
