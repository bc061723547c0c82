"""Conversations in one piece: plain files alone go in, and come out below one directory."""

import io
import os
import socket
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.workspace import packed as module
from app.adapters.workspace.packed import TooMuch, packed, unpack

MOST = 2**20
NAMES = st.text("abc.-_é ", min_size=1, max_size=8).filter(lambda name: name not in (".", ".."))
TREES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=3).map(tuple), st.binary(max_size=200), max_size=6
)


def written(directory: Path, tree: dict[tuple[str, ...], bytes]) -> dict[Path, bytes]:
    """What of it could be written: a name is a file or a directory."""
    directory.mkdir()
    for parts, content in tree.items():
        file = directory.joinpath(*parts)
        if file.exists() or any(parent.is_file() for parent in file.parents):
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return content_of(directory)


def content_of(directory: Path) -> dict[Path, bytes]:
    return {
        file.relative_to(directory): file.read_bytes()
        for file in directory.rglob("*")
        if file.is_file()
    }


@settings(deadline=None)
@given(tree=TREES)
def test_what_was_packed_comes_out_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[tuple[str, ...], bytes]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    held = written(root / "before", tree)
    once, again = (packed(root / "before", (), MOST) for _ in range(2))
    assert once == again, "equal files give equal bytes"
    unpack(once, root / "after")
    assert content_of(root / "after") == held


def test_links_pipes_sockets_and_what_is_left_out_are_not_packed(tmp_path: Path) -> None:
    directory, secret = tmp_path / "session", tmp_path / "secret"
    secret.write_text("canary")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("canary")
    (directory / "tmp" / "deep").mkdir(parents=True)
    (directory / "tmp" / "deep" / "cache").write_text("canary")
    (directory / "sub" / "tmp").mkdir(parents=True)
    (directory / "sub" / "tmp" / "kept").write_text("kept")
    (directory / "link").symlink_to(secret)
    (directory / "links").symlink_to(tmp_path / "secrets")
    os.mkfifo(directory / "pipe")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(directory / "door"))
        content = packed(directory, ("tmp",), MOST)
    unpack(content, tmp_path / "after")
    assert content_of(tmp_path / "after") == {Path("sub/tmp/kept"): b"kept"}


def test_what_is_too_much_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noise").write_bytes(os.urandom(2_000))
    assert len(packed(tmp_path, (), 4_000)) < 4_000
    with pytest.raises(TooMuch):
        packed(tmp_path, (), 1_000)
    monkeypatch.setattr(module, "MOST_UNPACKED_BYTES", 1_999)
    with pytest.raises(TooMuch):
        packed(tmp_path, (), 4_000)
    monkeypatch.undo()
    monkeypatch.setattr(module, "MOST_FILES", 1)
    (tmp_path / "more").touch()
    with pytest.raises(TooMuch):
        packed(tmp_path, (), 4_000)


def archive(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as made:
        for entry, content in entries:
            entry.size = len(content)
            made.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def link_to(target: str, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo("link")
    entry.type, entry.linkname = kind, target
    return entry


@pytest.mark.parametrize(
    "entry",
    [
        tarfile.TarInfo("../escaped"),
        tarfile.TarInfo("a/../../escaped"),
        tarfile.TarInfo("/tmp/escaped"),
        link_to("/etc/passwd", tarfile.SYMTYPE),
        link_to("../escaped", tarfile.LNKTYPE),
    ],
    ids=["above", "above below", "absolute", "symbolic link", "hard link"],
)
def test_an_archive_of_somebody_else_writes_nothing_outside(
    tmp_path: Path, entry: tarfile.TarInfo
) -> None:
    content = archive((entry, b"" if entry.linkname else b"mine"))
    with pytest.raises(tarfile.TarError):
        unpack(content, tmp_path / "session")
    assert [file for file in tmp_path.rglob("*") if not file.is_dir()] == []


def test_an_archive_that_becomes_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_UNPACKED_BYTES", 10)
    unpack(archive((tarfile.TarInfo("fits"), bytes(10))), tmp_path / "fits")
    with pytest.raises(TooMuch):
        unpack(archive((tarfile.TarInfo("large"), bytes(11))), tmp_path / "large")
