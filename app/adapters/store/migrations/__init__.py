"""How our tables came to be; forward only. `schema.migrate` runs them.

A migration expands what is there: processes of the version before write and read on while the first
of this version has migrated. So a table or a column that the version before knows stays as it is,
and a new column of its tables may be left out. What nobody needs any more goes a version later.
"""

from typing import Final

from app.adapters.store.tables import PREFIX

VERSION_TABLE: Final = f"{PREFIX}migrations"


def is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Only our tables: on SQLite the durable engine's share the file, and are not ours to drop."""
    return kind != "table" or (name is not None and name.startswith(PREFIX))
