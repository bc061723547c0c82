"""One repository on GitHub, as host git speaks to it: read, fetch, push.

A token is fetched for each use and travels in the environment of that one process.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol
from urllib.parse import urlsplit

from app.adapters.workspace.host_git import (
    NETWORK_SECONDS,
    GitFailed,
    HostGit,
    authorization,
)
from app.ports import GitAway, GitHubFailed, Refused, Repository, WorkspaceFailed

Purpose = Literal["read", "write"]


class TokenFor(Protocol):
    """An installation token for one repository and purpose; another than one that GitHub no
    longer takes. Raises `GitHubFailed`."""

    def __call__(
        self, repository: Repository, purpose: Purpose, refused: str | None = None, /
    ) -> Awaitable[str]: ...


MOST_ATTEMPTS: Final = 3
FIRST_PAUSE_SECONDS: Final = 0.5


def pull_request_ref(number: int) -> str:
    """Where GitHub keeps the head of a pull request, a fork's too."""
    return f"refs/pull/{number}/head"


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
        await self.fetch_refs(git_directory, *(f"refs/heads/{branch}" for branch in branches))

    async def fetch_refs(self, git_directory: Path, *refs: str) -> None:
        """The same of references by their full names."""
        refspecs = [f"+{ref}:{ref}" for ref in refs]
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

    async def delete(self, git_directory: Path, branch: str, expected: str) -> None:
        """Delete the branch, unless somebody has moved it on."""
        lease = f"--force-with-lease=refs/heads/{branch}:{expected}"
        options = ("--porcelain", "--no-verify", lease)
        await self._talk(
            "write", git_directory, "push", *options, self.url, f":refs/heads/{branch}"
        )

    async def _talk(self, purpose: Purpose, git_directory: Path, *arguments: str) -> str:
        """Run a network command; what looks like bad weather is tried again, the rest is not.

        Raises `GitAway` when that does not help.
        """
        pause_seconds, attempt = FIRST_PAUSE_SECONDS, 1
        while True:
            try:
                return await self._talk_once(purpose, git_directory, arguments)
            except GitFailed as failure:
                if not failure.is_transient:
                    raise
                if attempt == MOST_ATTEMPTS:
                    raise GitAway(str(failure)) from failure
            await asyncio.sleep(pause_seconds)
            pause_seconds, attempt = pause_seconds * 2, attempt + 1

    async def _talk_once(
        self, purpose: Purpose, git_directory: Path, arguments: tuple[str, ...]
    ) -> str:
        """Once, or once more with another token: what was refused for its token is not done."""
        token = await self._token(purpose, None)
        try:
            return await self._with(token, git_directory, arguments)
        except GitFailed as failure:
            if not failure.is_unauthorized:
                raise
        return await self._with(await self._token(purpose, token), git_directory, arguments)

    async def _token(self, purpose: Purpose, refused: str | None) -> str:
        try:
            return await self.token(self.repository, purpose, refused)
        except GitHubFailed as failure:
            kind = WorkspaceFailed if isinstance(failure, Refused) else GitAway
            raise kind(
                f"GitHub gave no token to {purpose} {self.repository.full_name}: {failure}"
            ) from failure

    async def _with(self, token: str, git_directory: Path, arguments: tuple[str, ...]) -> str:
        settings, secrets = authorization(token)
        return await self.git(
            git_directory,
            *arguments,
            settings=settings,
            secrets=secrets,
            protocol=urlsplit(self.git_url).scheme or "file",
            timeout_seconds=NETWORK_SECONDS,
        )
