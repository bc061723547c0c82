"""Commits that people read: the bot's alone, and of finished work none that only we needed."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.workspace import GitWorkspace
from tests.contract.git_remote import BRANCH, ORDER, GitRemote, git, workspaces

UNFINISHED = "Work in progress on #12 (bug-fix)"
DONE = "Login fails\n\nFor #12."
US = f"{ORDER.author_name} <{ORDER.author_email}>"
MARIA = "maria <7+maria@users.noreply.github.com>"
SHOWN = "--format=%s|%an <%ae>|%cn <%ce>"


def commit(clone: Path, subject: str, name: str, text: str = "x\n") -> None:
    """As the agent does whose commits are whoever's it says."""
    (clone / name).parent.mkdir(parents=True, exist_ok=True)
    (clone / name).write_text(text)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", subject)


def on_github(remote: GitRemote) -> list[str]:
    """The commits of the branch, oldest first: subject, author, committer."""
    found = git(remote.bare, "log", "--reverse", "--topo-order", SHOWN, f"main..{BRANCH}")
    return found.splitlines()


def of_us(*subjects: str) -> list[str]:
    return [f"{subject}|{US}|{US}" for subject in subjects]


async def test_whoever_the_agent_says_it_is_its_commits_are_the_bots(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    commit(clone, "Mine", "a.py")
    before = git(clone, "status", "--porcelain")
    kept = await workspace.keep(ORDER, UNFINISHED)
    start = f"Start of {ORDER.agent}"
    assert on_github(remote) == of_us(start, "Mine")
    assert kept.sha == remote.head(BRANCH) == git(clone, "rev-parse", "HEAD")
    assert git(clone, "status", "--porcelain") == before
    commit(clone, "More", "b.py")
    again = await workspace.keep(ORDER, UNFINISHED)
    assert on_github(remote) == of_us(start, "Mine", "More"), "on top of what is there"
    assert again.problem == "" and await workspace.keep(ORDER, UNFINISHED) == again
    assert await workspace.remove(ORDER.agent)


async def test_dates_and_messages_are_the_agents(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "a.py").write_text("x\n")
    git(clone, "add", "-A")
    words = "Fix it\n\nBecause.\n\n* one\n* two"
    git(clone, "commit", "-q", "-m", words, "--date=2026-03-01T10:00:00+02:00")
    await workspace.keep(ORDER, DONE, is_finished=True)
    assert git(remote.bare, "log", "-1", "--format=%aI%n%B", BRANCH) == (
        f"2026-03-01T10:00:00+02:00\n{words}"
    )


@pytest.mark.parametrize("is_finished", [False, True])
async def test_a_message_calls_nobody_and_closes_nothing(
    workspace: GitWorkspace, remote: GitRemote, *, is_finished: bool
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "a.py").write_text("x\n")
    git(clone, "add", "-A")
    signed_off = "Signed-off-by: Ada <ada@example.com>"
    said = f"Fixes #1, says @octo/everyone\n\nCloses: octo/other#2 <List> \uff20ada\n\n{signed_off}"
    git(clone, "commit", "-q", "-m", said)
    await workspace.keep(ORDER, DONE, is_finished=is_finished)
    assert git(remote.bare, "log", "-1", "--format=%B", BRANCH) == (
        "F\u200bixes #1, says @\u200bocto/everyone\n\n"
        f"C\u200bloses: octo/other#2 <List> \uff20\u200bada\n\n{signed_off}"
    )
    again = git(clone, "rev-parse", "HEAD")
    await workspace.keep(ORDER, DONE, is_finished=is_finished)
    assert git(remote.bare, "rev-parse", BRANCH) == again, "the same commit, and no other on top"


async def test_finished_work_has_neither_start_nor_work_in_progress(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    """It was paused twice, once in the middle of a commit, and ends with a change that it has not
    committed."""
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "a.py").write_text("half\n")
    await workspace.keep(ORDER, UNFINISHED)
    commit(clone, "First", "a.py", "whole\n")
    await workspace.keep(ORDER, UNFINISHED)
    commit(clone, "Second", "b.py")
    git(clone, "commit", "-q", "--allow-empty", "-m", "Nothing")
    (clone / "c.py").write_text("x\n")
    await workspace.keep(ORDER, UNFINISHED)
    assert any("Work in progress" in each for each in on_github(remote))
    kept = await workspace.keep(ORDER, DONE, is_finished=True)
    assert on_github(remote) == of_us("First", "Second", "Login fails")
    assert [*kept.commits] == ["First", "Second", "Login fails"]
    assert kept.is_pushed and kept.sha == remote.head(BRANCH) and kept.content is not None
    assert git(remote.bare, "rev-parse", f"{BRANCH}~3") == remote.head("main")
    assert remote.show(BRANCH, "a.py") == "whole" and remote.show(BRANCH, "c.py") == "x"
    assert await workspace.keep(ORDER, DONE, is_finished=True) == kept
    assert await workspace.remove(ORDER.agent)


async def test_after_the_pull_request_is_open_commits_are_added_only(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    commit(clone, "First", "a.py")
    first = await workspace.keep(ORDER, DONE, is_finished=True)
    clone = (await workspace.prepare(ORDER)).directory
    commit(clone, "As asked", "a.py", "y\n")
    (clone / "b.py").write_text("x\n")
    second = await workspace.keep(ORDER, DONE)
    assert on_github(remote) == of_us("First", "As asked", "Login fails")
    assert git(remote.bare, "merge-base", str(first.sha), str(second.sha)) == first.sha


async def test_where_others_have_a_commit_nothing_is_replaced(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "a.py").write_text("half\n")
    await workspace.keep(ORDER, UNFINISHED)
    theirs = remote.commit({"theirs.py": "1\n"}, "Theirs", branch=BRANCH)
    commit(clone, "First", "a.py", "whole\n")
    kept = await workspace.keep(ORDER, DONE, is_finished=True)
    assert kept.is_pushed and git(remote.bare, "merge-base", theirs, BRANCH) == theirs
    assert "Theirs|Person <person@example.com>|Person <person@example.com>" in on_github(remote)
    assert {*of_us("First")} <= {*on_github(remote)}


async def test_where_a_rule_refuses_it_commits_stay(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "a.py").write_text("half\n")
    await workspace.keep(ORDER, UNFINISHED)
    remote.on("update", 'git merge-base --is-ancestor "$2" "$3" || exit 1')
    commit(clone, "First", "a.py", "whole\n")
    kept = await workspace.keep(ORDER, DONE, is_finished=True)
    assert (kept.is_pushed, kept.problem, kept.has_changes) == (True, "", True)
    assert remote.show(BRANCH, "a.py") == "whole"
    assert any("Work in progress" in each for each in on_github(remote))


async def test_what_is_cut_off_after_the_push_is_done_once(
    workspace: GitWorkspace, remote: GitRemote, tmp_path: Path
) -> None:
    """The process dies when GitHub has the commits and nothing is noted."""
    clone = (await workspace.prepare(ORDER)).directory
    commit(clone, "First", "a.py")
    handover = clone.parent / "handover.git"
    known = git(handover, "for-each-ref", "--format=update %(refname) %(objectname)")
    head = git(clone, "rev-parse", "HEAD")
    for is_finished in (False, True):
        kept = await workspace.keep(ORDER, DONE, is_finished=is_finished)
        there = on_github(remote)
        for line in known.splitlines():
            git(handover, *line.replace("update ", "update-ref ").split())
        git(clone, "reset", "-q", "--mixed", head)
        anew = workspaces(tmp_path / "data", remote.url, remote.token)
        again = await anew.keep(ORDER, DONE, is_finished=is_finished)
        assert (again, on_github(remote)) == (kept, there)


async def test_a_merge_of_the_default_branch_stays_one(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    order = ORDER
    made = await workspace.prepare(order)
    clone = made.directory
    commit(clone, "First", "a.py")
    remote.commit({"new.py": "1\n"}, "News")
    await workspace.news(order, made.base_sha)
    git(clone, "merge", "-q", "--no-edit", "-m", "Merge main", "origin/main")
    (clone / "b.py").write_text("x\n")
    kept = await workspace.keep(order, DONE, is_finished=True)
    assert on_github(remote) == of_us("First", "Merge main", "Login fails")
    merge = git(remote.bare, "rev-list", "--parents", "-1", f"{BRANCH}~1").split()
    assert len(merge) == 3 and kept.diff is not None and kept.diff.files == 2


async def test_a_successor_takes_the_commits_over(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    commit(clone, "First", "a.py")
    (clone / "b.py").write_text("half\n")
    await workspace.keep(ORDER, UNFINISHED)
    after = replace(ORDER, agent="octo/demo#12/bug-fix/2")
    clone = (await workspace.prepare(after)).directory
    commit(clone, "Second", "b.py", "whole\n")
    await workspace.keep(after, DONE, is_finished=True)
    assert on_github(remote) == of_us("First", "Second")


async def test_who_has_nothing_to_show_keeps_its_start(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    made = await workspace.prepare(ORDER)
    kept = await workspace.keep(ORDER, DONE, is_finished=True)
    assert (kept.has_changes, kept.is_pushed) == (False, True)
    assert remote.head(BRANCH) == kept.sha == made.head_sha, "its check stands there"


async def test_what_nobody_wrote_is_in_no_commit(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / ".venv").mkdir()
    (clone / ".venv/a.py").write_text("x\n")
    commit(clone, "All of it", "a.py")
    (clone / ".venv/b.py").write_text("x\n")
    commit(clone, "Only made", ".venv/c.py")
    await workspace.keep(ORDER, UNFINISHED)
    names = git(remote.bare, "log", "--format=", "--name-only", f"main..{BRANCH}")
    assert names.split() == ["a.py"]
    assert git(clone, "status", "--porcelain") == "?? .venv/"
    kept = await workspace.keep(ORDER, DONE, is_finished=True)
    assert on_github(remote) == of_us("All of it")
    assert await workspace.keep(ORDER, DONE, is_finished=True) == kept


def messages(remote: GitRemote) -> list[str]:
    """Of the commits of the branch, oldest first."""
    shown = ("--reverse", "--topo-order", "--format=%B%x00")
    found = git(remote.bare, "log", *shown, f"main..{BRANCH}").split("\0")
    return [each.strip() for each in found if each.strip()]


async def test_who_started_it_is_a_co_author_where_the_repository_says_so(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    order = replace(ORDER, co_author=MARIA)
    clone = (await workspace.prepare(order)).directory
    commit(clone, "First\n\nIt was wrong.\n\nReviewed-by: Ada", "a.py")
    commit(clone, f"Second\n\nCo-authored-by: {MARIA}", "b.py")
    (clone / "c.py").write_text("x\n")
    await workspace.keep(order, UNFINISHED)
    kept = await workspace.keep(order, DONE, is_finished=True)
    assert messages(remote) == [
        f"First\n\nIt was wrong.\n\nReviewed-by: Ada\nCo-authored-by: {MARIA}",
        f"Second\n\nCo-authored-by: {MARIA}",
        f"{DONE}\n\nCo-authored-by: {MARIA}",
    ]
    assert await workspace.keep(order, DONE, is_finished=True) == kept


async def test_a_successor_names_who_started_each(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(replace(ORDER, co_author=MARIA))).directory
    commit(clone, "First", "a.py")
    await workspace.keep(replace(ORDER, co_author=MARIA), UNFINISHED)
    ada = "ada <8+ada@users.noreply.github.com>"
    after = replace(ORDER, agent="octo/demo#12/bug-fix/2", co_author=ada)
    clone = (await workspace.prepare(after)).directory
    commit(clone, "Second", "b.py")
    await workspace.keep(after, DONE, is_finished=True)
    assert messages(remote) == [
        f"First\n\nCo-authored-by: {MARIA}",
        f"Second\n\nCo-authored-by: {ada}",
    ]
