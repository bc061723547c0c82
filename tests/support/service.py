"""The real service as a process that a story may stop, kill and start again."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.support import processes
from tests.support.waiting import MOST_SECONDS, until


class Service:
    """`squadron serve` on one data directory and one port, started any number of times."""

    def __init__(
        self,
        environment: Mapping[str, str],
        port: int,
        log: Path,
        program: str = "app.cli.main",
        options: Sequence[str] = (),
    ) -> None:
        """`program`: the module that is run as `squadron`; `options`: of its `serve`."""
        self.url = f"http://127.0.0.1:{port}"
        serve = ("serve", "--port", str(port), *options)
        self._command = [sys.executable, "-m", program, *serve]
        self.environment = environment
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self._lines: list[dict[str, Any]] = []
        self._read_bytes = 0
        self._reading = threading.Lock()
        """A step of the scripted model may look at the log while the story does."""
        self.http = httpx.Client(base_url=self.url, timeout=MOST_SECONDS)

    @property
    def pid(self) -> int:
        """Of its process, which has to run."""
        assert self._process is not None, "the service does not run"
        return self._process.pid

    def close(self) -> None:
        """Hang up."""
        self.http.close()

    def start(self) -> None:
        """Start, and wait until it is ready."""
        assert self._process is None, "the service runs already"
        with self._log.open("a") as stderr:
            self._process = processes.start(self._command, self.environment, stderr)
        until(
            self._is_ready,
            "the service is ready",
            within_seconds=MOST_SECONDS,
            failing=self.check_alive,
        )

    def stop(self) -> None:
        """SIGTERM, as a platform stops a service; it has to end well within its bound."""
        process, self._process = self._process, None
        if process is not None:
            exit_code = processes.end(process)
            # The web server ends with the signal it was stopped by, after an orderly shutdown.
            assert exit_code == -signal.SIGTERM and self.lines()[-1]["message"] == "stopped", (
                f"the service ended with {exit_code}: {self.last_words()}"
            )

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        process, self._process = self._process, None
        assert process is not None, "the service does not run"
        process.send_signal(signal.SIGINT)
        process.wait(processes.END_SECONDS)
        if process.stdout is not None:
            process.stdout.close()
        return process.returncode

    def kill(self) -> None:
        """`kill -9`: of the service alone, its children have to be found by others."""
        process, self._process = self._process, None
        assert process is not None, "the service does not run"
        process.kill()
        process.wait(processes.END_SECONDS)
        if process.stdout is not None:
            process.stdout.close()

    def commands(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """`squadron …` by the operator, in a process beside the service."""
        return subprocess.run(
            [sys.executable, "-m", "app.cli.main", *arguments],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )

    def check_alive(self) -> None:
        """Raises when the process has ended by itself."""
        process = self._process
        assert process is None or process.poll() is None, (
            f"the service died with {process.poll()}: {self.last_words()}"
        )

    def lines(self) -> list[dict[str, Any]]:
        """Its structured log so far, over all starts.

        What is no JSON (a library's words, half a line of a process that was killed) has the level
        PLAIN; lines of it that follow each other are one.
        """
        with self._reading:
            self._read_on()
            return [*self._lines]

    def _read_on(self) -> None:
        with self._log.open("rb") as log:
            log.seek(self._read_bytes)
            whole_lines, line_end, _ = log.read().rpartition(b"\n")
        self._read_bytes += len(whole_lines + line_end)
        for line in whole_lines.decode(errors="replace").splitlines():
            try:
                self._lines.append(json.loads(line))
            except ValueError:
                if self._lines and self._lines[-1]["level"] == "PLAIN":
                    self._lines[-1]["message"] += f"\n{line}"
                else:
                    self._lines.append({"level": "PLAIN", "message": line})

    def last_words(self) -> str:
        """The end of its log, for the message of a test that failed."""
        return self._log.read_text()[-6_000:]

    def _is_ready(self) -> bool:
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False
