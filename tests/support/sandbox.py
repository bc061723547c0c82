"""Where tests need the sandbox, or need to be without."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from app.adapters.sandbox.hierarchies import CGROUPS

_TRIAL: Final = ("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true")
_TRIAL_SECONDS: Final = 30


def _missing() -> str:
    """Why this machine can have no sandbox, in words; empty where it can.

    The machine is asked, not Squadron: a broken sandbox must fail its tests, not skip them.
    """
    if shutil.which("bwrap") is None:
        return "needs bubblewrap"
    tried = subprocess.run(_TRIAL, capture_output=True, timeout=_TRIAL_SECONDS, check=False)
    if tried.returncode != 0:
        return f"needs namespaces: {tried.stderr.decode(errors='replace').strip()[:200]}"
    if os.getuid() == 0 and not _makes_control_groups():
        return "needs control groups, since no resource limit binds the superuser"
    return ""


def _makes_control_groups() -> bool:
    for parent in (CGROUPS / "pids", CGROUPS):
        with suppress(OSError):
            group = parent / f"squadron-trial-{os.getpid()}"
            group.mkdir()
            group.rmdir()
            return True
    return False


MISSING: Final = _missing()
HAS_SANDBOX: Final = not MISSING
BUBBLEWRAP = pytest.mark.skipif(not HAS_SANDBOX, reason=MISSING)


def path_without_bubblewrap(directory: Path) -> str:
    """A `PATH` that has every other program of this machine's."""
    programs = directory / "programs"
    programs.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            link = programs / program.name
            if program.name != "bwrap" and not link.is_symlink():
                link.symlink_to(program)
    return str(programs)
