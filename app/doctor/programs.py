"""What Squadron starts: is it there, and is it what was tried?"""

import asyncio
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Final

from app.config.settings import Settings
from app.doctor.check import Check
from app.doctor.runtimes import Cli, cli_of, lacks, version_said

GIT_SECONDS: Final = 10
OLDEST_GIT: Final = (2, 39)
PROGRAMS: Final = {"git": "git", "setpriv": "util-linux", "prlimit": "util-linux", "bash": "bash"}
"""What Squadron starts, and the package that brings it."""
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")


def runtimes(settings: Settings) -> Iterator[Check]:
    """What the roles may name besides `embedded`, which is always there."""
    for runtime, problem in lacks(settings.copilot_cli).items():
        name = f"runtime {runtime}"
        if problem and runtime == "copilot" and settings.copilot_cli is not None:
            yield Check(name, False, f"no role can use it: {problem}", problem)
        elif problem:
            yield Check(name, True, f"no role can use it: {problem}")
        else:
            yield _version(name, cli_of(runtime, settings.copilot_cli))


def _version(name: str, cli: Cli) -> Check:
    """Whether the program is the one that Squadron was tried with."""
    try:
        said = asyncio.run(version_said(cli))
    except OSError as error:
        said = f"{error.strerror}"
    numbers = _VERSION.findall(said)
    if cli.version in numbers:
        return Check(name, True, f"{cli.program} is version {cli.version}")
    heard = f"says {said.splitlines()[0]!r}" if said else "says nothing"
    wanted = f"version {cli.version}"
    words = f"{cli.program} {heard} to --version, and {wanted} is what was tried"
    return Check(name, False, words, f"install {wanted} of it")


def programs() -> Iterator[Check]:
    """What every installation needs."""
    for program, package in PROGRAMS.items():
        found = shutil.which(program)
        if found is None:
            yield Check(program, False, "is not there", f"install {package}")
        elif program == "git":
            yield _git(found)
        else:
            yield Check(program, True, found)


def _git(program: str) -> Check:
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, timeout=GIT_SECONDS, check=False
    )
    said = done.stdout.strip() or done.stderr.strip()
    numbers = [int(part) for part in said.split(" ")[-1].split(".")[:2] if part.isdigit()]
    wanted = ".".join(map(str, OLDEST_GIT))
    is_new = tuple(numbers) >= OLDEST_GIT
    return Check("git", is_new, said, "" if is_new else f"install git {wanted} or newer")
