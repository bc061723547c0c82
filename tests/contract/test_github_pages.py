"""Every list that the adapter reads is read to its end: GitHub tells at most 100 at a time."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.github import GitHubApp
from app.githubbox.box import Box
from app.githubbox.state import CheckRun, Json, Role
from app.githubbox.suites import add_check
from app.ports import CheckText, Repository
from tests.contract.github_support import Judged
from tests.support.github import git
from tests.twins.clock import TurnedClock

MANY: Final = 101
MARKER: Final = "<!-- squadron:effect:a1:comment -->"
WORK: Final = "squadron/docs/issue-1"


@dataclass
class Crowd:
    """A box with one repository in which there is more of everything than one page tells."""

    box: Box
    wire: Judged
    github: GitHubApp
    demo: Repository
    head: str
    """Of the branch `WORK`, which adds so many files."""

    async def does(self, path: str, body: Json, user: str | None = "ada") -> Any:
        """A POST by a person; None: by our own App."""
        return (await self.box.silently("POST", f"/repos/octo/demo{path}", body, user)).body

    async def many(self, path: str, body: Callable[[int], Json], user: str | None = "ada") -> None:
        """So many POSTs."""
        for number in range(MANY):
            await self.does(path, body(number), user)

    async def issue(self, **fields: object) -> int:
        opened = await self.does("/issues", {"title": "Fix login", **fields})
        return int(opened["number"])

    async def pull(self, user: str | None = "ada") -> int:
        opened = await self.does("/pulls", {"title": "Work", "head": WORK, "base": "main"}, user)
        return int(opened["number"])

    def pages_of(self, ending: str) -> int:
        """How many requests for that list were made."""
        return sum(path.endswith(ending) for path in self.wire.calls("GET"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a branch that changes so many files."""
    directory = tmp_path_factory.mktemp("source")
    git("init", "--quiet", "--initial-branch=main", cwd=directory)
    git("commit", "--quiet", "--allow-empty", "--message", "Begin", cwd=directory)
    git("switch", "--quiet", "--create", WORK, cwd=directory)
    for number in range(MANY):
        (directory / f"{number:03}.txt").write_text(f"{number}\n")
    git("add", "--all", cwd=directory)
    git("commit", "--quiet", "--message", "Work", cwd=directory)
    git("switch", "--quiet", "main", cwd=directory)
    return directory


@pytest.fixture
async def crowd(tmp_path: Path, source: Path) -> AsyncIterator[Crowd]:
    clock = TurnedClock(datetime.now(UTC))
    async with Box(tmp_path, webhook_secret="s", clock=clock) as box:
        box.add_user("ada", "admin")
        demo = await box.add_repository("octo/demo", source)
        wire = Judged(httpx.ASGITransport(box.asgi))
        key = SecretStr(box.identity.private_key_pem.decode())
        github = GitHubApp(box.identity.app_id, [key], box.url, clock, wire)
        head = await demo.git.resolve(f"refs/heads/{WORK}")
        assert head is not None
        here = Repository("octo/demo", box.identity.installation_id)
        yield Crowd(box, wire, github, here, head)


async def test_installations_and_their_repositories(crowd: Crowd) -> None:
    """The last installation has one, the first so many."""
    world = crowd.box.world
    one = world.repositories["octo/demo"]
    for number in range(MANY - 1):
        name = f"more-{number}"
        world.repositories[f"octo/{name}"] = replace(one, id=world.next_id(), name=name)
    owners = [world.add_user(f"org-{number}", Role.NONE) for number in range(MANY)]
    world.repositories["org-100/last"] = replace(
        one, id=world.next_id(), owner=owners[-1], name="last"
    )
    for owner in owners:
        crowd.box.identity.install_further(owner)
    listed = (await crowd.github.repositories()).repositories
    found = [each.full_name for each in listed.values()]
    assert len(found) == len(set(found)) == MANY + 1
    assert {"octo/demo", "octo/more-99", "org-100/last"} <= set(found)
    assert crowd.pages_of("/app/installations") == 2


async def test_open_issues_and_changed_ones_and_our_own(crowd: Crowd) -> None:
    labelled = {"title": "Help", "body": MARKER, "labels": ["needs-human"]}
    await crowd.many("/issues", lambda _: labelled, user=None)
    since = datetime.now(UTC) - timedelta(minutes=1)
    assert len(await crowd.github.threads(crowd.demo)) == MANY
    assert len(await crowd.github.threads(crowd.demo, since)) == MANY
    assert len(await crowd.github.own_issues(crowd.demo, since)) == MANY
    assert len(await crowd.github.marked_issues(crowd.demo, "needs-human", MARKER)) == MANY
    assert crowd.pages_of("/issues") == 8


async def test_who_marked_an_issue(crowd: Crowd) -> None:
    number = await crowd.issue()
    for _ in range(MANY):
        await crowd.does(f"/issues/{number}/labels", {"labels": ["bug"]})
        path = f"/repos/octo/demo/issues/{number}/labels/bug"
        await crowd.box.silently("DELETE", path, None, "ada")
    assert len(await crowd.github.marks(crowd.demo, number)) == 2 * MANY
    assert crowd.pages_of("/timeline") == 3


async def test_comments_of_ours_and_of_others(crowd: Crowd) -> None:
    number = await crowd.issue()
    await crowd.many(f"/issues/{number}/comments", lambda _: {"body": "Hello."})
    await crowd.many(f"/issues/{number}/comments", lambda _: {"body": MARKER}, user=None)
    since = datetime.now(UTC) - timedelta(minutes=1)
    assert len(await crowd.github.said(crowd.demo, since)) == MANY
    assert len(await crowd.github.comments(crowd.demo, number, MARKER)) == MANY
    assert crowd.pages_of("/comments") == 6


@pytest.mark.full
async def test_reviews_with_their_comments_on_lines(crowd: Crowd) -> None:
    number, since = await crowd.pull(user=None), datetime.now(UTC) - timedelta(minutes=1)
    remark = {"path": "000.txt", "line": 1, "body": "Why?"}
    asks = {"event": "REQUEST_CHANGES", "body": "No.", "comments": [remark]}
    await crowd.many(f"/pulls/{number}/reviews", lambda _: asks)
    found = await crowd.github.reviews_by_others(crowd.demo, number, since)
    assert [len(review.remarks) for review in found] == [1] * MANY
    assert crowd.pages_of("/reviews") == crowd.pages_of("/comments") == 2


async def test_reviews_of_ours(crowd: Crowd) -> None:
    number = await crowd.pull()
    ours = {"event": "COMMENT", "body": MARKER}
    await crowd.many(f"/pulls/{number}/reviews", lambda _: ours, user=None)
    assert len(await crowd.github.reviews(crowd.demo, number, MARKER)) == MANY
    assert crowd.pages_of("/reviews") == 2


async def test_check_runs_of_ours(crowd: Crowd) -> None:
    ours = {"name": "squadron/docs", "head_sha": crowd.head, "external_id": "a1"}
    await crowd.many("/check-runs", lambda _: ours, user=None)
    check = CheckText(None, "At work", "…")
    last = await crowd.github.create_check(crowd.demo, crowd.head, "squadron/docs", "a1", check)
    found = await crowd.github.checks(crowd.demo, crowd.head, "squadron/docs")
    assert (len(found), found[-1].number) == (MANY + 1, last.number)
    assert crowd.pages_of("/check-runs") == 2


async def test_failing_checks_and_statuses_of_others(crowd: Crowd) -> None:
    repository, now = crowd.box.world.repositories["octo/demo"], crowd.box.world.now()
    crowd.box.identity.other_app("ci")
    for number in range(MANY):
        check = CheckRun(
            crowd.box.world.next_id(),
            f"check {number}",
            crowd.head,
            "completed",
            now,
            conclusion="failure",
            completed_at=now,
            title="Red",
            summary="",
            app_slug="ci",
        )
        add_check(crowd.box.world, repository, check)
    await crowd.many(
        f"/statuses/{crowd.head}", lambda number: {"state": "failure", "context": f"{number}"}
    )
    found = await crowd.github.failed_checks(crowd.demo, crowd.head)
    assert len({each.name for each in found}) == len(found) == 2 * MANY
    assert crowd.pages_of("/check-runs") == crowd.pages_of("/status") == 2


async def _changed(crowd: Crowd, number: int) -> Sequence[str]:
    found = await crowd.github.changed_files(crowd.demo, number)
    assert found is not None
    return found


async def _commentable(crowd: Crowd, number: int) -> Sequence[str]:
    return [*await crowd.github.commentable_lines(crowd.demo, number)]


@pytest.mark.parametrize("ask", [_changed, _commentable])
async def test_files_of_a_pull_request(
    crowd: Crowd, ask: Callable[[Crowd, int], Awaitable[Sequence[str]]]
) -> None:
    found = await ask(crowd, await crowd.pull())
    assert sorted(found) == [f"{number:03}.txt" for number in range(MANY)]
    assert crowd.pages_of("/files") == 2


@pytest.mark.full
async def test_pull_requests_of_a_branch_and_open_ones_of_ours(crowd: Crowd) -> None:
    repository = crowd.box.world.repositories["octo/demo"]
    first = repository.issues[await crowd.pull(user=None)]
    for _ in range(MANY - 1):
        number = repository.next_number()
        repository.issues[number] = replace(first, id=crowd.box.world.next_id(), number=number)
    assert len(await crowd.github.pull_requests(crowd.demo, WORK)) == MANY
    assert len(await crowd.github.open_pull_requests(crowd.demo, "squadron/")) == MANY
    assert crowd.pages_of("/pulls") == 4
    assert await crowd.github.is_base(crowd.demo, "main")
