"""Which programs agents find."""

import os
from pathlib import Path

import pytest

from app.adapters.sandbox import search_path

SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def test_the_services_own_path_is_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"/opt/squadron/bin:{os.environ['PATH']}")
    assert search_path(()) == SYSTEM


def test_programs_of_what_is_mounted_come_first(tmp_path: Path) -> None:
    for name in ("node/bin", "tools/bin", "cache/wheels"):
        (tmp_path / name).mkdir(parents=True)
    mounts = (tmp_path / "node", tmp_path / "cache", tmp_path / "tools/bin", tmp_path / "gone")
    assert search_path(mounts) == f"{tmp_path}/node/bin:{tmp_path}/tools/bin:{SYSTEM}"
