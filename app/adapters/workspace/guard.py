"""Keeps changes of protected paths, and what would harm others, out of what is pushed.

Trees are compared, on the host's own objects: the agent's with where its branch left the default
branch, and with what others have pushed to it. Neither the tool that made a change nor the commit
that holds it counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.adapters.workspace.commits import merge_base
from app.adapters.workspace.host_git import HostGit
from app.adapters.workspace.trees import Change, Entry, changes
from app.adapters.workspace.unsafe import unsafe_changes, unsafe_words
from app.core.rules.protected import is_protected, is_steering, refused_words


@dataclass(frozen=True, slots=True)
class Refused:
    """Changes of an agent that must not be pushed."""

    instead: Mapping[bytes, Entry]
    """What belongs at each of their paths."""
    unsafe: Mapping[bytes, str]
    """Those that would harm others, each with why; all others are of protected paths."""

    def also(self, faulty: Mapping[bytes, Entry], why: str) -> "Refused":
        """With further paths that would harm others."""
        unsafe = {**self.unsafe, **dict.fromkeys(faulty, why)}
        return Refused({**self.instead, **faulty}, unsafe)

    def words(self, protected_paths: tuple[str, ...]) -> str:
        """The sentences for people; empty: nothing is refused."""
        protected = sorted(path for path in self.instead if path not in self.unsafe)
        told = refused_words(protected, protected_paths) if protected else ""
        return " ".join(filter(None, (told, unsafe_words(self.unsafe))))


@dataclass(frozen=True, slots=True)
class Guard:
    """Over what one agent changes, on the host's own objects."""

    git: HostGit
    directory: Path
    protected_paths: tuple[str, ...]
    """Of the repository, besides those that are always protected."""

    async def refused(self, sha: str, default: str, there: str | None) -> Refused:
        """The changes of `sha` that must not be pushed.

        `default`: the head of the default branch; `there`: that of the agent's branch on GitHub,
        which holds only what was judged before and what others pushed: that stays. Raises
        `WorkspaceFailed`.
        """
        base = await merge_base(self.git, self.directory, default, sha)
        changed = await changes(self.git, self.directory, base, sha)
        unsafe = await unsafe_changes(self.git, self.directory, changed)
        protected = {path for path in changed if is_protected(path, self.protected_paths)}
        instead = {path: changed[path].before for path in {*unsafe, *protected}}
        if there is not None and instead:
            instead = await self._unlike(instead, sha, default, there)
        return Refused(
            instead,
            {path: why for path, why in unsafe.items() if path in instead.keys() - protected},
        )

    async def _unlike(
        self, instead: Mapping[bytes, Entry], sha: str, default: str, there: str
    ) -> dict[bytes, Entry]:
        """What of it is not on the branch already; where others have changed a path there, what
        they made of it belongs there."""
        unlike_there = await changes(self.git, self.directory, there, sha)
        start = await merge_base(self.git, self.directory, default, there)
        of_others = await changes(self.git, self.directory, start, there)
        return {
            path: unlike_there[path].before if path in of_others else before
            for path, before in instead.items()
            if path in unlike_there
        }


async def steering_paths(git: HostGit, directory: Path, one: str, other: str) -> list[str]:
    """The paths in which two commits differ that steer tools of whoever opens them."""
    found: Mapping[bytes, Change] = await changes(git, directory, one, other)
    return sorted(path.decode(errors="replace") for path in found if is_steering(path))
