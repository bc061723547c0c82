"""The registry of this installation, for commands that read it, and put brakes on."""

import asyncio
import os
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import sqlalchemy as sa

from app.adapters.clock import SystemClock
from app.adapters.store.database import make_engine
from app.adapters.store.ledger import SqlLedger
from app.adapters.store.schema import WrongSchema, require_current
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.cli.failing import EXIT_CONFIGURATION, fail
from app.config.settings import Settings, SettingsError, load_local_settings
from app.core.agents.agent import Agent, AgentId, Effect, EffectName
from app.core.agents.events import AgentEvent
from app.core.agents.queueing import QueuePlace
from app.core.words.report import Report, report
from app.ports import StoreUnavailable, Work
from app.services.effects.on_github import seen_on_github

Answer = TypeVar("Answer")

_ISSUE: Final = re.compile(r"[^#\s]+/[^#\s]+#\d+(/[^/\s]+)?")
_ASK: Final = "Is SQUADRON_DATABASE_URL right, and has `squadron serve` run on it?"


@dataclass(frozen=True, slots=True)
class ReadAgent:
    """What the registry holds of one agent."""

    view: Report
    log: Sequence[AgentEvent]
    effects: Mapping[EffectName, Effect]


async def read_agent(store: SqlStore, agent: Agent, queue: QueuePlace | None) -> ReadAgent:
    """As of now; `queue`: where it stands, if it waits for a worker."""
    log, effects = await store.log(agent.id), await store.effects(agent.id)
    view = report(agent, log, SystemClock().now(), queue)
    return ReadAgent(seen_on_github(view, effects), log, effects)


def open_registry(settings: Settings) -> SqlStore:
    """The registry for a command that enqueues no work. Raises `FileNotFoundError` if there is
    none, `WrongSchema` if it is of another version, and `StoreUnavailable`."""
    database = _existing_database(settings)
    return SqlStore(database, GroupWriter(database), _refuse_work)


def open_ledger(settings: Settings) -> SqlLedger:
    """The ledger for a command that only reads. Raises as `open_registry` does."""
    database = _existing_database(settings)
    return SqlLedger(database, GroupWriter(database))


def _existing_database(settings: Settings) -> sa.Engine:
    database = make_engine(settings.database_url.get_secret_value())
    path = database.url.database
    if database.dialect.name == "sqlite" and path and not Path(path).exists():
        raise FileNotFoundError(f"there is no registry at {path}; has `squadron serve` run here?")
    require_current(database)
    return database


def _refuse_work(_: sa.Connection, work: Work) -> None:
    raise RuntimeError(f"this process only reads; it cannot enqueue {work.id}")


def opened(open_part: Callable[[Settings], Answer]) -> Answer:
    """What `open_part` opens. Ends the command where there is no registry, or one of another
    version of Squadron."""
    try:
        return open_part(load_local_settings(os.environ))
    except (SettingsError, FileNotFoundError) as error:
        fail(str(error))
    except WrongSchema as error:
        fail(str(error), EXIT_CONFIGURATION)
    except StoreUnavailable as error:
        fail(f"{error}. {_ASK}")


def answered(reading: Coroutine[object, object, Answer]) -> Answer:
    """The answer of the database. Ends the command where there is none."""
    try:
        return asyncio.run(reading)
    except StoreUnavailable as error:
        fail(f"{error}. {_ASK}")


async def agent_called(store: SqlStore, wanted: str) -> Agent | None:
    """The agent of that id; of an issue (`octo/demo#12`), or of a role on it, the newest that is
    nobody's sub-agent. GitHub's names are the same in capitals and small letters. Raises
    `ValueError` for what names neither."""
    if _ISSUE.fullmatch(wanted) is None:
        return await store.agent(AgentId.parse(wanted)) or await store.agent_alike(wanted)
    repository, _, place = wanted.partition("#")
    issue, _, role = place.partition("/")
    return await store.newest_agent(repository, int(issue), role)
