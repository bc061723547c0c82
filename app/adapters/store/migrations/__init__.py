"""How our tables came to be; forward only. `database.migrate` runs them."""

from typing import Final

from app.adapters.store.tables import PREFIX

VERSION_TABLE: Final = f"{PREFIX}migrations"


def is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Only our tables: on SQLite the durable engine's share the file, and are not ours to drop."""
    return kind != "table" or (name is not None and name.startswith(PREFIX))
