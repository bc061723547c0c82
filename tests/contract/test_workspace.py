"""GitWorkspace against a real git remote over HTTP."""

import asyncio
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.workspace import GitWorkspace, agent_directory
from app.adapters.workspace.places import locked
from app.adapters.workspace.stage import unquoted
from app.core.agents.events import DiffSize
from app.ports import (
    Refused,
    Repository,
    WorkspaceFailed,
)
from tests.contract.git_remote import BRANCH, ORDER, TOKEN, GitRemote, git, workspaces

MESSAGE = "Keep the work of bug-fix on #12"


@pytest.fixture
def offline(data: Path) -> GitWorkspace:
    """A workspace that must not come to the point of asking for a token."""

    async def no_token(repository: Repository, purpose: str, _refused: str | None = None) -> str:
        raise AssertionError

    return workspaces(data, "https://github.invalid", no_token)


def write(directory: Path, name: str, text: str) -> None:
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(text)


def contents(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def commit(directory: Path, name: str, text: str, subject: str) -> str:
    """What an agent does in its clone."""
    write(directory, name, text)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", subject)
    return git(directory, "rev-parse", "HEAD")


# --- prepare ---------------------------------------------------------------------------------


async def test_the_branch_starts_with_an_empty_commit_of_its_own(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    checkout = await workspace.prepare(ORDER)
    assert checkout.is_fresh
    assert checkout.base_sha == remote.head("main")
    assert checkout.head_sha == remote.head(BRANCH) != remote.head("main")
    about = git(remote.bare, "show", "--stat", "--format=%P|%an|%ce|%B", checkout.head_sha)
    parent, author, committer, message = about.split("|")
    assert (parent, author) == (checkout.base_sha, ORDER.author_name)
    assert committer == ORDER.author_email
    assert ORDER.agent in message
    assert "changed" not in message  # no files


async def test_a_fresh_clone_says_what_its_code_depends_on(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    """And whether anybody has worked on its branch: a successor finds its predecessor's work."""

    async def said(number: int, files: dict[str, str], to: str = "main") -> tuple[str, bool]:
        if files:
            remote.commit(files, "Change", branch=to)
        order = replace(ORDER, agent=f"octo/demo#{number}/docs/1", branch=f"squadron/{number}")
        checkout = await workspace.prepare(order)
        assert checkout.is_fresh
        return checkout.dependencies, checkout.is_unchanged

    assert await said(1, {}) == ("", True)
    one = await said(2, {"a/uv.lock": "1\n"})
    assert len(one[0]) == 64 and one[1]
    assert await said(3, {"other.txt": "of no consequence\n"}) == one
    assert (await said(4, {"a/uv.lock": "2\n"}))[0] not in (one[0], "")
    assert await said(5, {"a/uv.lock": "1\n"}) == one
    await workspace.remove("octo/demo#5/docs/1")
    assert await said(5, {"setup.sh": "harm\n"}, to="squadron/5") == (one[0], False)
    assert (await said(6, {"b/requirements-dev.txt": "x\n"}))[0] not in (one[0], "")
    again = await workspace.prepare(replace(ORDER, agent="octo/demo#1/docs/1", branch="squadron/1"))
    assert (again.dependencies, again.is_unchanged) == ("", False), "it is not fresh"


async def test_a_discarded_clone_is_made_anew(workspace: GitWorkspace, data: Path) -> None:
    checkout = await workspace.prepare(ORDER)
    files = checkout.directory.parent
    write(checkout.directory, "half/of/it", "x")
    (checkout.directory / "half").chmod(0o500)
    write(files, "home/.cache/x", "x")
    await workspace.discard(ORDER.agent)
    assert not (files / "home").exists() and not (files / "workspace").exists()
    await workspace.discard(ORDER.agent)
    again = await workspace.prepare(ORDER)
    assert again.is_fresh and again.head_sha == checkout.head_sha
    assert not (again.directory / "half").exists()


async def test_the_clone_is_the_agents_own(workspace: GitWorkspace, data: Path) -> None:
    checkout = await workspace.prepare(ORDER)
    clone = checkout.directory
    assert clone == agent_directory(data, ORDER.agent) / "workspace"
    assert (clone / "app.py").read_text() == "print('hello')\n"
    assert git(clone, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert git(clone, "rev-parse", "origin/main") == checkout.base_sha
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "remote") == ""
    assert git(clone, "config", "user.name") == ORDER.author_name
    assert git(clone, "config", "user.email") == ORDER.author_email
    assert not (clone / ".git/objects/info/alternates").exists()
    shared = [path for path in clone.rglob("*") if path.is_file() and path.stat().st_nlink > 1]
    assert shared == []


async def test_an_existing_clone_is_left_as_the_agent_left_it(workspace: GitWorkspace) -> None:
    first = await workspace.prepare(ORDER)
    write(first.directory, "half.py", "unfinished")
    own = commit(first.directory, "own.py", "x", "Own")
    write(first.directory, "half.py", "changed again")
    again = await workspace.prepare(ORDER)
    assert again == replace(first, is_fresh=False, is_unchanged=False)
    assert git(first.directory, "rev-parse", "HEAD") == own
    assert (first.directory / "half.py").read_text() == "changed again"


async def test_a_retry_takes_the_branch_over(workspace: GitWorkspace, remote: GitRemote) -> None:
    first = await workspace.prepare(ORDER)
    write(first.directory, "fix.py", "x = 1\n")
    kept = await workspace.keep(ORDER, MESSAGE)
    remote.commit({"later.py": ""}, "Main moves on")
    second = await workspace.prepare(replace(ORDER, agent="octo/demo#12/bug-fix/2"))
    assert second.is_fresh
    assert (second.base_sha, second.head_sha) == (first.base_sha, kept.sha)
    assert (second.directory / "fix.py").read_text() == "x = 1\n"


async def test_a_clone_that_was_cut_off_is_made_anew(
    workspace: GitWorkspace, data: Path, remote: GitRemote
) -> None:
    half = agent_directory(data, ORDER.agent) / "workspace.unfinished"
    write(half, ".git/HEAD", "garbage")
    write(half, "stale.py", "stale")
    unfinished_mirror = data / "mirrors/1.git.unfinished"
    write(unfinished_mirror, "HEAD", "garbage")
    checkout = await workspace.prepare(ORDER)
    assert checkout.is_fresh
    assert sorted(os.listdir(checkout.directory)) == [".git", ".gitignore", "app.py"]  # noqa: PTH208
    assert not half.exists()
    assert remote.head(BRANCH) == checkout.head_sha


async def test_locks_of_a_killed_git_are_no_obstacle(workspace: GitWorkspace, data: Path) -> None:
    checkout = await workspace.prepare(ORDER)
    write(checkout.directory, "fix.py", "x = 1\n")
    handover = checkout.directory.parent / "handover.git"
    for lock in (
        data / "mirrors/1.git/packed-refs.lock",
        data / "mirrors/1.git/refs/heads/main.lock",
        handover / "keep.index.lock",
        handover / "fingerprint.index.lock",
        handover / "refs/squadron/kept.lock",
        checkout.directory / ".git/index.lock",
    ):
        lock.touch()
    await workspace.fingerprint(checkout.directory)
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed
    assert kept.problem == ""


async def test_a_branch_deleted_by_somebody_comes_back(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    checkout = await workspace.prepare(ORDER)
    git(remote.bare, "update-ref", "-d", f"refs/heads/{BRANCH}")
    again = await workspace.prepare(ORDER)
    assert again.head_sha == checkout.head_sha == remote.head(BRANCH)


async def test_many_agents_of_one_repository_start_at_once(
    workspace: GitWorkspace, remote: GitRemote, data: Path
) -> None:
    orders = [
        replace(ORDER, agent=f"octo/demo#{number}/pm/1", branch=f"squadron/pm/issue-{number}")
        for number in range(1, 5)
    ]
    other_worker = workspaces(data, remote.url, remote.token)
    checkouts = await asyncio.gather(
        *(workspace.prepare(order) for order in orders[:2]),
        *(other_worker.prepare(order) for order in orders[2:]),
    )
    assert [remote.head(order.branch) for order in orders] == [
        checkout.head_sha for checkout in checkouts
    ]


WEIRD_BRANCHES = ["", "-x", "a b", "a..b", "a/.b", "a.lock", "a//b", "/a", "a/", "a~1", "a:b"]
WEIRD_BRANCHES += ["a\nb", "HEAD", "@", "a\\b", "a*", "a.", "x" * 201, "main"]


@pytest.mark.parametrize("branch", WEIRD_BRANCHES)
async def test_weird_branches_are_refused(offline: GitWorkspace, branch: str) -> None:
    with pytest.raises(WorkspaceFailed, match="branch"):
        await offline.prepare(replace(ORDER, branch=branch))


@pytest.mark.parametrize("name", ["../demo", "octo/..", "octo", "octo/a/b", "-o/x", "octo/.", "o/"])
async def test_weird_repositories_are_refused(offline: GitWorkspace, name: str) -> None:
    with pytest.raises(WorkspaceFailed, match="Not a repository's name"):
        await offline.prepare(replace(ORDER, repository=Repository(name, 1)))


async def test_an_empty_repository_is_explained(workspace: GitWorkspace, remote: GitRemote) -> None:
    git(remote.bare, "update-ref", "-d", "refs/heads/main")
    with pytest.raises(WorkspaceFailed, match="octo/demo has no branch `main`"):
        await workspace.prepare(ORDER)


# --- tokens ----------------------------------------------------------------------------------


async def test_the_token_is_written_nowhere(
    workspace: GitWorkspace, remote: GitRemote, data: Path
) -> None:
    checkout = await workspace.prepare(ORDER)
    write(checkout.directory, "fix.py", "x = 1\n")
    await workspace.keep(ORDER, MESSAGE)
    remote.commit({"later.py": ""}, "Main moves on")
    await workspace.news(ORDER, checkout.base_sha)
    assert {"read", "write"} == set(remote.purposes)
    content = contents(data)
    assert len(content) > 20
    assert [path for path, held in content.items() if TOKEN.encode() in held] == []


async def test_a_wrong_token_is_reported_without_it(remote: GitRemote, data: Path) -> None:
    async def wrong(repository: Repository, purpose: str, _refused: str | None = None) -> str:
        return "ghs_wrong"

    workspace = workspaces(data, remote.url, wrong)
    with pytest.raises(WorkspaceFailed) as failure:
        await workspace.prepare(ORDER)
    assert "ls-remote" in str(failure.value)
    assert "ghs_wrong" not in str(failure.value)


async def test_no_token_is_a_failure_of_the_workspace(remote: GitRemote, data: Path) -> None:
    async def none(repository: Repository, purpose: str, _refused: str | None = None) -> str:
        raise Refused("the App is not installed", 404)

    workspace = workspaces(data, remote.url, none)
    with pytest.raises(WorkspaceFailed, match="octo/demo: the App is not installed"):
        await workspace.prepare(ORDER)


# --- keep ------------------------------------------------------------------------------------


async def test_commits_and_uncommitted_work_reach_github(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    commit(directory, "fix.py", "x = 1\n", "Fix it")
    write(directory, "tests/tést \t\n.py", "assert 1\n")
    write(directory, "noise.log", "ignored")
    (directory / "app.py").unlink()
    (directory / "link").symlink_to("fix.py")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed
    assert kept.has_changes
    assert kept.problem == ""
    assert kept.sha == remote.head(BRANCH)
    assert kept.commits == ("Fix it", MESSAGE)
    assert git(remote.bare, "rev-parse", f"{BRANCH}^") == git(directory, "rev-parse", "HEAD")
    assert git(remote.bare, "log", "-1", "--format=%an|%ce|%s", BRANCH) == (
        f"{ORDER.author_name}|{ORDER.author_email}|{MESSAGE}"
    )
    tricky = '"tests/t\\303\\251st \\t\\n.py"'
    assert sorted(remote.files(BRANCH)) == [tricky, ".gitignore", "fix.py", "link"]
    assert remote.show(BRANCH, "link") == "fix.py"  # stored as a link, not followed


async def test_keeping_twice_is_keeping_once(workspace: GitWorkspace, remote: GitRemote) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    commit(directory, "fix.py", "x = 1\n", "Fix it")
    write(directory, "rest.py", "y")
    first = await workspace.keep(ORDER, MESSAGE)
    assert await workspace.keep(ORDER, "Another message") == first


async def test_nothing_done_is_nothing_committed(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    checkout = await workspace.prepare(ORDER)
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.sha, kept.is_pushed, kept.problem) == (checkout.head_sha, True, "")
    assert not kept.has_changes
    assert kept.commits == ()
    assert kept.diff == DiffSize(files=0, added=0, deleted=0)


async def test_the_size_of_the_work_is_told_whatever_it_holds(workspace: GitWorkspace) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    commit(directory, "fix.py", "x = 1\ny = 2\n", "Fix it")
    assert (await workspace.keep(ORDER, MESSAGE)).diff == DiffSize(files=1, added=2, deleted=0)
    (directory / "app.py").unlink()
    write(directory, "fix.py", "x = 3\n")
    (directory / "image").write_bytes(bytes(range(256)))
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.diff == DiffSize(files=3, added=1, deleted=1)


async def test_changes_taken_back_are_no_changes(workspace: GitWorkspace) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    write(directory, "fix.py", "x")
    assert (await workspace.keep(ORDER, MESSAGE)).has_changes
    (directory / "fix.py").unlink()
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed
    assert not kept.has_changes


async def test_work_goes_on_after_it_was_kept(workspace: GitWorkspace, remote: GitRemote) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    write(directory, "a.py", "a")
    first = await workspace.keep(ORDER, MESSAGE)
    commit(directory, "b.py", "b", "The agent commits what was kept already")
    write(directory, "c.py", "c")
    second = await workspace.keep(ORDER, MESSAGE)
    assert second.is_pushed
    assert {"a.py", "b.py", "c.py"} < set(remote.files(BRANCH))
    held = git(remote.bare, "rev-list", BRANCH).splitlines()
    assert first.sha in held
    assert git(directory, "rev-parse", "HEAD") in held


@pytest.mark.parametrize("how", ["amended", "reset", "detached", "another branch", "packed"])
async def test_whatever_the_agent_does_to_its_branch_head_counts(
    workspace: GitWorkspace, remote: GitRemote, how: str
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    commit(directory, "a.py", "a\n", "First try")
    assert (await workspace.keep(ORDER, MESSAGE)).is_pushed
    match how:
        case "amended":
            write(directory, "a.py", "b\n")
            git(directory, "commit", "-qa", "--amend", "-m", "Better")
        case "reset":
            git(directory, "reset", "-q", "--hard", "HEAD^")
            commit(directory, "a.py", "b\n", "Better")
        case "detached":
            git(directory, "checkout", "-q", "--detach")
            commit(directory, "a.py", "b\n", "Better")
        case "another branch":
            git(directory, "checkout", "-q", "-b", "mine")
            commit(directory, "a.py", "b\n", "Better")
        case _:
            commit(directory, "a.py", "b\n", "Better")
            git(directory, "gc", "-q")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed
    assert kept.problem == ""
    assert remote.show(BRANCH, "a.py") == "b"
    assert "Better" in kept.commits
    assert await workspace.keep(ORDER, MESSAGE) == kept


async def test_a_merged_default_branch_is_not_the_agents_change(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    checkout = await workspace.prepare(ORDER)
    remote.commit({"later.py": "later"}, "Main moves on")
    await workspace.news(ORDER, checkout.base_sha)
    git(checkout.directory, "merge", "-q", "origin/main")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed
    assert not kept.has_changes
    assert kept.commits == ()


async def test_a_history_of_its_own_is_kept_as_content(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    git(directory, "checkout", "-q", "--orphan", "new-world")
    commit(directory, "fix.py", "x", "Orphan")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed
    assert "is not built on" in kept.problem
    assert str(directory) in kept.problem
    assert remote.show(BRANCH, "fix.py") == "x"


async def test_what_cannot_be_kept_is_named(workspace: GitWorkspace, remote: GitRemote) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    write(directory, "fine.py", "x")
    nested = directory / "vendor/nested"
    nested.mkdir(parents=True)
    git(nested, "init", "-q")
    write(nested, "inside.py", "x")
    with (directory / "huge.bin").open("wb") as file:
        file.truncate(50_000_001)
    os.mkfifo(directory / "pipe")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed
    assert "`vendor/nested/` (a nested repository)" in kept.problem
    assert "`huge.bin` (larger than 50000000 bytes)" in kept.problem
    assert str(directory) in kept.problem
    assert sorted(remote.files(BRANCH)) == [".gitignore", "app.py", "fine.py"]
    assert not await workspace.remove(ORDER.agent)


async def test_what_github_holds_is_known_by_the_fingerprint_of_the_files(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    """So a test run before the hand-over counts for just what is handed over, and for no more."""
    directory = (await workspace.prepare(ORDER)).directory
    write(directory, "fix.py", "x")
    tested = await workspace.fingerprint(directory)
    commit(directory, "noise.log", "ignored", "Committing changes no file")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.content, kept.withheld) == (tested, ())
    write(directory, "fix.py", "y")
    edited = await workspace.keep(ORDER, MESSAGE)
    assert edited.content == await workspace.fingerprint(directory) != tested
    with (directory / "huge.bin").open("wb") as file:
        file.truncate(50_000_001)
    os.mkfifo(directory / "pipe")
    lacking = await workspace.keep(ORDER, MESSAGE)
    assert (lacking.content, lacking.withheld) == (None, ("huge.bin",)), "tests may have read it"
    (directory / "huge.bin").unlink()
    remote.commit({"theirs.py": "x"}, "By hand", branch=BRANCH)
    beside = await workspace.keep(ORDER, MESSAGE)
    assert (beside.is_pushed, beside.content) == (True, None), "GitHub holds others' work too"
    remote.on("update", "exit 1")
    write(directory, "fix.py", "z")
    unpushed = await workspace.keep(ORDER, MESSAGE)
    assert (unpushed.is_pushed, unpushed.content) == (False, None)


async def test_a_committed_gitlink_is_taken_out(workspace: GitWorkspace, remote: GitRemote) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    nested = directory / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    commit(nested, "inside.py", "x", "Inside")
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "With a nested repository")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed
    assert "`nested` (a nested repository)" in kept.problem
    assert sorted(remote.files(BRANCH)) == [".gitignore", "app.py"]
    assert await workspace.keep(ORDER, MESSAGE) == kept


async def test_stashed_work_is_mentioned_and_stays(workspace: GitWorkspace) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    write(directory, "app.py", "changed")
    git(directory, "stash")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert "git stash" in kept.problem
    assert not await workspace.remove(ORDER.agent)


async def test_without_a_workspace_there_is_nothing_to_keep(workspace: GitWorkspace) -> None:
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.sha, kept.is_pushed, kept.problem) == (None, False, "")


# --- pushing ---------------------------------------------------------------------------------


async def test_somebody_who_went_on_from_the_kept_work_is_no_problem(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    write(directory, "ours.py", "x")
    await workspace.keep(ORDER, MESSAGE)
    theirs = remote.commit({"theirs.py": "x"}, "By hand", branch=BRANCH)
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.sha, kept.is_pushed, kept.problem) == (theirs, True, "")


async def test_a_protected_branch_is_said_in_plain_words(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    checkout = await workspace.prepare(ORDER)
    remote.on("update", 'echo "GH006: Protected branch update failed" >&2; exit 1')
    write(checkout.directory, "fix.py", "x")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert not kept.is_pushed
    assert "GH006: Protected branch update failed" in kept.problem
    assert "handover.git" in kept.problem
    assert remote.head(BRANCH) == checkout.head_sha
    remote.on("update", "exit 0")
    again = await workspace.keep(ORDER, MESSAGE)
    assert again.is_pushed
    assert again.sha == kept.sha


async def test_a_push_that_does_not_stay_is_not_believed(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    checkout = await workspace.prepare(ORDER)
    remote.on("post-update", f"git update-ref refs/heads/{BRANCH} {checkout.head_sha}")
    write(checkout.directory, "fix.py", "x")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert not kept.is_pushed
    assert f"after the push the branch `{BRANCH}` reads {checkout.head_sha[:12]}" in kept.problem
    assert not await workspace.remove(ORDER.agent)


@pytest.mark.parametrize(("failures", "arrives"), [(2, True), (3, False)])
async def test_bad_weather_is_waited_out_within_bounds(
    workspace: GitWorkspace, remote: GitRemote, failures: int, arrives: bool
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    write(directory, "fix.py", "x")
    remote.failures_left = failures
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed is arrives
    assert ("503" in kept.problem) is not arrives
    assert kept.has_changes


# --- fingerprint -----------------------------------------------------------------------------


async def test_the_fingerprint_knows_content_only(workspace: GitWorkspace) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    seen = [await workspace.fingerprint(directory)]
    write(directory, "app.py", "print('hello')\n")
    os.utime(directory / "app.py", (1, 1))
    write(directory, "noise.log", "ignored")
    assert await workspace.fingerprint(directory) == seen[0]
    for name, text in [("app.py", "1"), ("app.py", "2"), ("untracked.py", "3")]:
        write(directory, name, text)
        seen.append(await workspace.fingerprint(directory))
    (directory / "app.py").chmod(0o755)
    seen.append(await workspace.fingerprint(directory))
    (directory / "app.py").unlink()
    seen.append(await workspace.fingerprint(directory))
    assert len(set(seen)) == len(seen)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "Committing changes no file")
    assert await workspace.fingerprint(directory) == seen[-1]


async def test_fingerprints_may_be_asked_for_at_once(workspace: GitWorkspace) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    seen = await asyncio.gather(*(workspace.fingerprint(directory) for _ in range(5)))
    assert len(set(seen)) == 1


async def test_a_file_that_becomes_ignored_no_longer_counts(workspace: GitWorkspace) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    write(directory, "out.txt", "1")
    await workspace.fingerprint(directory)
    write(directory, ".gitignore", "out.txt\n")
    before = await workspace.fingerprint(directory)
    write(directory, "out.txt", "2")
    assert await workspace.fingerprint(directory) == before


async def test_no_fingerprint_without_a_workspace(workspace: GitWorkspace, data: Path) -> None:
    with pytest.raises(WorkspaceFailed, match="is not an agent's workspace"):
        await workspace.fingerprint(data)


# --- news ------------------------------------------------------------------------------------


async def test_news_are_told_and_fetched(workspace: GitWorkspace, remote: GitRemote) -> None:
    checkout = await workspace.prepare(ORDER)
    assert await workspace.news(ORDER, checkout.base_sha) == ""
    subjects = [f"Change {number} {'long ' * 50}" for number in range(35)]
    head = remote.commit({f"file{number}.py": "x" for number in range(35)}, *subjects)
    news = await workspace.news(ORDER, checkout.base_sha)
    assert news.startswith("35 new commits:")
    assert "Change 34" in news
    assert "Change 4 " not in news  # the 30 newest
    assert "35 files changed" in news
    assert len(news) <= 6_500
    assert git(checkout.directory, "rev-parse", "origin/main") == head
    assert await workspace.news(ORDER, head) == ""


async def test_news_that_do_not_arrive_are_told_all_the_same(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    checkout = await workspace.prepare(ORDER)
    (checkout.directory / ".git/HEAD").unlink()
    remote.commit({"later.py": ""}, "Main moves on")
    news = await workspace.news(ORDER, checkout.base_sha)
    assert "Main moves on" in news
    assert "could not be brought into the workspace" in news


# --- remove ----------------------------------------------------------------------------------


async def test_only_what_is_on_github_is_removed(
    workspace: GitWorkspace, remote: GitRemote, data: Path
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    session = agent_directory(data, ORDER.agent) / "session"
    session.mkdir()
    write(directory, "fix.py", "x")
    assert not await workspace.remove(ORDER.agent)
    commit(directory, "fix.py", "x", "Fix")
    assert not await workspace.remove(ORDER.agent)
    await workspace.keep(ORDER, MESSAGE)
    cache = directory / "cache.log"  # ignored, and read-only as package caches are
    cache.mkdir()
    write(cache, "module", "x")
    cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert await workspace.remove(ORDER.agent)
    assert not directory.exists()
    assert session.exists()
    assert await workspace.remove(ORDER.agent)
    again = await workspace.prepare(ORDER)
    assert again.is_fresh
    assert again.head_sha == remote.head(BRANCH)


async def test_an_untouched_workspace_is_removed(workspace: GitWorkspace) -> None:
    await workspace.prepare(ORDER)
    assert await workspace.remove(ORDER.agent)


async def test_kept_work_that_never_arrived_survives_the_loss_of_the_workspace(
    workspace: GitWorkspace, remote: GitRemote, data: Path
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    remote.on("update", "exit 1")
    write(directory, "fix.py", "x")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.sha is not None
    directory.rename(data / "moved-away")
    assert (await workspace.prepare(ORDER)).is_fresh
    aside = directory.parent / f"handover-{kept.sha[:12]}.git"
    assert git(aside, "show", f"{kept.sha}:fix.py") == "x"


# --- names and locks -------------------------------------------------------------------------


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text(max_size=40), st.text(max_size=40))
def test_agents_have_directories_of_their_own(one: str, other: str) -> None:
    data = Path("/data")
    try:
        paths = agent_directory(data, one), agent_directory(data, other)
    except (WorkspaceFailed, UnicodeEncodeError):
        return
    assert (paths[0] == paths[1]) is (one == other)
    for path in paths:
        assert path.parent == data / "agents"
        assert path.name not in ("", ".", "..")


@pytest.mark.parametrize("agent", ["", ".", "..", "." + "x", "x" * 201])
def test_what_is_no_agents_id_has_no_directory(agent: str) -> None:
    with pytest.raises(WorkspaceFailed, match="Not an agent's id"):
        agent_directory(Path("/data"), agent)


async def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    inside: list[int] = []

    async def enter() -> None:
        async with locked(tmp_path / "lock"):
            inside.append(1)
            assert len(inside) == 1
            await asyncio.sleep(0)
            inside.pop()

    await asyncio.gather(*(enter() for _ in range(5)))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.binary(min_size=1, max_size=20))
def test_paths_in_gits_quotes_are_read_back(path: bytes) -> None:
    quoted = '"' + "".join(f"\\{byte:03o}" for byte in path) + '"'
    assert unquoted(quoted) == path


# --- apart -----------------------------------------------------------------------------------


async def test_a_clean_clone_apart_holds_what_git_holds_and_begins_at_the_default_branch(
    workspace: GitWorkspace, remote: GitRemote, data: Path
) -> None:
    checkout = await workspace.prepare(ORDER)
    directory = checkout.directory
    commit(directory, "fix.py", "x = 1\n", "Fix it")
    write(directory, "noise.log", "ignored")
    git(directory, "config", "core.hooksPath", "/nowhere")
    kept = await workspace.keep(ORDER, MESSAGE)
    write(directory, "fix.py", "x = 2\n")
    assert kept.sha is not None
    apart = await workspace.check_out(ORDER, kept.sha)
    place = apart.directory
    assert place == agent_directory(data, ORDER.agent) / "apart/workspace"
    assert git(place, "rev-parse", "HEAD") == checkout.base_sha == apart.base_sha
    assert (apart.head_sha, apart.is_fresh, apart.is_unchanged) == (kept.sha, True, True)
    assert not (place / "fix.py").exists() and not (place / "noise.log").exists()
    assert "hookspath" not in git(place, "config", "--list", "--local")
    assert git(place, "remote") == ""
    git(place, "checkout", "--quiet", "--force", "--detach", kept.sha)
    assert (place / "fix.py").read_text() == "x = 1\n"
    assert git(place, "status", "--porcelain", "--ignored") == ""
    write(directory, "more.py", "y\n")
    newer = await workspace.keep(ORDER, MESSAGE)
    assert newer.sha is not None
    again = await workspace.check_out(ORDER, newer.sha)
    assert not (again.directory / "fix.py").exists(), "it begins anew"
    await workspace.tidy_up(ORDER.agent)
    await workspace.tidy_up(ORDER.agent)
    assert not place.parent.exists()
    assert (directory / "fix.py").read_text() == "x = 2\n"


async def test_work_that_could_not_be_pushed_can_be_checked_out_apart(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    directory = (await workspace.prepare(ORDER)).directory
    commit(directory, "fix.py", "x = 1\n", "Fix it")
    remote.on("pre-receive", "exit 1")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.sha is not None and not kept.is_pushed
    apart = await workspace.check_out(ORDER, kept.sha)
    git(apart.directory, "checkout", "--quiet", "--detach", kept.sha)
    assert (apart.directory / "fix.py").read_text() == "x = 1\n"


async def test_what_nobody_has_kept_cannot_be_checked_out(workspace: GitWorkspace) -> None:
    await workspace.prepare(ORDER)
    with pytest.raises(WorkspaceFailed):
        await workspace.check_out(ORDER, "1" * 40)


async def test_with_the_clone_goes_what_is_apart(workspace: GitWorkspace, data: Path) -> None:
    checkout = await workspace.prepare(ORDER)
    apart = await workspace.check_out(ORDER, checkout.head_sha)
    assert await workspace.remove(ORDER.agent)
    assert not apart.directory.parent.exists()


async def test_tests_that_the_work_takes_away_are_told(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    body = "\n".join(f"def test_{n}(): assert {n}" for n in range(30))
    names = ("test_gone.py", "test_moved.py", "test_hidden.py", "test_kept.py", "gone.py")
    remote.commit({name: f"# {name}\n{body}\n# {name}\n" for name in names}, "Tests")
    directory = (await workspace.prepare(ORDER)).directory
    assert (await workspace.keep(ORDER, MESSAGE)).deleted_tests == ()
    (directory / "test_gone.py").unlink()
    (directory / "gone.py").unlink()
    (directory / "test_moved.py").rename(directory / "test_elsewhere.py")
    (directory / "test_hidden.py").rename(directory / "hidden.bak")
    write(directory, "test_kept.py", "def test_it(): pass\n")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.deleted_tests == ("test_gone.py", "test_hidden.py")
