"""A process whose memory and environment other processes of its user do not get to see."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.adapters import secrecy

PROJECT = Path(__file__).parents[2]
LOOKS = "grep -qz 'KEY=s3cret' /proc/$PPID/environ && echo seen; head -c 1 /proc/$PPID/maps"


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_another_process_of_the_same_user_reads(is_kept: bool) -> None:
    program = (
        f"{Path(secrecy.__file__).read_text()}\n"  # whose directory that user may not enter
        "import subprocess\n"
        f"keep_to_itself() if {is_kept} else None\n"
        f"done = subprocess.run(['sh', '-c', {LOOKS!r}], capture_output=True, text=True)\n"
        "print(done.stdout, done.stderr)\n"
        "print(subprocess.run(['cat', '/proc/self/environ'], capture_output=True).returncode)\n"
    )
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
    before = as_nobody if os.getuid() == 0 else []
    interpreter = shutil.which("python3", path="/usr/bin") if before else sys.executable
    if interpreter is None:
        pytest.skip("there is no Python that another user may start")
    done = subprocess.run(
        [*before, interpreter, "-c", program],
        env={"KEY": "s3cret", "PATH": "/usr/bin:/bin"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ("seen" in done.stdout) is not is_kept
    assert ("Permission denied" in done.stdout) is is_kept
    assert done.stdout.rstrip().endswith("\n0"), "what it starts sees itself"


@pytest.mark.parametrize(
    "serves", ["serve_with(Adapters(), '127.0.0.1', 0)", "work_with(Adapters(), '127.0.0.1', 0)"]
)
def test_who_serves_and_who_works_keep_to_themselves(serves: str) -> None:
    """Before they read any secret: here, none is there."""
    program = (
        "import ctypes\n"
        "from app.bootstrap import Adapters\n"
        "from app.cli.serve import serve_with, work_with\n"
        "try:\n"
        f"    {serves}\n"
        "finally:\n"
        "    print('dumpable:', ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0, "there is no configuration"
    assert done.stdout.rstrip().endswith("dumpable: 0"), done.stderr
