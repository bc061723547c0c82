"""Databases of other versions of Squadron: what each command says, and that it touches nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner, Result

from app.adapters.store import schema
from app.adapters.store.database import make_engine
from app.adapters.store.migrations import VERSION_TABLE
from app.adapters.store.schema import Standing, migrate, newest_revision, schema_of
from app.adapters.store.tables import BRAKES
from app.cli.failing import EXIT_CONFIGURATION
from app.cli.main import app
from tests.contract.github_support import app_key
from tests.support.waiting import MOST_SECONDS

BEFORE, OF_TOMORROW = "0030", "9999"
AGENT = "octo/demo#1/bug-fix/1"
COMMANDS = (
    ("agents",),
    ("explain", AGENT),
    ("workers",),
    ("workers", "drain", "somebody"),
    ("costs",),
    ("costs", "--budgets"),
    ("limits", "suggest"),
    ("pause",),
    ("resume",),
)
"""Those that read a database, or write into one, and start no service."""


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> sa.Engine:
    """The empty one that the commands will find."""
    for name in [name for name in os.environ if name.startswith("SQUADRON_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SQUADRON_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "data").mkdir(mode=0o700)
    return make_engine(f"sqlite:///{tmp_path / 'data' / 'squadron.sqlite3'}")


def squadron(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments])


def of_tomorrow(database: sa.Engine) -> None:
    """A later version has migrated it."""
    migrate(database)
    with database.begin() as connection:
        connection.execute(
            sa.text(f"UPDATE {VERSION_TABLE} SET version_num = :number"), {"number": OF_TOMORROW}
        )


def dumped(database: sa.Engine) -> list[Any]:
    with database.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        return [*driver.iterdump()]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_newer_database_is_told_in_one_line_and_left_alone(
    database: sa.Engine, command: tuple[str, ...]
) -> None:
    of_tomorrow(database)
    before = dumped(database)
    told = squadron(*command)
    assert told.exit_code == EXIT_CONFIGURATION == 78
    [line] = told.stderr.splitlines()
    assert f"is newer (revision {OF_TOMORROW})" in line and newest_revision() in line
    assert "run the version that has migrated it" in line
    assert told.stdout == ""
    assert dumped(database) == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_older_database_is_to_be_migrated(database: sa.Engine, command: tuple[str, ...]) -> None:
    migrate(database, BEFORE)
    before = dumped(database)
    told = squadron(*command)
    assert told.exit_code == EXIT_CONFIGURATION
    [line] = told.stderr.splitlines()
    assert f"is older (revision {BEFORE})" in line and "run `squadron migrate`" in line
    assert dumped(database) == before


def test_a_database_without_tables_is_told(database: sa.Engine) -> None:
    database.connect().close()
    told = squadron("pause")
    assert told.exit_code == EXIT_CONFIGURATION
    assert "the database is empty: run `squadron migrate`" in told.stderr


def test_migrate_brings_a_database_up_and_says_from_where(database: sa.Engine) -> None:
    migrate(database, BEFORE)
    told = squadron("migrate")
    said = f"The tables were brought from revision {BEFORE} to {newest_revision()}.\n"
    assert (told.exit_code, told.stdout) == (0, said)
    assert schema_of(database).standing is Standing.CURRENT
    assert squadron("pause").exit_code == 0
    with database.connect() as connection:
        assert connection.execute(sa.select(BRAKES)).all(), "now it is put on"
    told = squadron("migrate")
    said = f"Nothing was changed: the tables are at revision {newest_revision()}.\n"
    assert (told.exit_code, told.stdout) == (0, said)


def test_migrate_makes_what_is_not_there_and_the_queues_too(
    database: sa.Engine, tmp_path: Path
) -> None:
    (tmp_path / "data").rmdir()
    told = squadron("migrate")
    assert told.stdout == f"The tables were made, at revision {newest_revision()}.\n"
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert "workflow_status" in sa.inspect(database).get_table_names()


def test_migrate_leaves_a_newer_database_alone(database: sa.Engine) -> None:
    of_tomorrow(database)
    before = dumped(database)
    told = squadron("migrate")
    assert (told.exit_code, told.stdout) == (EXIT_CONFIGURATION, "")
    assert "is newer" in told.stderr
    assert dumped(database) == before


def process(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of its own process, with all settings that a service needs."""
    environment = {
        "PATH": os.environ["PATH"],
        "SQUADRON_GITHUB_APP_ID": "1",
        "SQUADRON_GITHUB_PRIVATE_KEY": app_key().get_secret_value(),
        "SQUADRON_WEBHOOK_SECRET": "w" * 32,
        "SQUADRON_GITHUB_API_URL": "http://127.0.0.1:9",
        "SQUADRON_DATA_DIR": str(tmp_path / "data"),
    }
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment, capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_no_process_starts_on_a_newer_database(
    database: sa.Engine, tmp_path: Path, command: str
) -> None:
    """A supervisor sees by the exit code that another try ends alike."""
    of_tomorrow(database)
    before = dumped(database)
    told = process(tmp_path, "-m", "app.cli.main", command, "--port", "0")
    assert told.returncode == EXIT_CONFIGURATION, told.stderr
    [line] = told.stderr.splitlines()
    assert f"is newer (revision {OF_TOMORROW})" in line
    assert dumped(database) == before


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_who_may_not_migrate_does_not_start_on_an_older_database(
    database: sa.Engine, tmp_path: Path, command: str
) -> None:
    migrate(database, BEFORE)
    told = process(tmp_path, "-m", "app.cli.main", command, "--port", "0", "--no-migrate")
    assert told.returncode == EXIT_CONFIGURATION, told.stderr
    assert "run `squadron migrate`" in told.stderr.splitlines()[-1]
    assert schema_of(database).revision == BEFORE


COMES_BACK = """
import sys, typer
from app.adapters.store.schema import Schema, WrongSchema
from app.bootstrap import Adapters
from app.cli.lives import Life
life = Life(Adapters())
life.fails(WrongSchema(Schema("9999")))
try:
    life.end()
except typer.Exit as ended:
    sys.exit(ended.exit_code)
"""


def test_a_process_that_comes_back_to_a_newer_database_ends(tmp_path: Path) -> None:
    """The version after has migrated it while the database was away for this one."""
    told = process(tmp_path, "-c", COMES_BACK)
    assert told.returncode == EXIT_CONFIGURATION, told.stderr
    [line] = told.stderr.splitlines()
    assert "is newer (revision 9999)" in line


@pytest.mark.full
@pytest.mark.parametrize(
    ("make", "ok", "words"),
    [
        (migrate, True, f"is at revision {newest_revision()}"),
        (of_tomorrow, False, f"is newer (revision {OF_TOMORROW})"),
        (lambda database: migrate(database, BEFORE), False, f"is older (revision {BEFORE})"),
        (lambda database: database.connect().close(), True, "is filled at the first start"),
    ],
)
def test_doctor_looks_at_the_tables(
    database: sa.Engine, tmp_path: Path, make: Any, ok: bool, words: str
) -> None:
    make(database)
    told = process(tmp_path, "-m", "app.cli.main", "doctor", "--offline", "--json")
    [check] = [each for each in json.loads(told.stdout)["checks"] if each["name"] == "database"]
    assert (check["ok"], words in check["message"]) == (ok, True)
    assert ("squadron migrate" in check["fix"]) == ("older" in words)


def test_what_is_known_is_older_and_what_is_not_is_newer() -> None:
    standings = {each: schema.Schema(each).standing for each in ("0001", newest_revision(), "x")}
    assert [*standings.values()] == [Standing.OLDER, Standing.CURRENT, Standing.NEWER]
    assert schema.Schema(None).standing is Standing.ABSENT
