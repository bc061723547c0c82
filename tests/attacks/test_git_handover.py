"""A hostile workspace: nothing of it runs, blocks or redirects when Squadron takes work out.

Each trap writes a canary when it is sprung. The same traps are sprung in the same test by plain
host git in the workspace: they are live, it is the handing over that does not touch them.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.ports import WorkspaceFailed
from tests.attacks.handover import BRANCH, MESSAGE, ORDER, Scene, everything, host_git
from tests.contract.git_remote import git

HOOKS = """applypatch-msg commit-msg fsmonitor-watchman p4-changelist p4-post-changelist
p4-pre-submit p4-prepare-changelist post-applypatch post-checkout post-commit post-index-change
post-merge post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit
pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg proc-receive push-to-checkout
reference-transaction sendemail-validate update"""


# --- programs --------------------------------------------------------------------------------


def fsmonitor(scene: Scene) -> None:
    scene.configure(("core.fsmonitor", scene.setting))


def hooks(scene: Scene, folder: str = ".git/hooks") -> None:
    for name in HOOKS.split():
        hook = scene.clone / folder / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(scene.trap.read_text())
        hook.chmod(0o755)


def hooks_path(scene: Scene) -> None:
    hooks(scene, ".git/elsewhere")
    scene.configure(("core.hooksPath", str(scene.clone / ".git/elsewhere")))


def filters(scene: Scene) -> None:
    scene.configure(
        ("filter.trap.clean", scene.setting),
        ("filter.trap.smudge", scene.setting),
        ("filter.trap.required", "true"),
    )
    scene.write(".gitattributes", "* filter=trap\n")


def filters_in_info(scene: Scene) -> None:
    scene.configure(("filter.trap.process", scene.setting), ("filter.trap.clean", scene.setting))
    (scene.clone / ".git/info").mkdir(exist_ok=True)
    (scene.clone / ".git/info/attributes").write_text("* filter=trap\n")


def external_diff(scene: Scene) -> None:
    scene.configure(("diff.external", scene.setting), ("diff.trap.textconv", scene.setting))
    scene.write(".gitattributes", "* diff=trap\n")


def included_configuration(scene: Scene) -> None:
    scene.write("innocent.txt", f"[core]\n\tfsmonitor = {scene.setting}\n")
    scene.configure(("include.path", str(scene.clone / "innocent.txt")))


def receive_pack(scene: Scene) -> None:
    scene.configure(
        ("remote.origin.url", str(scene.remote.bare)),
        ("remote.origin.receivepack", scene.setting),
        ("remote.origin.uploadpack", scene.setting),
    )


def rewritten_addresses(scene: Scene) -> None:
    evil = f"url.ext::{scene.setting} %S"
    for start in ("http", "/", str(scene.remote.bare), str(scene.clone.parent)):
        git(scene.clone, "config", "--add", f"{evil}.insteadOf", start)
        git(scene.clone, "config", "--add", f"{evil}.pushInsteadOf", start)
    scene.configure(("protocol.ext.allow", "always"))


def nested_repository(scene: Scene) -> None:
    nested = scene.clone / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    git(nested, "commit", "-q", "--allow-empty", "-m", "inside")
    git(scene.clone, "add", "nested")
    git(scene.clone, "commit", "-q", "-m", "with a gitlink")
    git(nested, "config", "core.fsmonitor", scene.setting)


PROGRAMS: list[tuple[Callable[[Scene], None], str]] = [
    (fsmonitor, "git status"),
    (hooks, "git commit --no-verify -qam x"),
    (hooks_path, "git commit --no-verify -qam x"),
    (filters, "git add -A"),
    (filters_in_info, "git add -A"),
    (external_diff, "git --no-pager diff"),
    (included_configuration, "git status"),
    (receive_pack, "git push -q origin HEAD"),
    (rewritten_addresses, "git fetch -q /nowhere"),
    (nested_repository, "git status"),
]


@pytest.mark.parametrize(("lay", "springs"), PROGRAMS, ids=[lay.__name__ for lay, _ in PROGRAMS])
async def test_no_program_of_the_agent_runs(
    scene: Scene, lay: Callable[[Scene], None], springs: str
) -> None:
    scene.write("fix.py", "x = 1\n")
    scene.write("app.py", "changed\n")
    lay(scene)
    kept = await everything(scene)
    assert not scene.canary.exists(), scene.canary.read_text()
    assert kept.is_pushed
    assert scene.remote.show(BRANCH, "fix.py") == "x = 1"
    assert scene.remote.show(BRANCH, "app.py") == "changed"
    if not scene.clone.exists():  # all of it was on GitHub: set the scene again
        await scene.workspace.prepare(ORDER)
        lay(scene)
    scene.write("app.py", "changed once more\n")
    host_git(scene, springs)
    assert scene.canary.exists(), "the trap is a dud"


# --- redirections ----------------------------------------------------------------------------


async def test_another_work_tree_is_not_looked_at(scene: Scene) -> None:
    outside = scene.canary.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    scene.write("fix.py", "x = 1\n")
    scene.configure(("core.worktree", str(outside)))
    assert "secret.txt" in git(scene.clone, "status", "--porcelain")  # host git would
    kept = await everything(scene)
    assert kept.is_pushed
    assert sorted(scene.remote.files(BRANCH)) == [".gitignore", "app.py", "fix.py"]


def private_repository(scene: Scene) -> tuple[Path, str]:
    """A repository of somebody else's on the same machine, and its only commit."""
    private = scene.canary.parent / "private"
    private.mkdir()
    git(private, "init", "-q")
    (private / "secret.txt").write_text("secret")
    git(private, "add", "-A")
    git(private, "commit", "-q", "-m", "secret")
    return private, git(private, "rev-parse", "HEAD")


async def test_objects_of_others_cannot_be_borrowed(scene: Scene) -> None:
    private, _ = private_repository(scene)
    tree = git(private, "rev-parse", "HEAD^{tree}")
    alternates = scene.clone / ".git/objects/info/alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{private}/.git/objects\n")
    made = git(scene.clone, "commit-tree", tree, "-p", "HEAD", "-m", "borrowed")
    git(scene.clone, "update-ref", "HEAD", made)  # host git sees the secret
    assert git(scene.clone, "show", "HEAD:secret.txt") == "secret"
    kept = await everything(scene)
    assert kept.is_pushed
    assert "could not be taken over" in kept.problem
    assert "secret.txt" not in scene.remote.files(BRANCH)


@pytest.mark.parametrize("what", ["objects", "objects/pack", "a loose object", "a pack"])
async def test_links_to_objects_of_others_are_not_followed(scene: Scene, what: str) -> None:
    private, secret = private_repository(scene)
    if what in ("objects/pack", "a pack"):
        git(private, "gc", "-q")
    ours, theirs = scene.clone / ".git/objects", private / ".git/objects"
    if what == "objects":
        ours.rename(scene.clone / ".git/was-objects")
        ours.symlink_to(theirs)
    elif what == "objects/pack":
        (ours / "pack").rename(scene.clone / ".git/was-pack")
        (ours / "pack").symlink_to(theirs / "pack")
    else:
        folders = ["pack"] if what == "a pack" else [secret[:2]]
        for source in (path for folder in folders for path in (theirs / folder).iterdir()):
            (ours / source.parent.name).mkdir(exist_ok=True)
            (ours / source.parent.name / source.name).symlink_to(source)
    (scene.clone / ".git/HEAD").write_text(f"{secret}\n")
    scene.write("fix.py", "x = 1\n")
    kept = await everything(scene)
    assert kept.is_pushed
    assert "could not be taken over" in kept.problem
    assert sorted(scene.remote.files(BRANCH)) == [".gitignore", "app.py", "fix.py"]
    assert secret not in git(scene.remote.bare, "rev-list", "--all")


async def test_linked_directories_are_not_followed_and_no_link_out_is_pushed(scene: Scene) -> None:
    outside = scene.canary.parent / "outside"
    outside.mkdir()
    (outside / "app.py").write_text("secret")
    (scene.clone / "linked").symlink_to(outside)
    kept = await everything(scene)
    assert kept.is_pushed
    assert kept.withheld == ("linked",) and "leads out of the repository" in kept.problem
    assert git(scene.remote.bare, "ls-tree", "--name-only", BRANCH, "linked") == ""
    assert "secret" not in git(scene.remote.bare, "log", "-p", "--all")


# --- a broken or malicious .git --------------------------------------------------------------


def git_gone(clone: Path) -> None:
    (clone / ".git").rename(clone.parent / "gone")


def git_a_file(clone: Path) -> None:
    git_gone(clone)
    (clone / ".git").write_text(f"gitdir: {clone.parent / 'gone'}\n")


def git_a_link(clone: Path) -> None:
    git_gone(clone)
    (clone / ".git").symlink_to(clone.parent / "gone")


def git_a_fifo(clone: Path) -> None:
    git_gone(clone)
    os.mkfifo(clone / ".git")


def head_gone(clone: Path) -> None:
    (clone / ".git/HEAD").unlink()


def head_a_fifo(clone: Path) -> None:
    head_gone(clone)
    os.mkfifo(clone / ".git/HEAD")


def head_a_link(clone: Path) -> None:
    head_gone(clone)
    (clone / ".git/HEAD").symlink_to("/etc/hostname")


def head_garbage(clone: Path) -> None:
    (clone / ".git/HEAD").write_bytes(b"\xff\x00 garbage")


def head_endless(clone: Path) -> None:
    with (clone / ".git/HEAD").open("wb") as file:
        file.truncate(5_000_000_000)


def head_far_away(clone: Path) -> None:
    (clone / ".git/HEAD").write_text("ref: refs/heads/../../../../etc/hostname\n")


def head_in_a_circle(clone: Path) -> None:
    (clone / ".git/HEAD").write_text("ref: refs/heads/round\n")
    (clone / ".git/refs/heads/round").write_text("ref: refs/heads/round\n")


def head_unknown(clone: Path) -> None:
    (clone / ".git/HEAD").write_text("1" * 40 + "\n")


def refs_a_link(clone: Path) -> None:
    (clone / ".git/refs").rename(clone.parent / "refs")
    (clone / ".git/refs").symlink_to(clone.parent / "refs")


def branch_a_link(clone: Path) -> None:
    branch = clone / ".git/refs/heads" / BRANCH
    branch.rename(clone.parent / "ref")
    branch.symlink_to(clone.parent / "ref")


def branch_a_fifo(clone: Path) -> None:
    (clone / ".git/refs/heads" / BRANCH).unlink()
    os.mkfifo(clone / ".git/refs/heads" / BRANCH)


def packed_refs_a_fifo(clone: Path) -> None:
    (clone / ".git/refs/heads" / BRANCH).unlink()
    os.mkfifo(clone / ".git/packed-refs")


def object_a_fifo(clone: Path) -> None:
    git(clone, "commit", "-q", "--allow-empty", "-m", "own")
    sha = git(clone, "rev-parse", "HEAD")
    loose = clone / ".git/objects" / sha[:2] / sha[2:]
    loose.unlink()
    os.mkfifo(loose)


def object_garbage(clone: Path) -> None:
    git(clone, "commit", "-q", "--allow-empty", "-m", "own")
    sha = git(clone, "rev-parse", "HEAD")
    loose = clone / ".git/objects" / sha[:2] / sha[2:]
    loose.chmod(0o600)
    loose.write_bytes(b"garbage")


def hostile_submodule(clone: Path) -> None:
    text = '[submodule "../../x"]\n\tpath = -x\n\turl = -u./payload\n'
    (clone / ".gitmodules").write_text(text)
    git(clone, "add", ".gitmodules")
    git(clone, "commit", "-q", "-m", "own")
    (clone / ".gitmodules").unlink()


BROKEN: list[Callable[[Path], None]] = [
    git_gone,
    git_a_file,
    git_a_link,
    git_a_fifo,
    head_gone,
    head_a_fifo,
    head_a_link,
    head_garbage,
    head_endless,
    head_far_away,
    head_in_a_circle,
    head_unknown,
    refs_a_link,
    branch_a_link,
    branch_a_fifo,
    packed_refs_a_fifo,
    object_a_fifo,
    object_garbage,
    hostile_submodule,
]


@pytest.mark.parametrize("damage", BROKEN, ids=[damage.__name__ for damage in BROKEN])
async def test_files_are_saved_from_a_broken_repository(
    scene: Scene, damage: Callable[[Path], None]
) -> None:
    scene.write("fix.py", "x = 1\n")
    damage(scene.clone)
    async with asyncio.timeout(30):
        kept = await scene.workspace.keep(ORDER, MESSAGE)
        await scene.workspace.fingerprint(scene.clone)
    assert kept.is_pushed
    assert "could not be taken over" in kept.problem
    assert str(scene.clone) in kept.problem
    assert sorted(scene.remote.files(BRANCH)) == [".gitignore", "app.py", "fix.py"]
    assert not await scene.workspace.remove(ORDER.agent)
    assert (scene.clone / "fix.py").exists()


async def test_an_index_lock_is_no_obstacle(scene: Scene) -> None:
    scene.write("fix.py", "x = 1\n")
    (scene.clone / ".git/index.lock").touch()
    kept = await everything(scene)
    assert (kept.is_pushed, kept.problem) == (True, "")


async def test_names_that_git_keeps_for_itself_are_left_out(scene: Scene) -> None:
    scene.write("fix.py", "x = 1\n")
    scene.write("sub/GIT~1/config", "x")
    scene.write("sub/.GIT/config", "x")
    (scene.clone / ".gitmodules").symlink_to("/etc/passwd")
    kept = await everything(scene)
    assert kept.is_pushed
    assert "GIT~1" in kept.problem
    assert "link in place of .gitmodules" in kept.problem
    assert sorted(scene.remote.files(BRANCH)) == [".gitignore", "app.py", "fix.py"]


async def test_a_replaced_workspace_is_not_entered(scene: Scene) -> None:
    outside = scene.canary.parent / "outside"
    scene.clone.rename(outside)
    scene.clone.symlink_to(outside)
    with pytest.raises(WorkspaceFailed, match="was replaced"):
        await scene.workspace.prepare(ORDER)
    with pytest.raises(WorkspaceFailed, match="was replaced"):
        await scene.workspace.fingerprint(scene.clone)
    with pytest.raises(WorkspaceFailed, match="was replaced"):
        await scene.workspace.remove(ORDER.agent)
    kept = await scene.workspace.keep(ORDER, MESSAGE)
    assert not kept.is_pushed
    assert "was replaced" in kept.problem
    assert (outside / "app.py").exists()


async def test_one_agent_cannot_reach_anothers_branch(scene: Scene) -> None:
    other = replace(ORDER, agent="octo/demo#13/bug-fix/1", branch="squadron/bug-fix/issue-13")
    theirs = await scene.workspace.prepare(other)
    (scene.clone / ".git/HEAD").write_text(f"ref: refs/heads/{other.branch}\n")
    scene.write("fix.py", "x = 1\n")
    kept = await scene.workspace.keep(ORDER, MESSAGE)
    assert kept.sha == scene.remote.head(BRANCH)
    assert scene.remote.head(other.branch) == theirs.head_sha
