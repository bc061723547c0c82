"""What of a commit says what its code depends on: equal digests, equal results of a setup."""

import hashlib
import re
from pathlib import Path
from typing import Final

from app.adapters.workspace.host_git import HostGit

FILES: Final = (
    # Python
    *("pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "requirements*.in"),
    *("requirements/*.txt", "requirements/*.in", "constraints*.txt", "uv.lock", "uv.toml"),
    *("poetry.lock", "poetry.toml", "pdm.lock", "pylock*.toml", "Pipfile", "Pipfile.lock"),
    *("environment*.yml", "environment*.yaml", "conda-lock.yml", "pixi.lock", "pixi.toml"),
    *("tox.ini", ".python-version"),
    # JavaScript
    *("package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", ".yarnrc*"),
    *("pnpm-lock.yaml", "pnpm-workspace.yaml", "bun.lock", "bun.lockb", "deno.json", "deno.lock"),
    *(".npmrc", ".nvmrc", ".node-version"),
    # Rust, Go, Ruby, PHP, Elixir
    *("Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml"),
    *("go.mod", "go.sum", "go.work", "go.work.sum"),
    *("Gemfile", "Gemfile.lock", "*.gemspec", ".ruby-version"),
    *("composer.json", "composer.lock", "mix.exs", "mix.lock"),
    # JVM
    *("pom.xml", "*.gradle", "*.gradle.kts", "gradle.properties", "gradle.lockfile"),
    *("buildscript-gradle.lockfile", "libs.versions.toml", "gradle-wrapper.properties"),
    *("build.sbt", "deps.edn", "project.clj"),
    # .NET, Swift, Dart, C and C++
    *("*.csproj", "*.fsproj", "packages.lock.json", "Directory.Packages.props", "global.json"),
    *("Package.swift", "Package.resolved", "pubspec.yaml", "pubspec.lock"),
    *("conanfile.txt", "conanfile.py", "conan.lock", "vcpkg.json"),
    # Whatever the language
    *(".tool-versions", "mise.toml", "flake.nix", "flake.lock"),
)
"""Names of lock files and manifests, wherever they lie; what is listed in vain does no harm."""
MOST_BYTES: Final = 500_000
"""Of the list of them: some thousands."""

_EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_PLAIN_FILE: Final = re.compile(r":000000 100(644|755) 0+ [0-9a-f]{40} A")


async def dependencies(git: HostGit, git_directory: Path, commit: str) -> str:
    """The digest of the names and contents of these files; empty where there are none, where they
    are too many, and where one is a link, so that its content lies elsewhere."""
    listed = await git(
        git_directory,
        *("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"),
        *(_EMPTY_TREE, commit, "--", *(f":(glob)**/{name}" for name in FILES)),
        most_output_bytes=MOST_BYTES,
    )
    what = listed.split("\0")[:-1:2]
    if len(listed) >= MOST_BYTES or not all(map(_PLAIN_FILE.fullmatch, what)):
        return ""
    return hashlib.sha256(listed.encode()).hexdigest() if what else ""
