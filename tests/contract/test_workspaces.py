"""What every workspace promises: real git, and its twin of the stories."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import pytest

from app.core.agents.events import MadeFiles
from app.githubbox.box import Box
from app.githubbox.git import NOTHING
from app.ports import WORK_IN_PROGRESS, Whereabouts, Workspace, WorkspaceFailed
from tests.contract.git_remote import BRANCH, ORDER, GitRemote, git, serving, workspaces
from tests.twins.clock import TurnedClock
from tests.twins.git import MemoryGit
from tests.twins.workspace import TwinWorkspace

FILES = {"app.py": "print('hello')\n", ".gitignore": "*.log\n"}

ONE_DAY = datetime(2026, 5, 4, 12, 0, 0, 123_456, tzinfo=UTC)


class Place(Protocol):
    """A workspace, and the GitHub that it works with."""

    workspace: Workspace

    async def pushes(self, branch: str, path: str, text: str) -> str:
        """Somebody pushes a file; the commit."""

    async def head(self, branch: str) -> str | None: ...

    async def content(self, branch: str, path: str) -> str: ...

    async def commits_of(self, branch: str) -> list[tuple[str, str, str]]:
        """What it holds besides the default branch, oldest first: subjects, and whose they are by
        author and committer."""

    async def opens_pull_request(self, number: int, branch: str) -> None: ...

    async def deletes(self, branch: str) -> None: ...

    async def protects(self, branch: str) -> None: ...

    def commits(self, directory: Path, subject: str) -> None:
        """What the agent does in its clone."""


class GitPlace:
    """Real git."""

    def __init__(self, remote: GitRemote, data: Path) -> None:
        self.workspace: Workspace = workspaces(data, remote.url, remote.token)
        self._remote = remote

    async def pushes(self, branch: str, path: str, text: str) -> str:
        return self._remote.commit({path: text}, f"Change {path}", branch=branch)

    async def head(self, branch: str) -> str | None:
        return self._remote.head(branch)

    async def content(self, branch: str, path: str) -> str:
        return self._remote.show(branch, path) + "\n"

    async def commits_of(self, branch: str) -> list[tuple[str, str, str]]:
        shown = ("--reverse", "--topo-order", "--format=%s%x09%ae%x09%ce")
        listed = git(self._remote.bare, "log", *shown, f"main..{branch}")
        found = [line.split("\t") for line in listed.splitlines()]
        return [(subject, author, committer) for subject, author, committer in found]

    async def opens_pull_request(self, number: int, branch: str) -> None:
        head = self._remote.head(branch)
        git(self._remote.bare, "update-ref", f"refs/pull/{number}/head", str(head))

    async def deletes(self, branch: str) -> None:
        git(self._remote.bare, "update-ref", "-d", f"refs/heads/{branch}")

    async def protects(self, branch: str) -> None:
        self._remote.on("update", f'[ "$1" != refs/heads/{branch} ] || exit 1')

    def commits(self, directory: Path, subject: str) -> None:
        git(directory, "add", "-A")
        git(directory, "commit", "-q", "-m", subject)


class TwinPlace:
    """The twin, over a box in this process."""

    def __init__(self, box: Box, clock: TurnedClock, data: Path) -> None:
        held = {path: text.encode() for path, text in FILES.items()}
        self._git = MemoryGit(clock.now, held)
        self._repository = box.host("octo/demo", self._git, "main")
        box.add_user("ada", "write")
        self._box = box
        self._twin = TwinWorkspace(box, data)
        self.workspace: Workspace = self._twin

    async def pushes(self, branch: str, path: str, text: str) -> str:
        there = self._git.head(branch)
        parent = there or self._git.head("main")
        assert parent is not None
        files = {**self._git.files(parent), path: text.encode()}
        new = self._git.make(files, [parent], f"Change {path}", "Ada", "ada@example.com")
        await self._box.push("octo/demo", f"refs/heads/{branch}", new, there or NOTHING, "ada")
        return new

    async def head(self, branch: str) -> str | None:
        return self._git.head(branch)

    async def content(self, branch: str, path: str) -> str:
        head = self._git.head(branch)
        assert head is not None
        return self._git.files(head)[path].decode()

    async def commits_of(self, branch: str) -> list[tuple[str, str, str]]:
        head, main = self._git.head(branch), self._git.head("main")
        assert head is not None and main is not None
        return [
            (one.message.splitlines()[0], one.author.email, one.committer.email)
            for one in reversed(self._git.since(head, main))
        ]

    async def opens_pull_request(self, number: int, branch: str) -> None:
        head = self._git.head(branch)
        assert head is not None
        await self._git.set_pull(number, head)

    async def deletes(self, branch: str) -> None:
        there = self._git.head(branch)
        assert there is not None
        await self._box.push("octo/demo", f"refs/heads/{branch}", NOTHING, there, "ada")

    async def protects(self, branch: str) -> None:
        self._repository.protected.add(branch)

    def commits(self, directory: Path, subject: str) -> None:
        self._twin.clone_at(directory).commit(subject, "Agent", "agent@example.com")


@asynccontextmanager
async def with_git(directory: Path) -> AsyncIterator[Place]:
    with serving(directory / "remote") as remote:
        yield GitPlace(remote, directory / "data")


@asynccontextmanager
async def with_twin(directory: Path) -> AsyncIterator[Place]:
    clock = TurnedClock()
    async with Box(directory, webhook_secret="s", clock=clock) as box:
        yield TwinPlace(box, clock, directory / "data")


@pytest.fixture(params=[with_git, with_twin], ids=["git", "twin"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    async with request.param(tmp_path) as here:
        yield here


async def test_the_branch_starts_with_an_empty_commit_of_its_own(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    assert made.is_fresh and made.is_unchanged and made.pulled == ""
    assert made.base_sha == await place.head("main") != made.head_sha
    assert made.head_sha == await place.head(BRANCH)
    assert (made.directory / "app.py").read_text() == FILES["app.py"]


async def test_a_clone_is_left_as_the_agent_left_it(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "app.py").write_text("half\n")
    again = await place.workspace.prepare(ORDER)
    assert (again.is_fresh, again.head_sha) == (False, made.head_sha)
    assert (again.directory / "app.py").read_text() == "half\n"


async def test_commits_and_what_is_not_committed_reach_github_once(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "one.txt").write_text("1\n")
    place.commits(made.directory, "One")
    (made.directory / "two.txt").write_text("2\n2\n")
    kept = await place.workspace.keep(ORDER, "Keep the work")
    assert (kept.is_pushed, kept.problem, kept.has_changes) == (True, "", True)
    assert kept.sha == await place.head(BRANCH)
    assert [*kept.commits] == ["One", "Keep the work"]
    assert kept.diff is not None and (kept.diff.files, kept.diff.added) == (2, 3)
    assert await place.content(BRANCH, "two.txt") == "2\n2\n"
    assert await place.workspace.keep(ORDER, "Keep the work") == kept


def of_the_bot(*subjects: str) -> list[tuple[str, str, str]]:
    return [(subject, ORDER.author_email, ORDER.author_email) for subject in subjects]


async def test_all_commits_are_the_bots(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "one.txt").write_text("1\n")
    place.commits(made.directory, "One")
    await place.workspace.keep(ORDER, f"{WORK_IN_PROGRESS} on #12")
    (made.directory / "two.txt").write_text("2\n")
    place.commits(made.directory, "Two")
    await place.workspace.keep(ORDER, f"{WORK_IN_PROGRESS} on #12")
    start = f"Start of {ORDER.agent}"
    assert await place.commits_of(BRANCH) == of_the_bot(start, "One", "Two")


async def test_finished_work_takes_the_place_of_what_only_kept_it(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "one.txt").write_text("half\n")
    await place.workspace.keep(ORDER, f"{WORK_IN_PROGRESS} on #12")
    (made.directory / "one.txt").write_text("1\n")
    place.commits(made.directory, "One")
    (made.directory / "two.txt").write_text("2\n")
    await place.workspace.keep(ORDER, f"{WORK_IN_PROGRESS} on #12")
    kept = await place.workspace.keep(ORDER, "Both\n\nFor #12.", is_finished=True)
    assert await place.commits_of(BRANCH) == of_the_bot("One", "Both")
    assert kept.sha == await place.head(BRANCH) and [*kept.commits] == ["One", "Both"]
    assert await place.workspace.keep(ORDER, "Both\n\nFor #12.", is_finished=True) == kept
    (made.directory / "two.txt").write_text("two\n")
    await place.workspace.keep(ORDER, f"{WORK_IN_PROGRESS} on #12")
    assert (await place.commits_of(BRANCH))[:2] == of_the_bot("One", "Both")


async def test_what_others_pushed_is_never_replaced(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "one.txt").write_text("half\n")
    await place.workspace.keep(ORDER, f"{WORK_IN_PROGRESS} on #12")
    await place.pushes(BRANCH, "theirs.txt", "theirs\n")
    (made.directory / "one.txt").write_text("1\n")
    kept = await place.workspace.keep(ORDER, "Done", is_finished=True)
    assert kept.is_pushed and await place.content(BRANCH, "theirs.txt") == "theirs\n"
    subjects = [subject for subject, _, _ in await place.commits_of(BRANCH)]
    assert {f"{WORK_IN_PROGRESS} on #12", "Change theirs.txt"} <= {*subjects}


async def test_what_the_setup_made_is_in_no_commit_and_is_told(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "installed").mkdir()
    (made.directory / "installed/a.txt").write_text("a\n")
    (made.directory / "installed/b.txt").write_text("b\n")
    await place.workspace.note_setup(ORDER.agent)
    (made.directory / "one.txt").write_text("1\n")
    place.commits(made.directory, "All")
    kept = await place.workspace.keep(ORDER, "Done", is_finished=True)
    assert [*kept.made] == [MadeFiles("installed/", 2)]
    assert kept.diff is not None and kept.diff.files == 1
    assert (made.directory / "installed/a.txt").exists() and kept.content is not None
    assert await place.workspace.remove(ORDER.agent)


async def test_who_has_done_nothing_has_no_changes(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    kept = await place.workspace.keep(ORDER, "Keep the work")
    assert (kept.sha, kept.is_pushed, kept.has_changes) == (made.head_sha, True, False)
    assert kept.commits == () and kept.conflicts == ()
    nobody = replace(ORDER, agent="octo/demo#13/bug-fix/1")
    assert (await place.workspace.keep(nobody, "Keep it")).sha is None


async def test_what_others_pushed_is_merged_and_told(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "one.txt").write_text("1\n")
    place.commits(made.directory, "One")
    await place.pushes(BRANCH, "theirs.txt", "theirs\n")
    pulled = (await place.workspace.prepare(ORDER)).pulled
    assert "Change theirs.txt" in pulled and "merged into your branch" in pulled
    assert (made.directory / "theirs.txt").read_text() == "theirs\n"
    await place.pushes(BRANCH, "later.txt", "later\n")
    kept = await place.workspace.keep(ORDER, "Keep the work")
    assert kept.is_pushed and kept.sha == await place.head(BRANCH)
    assert await place.content(BRANCH, "later.txt") == "later\n"
    assert await place.content(BRANCH, "one.txt") == "1\n"


async def test_what_conflicts_with_what_others_pushed_is_told_and_not_pushed(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "app.py").write_text("mine\n")
    place.commits(made.directory, "Mine")
    theirs = await place.pushes(BRANCH, "app.py", "theirs\n")
    kept = await place.workspace.keep(ORDER, "Keep the work")
    assert (kept.is_pushed, kept.diverged, kept.was_told) == (False, True, False)
    assert kept.sha is not None and "app.py" in kept.problem
    assert "They conflict with your commits in: app.py" in (
        (await place.workspace.prepare(ORDER)).pulled
    )
    kept = await place.workspace.keep(ORDER, "Keep the work")
    assert (kept.diverged, kept.was_told) == (True, True)
    assert await place.head(BRANCH) == theirs


async def test_a_conflict_with_the_default_branch_is_known(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "app.py").write_text("mine\n")
    await place.pushes("main", "app.py", "theirs\n")
    kept = await place.workspace.keep(ORDER, "Keep the work")
    assert (kept.is_pushed, kept.conflicts) == (True, ("app.py",))


async def test_what_github_refuses_is_said_and_kept(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "one.txt").write_text("1\n")
    await place.protects(BRANCH)
    kept = await place.workspace.keep(ORDER, "Keep the work")
    assert kept.sha is not None and kept.verified is None and kept.problem
    assert not await place.workspace.remove(ORDER.agent)
    assert (made.directory / "one.txt").exists()


async def test_the_fingerprint_knows_the_content(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    before = await place.workspace.fingerprint(made.directory)
    (made.directory / "new.txt").write_text("new\n")
    assert await place.workspace.fingerprint(made.directory) != before
    (made.directory / "new.txt").unlink()
    assert await place.workspace.fingerprint(made.directory) == before
    with pytest.raises(WorkspaceFailed):
        await place.workspace.fingerprint(made.directory / "elsewhere")


async def test_news_are_what_came_to_the_default_branch(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    assert await place.workspace.news(ORDER, made.base_sha) == ""
    await place.pushes("main", "news.txt", "news\n")
    assert "Change news.txt" in await place.workspace.news(ORDER, made.base_sha)


async def test_a_branch_is_deleted_where_it_was_merged_and_comes_back_when_needed(
    place: Place,
) -> None:
    made = await place.workspace.prepare(ORDER)
    assert not await place.workspace.delete_branch(ORDER, made.base_sha)
    assert await place.workspace.delete_branch(ORDER, made.head_sha)
    assert await place.head(BRANCH) is None
    assert await place.workspace.delete_branch(ORDER, made.head_sha)
    again = await place.workspace.prepare(ORDER)
    assert again.head_sha == made.head_sha == await place.head(BRANCH)
    await place.deletes(BRANCH)
    assert await place.workspace.remove(ORDER.agent)
    fresh = await place.workspace.prepare(ORDER)
    assert fresh.is_fresh and fresh.head_sha == await place.head(BRANCH)


async def test_a_clone_is_removed_once_all_of_it_is_on_github(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "one.txt").write_text("1\n")
    assert not await place.workspace.remove(ORDER.agent)
    await place.workspace.keep(ORDER, "Keep the work")
    assert await place.workspace.remove(ORDER.agent)
    assert not made.directory.exists()
    for beside in ("home", "tmp"):
        made.directory.with_name(beside).mkdir(exist_ok=True)
        made.directory.with_name(beside).joinpath("trap").touch()
    again = await place.workspace.prepare(ORDER)
    assert (again.is_fresh, again.is_unchanged, again.changes_dependencies) == (True, False, False)
    left = [*made.directory.parent.glob("*/trap")]
    assert not left, "a setup with a way out finds nothing that an agent has left"
    await place.workspace.discard(ORDER.agent)
    assert not again.directory.exists()


@pytest.mark.parametrize("path", ["package.json", "app.py"])
async def test_whether_a_branch_changes_what_its_code_depends_on_is_told(
    place: Place, path: str
) -> None:
    await place.pushes(BRANCH, path, "{}\n")
    made = await place.workspace.prepare(ORDER)
    assert made.is_unchanged is False
    assert made.changes_dependencies is (path == "package.json")


async def test_a_pull_request_is_looked_at_and_nothing_is_pushed(place: Place) -> None:
    await place.pushes("theirs", "app.py", "print('bye')\n")
    await place.opens_pull_request(7, "theirs")
    order = replace(ORDER, pull_request=7, branch="review")
    made = await place.workspace.prepare(order)
    assert made.base_sha == await place.head("main")
    assert made.head_sha == await place.head("theirs")
    change = await place.workspace.change(order)
    assert change.startswith("diff --git a/app.py b/app.py\n")
    assert "-print('hello')\n+print('bye')\n" in change
    assert await place.head("review") is None


async def test_files_count_where_the_agent_began_last(place: Place) -> None:
    here = await place.workspace.directory_id()
    assert here == await place.workspace.directory_id()
    third = Whereabouts(here, 3)
    assert not await place.workspace.has(ORDER.agent, third), "nobody has noted it"
    await place.workspace.note(ORDER.agent, third)
    assert await place.workspace.has(ORDER.agent, third)
    assert await place.workspace.has(ORDER.agent, Whereabouts(here, 2)), "they may be newer"
    assert not await place.workspace.has(ORDER.agent, Whereabouts(here, 4)), "and not older"
    assert not await place.workspace.has(ORDER.agent, Whereabouts("elsewhere", 3))
    assert not await place.workspace.has("octo/demo#13/bug-fix/1", third)


async def test_whose_files_lie_there_and_when_they_were_tidied_is_known(place: Place) -> None:
    assert await place.workspace.agents() == []
    assert await place.workspace.tidied_at() is None
    await place.workspace.note(ORDER.agent, Whereabouts(await place.workspace.directory_id(), 1))
    for at in (ONE_DAY, ONE_DAY + timedelta(days=1)):
        await place.workspace.note_tidied(at)
        assert await place.workspace.tidied_at() == at
    assert await place.workspace.agents() == [ORDER.agent]


async def test_a_clone_of_an_earlier_day_is_not_pushed(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    here = await place.workspace.directory_id()
    await place.workspace.note(ORDER.agent, Whereabouts(here, 1))
    (made.directory / "one.txt").write_text("1\n")
    elsewhere = replace(ORDER, whereabouts=Whereabouts("elsewhere", 2))
    kept = await place.workspace.keep(elsewhere, "Keep the work")
    assert (kept.sha, kept.is_pushed) == (None, False)
    assert "another worker has it" in kept.problem
    assert await place.head(BRANCH) == made.head_sha
    kept = await place.workspace.keep(replace(ORDER, whereabouts=Whereabouts(here, 1)), "Keep")
    assert kept.is_pushed


async def test_a_conversation_goes_from_one_directory_to_another(place: Place) -> None:
    assert await place.workspace.packed_session(ORDER.agent, 2**20) is None, "there is none"
    made = await place.workspace.prepare(ORDER)
    session = made.directory.with_name("session")
    session.mkdir()
    (session / "said.json").write_text("Which colour?")
    content = await place.workspace.packed_session(ORDER.agent, 2**20)
    assert content is not None
    await place.workspace.forget_session(ORDER.agent)
    with pytest.raises(WorkspaceFailed, match="damaged"):
        await place.workspace.unpack_session(ORDER.agent, b"no archive")
    await place.workspace.forget_session(ORDER.agent)
    await place.workspace.unpack_session(ORDER.agent, content)
    assert (session / "said.json").read_text() == "Which colour?"


async def test_work_goes_from_one_directory_to_another_before_it_is_pushed(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    assert await place.workspace.packed_work(ORDER, 2**20) == b"", "GitHub has all of it"
    (made.directory / "one.txt").write_text("committed\n")
    place.commits(made.directory, "One")
    (made.directory / "two.txt").write_text("not committed\n")
    content = await place.workspace.packed_work(ORDER, 2**20)
    assert content
    assert (made.directory / "two.txt").exists() and await place.head(BRANCH) == made.head_sha
    await place.workspace.discard(ORDER.agent)
    await place.workspace.unpack_work(ORDER, content)
    there = await place.workspace.prepare(ORDER)
    assert (there.is_fresh, there.pulled, there.head_sha) == (False, "", made.head_sha)
    held = {name: (there.directory / name).read_text() for name in ("one.txt", "two.txt")}
    assert held == {"one.txt": "committed\n", "two.txt": "not committed\n"}
    (there.directory / "setup.txt").write_text("made by a setup\n")
    await place.workspace.note_setup(ORDER.agent)
    kept = await place.workspace.keep(ORDER, "Keep the work")
    assert (kept.is_pushed, kept.problem) == (True, "")
    assert await place.content(BRANCH, "one.txt") == "committed\n"
    assert await place.content(BRANCH, "two.txt") == "not committed\n"
    assert [made.path for made in kept.made] == ["setup.txt"], "of the setup alone"
    assert "One" in [subject for subject, *_ in await place.commits_of(BRANCH)]
    assert await place.workspace.packed_work(ORDER, 2**20) == b""


async def test_what_others_pushed_meanwhile_is_merged_into_the_work(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "one.txt").write_text("mine\n")
    content = await place.workspace.packed_work(ORDER, 2**20)
    assert content
    await place.pushes(BRANCH, "theirs.txt", "theirs\n")
    await place.workspace.discard(ORDER.agent)
    await place.workspace.unpack_work(ORDER, content)
    there = await place.workspace.prepare(ORDER)
    assert "merged into your branch" in there.pulled
    assert (there.directory / "theirs.txt").read_text() == "theirs\n"
    assert (there.directory / "one.txt").read_text() == "mine\n"
    kept = await place.workspace.keep(ORDER, "Keep the work")
    assert (kept.is_pushed, kept.problem) == (True, "")
    assert await place.content(BRANCH, "theirs.txt") == "theirs\n"


async def test_work_that_rests_on_what_is_gone_or_is_damaged_makes_no_clone(place: Place) -> None:
    made = await place.workspace.prepare(ORDER)
    (made.directory / "one.txt").write_text("mine\n")
    content = await place.workspace.packed_work(ORDER, 2**20)
    assert content
    await place.workspace.discard(ORDER.agent)
    with pytest.raises(WorkspaceFailed, match="damaged"):
        await place.workspace.unpack_work(ORDER, b"damaged")
    await place.deletes(BRANCH)
    with pytest.raises(WorkspaceFailed, match="rests on"):
        await place.workspace.unpack_work(ORDER, content)
    again = await place.workspace.prepare(ORDER)
    assert again.is_fresh and not (again.directory / "one.txt").exists()
