"""Protected paths: judged on the host by content, whatever way an agent has changed them."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.workspace import GitWorkspace, agent_directory
from tests.contract.git_remote import BRANCH, ORDER, GitRemote, git, serving

MESSAGE = "Keep the work"
CONFIG, CI = ".squadron/config.yaml", ".github/workflows/ci.yml"
KNOWN = {CONFIG: "enabled: true\n", CI: "on: push\n", "CODEOWNERS": "* @ada\n"}
REFUSES_WORKFLOWS = (
    'git log --format= --name-only "$3" --not --all | grep -q ^.github/workflows/ || exit 0\n'
    'echo "refusing to allow a GitHub App to create or update workflow" >&2; exit 1'
)


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[GitRemote]:
    with serving(tmp_path / "remote") as served:
        served.commit(KNOWN, "What people have agreed on")
        yield served


def write(clone: Path, name: str, text: str) -> None:
    (clone / name).parent.mkdir(parents=True, exist_ok=True)
    (clone / name).write_text(text)


def commit(clone: Path, subject: str = "A commit", *options: str) -> None:
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", subject, *options)


# --- ways to change what is protected ----------------------------------------------------------


def by_a_shell(clone: Path) -> None:
    write(clone, CONFIG, "enabled: false\n")


def by_a_new_file(clone: Path) -> None:
    write(clone, ".github/workflows/own.yml", "on: push\n")
    write(clone, ".squadron/agents/bug-fix.md", "---\n---\nObey.\n")
    write(clone, "docs/CODEOWNERS", "* @noel\n")


def by_a_deletion(clone: Path) -> None:
    (clone / CI).unlink()
    (clone / "CODEOWNERS").unlink()


def by_a_mode(clone: Path) -> None:
    (clone / CI).chmod(0o755)


def by_other_letters(clone: Path) -> None:
    write(clone, ".Squadron/Config.yaml", "enabled: false\n")


def by_a_name_in_quotes(clone: Path) -> None:
    write(clone, '.github/workflows/ö "x"\t.yml', "on: push\n")


def by_an_early_commit(clone: Path) -> None:
    by_a_shell(clone)
    commit(clone, "Long before the end")
    write(clone, "more.py", "1\n")
    commit(clone, "And something else")


def by_an_amended_commit(clone: Path) -> None:
    write(clone, "more.py", "1\n")
    commit(clone, "Innocent")
    by_a_shell(clone)
    commit(clone, "Innocent", "--amend")


def by_renames(clone: Path) -> None:
    """One out of the protected directory, one into it."""
    write(clone, "innocent.yml", "on: [push, issues]\n")
    commit(clone, "Innocent")
    git(clone, "mv", CI, "old-ci.yml")
    git(clone, "mv", "innocent.yml", CI)
    commit(clone, "Tidy up")


def by_a_linked_file(clone: Path) -> None:
    write(clone, "mine.yaml", "enabled: false\n")
    (clone / CONFIG).unlink()
    (clone / CONFIG).symlink_to("../mine.yaml")


def by_a_linked_directory(clone: Path) -> None:
    (clone / ".squadron").rename(clone / "mine")
    write(clone, "mine/config.yaml", "enabled: false\n")
    (clone / ".squadron").symlink_to("mine")


def through_a_link(clone: Path) -> None:
    (clone / "innocent").symlink_to(".squadron")
    (clone / "innocent/config.yaml").write_text("enabled: false\n")


def by_a_file_for_the_directory(clone: Path) -> None:
    git(clone, "rm", "-q", "-r", ".github")
    write(clone, ".github", "gone\n")


def by_a_merge(clone: Path) -> None:
    """Of a branch of its own, begun before its first commit."""
    git(clone, "checkout", "-q", "-b", "aside", "HEAD^")
    by_a_shell(clone)
    commit(clone, "Aside")
    git(clone, "checkout", "-q", BRANCH)
    write(clone, "more.py", "1\n")
    commit(clone, "Here")
    git(clone, "merge", "-q", "--no-edit", "aside")


def by_the_merge_itself(clone: Path) -> None:
    """No side of the merge has it, only the merge."""
    git(clone, "checkout", "-q", "-b", "aside")
    write(clone, "aside.py", "1\n")
    commit(clone, "Aside")
    git(clone, "checkout", "-q", BRANCH)
    git(clone, "merge", "-q", "--no-ff", "--no-commit", "aside")
    by_a_shell(clone)
    commit(clone, "Merge aside")


WAYS: list[Callable[[Path], None]] = [
    by_a_shell,
    by_a_new_file,
    by_a_deletion,
    by_a_mode,
    by_other_letters,
    by_a_name_in_quotes,
    by_an_early_commit,
    by_an_amended_commit,
    by_renames,
    by_a_linked_file,
    by_a_linked_directory,
    through_a_link,
    by_a_file_for_the_directory,
    by_a_merge,
    by_the_merge_itself,
]


def protected(remote: GitRemote, branch: str) -> list[str]:
    """What a branch holds at protected paths: modes, blobs, names."""
    listed = git(remote.bare, "ls-tree", "-r", f"refs/heads/{branch}").splitlines()
    names = (".github", ".squadron", "codeowners", "docs/codeowners")
    return [line for line in listed if line.partition("\t")[2].lower().strip('"').startswith(names)]


@pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])
async def test_no_change_of_a_protected_path_is_pushed_and_none_is_lost(
    workspace: GitWorkspace, remote: GitRemote, way: Callable[[Path], None]
) -> None:
    """Peers, scenario 29: compared with the merge base, before the push."""
    clone = (await workspace.prepare(ORDER)).directory
    write(clone, "fix.py", "x")
    way(clone)
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and kept.has_changes
    assert protected(remote, BRANCH) == protected(remote, "main")
    assert remote.show(BRANCH, "fix.py") == "x"
    assert "Agents may not change" in kept.problem
    patch = agent_directory(clone.parents[2], ORDER.agent) / "refused.patch"
    assert str(patch) in kept.problem
    git(remote.person, "fetch", "-q", "origin")
    git(remote.person, "checkout", "-q", f"origin/{BRANCH}")
    git(remote.person, "apply", "--index", str(patch))
    git(clone, "add", "-A")
    assert git(remote.person, "write-tree") == git(clone, "write-tree"), "by the patch it is whole"
    assert await workspace.keep(ORDER, MESSAGE) == kept
    assert not await workspace.remove(ORDER.agent)


async def test_work_goes_on_beside_refused_changes_and_after_they_are_taken_back(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    by_a_shell(clone)
    nothing = await workspace.keep(ORDER, MESSAGE)
    assert nothing.is_pushed and not nothing.has_changes and nothing.problem
    write(clone, "more.py", "y")
    more = await workspace.keep(ORDER, MESSAGE)
    assert more.is_pushed and more.has_changes and more.problem
    assert remote.show(BRANCH, "more.py") == "y"
    write(clone, CONFIG, KNOWN[CONFIG])
    whole = await workspace.keep(ORDER, MESSAGE)
    assert (whole.is_pushed, whole.problem) == (True, "")
    assert whole.sha == remote.head(BRANCH)


async def test_what_people_changed_on_the_default_branch_comes_with_a_merge(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    checkout = await workspace.prepare(ORDER)
    clone = checkout.directory
    write(clone, "fix.py", "x")
    commit(clone)
    new = remote.commit({CI: "on: [push]\n", "later.py": "z"}, "People change CI")
    await workspace.news(ORDER, checkout.base_sha)
    git(clone, "merge", "-q", "--no-edit", "origin/main")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.is_pushed, kept.problem) == (True, "")
    assert kept.sha == git(clone, "rev-parse", "HEAD"), "the agent's own commits, as they are"
    newer = remote.commit({"latest.py": "z"}, "Main moves on")
    await workspace.news(ORDER, new)
    git(clone, "merge", "-q", "--no-edit", "origin/main")
    by_a_shell(clone)
    again = await workspace.keep(ORDER, MESSAGE)
    assert again.is_pushed and f"`{CONFIG}`" in again.problem and CI not in again.problem
    assert protected(remote, BRANCH) == protected(remote, "main")
    assert git(remote.bare, "merge-base", "main", BRANCH) == newer, "the merge is in the history"
    assert again.diff is not None and again.diff.files == 1


async def test_what_people_pushed_to_the_agents_branch_stays(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    by_a_shell(clone)
    write(clone, "fix.py", "x")
    await workspace.keep(ORDER, MESSAGE)
    remote.commit({CI: "on: [issues]\n"}, "A person changes CI here", branch=BRANCH)
    write(clone, "more.py", "y")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and f"`{CONFIG}`" in kept.problem and CI not in kept.problem
    assert remote.show(BRANCH, CI) == "on: [issues]"
    assert remote.show(BRANCH, CONFIG) == "enabled: true"
    assert remote.show(BRANCH, "more.py") == "y"
    await workspace.prepare(ORDER)
    write(clone, CI, "on: [push, issues, release]\n")
    await workspace.keep(ORDER, MESSAGE)
    assert remote.show(BRANCH, CI) == "on: [issues]", "back to the person's, not to the base's"


async def test_commits_that_github_refuses_for_their_history_are_pushed_as_their_content(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    remote.on("update", REFUSES_WORKFLOWS)
    write(clone, CI, "on: [push, issues]\n")
    commit(clone, "Change CI")
    write(clone, CI, KNOWN[CI])
    write(clone, "fix.py", "x")
    commit(clone, "Take it back")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.is_pushed, kept.problem) == (True, "")
    assert kept.sha == remote.head(BRANCH)
    assert remote.show(BRANCH, "fix.py") == "x"


async def test_squadrons_own_work_may_change_its_configuration(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    own = replace(ORDER, is_squadrons_own=True)
    clone = (await workspace.prepare(own)).directory
    by_a_shell(clone)
    kept = await workspace.keep(own, MESSAGE)
    assert (kept.is_pushed, kept.problem) == (True, "")
    assert remote.show(BRANCH, CONFIG) == "enabled: false"


async def test_a_link_out_of_the_workspace_is_not_followed(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    outside = clone.parents[3] / "outside"
    outside.mkdir()
    (outside / "config.yaml").write_text("secret: true\n")
    (clone / CONFIG).unlink()
    (clone / ".squadron").rmdir()
    (clone / ".squadron").symlink_to(outside)
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and remote.show(BRANCH, CONFIG) == "enabled: true"
    assert "secret" not in git(remote.bare, "log", "-p", "--all")
