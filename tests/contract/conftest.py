"""Fixtures of the contract tests."""

from collections.abc import Iterator

import pytest

from tests.contract.copilot import copilot, copilot_cache
from tests.contract.store_support import World, migrated, world
from tests.support.hook import Clone, Start, a_clone, starting

__all__ = ["copilot", "copilot_cache", "migrated", "world"]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """What the tests of the real hook work in."""
    with a_clone(tmp_path_factory.mktemp("clone")) as made:
        yield made


@pytest.fixture
def start(world: World, clone: Clone) -> Start:
    """Starts an agent with some limits; its gate is the real hook."""
    return starting(world, clone)
