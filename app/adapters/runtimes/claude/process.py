"""The CLI as a child process: exactly the environment that it is given, and an end for all of it.

The SDK's own way to start it hands over the service's whole environment (facts, agent-runtimes,
section 4) and waits for seconds when it has to end; so this takes its place. The child leads a
session of its own, dies with the thread of the event loop, and is told from others by its variable.
"""

import asyncio
import os
import shutil
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from errno import ENOENT
from pathlib import Path
from typing import Any, Final

from claude_agent_sdk import Transport

from app.adapters.runtimes.claude.bounds import Bounds
from app.core.text.redact import redact
from app.core.text.unicode import read_json

_DIES_WITH_PARENT: Final = ("setpriv", "--pdeathsig", "KILL", "--")
_REAP_SECONDS: Final = 5.0
_MOST_ERROR_LINES: Final = 20
_MOST_ERROR_CHARACTERS: Final = 600


class CliFailed(Exception):
    """The CLI cannot be used; the text is for people."""


class CliProcess(Transport):
    """A `Transport` of the SDK: messages as JSON lines over the CLI's stdin and stdout."""

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        bounds: Bounds,
        before: Sequence[str] = (),
    ) -> None:
        """`before` stands before the command line."""
        self._argv = argv
        self._before = before
        self._cwd = cwd
        self._environment = dict(environment)
        self._bounds = bounds
        self._process: asyncio.subprocess.Process | None = None
        self._errors: deque[str] = deque(maxlen=_MOST_ERROR_LINES)
        self._reading_errors: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._is_ending = False

    @property
    def pid(self) -> int | None:
        """Of the CLI, once it was started; it leads a process group."""
        return None if self._process is None else self._process.pid

    async def connect(self) -> None:
        """Start it. Raises `CliFailed`."""
        launcher = shutil.which(_DIES_WITH_PARENT[0])
        try:
            if launcher is None:
                raise FileNotFoundError(ENOENT, "install util-linux, Squadron needs it")
            if not os.access(self._argv[0], os.X_OK):  # setpriv would say so, less well
                raise CliFailed(f"{self._argv[0]} is not there, or may not be executed")
            self._process = await asyncio.create_subprocess_exec(
                launcher,
                *_DIES_WITH_PARENT[1:],
                *self._before,
                *self._argv,
                cwd=self._cwd,
                env=self._environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=self._bounds.most_message_bytes,
                start_new_session=True,
            )
        except OSError as error:
            raise CliFailed(f"{self._argv[0]} cannot be started: {error}") from error
        self._reading_errors = asyncio.create_task(self._read_errors(self._process))

    async def write(self, data: str) -> None:
        """Say something to it. Raises `CliFailed`."""
        process = self._process
        if process is None or process.stdin is None or self._is_ending:
            raise CliFailed("it was not started, or is ending")
        async with self._writing:
            try:
                process.stdin.write(data.encode())
                await process.stdin.drain()
            except OSError as error:
                raise CliFailed(await self._why_it_ended(process)) from error

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """What it says, until it is ended from here. Raises `CliFailed` if it ends by itself."""
        process = self._process
        if process is None or process.stdout is None:
            raise CliFailed("it was not started")
        garbage = 0
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError as error:
                size = self._bounds.most_message_bytes
                raise CliFailed(f"one message of it is larger than {size} bytes") from error
            if not line:
                break
            message = _message(line)
            if message is not None:
                yield message
            elif line.strip():
                garbage += 1
                self._errors.append(line.decode(errors="replace").strip())
            if garbage > self._bounds.most_garbage_lines:
                raise CliFailed(f"what it says cannot be understood{self._last_errors()}")
        if not self._is_ending:
            raise CliFailed(await self._why_it_ended(process))

    async def end_input(self) -> None:
        """Nothing more is said to it: it saves the conversation and ends."""
        self._is_ending = True
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    async def ended(self, within_seconds: float) -> bool:
        """Whether it has ended, or does so in this time."""
        if self._process is None:
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(within_seconds):
                await self._process.wait()
        return self._process.returncode is not None

    async def close(self) -> None:
        """Kill it with its group; bounded. What left the group is found by its variable."""
        self._is_ending = True
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await self.ended(_REAP_SECONDS)
        if process.stdin is not None:
            process.stdin.close()
        if self._reading_errors is not None:
            self._reading_errors.cancel()
            await asyncio.wait([self._reading_errors])

    def is_ready(self) -> bool:
        """Whether it can be talked to."""
        return self._process is not None and not self._is_ending

    async def _why_it_ended(self, process: asyncio.subprocess.Process) -> str:
        if not await self.ended(_REAP_SECONDS):
            return f"it closed its output and still runs{self._last_errors()}"
        if self._reading_errors is not None:
            await asyncio.wait([self._reading_errors], timeout=1.0)
        code = process.returncode
        how = f"exit code {code}" if code is None or code >= 0 else f"signal {-code}"
        return f"it ended with {how}{self._last_errors()}"

    def _last_errors(self) -> str:
        said = redact(" ".join(self._errors))[-_MOST_ERROR_CHARACTERS:]
        return f"; it said: {said}" if said else ""

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while chunk := await process.stderr.read(4_096):
            lines = chunk.decode(errors="replace").splitlines()
            self._errors.extend(line.strip() for line in lines if line.strip())


def _message(line: bytes) -> dict[str, Any] | None:
    try:
        message = read_json(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
