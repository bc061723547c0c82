"""What would harm whoever checks an agent's work out is not pushed; the rest is."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.workspace import GitWorkspace, agent_directory
from app.adapters.workspace.stage import MOST_FILE_BYTES
from app.adapters.workspace.unsafe import leads_out
from tests.contract.git_remote import BRANCH, ORDER, GitRemote, git, serving

MESSAGE = "Keep the work"
SUBMODULE = '[submodule "lib"]\n\tpath = lib\n\turl = ../lib.git\n'
TOO_LARGE = 'echo "error: File a is 101.00 MB; this exceeds GitHub\'s file size limit" >&2'
"""GitHub's words for a push with a file above 100 MB anywhere in its commits
(https://docs.github.com/en/repositories/working-with-files/managing-large-files)."""


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[GitRemote]:
    with serving(tmp_path / "remote") as served:
        served.commit({"src/a.py": "1\n", "deep/er/b.py": "1\n"}, "What there is")
        yield served


def link(name: str, target: str) -> Callable[[Path], None]:
    def make(clone: Path) -> None:
        (clone / name).symlink_to(target)

    return make


def submodule(said: str, name: str = ".gitmodules") -> Callable[[Path], None]:
    def make(clone: Path) -> None:
        (clone / name).write_text(said)

    return make


def large(clone: Path) -> None:
    """It takes no room on the disk."""
    with (clone / "large.bin").open("wb") as file:
        file.truncate(MOST_FILE_BYTES + 1)


UNSAFE: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "up": (link("out", "../secret"), "out", "a link that leads out"),
    "up from a directory": (link("deep/er/out", "../../../x"), "deep/er/out", "leads out"),
    "absolute": (link("out", "/etc/passwd"), "out", "leads out"),
    "by way of another": (link("out", "deep/er/../../.."), "out", "leads out"),
    "update": (submodule(SUBMODULE + "\tupdate = !id\n"), ".gitmodules", "runs a command"),
    "other letters": (
        submodule(SUBMODULE + "\tupdate = !id\n", ".GitModules"),
        ".GitModules",
        "runs a command",
    ),
    "option": (submodule(SUBMODULE.replace("../", "-u")), ".gitmodules", "no address"),
    "helper": (submodule(SUBMODULE.replace("../", "ext::sh ")), ".gitmodules", "no address"),
    "name": (submodule(SUBMODULE.replace('"lib"', '"../hooks"')), ".gitmodules", "'../hooks'"),
    "path": (submodule(SUBMODULE.replace("= lib", "= ../lib")), ".gitmodules", "`path` leads"),
    "torn": (submodule("[submodule"), ".gitmodules", "cannot read"),
}


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize("is_committed", [False, True])
async def test_what_would_harm_others_stays_as_a_patch_and_the_rest_is_pushed(
    workspace: GitWorkspace, remote: GitRemote, name: str, *, is_committed: bool
) -> None:
    plant, path, why = UNSAFE[name]
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "fix.py").write_text("x")
    plant(clone)
    if is_committed:
        git(clone, "add", "-A")
        git(clone, "commit", "-q", "-m", "All of it")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and remote.show(BRANCH, "fix.py") == "x"
    assert path not in git(remote.bare, "ls-tree", "-r", "--name-only", BRANCH).splitlines()
    assert f"`{path}` (" in kept.problem and why in kept.problem
    assert kept.withheld == (path,)
    patch = agent_directory(clone.parents[2], ORDER.agent) / "refused.patch"
    assert f"b/{path}" in patch.read_text()
    git(remote.bare, "fsck", "--strict")
    assert await workspace.keep(ORDER, MESSAGE) == kept


HARMLESS: dict[str, Callable[[Path], None]] = {
    "beside it": link("deep/to-a", "../src/a.py"),
    "below it": link("here", "deep/er"),
    "to itself": link("deep/er/root", "../.."),
    "to nothing": link("later", "not-yet"),
    "a submodule": submodule(SUBMODULE + "\tupdate = rebase\n"),
}


@pytest.mark.parametrize("name", HARMLESS)
async def test_links_and_submodules_within_the_repository_are_pushed(
    workspace: GitWorkspace, remote: GitRemote, name: str
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    HARMLESS[name](clone)
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.is_pushed, kept.problem, kept.withheld) == (True, "", ())
    assert kept.sha == remote.head(BRANCH)


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        (b"a", "..", True),
        (b"a/b", "..", False),
        (b"a/b", "../..", True),
        (b"a/b", "./../c", False),
        (b"a/b/c", "../../..", True),
        (b"a", "b/../c", True),
        (b"x/y/z", "b/../../c", True),
        (b"a", "b/..c", False),
        (b"a", "/a", True),
        (b"a", "", False),
    ],
)
def test_a_link_leads_out_where_it_climbs_above_the_tree_or_nobody_can_tell(
    path: bytes, target: str, *, out: bool
) -> None:
    assert leads_out(path, target) is out


async def test_a_file_that_is_too_large_is_left_out_also_of_the_agents_own_commits(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "fix.py").write_text("x")
    large(clone)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "All of it")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and remote.show(BRANCH, "fix.py") == "x"
    assert "large.bin" not in git(remote.bare, "ls-tree", "--name-only", BRANCH)
    assert "`large.bin` (larger than" in kept.problem and "large.bin" in kept.withheld


async def test_commits_that_github_refuses_for_a_large_file_are_pushed_as_their_content(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    is_clean = 'git rev-list --objects "$3" --not --all | grep -q big && '
    remote.on("update", f"{is_clean}{{ {TOO_LARGE}; exit 1; }}; exit 0")
    (clone / "big").write_text("x" * 1000)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "A file")
    git(clone, "rm", "-q", "big")
    (clone / "fix.py").write_text("x")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "And without it")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.is_pushed, kept.problem) == (True, "")
    assert remote.show(BRANCH, "fix.py") == "x"


@pytest.mark.parametrize("name", [".g\u200cit", ".GIT\ufeff", "git~1"])
async def test_a_name_that_is_git_on_another_disk_is_in_no_commit(
    workspace: GitWorkspace, remote: GitRemote, name: str
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "fix.py").write_text("x")
    (clone / name / "hooks").mkdir(parents=True)
    (clone / name / "hooks/post-checkout").write_text("#!/bin/sh\nid\n")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and remote.show(BRANCH, "fix.py") == "x"
    assert "hooks" not in git(remote.bare, "ls-tree", "-r", "-t", "--name-only", BRANCH)
    assert "a name that git keeps for itself" in kept.problem


LONG_LINE = f"a {'x' * 3000}\n"
"""Git's own strict checks refuse a longer line of `.gitattributes` than 2,048 characters."""


@pytest.mark.parametrize("is_committed", [False, True])
async def test_what_git_finds_fault_with_does_not_leave_and_the_rest_does(
    workspace: GitWorkspace, remote: GitRemote, *, is_committed: bool
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    for name in (".gitattributes", "deep/.gitattributes"):
        (clone / name).write_text(f"{name} {LONG_LINE}")
    (clone / "fix.py").write_text("x")
    if is_committed:
        git(clone, "add", "-A")
        git(clone, "commit", "-q", "-m", "All of it")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and remote.show(BRANCH, "fix.py") == "x"
    assert kept.withheld == (".gitattributes", "deep/.gitattributes")
    assert "`.gitattributes` (git finds fault)" in kept.problem
    git(remote.bare, "fsck", "--strict")


async def test_the_repositorys_own_protected_paths_are_refused_as_well(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    order = replace(ORDER, protected_paths=("Deep/**", "*.lock"))
    clone = (await workspace.prepare(order)).directory
    for name in ("fix.py", "deep/er/b.py", "src/uv.lock"):
        (clone / name).write_text("x")
    kept = await workspace.keep(order, MESSAGE)
    assert kept.is_pushed and remote.show(BRANCH, "fix.py") == "x"
    assert remote.show(BRANCH, "deep/er/b.py") == "1"
    assert kept.withheld == ("deep/er/b.py", "src/uv.lock")
    assert "`CODEOWNERS` and `Deep/**`, `*.lock`: their changes of `deep/er/b.py`" in kept.problem


async def test_files_that_steer_tools_of_others_are_named(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    for name in ("AGENTS.md", "src/claude.md", ".vscode/tasks.json", ".envrc", ".husky/pre-commit"):
        (clone / name).parent.mkdir(exist_ok=True)
        (clone / name).write_text("x")
    (clone / "agents.py").write_text("x")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.is_pushed, kept.withheld) == (True, ())
    assert kept.steering == (
        *(".envrc", ".husky/pre-commit", ".vscode/tasks.json", "AGENTS.md", "src/claude.md"),
    )
