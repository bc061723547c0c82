"""Commits of others on an agent's branch: merged by the host or told, never overwritten."""

from app.adapters.workspace import GitWorkspace
from tests.contract.git_remote import BRANCH, ORDER, GitRemote, git
from tests.contract.test_workspace import MESSAGE, commit, write


async def test_commits_of_others_are_merged_before_the_work_is_pushed(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    theirs = remote.commit({"theirs.py": "x"}, "By hand", branch=BRANCH)
    write(directory, "ours.py", "x")
    for _ in range(2):  # whoever keeps once more undoes nothing
        kept = await workspace.keep(ORDER, MESSAGE)
        assert (kept.is_pushed, kept.problem) == (True, "")
        assert remote.head(BRANCH) == kept.sha
        assert remote.show(BRANCH, "ours.py") == remote.show(BRANCH, "theirs.py") == "x"
    write(directory, "ours.py", "y")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert remote.show(BRANCH, "ours.py") == "y" and remote.show(BRANCH, "theirs.py") == "x"
    assert theirs in git(remote.person, "rev-list", "--all") or remote.head(BRANCH) == kept.sha


async def test_the_clone_holds_what_others_pushed_before_the_agent_goes_on(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    commit(directory, "ours.py", "x", "Ours")
    write(directory, "uncommitted.py", "kept")
    await workspace.keep(ORDER, MESSAGE)
    theirs = remote.commit({"theirs.py": "x", "README.md": "by hand"}, "By hand", branch=BRANCH)
    checkout = await workspace.prepare(ORDER)
    assert "By hand" in checkout.pulled and "merged into your branch" in checkout.pulled
    assert git(directory, "rev-parse", "HEAD").strip() == theirs
    assert (directory / "theirs.py").read_text() == "x"
    assert (directory / "uncommitted.py").read_text() == "kept"
    assert git(directory, "status", "--porcelain") == ""
    assert (await workspace.prepare(ORDER)).pulled == "", "it is told once"
    commit(directory, "more.py", "x", "More")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and remote.show(BRANCH, "README.md") == "by hand"
    assert await workspace.remove(ORDER.agent)


async def test_work_of_both_is_merged_into_the_clone(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    remote.commit({"theirs.py": "x"}, "By hand", branch=BRANCH)
    commit(directory, "ours.py", "x", "Ours, not pushed yet")
    write(directory, "uncommitted.py", "kept")
    assert "By hand" in (await workspace.prepare(ORDER)).pulled
    names = {path.name for path in directory.iterdir()}
    assert {"ours.py", "theirs.py", "uncommitted.py"} <= names
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and remote.head(BRANCH) == kept.sha


async def test_what_conflicts_is_told_and_the_agent_can_resolve_it(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    theirs = remote.commit({"both.py": "theirs"}, "By hand", branch=BRANCH)
    commit(directory, "both.py", "ours", "Ours")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.is_pushed, kept.diverged, kept.was_told) == (False, True, False)
    assert "`both.py`" in kept.problem and "git fetch" in kept.problem
    assert remote.head(BRANCH) == theirs, "never overwritten"

    told = (await workspace.prepare(ORDER)).pulled
    assert "both.py" in told and f"origin/{BRANCH}" in told
    assert (directory / "both.py").read_text() == "ours"
    still = await workspace.keep(ORDER, MESSAGE)
    assert (still.is_pushed, still.diverged, still.was_told) == (False, True, True)
    assert remote.head(BRANCH) == theirs
    assert not await workspace.remove(ORDER.agent)

    git(directory, "merge", "--quiet", "-X", "ours", "-m", "Resolve", f"origin/{BRANCH}")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and not kept.diverged
    assert remote.head(BRANCH) == kept.sha and remote.show(BRANCH, "both.py") == "ours"
    assert git(remote.bare, "merge-base", theirs, BRANCH) == theirs, "theirs stays as it is"


async def test_a_conflict_with_the_default_branch_is_known(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    commit(directory, "both.py", "ours", "Ours")
    assert (await workspace.keep(ORDER, MESSAGE)).conflicts == ()
    remote.commit({"both.py": "theirs"}, "On main")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and kept.conflicts == ("both.py",)


async def test_a_branch_is_deleted_only_where_it_was_merged(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    commit(directory, "ours.py", "x", "Ours")
    merged = (await workspace.keep(ORDER, MESSAGE)).sha
    assert merged is not None
    theirs = remote.commit({"theirs.py": "x"}, "Later", branch=BRANCH)
    assert not await workspace.delete_branch(ORDER, merged)
    assert remote.head(BRANCH) == theirs
    assert await workspace.delete_branch(ORDER, theirs)
    assert remote.head(BRANCH) is None
    assert await workspace.delete_branch(ORDER, theirs), "GitHub may have been quicker"
