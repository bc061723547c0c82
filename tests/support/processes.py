"""Child processes of the tests, and what is left of the processes of others."""

import os
import random
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

END_SECONDS = 90.0
MOST_TRIES = 100


def base_environment(home: Path) -> dict[str, str]:
    """What every child gets: nothing of the tests' own environment but the path of programs. No
    pages: all would want the same port."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "SQUADRON_PAGES": "off",
    }


def start(
    command: list[str],
    environment: Mapping[str, str],
    stderr: IO[str],
    stdout: IO[str] | int = subprocess.PIPE,
) -> subprocess.Popen[str]:
    """A child that leads a group of its own."""
    return subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str]) -> int:
    """Ask by SIGTERM; its exit code, or -9 when it had to be killed with its group."""
    process.terminate()
    try:
        return process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait(END_SECONDS)
    finally:
        if process.stdout is not None:
            process.stdout.close()


def carrying(text: str) -> dict[int, str]:
    """Processes whose environment contains the text: number → command line."""
    wanted = text.encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):  # gone meanwhile, or somebody else's
            if wanted in (entry / "environ").read_bytes():
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(entry.name)] = command.strip()
    return found


def free_port() -> int:
    """A port that nobody listens on now, and that no outgoing connection takes by chance before
    the service listens: it is not one of those that the kernel gives out."""
    for port in random.SystemRandom().sample(range(10_000, 32_000), MOST_TRIES):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError(f"none of {MOST_TRIES} ports is free")
