"""A database for each campaign."""

from collections.abc import Iterator

import pytest

from tests.contract.store_support import own_postgresql_database


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The URL of a PostgreSQL database of the test's own; None: SQLite in the data directory."""
    if request.param == "sqlite":
        yield None
        return
    with own_postgresql_database() as url:
        yield url
