"""What nobody wrote is in no commit: builds, tests, package managers and the setup made it."""

from pathlib import Path

import pytest

from app.adapters.workspace import GitWorkspace
from app.core.agents.events import MadeFiles
from tests.contract.git_remote import BRANCH, ORDER, GitRemote, git

MESSAGE = "Keep the work"


def write(directory: Path, *paths: str, text: str = "x\n") -> None:
    for path in paths:
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)


def commit(clone: Path) -> None:
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "All of it")


@pytest.mark.parametrize("is_committed", [False, True], ids=["not committed", "committed"])
@pytest.mark.parametrize(
    ("files", "named"),
    [
        (("src/__pycache__/a.pyc", "__pycache__/b.pyc"), ["__pycache__/", "src/__pycache__/"]),
        (("node_modules/a/b.js", "web/node_modules/c.js"), ["node_modules/", "web/node_modules/"]),
        ((".venv/bin/python", ".venv/lib/a.py"), [".venv/"]),
        (("setup.py", "build/a.py", "dist/a", "a.egg-info/b"), ["a.egg-info/", "build/", "dist/"]),
        (("rust/Cargo.toml", "rust/target/debug/a"), ["rust/target/"]),
        ((".coverage", "a.pyc"), [".coverage", "a.pyc"]),
        (('gen "ä"/node_modules/x',), ['gen "ä"/node_modules/']),
    ],
    ids=lambda value: value[-1],
)
async def test_what_tools_make_is_left_out_and_named(
    workspace: GitWorkspace,
    remote: GitRemote,
    files: tuple[str, ...],
    named: list[str],
    is_committed: bool,
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    write(clone, "fix.py", *files)
    if is_committed:
        commit(clone)
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and kept.has_changes and kept.withheld == () and kept.problem == ""
    assert [each.path for each in kept.made] == named
    on_github = {*remote.files(BRANCH)} - {*remote.files("main")}
    gone = {path for path in files if any(path.startswith(name) for name in named)}
    assert on_github == {"fix.py", *files} - gone
    assert all((clone / path).exists() for path in files), "it stays where it is"
    assert await workspace.keep(ORDER, MESSAGE) == kept
    assert await workspace.remove(ORDER.agent), "nothing of it is missing on GitHub"


@pytest.mark.parametrize("path", ["build/config.py", "target/a", "dist/index.js", "src/build/x.py"])
async def test_what_only_looks_like_it_is_work(
    workspace: GitWorkspace, remote: GitRemote, path: str
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    write(clone, path)
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.made == () and path in remote.files(BRANCH)


async def test_what_the_project_itself_keeps_is_work(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    remote.commit({"package.json": "{}", "dist/index.js": "1\n", "node_modules/a.js": "1\n"}, "Own")
    clone = (await workspace.prepare(ORDER)).directory
    write(clone, "dist/index.js", "dist/more.js", "node_modules/a.js", "node_modules/b.js")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.made == ()
    assert {"dist/more.js", "node_modules/b.js"} <= {*remote.files(BRANCH)}
    assert remote.show(BRANCH, "dist/index.js") == "x"


async def test_running_tests_is_no_change_of_the_work(workspace: GitWorkspace) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    write(clone, "fix.py")
    before = await workspace.fingerprint(clone)
    write(clone, "__pycache__/fix.pyc", ".pytest_cache/README.md", ".coverage")
    assert await workspace.fingerprint(clone) == before
    write(clone, "fix.py", text="y\n")
    assert await workspace.fingerprint(clone) != before


@pytest.mark.parametrize("is_committed", [False, True], ids=["not committed", "committed"])
async def test_what_the_setup_left_is_left_out_as_long_as_it_stays_that(
    workspace: GitWorkspace, remote: GitRemote, is_committed: bool
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    write(clone, "env/lib/a.py", "env/lib/b.py", "generated.py", "debug.log", "env/mine.py")
    await workspace.note_setup(ORDER.agent)
    write(clone, "fix.py", "env/own.py")
    write(clone, "env/mine.py", text="my own\n")
    if is_committed:
        commit(clone)
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and kept.problem == ""
    assert kept.made == (MadeFiles("env/", 2), MadeFiles("generated.py", 1))
    new = {*remote.files(BRANCH)} - {*remote.files("main")}
    assert new == {"fix.py", "env/own.py", "env/mine.py"}
    assert await workspace.keep(ORDER, MESSAGE) == kept
