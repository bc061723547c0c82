"""A clone of a hostile agent, everything that Squadron does with it, and what it must not do."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.adapters.workspace import GitWorkspace
from app.ports import CheckoutOrder, KeptWork
from tests.contract.git_remote import REPOSITORY, GitRemote, git, workspaces

BRANCH = "squadron/bug-fix/issue-12"
ORDER = CheckoutOrder(
    "octo/demo#12/bug-fix/1", REPOSITORY, 1, "main", BRANCH, "squadron[bot]", "bot@example.com"
)
MESSAGE = "Keep the work"


@dataclass(frozen=True)
class Scene:
    """An agent's workspace, the file a sprung trap leaves, and the rest of the world."""

    clone: Path
    canary: Path
    trap: Path
    base_sha: str
    workspace: GitWorkspace
    remote: GitRemote

    @property
    def setting(self) -> str:
        """The trap as a command line without blanks: it fits into any setting."""
        return str(self.trap)

    def configure(self, *pairs: tuple[str, str]) -> None:
        for key, value in pairs:
            git(self.clone, "config", key, value)

    def write(self, name: str, text: str) -> None:
        (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
        (self.clone / name).write_text(text)


@pytest.fixture
async def scene(tmp_path: Path) -> Scene:
    remote = GitRemote(tmp_path / "remote")
    served = str(tmp_path / "remote/served")
    workspace = workspaces(tmp_path / "data", served, remote.token)
    checkout = await workspace.prepare(ORDER)
    canary, trap = tmp_path / "canary", tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >>{canary}\n[ $# -gt 0 ] || cat\n')
    trap.chmod(0o755)
    return Scene(checkout.directory, canary, trap, checkout.base_sha, workspace, remote)


async def everything(scene: Scene) -> KeptWork:
    """All that Squadron does with a workspace, in an order that reaches every command."""
    await scene.workspace.prepare(ORDER)
    await scene.workspace.fingerprint(scene.clone)
    kept = await scene.workspace.keep(ORDER, MESSAGE)
    scene.remote.commit({"later.py": "later\n"}, "Main moves on")
    await scene.workspace.news(ORDER, scene.base_sha)
    await scene.workspace.fingerprint(scene.clone)
    await scene.workspace.keep(ORDER, MESSAGE)
    await scene.workspace.remove(ORDER.agent)
    return kept


def host_git(scene: Scene, *commands: str) -> None:
    """What must not be done: git of the host in the workspace, as it stands."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(scene.canary.parent),
        "GIT_ALLOW_PROTOCOL": "file:ext:git:ssh",
    }
    for command in commands:
        subprocess.run(
            ["bash", "-c", command],
            cwd=scene.clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
        )
