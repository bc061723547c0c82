"""The database: inbox, registry, event logs and effects, on SQLite (WAL) and PostgreSQL."""
