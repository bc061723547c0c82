"""The processes of one Squadron, each killed and started again."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.support import processes
from tests.support.waiting import until

READY_SECONDS = 120.0
SQUADRON = ("-m", "app.cli.main")
BLIND = ("-m", "tests.crash.blind")
NAIVE = ("-m", "tests.crash.naive")


class Member:
    """One process of the cluster, started any number of times."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        port: int,
        data: Path,
    ) -> None:
        """`command`: `serve` or `worker`, to listen on that port; `data`: its data directory."""
        self.log = log
        self.data = data
        self._command = [sys.executable, *command, "--port", f"{port}"]
        self._environment = {**environment, "SQUADRON_DATA_DIR": str(data)}
        self.url = f"http://127.0.0.1:{port}"
        self._process: subprocess.Popen[str] | None = None
        self._ready_lines = 0

    def start(self) -> None:
        """Start, and wait for nothing."""
        assert self._process is None, "it runs already"
        self._ready_lines = len(self.lines("serving"))
        with self.log.open("a") as stderr:
            if self.log.stat().st_size and not self.log.read_text().endswith("\n"):
                stderr.write("\n")  # who was killed was writing just then
                stderr.flush()
            self._process = processes.start(self._command, self._environment, stderr)

    @property
    def pid(self) -> int:
        """Of the process that runs now."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    def start_twin(self) -> tuple[int, str]:
        """Start the same once more, beside it on a port of its own: exit code and words of one
        that ends at once."""
        twin = self._run([*self._command, "--port", "0"])
        return twin.returncode, twin.stdout + twin.stderr

    def squadron(self, *arguments: str) -> str:
        """What a command of its operator says."""
        done = self._run([sys.executable, *SQUADRON, *arguments])
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        environment = dict(self._environment)
        return subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=READY_SECONDS,
            check=False,
        )

    def until_ready(self) -> None:
        """Wait until it serves."""
        until(
            self.is_ready,
            "the process serves",
            within_seconds=READY_SECONDS,
            failing=self.check_alive,
        )

    def is_ready(self) -> bool:
        """Whether it serves."""
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2).status_code == 200
        except httpx.TransportError:
            return False

    def lives_again(self) -> bool:
        """Whether it has given up what it held, and serves again."""
        return len(self.lines("serving")) > self._ready_lines + 1 and self.is_ready()

    def check_alive(self) -> None:
        """Raises when the process has ended by itself."""
        process = self._process
        assert process is None or process.poll() is None, (
            f"a process ended by itself with {process.poll()}: {self.log.read_text()[-4_000:]}"
        )

    def kill(self) -> None:
        """`kill -9` of the process alone; what it had started is an orphan now."""
        process, self._process = self._process, None
        assert process is not None, "it does not run"
        process.kill()
        process.wait(processes.END_SECONDS)
        _hang_up(process)

    def end(self) -> int | None:
        """SIGTERM; the exit code, None if it does not run."""
        process, self._process = self._process, None
        return None if process is None else processes.end(process)

    def ended(self) -> int:
        """The exit code of a process that ends by itself."""
        process, self._process = self._process, None
        assert process is not None, "it does not run"
        exit_code = process.wait(processes.END_SECONDS)
        _hang_up(process)
        return exit_code

    def lines(self, message: str) -> list[dict[str, Any]]:
        """Whole lines of its log with that message."""
        whole = self.log.read_text().rpartition("\n")[0] if self.log.exists() else ""
        lines = [line for line in whole.splitlines() if f'"message": "{message}"' in line]
        return [entry for entry in map(_entry, lines) if entry is not None]


def _entry(line: str) -> dict[str, Any] | None:
    """What a line says; None: it was cut off by the death of who wrote it."""
    try:
        entry: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        return None
    return entry


def _hang_up(process: subprocess.Popen[str]) -> None:
    if process.stdout is not None:
        process.stdout.close()
