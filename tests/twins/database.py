"""Databases of stories: real ones, which were migrated once and are emptied for each story."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import sqlalchemy as sa

from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate


def memory() -> str | None:
    """Where files need no disk, if there is such a place."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Database:
    """The database of one story after the other: one engine, which has compiled its statements
    once, on a file that is made anew for each of them."""

    def __init__(self) -> None:
        self._directory = TemporaryDirectory(prefix="squadron-stories-", dir=memory())
        self._path = Path(self._directory.name, "squadron.sqlite")
        self._empty = self._path.with_name("empty.sqlite")
        self.url = f"sqlite:///{self._path}"
        self.engine = make_engine(self.url)
        self.is_away = False
        """Whether it answers nothing that the service asks of its own tables."""
        sa.event.listen(self.engine, "before_cursor_execute", self._refuse)
        migrate(self.engine)
        with self.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        self.engine.dispose()
        shutil.copy(self._path, self._empty)

    def renew(self) -> None:
        """From now on all tables are empty."""
        self.is_away = False
        self.engine.dispose()
        for path in self._directory_files():
            path.unlink()
        shutil.copy(self._empty, self._path)

    def _refuse(self, *asked: object) -> None:
        statement = str(asked[2])
        if self.is_away and "sq_" in statement:
            raise sa.exc.OperationalError(statement, None, OSError("database is locked"))

    def _directory_files(self) -> list[Path]:
        return [*self._path.parent.glob(f"{self._path.name}*")]


_free: Final[list[Database]] = []
"""Databases that no story uses now."""


@contextmanager
def fresh_database() -> Iterator[Database]:
    """An empty one."""
    database = _free.pop() if _free else Database()
    database.renew()
    try:
        yield database
    finally:
        _free.append(database)
