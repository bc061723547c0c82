"""Workers on PostgreSQL that are heard of, or are not."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import psycopg
import pytest
import sqlalchemy as sa

from app.adapters.engine import ClusterMembership, heartbeats
from app.adapters.engine.heartbeats import SETTLED_SECONDS, Connection, Heard
from app.adapters.engine.membership import Listener
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.ports import FRESH_SECONDS
from tests.contract.store_support import own_postgresql_database
from tests.support.waiting import until

TIMEOUT = 60.0
HERE = "here-1-00000000000000aa"
THERE = f"{'there' * 14}-2-00000000000000bb"
"""Longer than what PostgreSQL keeps of a name."""


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with own_postgresql_database() as url:
        migrated = make_engine(url)
        migrate(migrated)
        migrated.dispose()
        yield url


@pytest.fixture
def url(database: str) -> str:
    """Of a database without workers."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DELETE FROM sq_workers")
    return database


@pytest.fixture
def connect(url: str) -> Iterator["Connect"]:
    with ExitStack() as stack:
        yield Connect(url, stack)


class Connect:
    """Connections of workers; all are closed at the end."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        self._url = url
        self._stack = stack

    def __call__(self, worker: str) -> Connection:
        name = heartbeats.application_name(worker)
        made = psycopg.connect(self._url, autocommit=True, application_name=name)
        return self._stack.enter_context(closing(made))


def silent_for(connection: Connection, worker: str, seconds: float) -> None:
    """As if it had not beaten since."""
    done = connection.execute(
        "UPDATE sq_workers SET beat_at = now() - make_interval(secs => %s) WHERE name = %s",
        (seconds, worker),
    )
    assert done.rowcount == 1


def workers(connection: Connection) -> list[object]:
    return [row[0] for row in connection.execute("SELECT name FROM sq_workers ORDER BY name")]


def is_cut(connection: Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


def test_who_beats_is_left_alone(connect: Connect) -> None:
    here, there = connect(HERE), connect(THERE)
    heartbeats.join(there, THERE, "1", places=2)
    silent_for(there, THERE, TIMEOUT - 5)
    assert heartbeats.evict(here, TIMEOUT) == {}
    silent_for(there, THERE, TIMEOUT + 5)
    assert heartbeats.beat(there, THERE, stood_still=False) is Heard.WELL
    assert heartbeats.evict(here, TIMEOUT) == {}
    assert not is_cut(there)


def test_who_is_silent_loses_its_row_and_all_its_connections(connect: Connect, url: str) -> None:
    here, member = connect(HERE), connect(THERE)
    for connection, worker in ((here, HERE), (member, THERE)):
        heartbeats.hold(connection, worker)
        heartbeats.join(connection, worker, "1", places=2)
    pool = make_engine(url, heartbeats.application_name(THERE))
    with pool.connect() as in_transaction:
        in_transaction.execute(sa.text("SELECT 1"))
        silent_for(member, THERE, TIMEOUT + 5)
        assert not heartbeats.may_hold(here, THERE)
        late = heartbeats.evict(here, TIMEOUT)
        assert late == {THERE: pytest.approx(TIMEOUT + 5, abs=4)}
        assert workers(here) == [HERE]
        until(lambda: is_cut(member), "its lock is gone")
        with pytest.raises(sa.exc.OperationalError):
            in_transaction.execute(sa.text("SELECT 1"))
        in_transaction.invalidate()
    pool.dispose()
    until(lambda: heartbeats.may_hold(here, THERE), "its lock can be had")
    back = connect(THERE)
    late_beat = heartbeats.beat(back, THERE, stood_still=True)
    assert late_beat is Heard.BY_NOBODY, "it finds that it is late"
    assert not is_cut(here)


def test_time_passes_only_where_a_worker_beats(connect: Connect) -> None:
    here, there = connect(HERE), connect(THERE)
    assert heartbeats.is_fresh(here, THERE), "of the version before: it does not beat"
    heartbeats.join(there, THERE, "1", places=2)
    assert heartbeats.is_fresh(here, THERE)
    silent_for(there, THERE, FRESH_SECONDS + 1)
    assert not heartbeats.is_fresh(here, THERE)
    assert heartbeats.beat(there, THERE, stood_still=True) is Heard.WELL
    assert not heartbeats.is_fresh(here, THERE), "its agents' logs do not tell of the gap yet"
    assert heartbeats.beat(there, THERE, stood_still=False) is Heard.WELL
    assert not heartbeats.is_fresh(here, THERE)
    settled = there.execute(
        "UPDATE sq_workers SET settled_at = settled_at - make_interval(secs => %s)",
        (SETTLED_SECONDS,),
    )
    assert settled.rowcount == 1
    assert heartbeats.is_fresh(here, THERE)


def test_who_leaves_is_not_waited_for(connect: Connect) -> None:
    here, there = connect(HERE), connect(THERE)
    heartbeats.join(there, THERE, "1", places=2)
    heartbeats.leave(there, THERE)
    assert workers(here) == []
    assert heartbeats.evict(here, 0) == {}


@contextmanager
def watching(url: str, timeout_seconds: float) -> Iterator[tuple[ClusterMembership, list[str]]]:
    """A worker with its fence, and whom it has taken over."""
    taken: list[str] = []
    member = ClusterMembership(url, HERE, timeout_seconds, lambda: 0.0, lambda _: None)
    member.watch(1, Listener(taken.append, lambda _: None, lambda: None))
    try:
        yield member, taken
    finally:
        member.leave()


def test_nothing_stays_of_who_has_died(url: str, connect: Connect) -> None:
    there = connect(THERE)
    heartbeats.hold(there, THERE)
    heartbeats.join(there, THERE, "1", places=2)
    with watching(url, TIMEOUT) as (member, taken):
        member.take_over(THERE)
        assert taken == [], "it lives"
        there.close()

        def taken_over() -> list[str]:
            member.take_over(THERE)
            return taken

        until(taken_over, "its lock is free")
        assert workers(connect(HERE)) == [HERE]
    assert workers(connect(HERE)) == []


def test_who_was_late_itself_evicts_nobody(url: str, connect: Connect) -> None:
    """Where the database stood still, everybody is late, and nobody is to blame."""
    there = connect(THERE)
    with watching(url, 1.0) as (member, taken):
        heartbeats.hold(there, THERE)
        heartbeats.join(there, THERE, "1", places=2)
        silent_for(there, THERE, TIMEOUT)
        member.look()
        assert THERE in workers(connect(HERE)), "it has not watched for long enough"
        assert not member.is_at_work(THERE)

        def evicted() -> bool:
            member.look()
            return is_cut(there)

        until(evicted, "it has watched for a second")

        def taken_over() -> list[str]:
            member.take_over(THERE)
            return taken

        assert until(taken_over, "its work is taken over") == [THERE]
        assert member.is_at_work(HERE)
