"""Fixtures of the contract tests."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.adapters.workspace import GitWorkspace
from tests.contract.box_support import Rig, rig
from tests.contract.copilot import copilot, copilot_cache
from tests.contract.git_remote import GitRemote, serving, workspaces
from tests.contract.store_support import World, migrated, world
from tests.support.hook import Clone, Start, a_clone, starting

__all__ = ["copilot", "copilot_cache", "migrated", "world"]


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Rig]:
    """A GitHub in a box, with one repository; all that it says is held against the contract."""
    async with rig(tmp_path) as here:
        yield here


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """What the tests of the real hook work in."""
    with a_clone(tmp_path_factory.mktemp("clone")) as made:
        yield made


@pytest.fixture
def start(world: World, clone: Clone) -> Start:
    """Starts an agent with some limits; its gate is the real hook."""
    return starting(world, clone)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where a `workspace` keeps what it has."""
    return tmp_path / "data"


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[GitRemote]:
    """GitHub's git, with one repository."""
    with serving(tmp_path / "remote") as served:
        yield served


@pytest.fixture
def workspace(remote: GitRemote, data: Path) -> GitWorkspace:
    """The real one, over that."""
    return workspaces(data, remote.url, remote.token)
