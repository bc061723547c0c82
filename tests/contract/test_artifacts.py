"""What is kept of agents: in the database, in a directory, or in a bucket of an S3 server."""

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec.registry import _registry
from moto.server import ThreadedMotoServer

from app.adapters.artifacts import FileArtifacts, SharedFiles, artifact_problems, artifacts_at
from app.adapters.clock import new_name
from app.ports import Artifact, ArtifactKind, Artifacts, StoreUnavailable
from tests.contract.store_support import World, later
from tests.support.moves import begin

SAID, WORK = ArtifactKind.CONVERSATION, ArtifactKind.WORK
BUCKET = "squadron-artifacts"


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of a server that keeps buckets in memory."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty bucket, which the environment opens."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "squadron")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not a secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    name = f"{BUCKET}-{new_name()}".lower()
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir(name)
    return f"s3://{name}/agents"


@pytest.fixture(params=["directory", "bucket"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "bucket":
        return str(request.getfixturevalue("bucket"))
    return str(tmp_path / "artifacts")


@pytest.fixture
def files_in(address: str) -> Callable[[], list[str]]:
    """The names of all files that are there."""

    def found() -> list[str]:
        files, root = fsspec.url_to_fs(address, skip_instance_cache=True)
        return sorted(Path(name).name for name in files.find(root))

    return found


def kept_at(address: str, world: World) -> Artifacts:
    return artifacts_at(address, world.store, new_name)


async def test_what_was_kept_last_is_had(
    address: str, world: World, files_in: Callable[[], list[str]]
) -> None:
    agent, artifacts = await world.an_active(1), kept_at(address, world)
    assert await artifacts.artifact(agent.id, SAID) is None
    for artifact in (Artifact(b"\0first", 1), Artifact(b"second" * 100_000, 7)):
        assert await artifacts.keep_artifact(agent, SAID, artifact)
        assert await artifacts.keep_artifact(agent, WORK, Artifact(b"", artifact.model_calls))
        assert await artifacts.artifact(agent.id, SAID) == artifact
        assert len(files_in()) == 1, "the one before is deleted, and nothing needs no file"
    assert await artifacts.artifact(agent.id, WORK) == Artifact(b"", 7)
    row = await world.store.artifact(agent.id, SAID)
    assert row is not None and len(row.content) < 200, "the database names the file alone"
    await artifacts.forget_artifacts(agent.id)
    assert await artifacts.artifact(agent.id, SAID) is None
    assert files_in() == []
    await artifacts.forget_artifacts(agent.id)


async def test_who_comes_late_overwrites_nothing_and_leaves_nothing(
    address: str, world: World, files_in: Callable[[], list[str]]
) -> None:
    late, artifacts = await world.an_active(1), kept_at(address, world)
    now = await begin(world.store, late.id, late.segment, "another", later(1))
    assert now is not None
    assert await artifacts.keep_artifact(now, SAID, Artifact(b"newer", 2))
    [name] = files_in()
    assert not await artifacts.keep_artifact(late, SAID, Artifact(b"older", 1))
    assert await artifacts.artifact(late.id, SAID) == Artifact(b"newer", 2)
    assert files_in() == [name]


async def test_a_file_that_is_gone_or_damaged_is_none(
    address: str, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    agent, artifacts = await world.an_active(1), kept_at(address, world)
    assert await artifacts.keep_artifact(agent, SAID, Artifact(b"said", 2))
    files, root = fsspec.url_to_fs(address, skip_instance_cache=True)
    [name] = files.find(root)
    files.pipe_file(name, b"sai")
    with caplog.at_level(logging.WARNING):
        assert await artifacts.artifact(agent.id, SAID) is None
        files.rm(name)
        assert await artifacts.artifact(agent.id, SAID) is None
    said = [each.getMessage() for each in caplog.records if each.name == "squadron.artifacts"]
    assert [words.partition(":")[0] for words in said] == [
        "a kept file is damaged",
        "a kept file is gone",
    ]


async def test_what_the_database_kept_before_counts_on(address: str, world: World) -> None:
    agent = await world.an_active(1)
    assert await world.store.keep_artifact(agent, SAID, Artifact(b"said", 2))
    artifacts = kept_at(address, world)
    assert await artifacts.artifact(agent.id, SAID) == Artifact(b"said", 2)
    assert await artifacts.keep_artifact(agent, SAID, Artifact(b"more", 3))
    assert await artifacts.artifact(agent.id, SAID) == Artifact(b"more", 3)


async def test_whether_it_can_be_used_is_tried(
    address: str, files_in: Callable[[], list[str]]
) -> None:
    await SharedFiles(address).trial("trial")
    assert files_in() == []


async def test_a_server_that_is_away_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "squadron")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not a secret")
    agent, artifacts = await world.an_active(1), kept_at(f"s3://{BUCKET}/agents", world)
    with pytest.raises(StoreUnavailable, match=r"^s3://squadron-artifacts/agents: .*127\.0\.0\.1"):
        await artifacts.keep_artifact(agent, SAID, Artifact(b"said", 2))
    assert await world.store.artifact(agent.id, SAID) is None


async def test_what_cannot_be_deleted_now_is_deleted_later(world: World, tmp_path: Path) -> None:
    kept, away = tmp_path / "kept", tmp_path / "away"
    agent, artifacts = await world.an_active(1), kept_at(str(kept), world)
    assert await artifacts.keep_artifact(agent, SAID, Artifact(b"said", 2))
    kept.rename(away)
    kept.touch()
    await artifacts.forget_artifacts(agent.id)
    kept.unlink()
    away.rename(kept)
    assert await artifacts.artifact(agent.id, SAID) == Artifact(b"said", 2)
    await artifacts.forget_artifacts(agent.id)
    assert await artifacts.artifact(agent.id, SAID) is None
    assert not [each for each in kept.rglob("*") if each.is_file()]


async def test_a_directory_that_cannot_be_written_is_said(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    agent, artifacts = await world.an_active(1), kept_at(str(tmp_path / "file" / "in"), world)
    with pytest.raises(StoreUnavailable, match="Not a directory"):
        await artifacts.keep_artifact(agent, SAID, Artifact(b"said", 2))


async def test_a_directory_is_for_this_user_alone(world: World, tmp_path: Path) -> None:
    agent, artifacts = await world.an_active(1), kept_at(str(tmp_path / "kept"), world)
    assert await artifacts.keep_artifact(agent, SAID, Artifact(b"said", 2))
    assert (tmp_path / "kept").stat().st_mode & 0o077 == 0


def test_without_the_library_of_such_addresses_nothing_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert artifact_problems(f"s3://{BUCKET}") == artifact_problems("/kept") == []
    assert artifact_problems(None) == []
    monkeypatch.delitem(_registry, "s3")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    [said] = artifact_problems(f"s3://{BUCKET}")
    assert said.startswith(f"SQUADRON_ARTIFACTS: s3://{BUCKET}: ") and "extra `s3`" in said


async def test_without_an_address_it_is_the_database(world: World) -> None:
    store = world.store
    assert artifacts_at(None, store, new_name) is store
    assert isinstance(kept_at("/anywhere", world), FileArtifacts)
