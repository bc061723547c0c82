"""Squadron's own git: every command with an environment built up from nothing, and bounded.

Nothing of the machine's or the user's configuration counts, no hook, monitor or helper runs, and
the repository is always named, so git never discovers (and never trusts) one by itself.
"""

import base64
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.ports import Processes, WorkspaceFailed

NETWORK_SECONDS: Final = 120.0
LOCAL_SECONDS: Final = 60.0
MOST_MESSAGE_CHARACTERS: Final = 600
SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_SETTINGS: Final[Mapping[str, str]] = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.excludesFile": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.quotePath": "true",
    "credential.helper": "",
    "fetch.fsckObjects": "false",
    "fetch.unpackLimit": "1",  # one pack a fetch: the clone's first pack is known by its name
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "30",
}
_UNAUTHORIZED: Final = re.compile(
    r"Authentication failed|could not read (Username|Password)|returned error: 401"
    r"|Permission to \S+ denied"  # a permission was taken away: a new token says which
)
_TRANSIENT: Final = re.compile(
    r"could not resolve host|couldn't connect|failed to connect|connection (?:reset|refused|timed)"
    r"|timed? ?out|operation too slow|returned error: (?:5\d\d|429)|rpc failed|early eof"
    r"|unexpected disconnect|hung up unexpectedly|empty reply|internal server error",
    re.IGNORECASE,
)


class GitFailed(WorkspaceFailed):
    """A git command ended with an error, or was killed at its bound."""

    def __init__(self, command: str, said: str, *, is_timeout: bool = False) -> None:
        super().__init__(f"`git {command}` failed: {said}")
        self.said = said
        """git's message: redacted, shortened."""
        self.is_transient = is_timeout or _TRANSIENT.search(said) is not None
        """Whether the same command may well succeed later."""
        self.is_unauthorized = _UNAUTHORIZED.search(said) is not None
        """Whether GitHub no longer takes the token."""


@dataclass(frozen=True, slots=True)
class HostGit:
    """Runs git on repositories that only Squadron writes."""

    processes: Processes

    async def __call__(
        self,
        git_directory: Path | None,
        *arguments: str,
        work_tree: Path | None = None,
        variables: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        protocol: str = "file",
        stdin: bytes = b"",
        timeout_seconds: float = LOCAL_SECONDS,
        most_output_bytes: int = 1_000_000,
        secrets: tuple[str, ...] = (),
        answers: tuple[int, ...] = (0,),
    ) -> str:
        """What git wrote to stdout. Raises `GitFailed` unless the exit code is among `answers`.

        `settings` travel in the environment alone; `secrets` are removed from git's messages.
        """
        environment = {
            "PATH": SYSTEM_PATH,
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": protocol,
            **_as_variables({**_SETTINGS, **(settings or {})}),
            **(variables or {}),
        }
        if git_directory is not None:
            environment["GIT_DIR"] = str(git_directory)
        if work_tree is not None:
            environment["GIT_WORK_TREE"] = str(work_tree)
        try:
            ended = await self.processes.run(
                [_program(), *arguments],
                cwd=work_tree or git_directory or Path("/"),
                environment=environment,
                timeout_seconds=timeout_seconds,
                most_output_bytes=most_output_bytes,
                stdin=stdin,
                apart=True,
            )
        except OSError as failure:
            raise GitFailed(arguments[0], f"it could not be started: {failure.strerror}") from None
        if ended.exit_code is None:
            said = f"no end after {timeout_seconds:.0f} s; killed"
            raise GitFailed(arguments[0], said, is_timeout=True)
        if ended.exit_code not in answers:
            raise GitFailed(arguments[0], _shortened(ended.stderr or ended.output, secrets))
        return ended.output

    async def answers(self, git_directory: Path, *arguments: str) -> bool:
        """Ask a yes-or-no command; an error (exit code above 1) counts as no."""
        try:
            await self(git_directory, *arguments)
        except GitFailed as failure:
            if failure.is_transient:
                raise
            return False
        return True


def authorization(token: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The setting that carries an installation token, and what has to be hidden in messages."""
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    return {"http.extraHeader": f"Authorization: Basic {basic}"}, (token, basic)


def _program() -> str:
    found = shutil.which("git", path=SYSTEM_PATH)
    if found is None:
        raise WorkspaceFailed(f"There is no git in {SYSTEM_PATH}. Install git 2.39 or newer.")
    return found


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def _shortened(said: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        said = said.replace(secret, "***")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return " / ".join(lines)[:MOST_MESSAGE_CHARACTERS] or "no message"
