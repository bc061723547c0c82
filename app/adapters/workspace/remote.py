"""One repository on GitHub, as host git speaks to it: read, fetch, push.

A token is fetched for each use and travels in the environment of that one process.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from app.adapters.workspace.host_git import (
    NETWORK_SECONDS,
    GitFailed,
    HostGit,
    authorization,
)
from app.ports import GitHubFailed, Repository, WorkspaceFailed

Purpose = Literal["read", "write"]
TokenFor = Callable[[Repository, Purpose], Awaitable[str]]
"""An installation token for one repository and purpose. Raises `GitHubFailed`."""

MOST_ATTEMPTS: Final = 3
FIRST_PAUSE_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Remote:
    """The repository's address and the right to use it."""

    git: HostGit
    repository: Repository
    git_url: str
    token: TokenFor

    @property
    def url(self) -> str:
        """Where git finds it; holds no token."""
        return f"{self.git_url.rstrip('/')}/{self.repository.full_name}.git"

    async def heads(self, git_directory: Path, *branches: str) -> Mapping[str, str]:
        """The commits that these branches are at now; a branch that does not exist is left out."""
        wanted = {f"refs/heads/{branch}": branch for branch in branches}
        listed = await self._talk("read", git_directory, "ls-remote", self.url, *wanted)
        lines = (line.partition("\t") for line in listed.splitlines())
        return {wanted[name]: sha for sha, _, name in lines if name in wanted}

    async def fetch(self, git_directory: Path, *branches: str) -> None:
        """Make these branches of the repository those of GitHub, rewound ones as well."""
        refspecs = [f"+refs/heads/{branch}:refs/heads/{branch}" for branch in branches]
        options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
        await self._talk("read", git_directory, "fetch", *options, self.url, *refspecs)

    async def push(self, git_directory: Path, sha: str, branch: str, expected: str | None) -> None:
        """Move the branch from the commit it is expected at (None: it does not exist) to `sha`.

        The caller has checked that this is no step back. An attempt that was cut off may have
        arrived all the same: repeating it is then a push of nothing.
        """
        lease = f"--force-with-lease=refs/heads/{branch}:{expected or ''}"
        await self._talk(
            "write",
            git_directory,
            "push",
            "--porcelain",
            "--no-verify",
            lease,
            self.url,
            f"{sha}:refs/heads/{branch}",
        )

    async def _talk(self, purpose: Purpose, git_directory: Path, *arguments: str) -> str:
        """Run a network command; what looks like bad weather is tried again, the rest is not."""
        pause_seconds = FIRST_PAUSE_SECONDS
        for _ in range(MOST_ATTEMPTS - 1):
            try:
                return await self._talk_once(purpose, git_directory, arguments)
            except GitFailed as failure:
                if not failure.is_transient:
                    raise
            await asyncio.sleep(pause_seconds)
            pause_seconds *= 2
        return await self._talk_once(purpose, git_directory, arguments)

    async def _talk_once(
        self, purpose: Purpose, git_directory: Path, arguments: tuple[str, ...]
    ) -> str:
        try:
            token = await self.token(self.repository, purpose)
        except GitHubFailed as failure:
            raise WorkspaceFailed(
                f"GitHub gave no token to {purpose} {self.repository.full_name}: {failure}"
            ) from failure
        settings, secrets = authorization(token)
        return await self.git(
            git_directory,
            *arguments,
            settings=settings,
            secrets=secrets,
            protocol=urlsplit(self.git_url).scheme or "file",
            timeout_seconds=NETWORK_SECONDS,
        )
