"""Alembic's entry: migrates over the connection that `schema.migrate` hands in."""

from alembic import context

from app.adapters.store.migrations import VERSION_TABLE, is_ours
from app.adapters.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    include_name=is_ours,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite cannot alter most of a table in place
)
context.run_migrations()
