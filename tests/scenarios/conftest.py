"""Databases for the stories: SQLite for all, PostgreSQL as well for those marked so."""

from collections.abc import Iterator

import pytest

from tests.contract.store_support import own_postgresql_database


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "both_databases: a story that PostgreSQL has to tell too")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "database_url" in metafunc.fixturenames:
        both = metafunc.definition.get_closest_marker("both_databases") is not None
        databases = ["sqlite", "postgresql"] if both else ["sqlite"]
        metafunc.parametrize("database_url", databases, indirect=True, scope="module")


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """A database of the module's own; None: SQLite in the data directory."""
    if request.param == "sqlite":
        yield None
        return
    with own_postgresql_database() as url:
        yield url
