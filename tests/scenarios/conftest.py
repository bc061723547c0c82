"""Databases for the stories: SQLite for all, PostgreSQL as well for those marked so.

Told on PostgreSQL, a story is in the tier `full`, unless its mark says that it is quick.
"""

from collections.abc import Iterator

import pytest

from tests.contract.store_support import own_postgresql_database


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "both_databases(quick=False): a story that PostgreSQL has to tell too"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "database_url" in metafunc.fixturenames:
        databases: list[object] = ["sqlite"]
        if both := metafunc.definition.get_closest_marker("both_databases"):
            tier = () if both.kwargs.get("quick") else (pytest.mark.full,)
            databases.append(pytest.param("postgresql", marks=tier))
        metafunc.parametrize("database_url", databases, indirect=True, scope="module")


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """A database of the module's own; None: SQLite in the data directory."""
    if request.param == "sqlite":
        yield None
        return
    with own_postgresql_database() as url:
        yield url
