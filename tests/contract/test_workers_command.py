"""`squadron workers` on a registry whose processes are known."""

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner, Result

from app.adapters.store.tables import WORKERS
from app.cli.main import app
from tests.contract.store_support import NOON
from tests.support.past import a_past

NAME, OTHER = "machine-41-0123456789abcdef", "machine-42-0123456789abcdef"


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    for name in [name for name in os.environ if name.startswith("SQUADRON_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SQUADRON_DATA_DIR", str(tmp_path))
    url = f"sqlite:///{tmp_path / 'squadron.sqlite3'}"
    with a_past(url) as past:
        asyncio.run(past.begun(NAME))
    return url


def squadron(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["workers", *arguments])


def joins(url: str, name: str, places: int, *, quiet_seconds: float = 0.0) -> None:
    """A process has begun to work, and was last heard of so long ago."""
    heard = datetime.now(UTC) - timedelta(seconds=quiet_seconds)
    row: dict[str, Any] = {"name": name, "version": "1.2.3", "places": places}
    times = {"started_at": NOON, "beat_at": heard, "settled_at": NOON}
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.insert(WORKERS).values({**row, **times}))
    engine.dispose()


def test_nobody_works_here(database: str) -> None:
    told = squadron()
    assert (told.exit_code, told.stdout) == (0, "No process works on this database.\n")
    told = squadron("drain", NAME)
    assert told.exit_code == 1
    assert told.stderr == f"there is no worker {NAME}; no process works on this database\n"


def test_each_process_is_shown_with_its_agents(database: str) -> None:
    joins(database, NAME, 4)
    joins(database, OTHER, 0, quiet_seconds=100)
    told = squadron()
    assert told.exit_code == 0, told.output
    for words in (
        f"│ {NAME} │ 1.2.3   │ 2026-05-04 12:00:00 │ 1 of 4                │ works",
        "octo/demo#1/bug-fix/1 │",
        f"│ {OTHER} │ 1.2.3   │ 2026-05-04 12:00:00 │ leaves them to others │ was not heard of",
    ):
        assert words in told.stdout, told.stdout
    shown = json.loads(squadron("--json").stdout)["workers"]
    here = shown[0]
    assert here.pop("heard_at")
    assert here == {
        "name": NAME,
        "version": "1.2.3",
        "started_at": "2026-05-04T12:00:00.123456Z",
        "silent": False,
        "places": 4,
        "drain_asked_at": None,
        "agents": ["octo/demo#1/bug-fix/1"],
    }
    assert [each["silent"] for each in shown] == [False, True]


def test_a_process_is_told_to_drain_and_who_waits_then(database: str) -> None:
    joins(database, NAME, 4)
    joins(database, OTHER, 2)
    told = squadron("drain", NAME)
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines() == [
        f"{NAME} takes no further agents, within 5 seconds and until it ends.",
        "At work there, to go on elsewhere: octo/demo#1/bug-fix/1.",
    ]
    again = squadron("drain", NAME)
    assert again.stdout.startswith(f"Nothing was changed: {NAME} takes no further agents since ")
    assert "takes no further agents" in squadron().stdout
    told = squadron("drain", OTHER, "--json")
    shown = json.loads(told.stdout)
    assert shown["changed"] is True
    assert all(each["drain_asked_at"] for each in shown["workers"])
    assert json.loads(squadron("drain", OTHER, "--json").stdout)["changed"] is False


def test_the_last_process_that_takes_agents_drains_and_they_wait(database: str) -> None:
    joins(database, NAME, 4)
    joins(database, OTHER, 4, quiet_seconds=100)
    told = squadron("drain", NAME)
    assert told.stdout.splitlines()[-1] == (
        "No other worker takes agents: agents wait until one does."
    )


def test_agents_for_whom_nobody_works_are_told_of(database: str) -> None:
    assert "No worker takes agents" not in CliRunner().invoke(app, ["agents"]).stdout
    with a_past(database, issues=1) as past:
        asyncio.run(past.waits())
    told = CliRunner().invoke(app, ["agents"])
    assert "No worker takes agents, and 1 in the queue: see squadron workers." in told.stdout
    joins(database, NAME, 4)
    assert "No worker takes agents" not in CliRunner().invoke(app, ["agents"]).stdout


def test_who_is_silent_is_told_so_all_the_same(database: str) -> None:
    joins(database, NAME, 4, quiet_seconds=100)
    told = squadron("drain", NAME)
    assert told.exit_code == 0
    assert "It was not heard of for 10" in told.stdout
    assert "it may be gone, and then others have its agents." in told.stdout


def test_a_name_that_is_none_is_told_with_those_that_are(database: str) -> None:
    joins(database, NAME, 4)
    told = squadron("drain", "nobody")
    assert told.exit_code == 1
    assert told.stderr == f"there is no worker nobody; there are: {NAME}\n"
