"""What all stories need of their process."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A story signs with a short key, for checking a long one takes longer than the story."""
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker(pytest.mark.filterwarnings("ignore:.*1024 bits"))


@pytest.fixture(scope="session", autouse=True)
def what_was_imported_stays() -> Iterator[None]:
    """Looking through all of it again and again takes longer than most stories."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
