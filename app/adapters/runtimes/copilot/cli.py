"""The process of the Copilot CLI: started in a group of its own, watched, ended with its kin."""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from errno import ENOENT
from pathlib import Path
from typing import Any, Final

from copilot import CopilotClient, RuntimeConnection

from app.adapters.runtimes.copilot.bounds import Bounds
from app.adapters.runtimes.copilot.installed import CLI_VERSION
from app.adapters.runtimes.copilot.options import SESSION_VARIABLE
from app.ports import Processes

_LAUNCHER: Final = ("setsid", "setpriv", "--pdeathsig", "KILL", "--")
"""A group of its own; it dies with the thread that started it, which is the event loop's."""

_FITTING: Final = (
    f"another version than {CLI_VERSION} may not fit: npm install -g @github/copilot@{CLI_VERSION}"
)


class CliFailed(Exception):
    """The CLI did not start or does not answer; the text is for people."""


class Cli:
    """One process. Use it from the event loop's thread only."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        processes: Processes,
        bounds: Bounds,
    ) -> None:
        """`command` starts the CLI; its environment names the session (`SESSION_VARIABLE`)."""
        self._command = command
        self._environment = dict(environment)
        self._processes = processes
        self._bounds = bounds
        self._process: subprocess.Popen[bytes] | None = None
        self._unwatch: Callable[[], None] = lambda: None
        self.died = asyncio.Event()
        self.client: Any = None

    @property
    def pid(self) -> int | None:
        """Of the process, which leads its group; None: it was not started."""
        return None if self._process is None else self._process.pid

    @property
    def end(self) -> str | None:
        """How it died, in words; None: it has not, as far as is known."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return None
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the Copilot CLI died in the middle of a turn ({how})"

    async def start(self, state: Path, workspace: Path, relay: object) -> None:
        """Start it and shake hands. Raises `CliFailed`; then nothing of it is left."""
        self.client = CopilotClient(
            connection=RuntimeConnection.for_stdio(
                path=_program(_LAUNCHER[0]), args=[*_LAUNCHER[1:], *self._command]
            ),
            mode="empty",
            base_directory=str(state),
            use_logged_in_user=False,
            working_directory=str(workspace),
            env=self._environment,
            log_level="error",
            request_handler=relay,
        )
        starting = asyncio.create_task(self.client.start())
        try:
            await self._started(starting)
        except BaseException:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            await self.stop()
            raise

    async def _started(self, starting: "asyncio.Task[None]") -> None:
        """It must neither die nor take for ever meanwhile."""
        await asyncio.sleep(0)  # the process is started by the first step of the task
        self._watch()
        dying = asyncio.create_task(self.died.wait())
        try:
            await asyncio.wait(
                {starting, dying},
                timeout=self._bounds.start_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            dying.cancel()
        program = self._command[-1]
        if not starting.done():
            if self.died.is_set():
                raise CliFailed(
                    f"the Copilot CLI at {program} ended as soon as it was started; {_FITTING}"
                )
            seconds = self._bounds.start_seconds
            raise CliFailed(f"the Copilot CLI at {program} did not start within {seconds:g} s")
        if (error := starting.exception()) is not None:
            kind = type(error).__name__
            raise CliFailed(
                f"the Copilot CLI at {program} did not start as one ({kind}); {_FITTING}"
            ) from error
        self._watch()

    def _watch(self) -> None:
        """Notice its end at once: the SDK tells nobody."""
        process = self.client._cli_process
        if process is None or self._process is process:
            return
        self._process = process
        loop = asyncio.get_running_loop()
        try:
            pidfd = os.pidfd_open(process.pid)
        except ProcessLookupError:  # it has ended, and its end was taken note of
            self.died.set()
            return

        def unwatch() -> None:
            self._unwatch = lambda: None
            loop.remove_reader(pidfd)
            os.close(pidfd)

        def died() -> None:
            self._unwatch()
            self.died.set()

        self._unwatch = unwatch
        loop.add_reader(pidfd, died)

    async def kill(self) -> None:
        """End it and everything that it started, at once."""
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        session = self._environment[SESSION_VARIABLE]
        await self._processes.kill_marked(session, SESSION_VARIABLE)

    async def stop(self) -> None:
        """As `kill`, and let go of its pipes. May be called more than once."""
        await self.kill()
        self._unwatch()
        if self.client is not None:
            with suppress(Exception):  # what is dead cannot be asked to stop
                async with asyncio.timeout(self._bounds.stop_seconds):
                    await self.client.force_stop()
        process = self._process
        if process is not None:
            await asyncio.to_thread(process.wait, self._bounds.stop_seconds)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def _program(name: str) -> str:
    program = shutil.which(name)
    if program is None:
        raise FileNotFoundError(ENOENT, "install util-linux, Squadron needs it", name)
    return program
