"""A PostgreSQL server of a test's own, which it may end at any moment."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.processes import free_port

USER: Final = "postgres"
MOST_SECONDS: Final = 120


class OwnPostgres:
    """One server, in `directory`. It refuses to be run by root, so another user runs it."""

    def __init__(self, programs: Path, directory: Path) -> None:
        self._programs = programs
        self._data = directory / "data"
        self._log = directory / "server.log"
        port = free_port()
        self.url = f"postgresql://{USER}@127.0.0.1:{port}/postgres"
        self._as = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
        self._run("initdb", "-A", "trust", "-U", USER, "-E", "UTF8")
        self._options = f"-p {port} -k {directory} -c listen_addresses=127.0.0.1"
        self.start()

    def restart(self) -> None:
        """End it as a power cut does, and start it again."""
        self._run("pg_ctl", "-w", "-m", "immediate", "-l", str(self._log), "restart")

    def stop(self) -> None:
        """End it as a power cut does."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def start(self) -> None:
        """Start it again."""
        self._run("pg_ctl", "-w", "-l", str(self._log), "-o", self._options, "start")

    def end(self) -> None:
        """Whether it runs or not."""
        if (self._data / "postmaster.pid").exists():
            self.stop()

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._as, str(self._programs / program), "-D", str(self._data), *arguments]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, check=False, timeout=MOST_SECONDS, cwd="/"
        )
        assert done.returncode == 0, f"{program}: {self._said()}"

    def _said(self) -> str:
        return self._log.read_text()[-2_000:] if self._log.exists() else ""


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    """A server until the end of the test."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if not found:
        pytest.skip("PostgreSQL's programs are not installed")
    directory = Path(tempfile.mkdtemp(prefix="squadron-postgres-"))
    if os.geteuid() == 0:
        user = pwd.getpwnam(USER)
        os.chown(directory, user.pw_uid, user.pw_gid)
    server = OwnPostgres(found[-1].parent, directory)
    try:
        yield server
    finally:
        server.end()
        shutil.rmtree(directory)
