"""The registry of this installation, for commands that read it, and put brakes on."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Final, TypeVar

import sqlalchemy as sa
import typer

from app.adapters.store.database import make_engine
from app.adapters.store.ledger import SqlLedger
from app.adapters.store.schema import WrongSchema, require_current
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.cli.failing import EXIT_CONFIGURATION, fail
from app.config.settings import Settings, SettingsError, load_local_settings
from app.core.agents.agent import Agent, AgentId
from app.ports import StoreUnavailable, Work

Answer = TypeVar("Answer")

_ASK: Final = "Is SQUADRON_DATABASE_URL right, and has `squadron serve` run on it?"

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


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


async def agent_called(store: SqlStore, wanted: AgentId) -> Agent | None:
    """The agent of that id; GitHub's names are the same in capitals and small letters."""
    exact = await store.agent(wanted)
    if exact is not None:
        return exact
    alike = str(wanted).casefold()
    return next((each for each in await store.agents() if str(each.id).casefold() == alike), None)
