"""Two processes behind PgBouncer in session mode: what they need of the server works there."""

import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.crash.bouncer import SERVER_CONNECTIONS, bouncer
from tests.crash.own_postgres import own_postgres
from tests.crash.site import WORKERS
from tests.crash.test_membership import shift
from tests.crash.test_postgres_restart import TAKES_OVER, unharmed, until_says

pytestmark = [pytest.mark.crash, pytest.mark.full]

AGENTS = 2 * WORKERS + 1
BESIDE_THE_POOL = 3
POOL = 10


def test_a_dead_worker_is_noticed_and_its_agents_are_taken_over(tmp_path: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as directory,
        own_postgres() as database,
    ):
        Path(directory).chmod(0o755)
        with bouncer(Path(directory), database.url) as url, shift(tmp_path, url) as team:
            team.open(AGENTS)
            at_work = team.until_waiting(2 * WORKERS)
            members = team.here.members
            assert connections(database.url) <= 2 * (POOL + BESIDE_THE_POOL) < SERVER_CONNECTIONS
            dead = next(each for each in members if f"-{each.pid}-" in (at_work[0].worker or ""))
            [left] = [each for each in members if each is not dead]
            dead.kill()
            until_says(left, TAKES_OVER)
            team.go()
            dead.start()
            dead.until_ready()
            team.until_handed_over(AGENTS)
            unharmed(team)


def connections(url: str) -> int:
    """As the server sees them, without this one."""
    with psycopg.connect(url) as here:
        row = here.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            " AND pid <> pg_backend_pid()"
        ).fetchone()
    assert row is not None
    return int(row[0])
