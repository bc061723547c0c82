"""What a service takes that has nothing to do: of a core, and of a PostgreSQL server."""

import time
from typing import Final

import sqlalchemy as sa

from app.adapters.store.database import make_engine
from bench import databases, servers

SETTLES_SECONDS: Final = 15
IDLE_SECONDS: Final = 40
AIMS: Final = {"SQLite": "1 % of a core", "PostgreSQL": "10 transactions a second"}


def main() -> None:
    """Print one line for each kind of database."""
    for kind in databases.KINDS:
        with databases.empty(kind) as address, servers.service(address) as server:
            time.sleep(SETTLES_SECONDS)
            cpu_before, done_before = server.cpu_seconds(), _transactions(address)
            time.sleep(IDLE_SECONDS)
            cpu = (server.cpu_seconds() - cpu_before) / IDLE_SECONDS
            done = (_transactions(address) - done_before) / IDLE_SECONDS
        statements = f", {done:.1f} transactions a second" if kind == "PostgreSQL" else ""
        print(f"idle on {kind}: {cpu:.2%} of a core{statements} (aim: {AIMS[kind]})")


def _transactions(address: str) -> int:
    """How many this database has ended; each process tells the server about every second."""
    engine = make_engine(address)
    try:
        if engine.dialect.name != "postgresql":
            return 0
        with engine.connect() as connection:
            done = connection.scalar(
                sa.text(
                    "SELECT xact_commit + xact_rollback FROM pg_stat_database"
                    " WHERE datname = current_database()"
                )
            )
            return int(done or 0)
    finally:
        engine.dispose()


if __name__ == "__main__":
    main()
