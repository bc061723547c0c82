"""Databases for the stories."""

from collections.abc import Iterator

import pytest

from tests.contract.store_support import own_postgresql_database

BOTH = pytest.mark.parametrize(
    "database_url", ["sqlite", "postgresql"], indirect=True, scope="module"
)
"""For modules whose stories are told on both databases."""


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """A database of the module's own; None: SQLite in the data directory."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield None
        return
    with own_postgresql_database() as url:
        yield url
