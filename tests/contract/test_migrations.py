"""Migrations make what the models say, over data, and touch nobody else's tables."""

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import alembic.autogenerate
import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from pydantic import TypeAdapter

from app.adapters.store.codec import decode_event
from app.adapters.store.migrations import VERSION_TABLE, is_ours
from app.adapters.store.schema import migrate, migration_config
from app.adapters.store.tables import HITS, HITTERS, METADATA, PREFIX, SPEND
from app.core.agents.events import Tripped
from app.core.agents.stops import Layer, Trip
from app.core.limits import LimitName
from app.ports import StoreUnavailable
from tests.contract.store_support import DATABASES, NOON, QUEUED_WORK, an_empty_database

OLD_NAME = "tests_cannot_run"


@dataclass(frozen=True, slots=True)
class Before:
    """What the version before knows of the database, frozen."""

    revision: str
    columns: Mapping[str, set[str]]
    """Of each table."""

    @classmethod
    def frozen(cls) -> "Before":
        """As it was when that version was released."""
        kept = json.loads(Path(__file__).with_name("version_before.json").read_text("utf-8"))
        return cls(kept["revision"], {name: {*names} for name, names in kept["columns"].items()})


BEFORE = Before.frozen()


@pytest.fixture(params=DATABASES)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    with an_empty_database(request.param, tmp_path) as engine:
        yield engine


def _differences(engine: sa.Engine) -> list[Any]:
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "include_name": is_ours,
                "version_table": VERSION_TABLE,
                "compare_type": True,
                "compare_server_default": True,
            },
        )
        return list(alembic.autogenerate.compare_metadata(context, METADATA))


def test_models_and_migrations_agree_and_other_tables_are_left_alone(empty: sa.Engine) -> None:
    QUEUED_WORK.create(empty)
    migrate(empty)
    assert _differences(empty) == []
    names = sa.inspect(empty).get_table_names()
    assert QUEUED_WORK.name in names
    assert {name for name in names if name.startswith(PREFIX)} == {
        *METADATA.tables,
        VERSION_TABLE,
    }


def test_a_forgotten_migration_would_be_seen(empty: sa.Engine) -> None:
    migrate(empty)
    with empty.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE sq_agents DROP COLUMN summary")
        connection.exec_driver_sql("DROP INDEX sq_agents_state")
    assert {difference[0] for difference in _differences(empty)} == {"add_column", "add_index"}


def test_migrating_again_changes_nothing(empty: sa.Engine) -> None:
    migrate(empty)
    _fill(empty, 1)
    before = _counts(empty)
    migrate(empty)
    assert _counts(empty) == before and before.keys() == METADATA.tables.keys()


def test_two_processes_may_start_at_once(empty: sa.Engine) -> None:
    failures: list[BaseException] = []

    def start() -> None:
        try:
            migrate(empty)
        except BaseException as error:
            failures.append(error)

    starts = [threading.Thread(target=start) for _ in range(4)]
    for thread in starts:
        thread.start()
    for thread in starts:
        thread.join(60)
    assert failures == []
    assert _differences(empty) == []


def test_each_migration_runs_over_filled_tables(empty: sa.Engine) -> None:
    scripts = ScriptDirectory.from_config(migration_config())
    revisions = [script.revision for script in scripts.walk_revisions()][::-1]
    for number, revision in enumerate(revisions, 1):
        migrate(empty, revision)
        _fill(empty, number)
    assert set(_counts(empty)) == set(METADATA.tables)
    assert min(_counts(empty).values()) >= 1


def test_who_was_stopped_because_tests_could_not_run_has_tripped_the_limit(
    empty: sa.Engine,
) -> None:
    """Both forms in which that was written: as a failure, and as a trip that bears its name."""
    stop = {"at": NOON.isoformat(), "reason": "The tests cannot be run here."}
    failed = {"type": "Failed", "at": NOON.isoformat(), "failure": {"cause": OLD_NAME, **stop}}
    older = {"limit": OLD_NAME, "observed": None, "maximum": None, "layer": None, **stop}
    tripped = {"type": "Tripped", "at": NOON.isoformat(), "trip": older}
    quoted = {"type": "Spoke", "at": NOON.isoformat(), "text": OLD_NAME}
    migrate(empty, "0024")
    stored: tuple[dict[str, Any], ...] = (failed, tripped, quoted)
    for number, event in enumerate(stored):
        _fill(empty, number)
        with empty.begin() as connection:
            where = {"seq": number, "body": json.dumps(event), "type": event["type"]}
            connection.execute(
                sa.text("UPDATE sq_events SET body = :body, type = :type WHERE seq = :seq"), where
            )
            told = json.dumps(event.get("failure") or event.get("trip") or {})
            agent = {"trip": told, "id": f"text {number}"}
            connection.execute(sa.text("UPDATE sq_agents SET trip = :trip WHERE id = :id"), agent)
    migrate(empty)
    expected = Trip(
        limit=LimitName.MAX_UNRUNNABLE_TESTS,
        observed=3,
        maximum=3,
        layer=Layer.HOOK,
        at=NOON,
        reason="The tests cannot be run here.",
    )
    with empty.connect() as connection:
        rows = connection.execute(sa.text("SELECT type, body FROM sq_events ORDER BY seq")).all()
        stops = connection.scalars(sa.text("SELECT trip FROM sq_agents ORDER BY id")).all()
    assert [row.type for row in rows] == ["Tripped", "Tripped", "Spoke"]
    assert [decode_event(row.body) for row in rows[:2]] == [Tripped(at=NOON, trip=expected)] * 2
    assert json.loads(rows[2].body) == quoted
    reader = TypeAdapter(Trip)
    assert [reader.validate_json(each) for each in stops[:2]] == [expected] * 2


def test_days_hold_what_calls_cost_whichever_version_wrote_them(empty: sa.Engine) -> None:
    """Calls of before the sums were kept, and those that the version before writes meanwhile."""
    midnight = datetime.combine(NOON.date(), time(), UTC)
    calls = (
        (midnight - timedelta(microseconds=1), 5, 0),
        (midnight, 7, 1),
        (midnight + timedelta(days=1, microseconds=-1), None, None),
    )
    migrate(empty, "0037")
    _fill(empty, 1)
    with empty.begin() as connection:
        connection.execute(sa.text("DELETE FROM sq_spend"))
    for part in range(2):
        with empty.begin() as connection:
            for seq, (at, nanousd, is_estimate) in enumerate(calls, part * 10):
                what = {"nanousd": nanousd, "input_tokens": 3, "output_tokens": 4}
                row = {"agent_id": "text 1", "seq": seq, "at": at, "model": "m", **what}
                connection.execute(sa.insert(SPEND).values(**row, is_estimate=is_estimate))
        migrate(empty)
    with empty.connect() as connection:
        found = connection.execute(sa.text("SELECT * FROM sq_spent_days ORDER BY day")).all()
    assert [tuple(row) for row in found] == [
        ("text 1", "2026-05-03", "m", 10, 0, 0, 6, 8),
        ("text 1", "2026-05-04", "m", 14, 2, 2, 12, 16),
    ]


def test_what_was_counted_in_an_hour_still_counts_when_each_hit_counts_for_an_hour(
    empty: sa.Engine,
) -> None:
    migrate(empty, "0026")
    hours = [("ada", NOON, 3, 2), ("bob", NOON, 1, 0)]
    names = [("ada", "start 1", 1), ("ada", "start 2", 0), ("bob", "start 3", 1)]
    with empty.begin() as connection:
        for login, since, allowed, refused in hours:
            row = {"login": login, "since": since, "allowed": allowed, "refused": refused}
            columns = "login, since, allowed, refused"
            values = ":login, :since, :allowed, :refused"
            insert = sa.text(f"INSERT INTO sq_hits ({columns}) VALUES ({values})")
            connection.execute(
                insert.bindparams(sa.bindparam("since", type_=sa.DateTime(timezone=True))), row
            )
        for login, what, is_counted in names:
            row = {"login": login, "what": what, "is_counted": is_counted}
            insert = sa.text("INSERT INTO sq_named_hits VALUES (:login, :what, :is_counted)")
            connection.execute(insert, row)
    migrate(empty)
    with empty.connect() as connection:
        kept = connection.execute(sa.select(HITS).order_by(HITS.c.login, HITS.c.number)).all()
        told = connection.execute(sa.select(HITTERS).order_by(HITTERS.c.login)).all()
    assert [(row.login, row.at, row.what) for row in kept] == [
        ("ada", NOON, "start 1"),
        ("ada", NOON, None),
        ("ada", NOON, None),
        ("bob", NOON, "start 3"),
    ]
    assert [tuple(row) for row in told] == [("ada", NOON, "start 2"), ("bob", None, None)]


def test_a_migration_that_fails_leaves_nothing_behind(empty: sa.Engine) -> None:
    with empty.begin() as connection:  # the last table of the first migration is in its way
        connection.exec_driver_sql("CREATE TABLE sq_effects (id INTEGER)")
    with pytest.raises((StoreUnavailable, sa.exc.DBAPIError), match="sq_effects"):
        migrate(empty)
    assert sa.inspect(empty).get_table_names() == ["sq_effects"]


def test_the_version_before_writes_and_reads_what_this_one_has_migrated(empty: sa.Engine) -> None:
    """Its processes go on beside those of this version, for as long as an update takes."""
    migrate(empty, BEFORE.revision)
    _fill(empty, 1)
    known = _our_tables(empty)
    assert {table.name: {*table.columns.keys()} for table in known} == BEFORE.columns
    migrate(empty)
    _fill(empty, 2)
    with empty.begin() as connection:
        for table in known:
            connection.execute(sa.insert(table), _sample(table, 3))
        for table in known:
            assert len(connection.execute(sa.select(table)).all()) == 3
        for table in reversed(known):
            keys = [column == _sample(table, 3)[column.name] for column in table.primary_key]
            others = {
                name: value
                for name, value in _sample(table, 3).items()
                if name not in table.primary_key.columns
            }
            if others:
                connection.execute(sa.update(table).where(*keys).values(others))
            assert connection.execute(sa.delete(table).where(*keys)).rowcount == 1


def _our_tables(engine: sa.Engine) -> list[sa.Table]:
    metadata = sa.MetaData()
    metadata.reflect(engine, only=lambda name, _: is_ours(name, "table", {}))
    return [table for table in metadata.sorted_tables if table.name != VERSION_TABLE]


def _fill(engine: sa.Engine, number: int) -> None:
    """One row a table, whatever its columns are; equal texts make foreign keys fit."""
    with engine.begin() as connection:
        for table in _our_tables(engine):
            connection.execute(sa.insert(table), _sample(table, number))


def _sample(table: sa.Table, number: int) -> dict[str, object]:
    samples: dict[type, object] = {
        str: f"text {number}",
        bool: False,
        int: number,
        float: 1.5,
        bytes: b"bytes",
        datetime: NOON,
    }
    return {column.name: samples[column.type.python_type] for column in table.columns}


def _counts(engine: sa.Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            table.name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for table in _our_tables(engine)
        }
