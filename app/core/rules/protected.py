"""Paths that no agent changes: what decides about agents, and what GitHub runs or whom it asks; and
paths whose change people are told of, since they steer the tools of whoever opens the work.

A change of the first is a person's to make. Where it is judged, the content of a branch is compared
with where it left the default branch, so it does not matter by which means, or in which commit, an
agent has made it.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from pathspec import GitIgnoreSpec

DIRECTORIES: Final = (".github", ".squadron")
"""Whole: a link or a file in place of the directory counts as well."""
FILES: Final = ("CODEOWNERS", "docs/CODEOWNERS")
"""The further places in which GitHub reads code owners."""
SHOWN: Final = "`.squadron/`, `.github/` and `CODEOWNERS`"
MOST_NAMED: Final = 10
STEERING: Final = (
    # Words that coding agents obey.
    *("AGENTS.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".goosehints"),
    *(".cursorrules", ".windsurfrules", ".clinerules", ".rules"),
    *(".claude", ".cursor", ".codex", ".gemini", ".copilot", ".aider*", ".mcp.json"),
    # What runs when somebody opens the work, enters its directory, installs or commits.
    *(".vscode", ".idea", ".devcontainer", ".devcontainer.json", ".envrc", "mise.toml"),
    *(".husky", ".githooks", "lefthook.y*ml", ".pre-commit-config.y*ml", ".gitmodules"),
    *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "sitecustomize.py", ".cargo/config*"),
)
"""As `.gitignore` would have them: a directory, and a file or a link in its place."""

_DIRECTORIES: Final = tuple(name.lower().encode() for name in DIRECTORIES)
_FILES: Final = tuple(name.lower().encode() for name in FILES)


def is_protected(path: bytes, further: tuple[str, ...] = ()) -> bool:
    """Whether agents may not change the path, in whatever letters: some disks fold their case.

    `further`: the repository's `protected_paths`, patterns as `.gitignore` has them.
    """
    folded = path.lower()
    if folded.partition(b"/")[0] in _DIRECTORIES or folded in _FILES:
        return True
    return bool(further) and _matches(further, path)


def is_steering(path: bytes) -> bool:
    """Whether the path steers tools of people who open the work, or their agents."""
    return _matches(STEERING, path)


def protected_words(further: Sequence[str] = ()) -> str:
    """What agents may not change, for people and for agents."""
    return " and ".join(filter(None, (SHOWN, ", ".join(f"`{each}`" for each in further))))


def refused_words(paths: Sequence[bytes], further: Sequence[str] = ()) -> str:
    """The sentence about changes of protected paths that were kept off the branch."""
    named = named_paths(paths)
    shown = protected_words(further)
    return f"Agents may not change {shown}: their changes of {named} are not on the branch."


def named_paths(paths: Sequence[bytes]) -> str:
    """Paths for people, the first `MOST_NAMED` of them."""
    named = ", ".join(f"`{path.decode(errors='replace')}`" for path in paths[:MOST_NAMED])
    more = len(paths) - MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named


@lru_cache(maxsize=64)
def _patterns(lines: tuple[str, ...]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(line.lower() for line in lines)


def _matches(lines: tuple[str, ...], path: bytes) -> bool:
    return _patterns(lines).match_file(path.decode(errors="replace").lower())
