"""Empty databases of each kind that this machine offers."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from app.adapters.clock import new_name
from app.adapters.store.database import make_engine

_SERVER: Final = os.environ.get("SQUADRON_TEST_POSTGRES_URL", "")
KINDS: Final = ("SQLite", "PostgreSQL") if _SERVER else ("SQLite",)
"""PostgreSQL where `SQUADRON_TEST_POSTGRES_URL` names a server for tests."""


@contextmanager
def empty(kind: str) -> Iterator[str]:
    """The address of a database of its own; gone afterwards."""
    if kind == "SQLite":
        with tempfile.TemporaryDirectory(prefix="squadron-bench-") as directory:
            yield f"sqlite:///{Path(directory) / 'squadron.sqlite3'}"
        return
    name = f"squadron_bench_{new_name()}"
    admin = make_engine(_SERVER).execution_options(isolation_level="AUTOCOMMIT")
    try:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield sa.make_url(_SERVER).set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        admin.dispose()
