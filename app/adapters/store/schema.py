"""Which tables the database has, and the migrations that bring them up to date."""

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

import alembic.command
import alembic.config
import sqlalchemy as sa
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.adapters.store.failures import translated
from app.adapters.store.migrations import VERSION_TABLE

NEWEST: Final = "head"
MIGRATE: Final = "run `squadron migrate`; `squadron serve` does it at its start, too"
MOST_MIGRATION_SECONDS: Final = 600
MOST_MIGRATION_WAIT_SECONDS: Final = 120
"""How long a process waits until another one has migrated."""

_LOCK: Final = 0x5371_7561_6472_6F6E
"""Ours among PostgreSQL's advisory locks."""


class Standing(Enum):
    """The tables of a database, seen from this version of Squadron."""

    ABSENT = auto()
    """There are none."""
    OLDER = auto()
    CURRENT = auto()
    NEWER = auto()
    """A newer version has migrated them: this one does not know what they mean."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What the tables of a database were brought up to."""

    revision: str | None
    """None: there are no tables."""

    @property
    def standing(self) -> Standing:
        """How that is seen from here."""
        if self.revision is None:
            return Standing.ABSENT
        if self.revision == newest_revision():
            return Standing.CURRENT
        return Standing.OLDER if self.revision in _known_revisions() else Standing.NEWER


class WrongSchema(Exception):
    """This version of Squadron cannot work with the tables of the database as they are."""

    def __init__(self, schema: Schema) -> None:
        standing, here = schema.standing, f"this version of Squadron ({version('squadron')})"
        if standing is Standing.ABSENT:
            what, fix = "is empty", MIGRATE
        elif standing is Standing.NEWER:
            what = f"is newer (revision {schema.revision}) than {here} knows ({newest_revision()})"
            fix = "run the version that has migrated it, or a later one"
        else:
            what = f"is older (revision {schema.revision}) than {here} needs ({newest_revision()})"
            fix = MIGRATE
        self.what = f"the database {what}"
        self.fix = fix
        super().__init__(f"{self.what}: {self.fix}")


def schema_of(engine: sa.Engine) -> Schema:
    """Raises `StoreUnavailable`."""
    try:
        with engine.connect() as connection:
            return _schema(connection)
    except sa.exc.SQLAlchemyError as error:
        raise translated(error) from error.__cause__


def require_current(engine: sa.Engine) -> None:
    """Raises `WrongSchema` where this version cannot work, and `StoreUnavailable`."""
    schema = schema_of(engine)
    if schema.standing is not Standing.CURRENT:
        raise WrongSchema(schema)


def migrate(engine: sa.Engine, revision: str = NEWEST) -> Schema:
    """Bring our tables up to `revision`, in one transaction; what they were before. One process at
    a time does it.

    Raises `WrongSchema` when they are newer than this version knows; nothing is touched then.
    Raises `StoreUnavailable` when the database cannot be reached, or is migrated for too long.
    """
    config = migration_config()
    try:
        with engine.connect() as connection:
            _take_lock(connection)
            before = _schema(connection)
            if before.standing is Standing.NEWER:
                raise WrongSchema(before)
            if revision != NEWEST or before.standing is not Standing.CURRENT:
                config.attributes["connection"] = connection
                alembic.command.upgrade(config, revision)
            connection.commit()
    except sa.exc.SQLAlchemyError as error:
        raise translated(error) from error.__cause__
    return before


def migration_config() -> alembic.config.Config:
    """What Alembic needs to know to find the migrations."""
    config = alembic.config.Config()
    folder = Path(__file__).with_name("migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    return config


@cache
def newest_revision() -> str:
    """What this version of Squadron works with."""
    newest = _scripts().get_current_head()
    assert newest is not None, "there are migrations"
    return newest


@cache
def _known_revisions() -> frozenset[str]:
    return frozenset(script.revision for script in _scripts().walk_revisions())


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(migration_config())


def _schema(connection: sa.Connection) -> Schema:
    options = {"version_table": VERSION_TABLE}
    return Schema(MigrationContext.configure(connection, opts=options).get_current_revision())


def _take_lock(connection: sa.Connection) -> None:
    """Held until the transaction ends."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        return
    connection.execute(
        sa.text("SELECT set_config('lock_timeout', :wait, true)"),
        {"wait": f"{MOST_MIGRATION_WAIT_SECONDS}s"},
    )
    connection.execute(
        sa.text("SELECT set_config('statement_timeout', :most, true)"),
        {"most": f"{MOST_MIGRATION_SECONDS}s"},
    )
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
