"""Every method of the port against the box; GitHub's own description judges each exchange."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.github import GitHubApp, configuration
from app.core.trust import Permission
from app.githubbox.box import Box
from app.githubbox.data import examples
from app.githubbox.git import output
from app.ports import (
    CheckText,
    GitHub,
    RateLimited,
    Refused,
    Repository,
    RepositoryInfo,
    Unreachable,
)
from tests.contract.github_support import Judged, SetClock, app_key

DEMO = "/repos/octo/demo"
MARKER = "<!-- squadron:effect:a1:comment -->"
PEOPLE = {
    "nobody": Permission.NONE,
    "reader": Permission.READ,
    "triager": Permission.TRIAGE,
    "writer": Permission.WRITE,
    "maintainer": Permission.MAINTAIN,
    "boss": Permission.ADMIN,
}
FILES = {
    "README.md": "# Demo\n",
    ".squadron/config.yaml": "enabled: true\n",
    ".squadron/notes.txt": "not configuration\n",
    ".squadron/agents/pm.md": "---\n---\nPlän.\n",
    ".squadron/agents/old/pm.md": "not in here\n",
}


@dataclass
class World:
    """A box with two repositories and six people, and the adapter that speaks to it."""

    box: Box
    wire: Judged
    github: GitHubApp
    clock: SetClock
    demo: Repository

    async def do(self, user: str | None, method: str, path: str, body: object = None) -> object:
        """As a person, or as somebody else's code in our own App's name."""
        return (await self.box.silently(method, DEMO + path, body, user)).body

    async def open_issue(self, user: str | None = "writer", **fields: object) -> int:
        opened = await self.do(user, "POST", "/issues", {"title": "Fix login", **fields})
        assert isinstance(opened, dict)
        return opened["number"]

    async def branch(self, name: str) -> str:
        """A branch with a commit of its own, as a push leaves it."""
        bare = self.box.world.repositories["octo/demo"].git
        parent = await bare.resolve("refs/heads/main")
        assert parent is not None
        tree = (await output("rev-parse", f"{parent}^{{tree}}", cwd=bare.path)).strip()
        sha = await bare.commit_tree(tree, [parent], "Begin", "bot", "bot@example.com")
        await bare.move(f"refs/heads/{name}", sha, "0" * 40)
        return sha


def write(directory: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return directory


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    root = tmp_path / "box"
    root.mkdir()
    clock = SetClock(datetime.now(UTC))
    async with Box(root, webhook_secret="s", clock=clock.now) as box:
        for login, permission in PEOPLE.items():
            box.add_user(login, permission.name.lower())
        await box.add_repository("octo/demo", write(tmp_path / "demo", FILES))
        await box.add_repository("octo/plain", write(tmp_path / "plain", {"a.txt": "a"}))
        wire = Judged(httpx.ASGITransport(box.asgi))
        key = SecretStr(box.identity.private_key_pem.decode())
        github = GitHubApp(box.identity.app_id, key, box.url, clock, wire)
        demo = Repository("octo/demo", box.identity.installation_id)
        yield World(box, wire, github, clock, demo)


async def test_it_is_the_port(world: World) -> None:
    port: GitHub = world.github
    assert await port.bot_login() == "squadron-box[bot]"


async def test_the_bot_signs_its_commits(world: World) -> None:
    bot_id = world.box.identity.bot.id
    expected = f"{bot_id}+squadron-box[bot]@users.noreply.box.localhost"
    assert await world.github.bot_email() == expected


async def test_it_sees_the_repositories_of_its_installations(world: World) -> None:
    names = {each.full_name for each in await world.github.repositories()}
    assert names == {"octo/demo", "octo/plain"}
    assert {each.installation_id for each in await world.github.repositories()} == {
        world.demo.installation_id
    }


async def test_what_must_be_known_of_a_repository(world: World) -> None:
    assert await world.github.repository(world.demo) == RepositoryInfo("main", is_archived=False)


async def test_a_repository_that_it_cannot_see_is_refused(world: World) -> None:
    unknown = Repository("octo/unknown", world.demo.installation_id)
    with pytest.raises(Refused, match="No access to octo/unknown"):
        await world.github.repository(unknown)


@pytest.mark.parametrize("repository", ["octo/unknown", "octo/demo"])
async def test_what_it_has_no_access_to_is_not_taken_for_gone(
    world: World, repository: str
) -> None:
    installation_id = world.demo.installation_id + (repository == "octo/demo")
    with pytest.raises(Refused, match="No access"):
        await world.github.issue(Repository(repository, installation_id), 1)
    with pytest.raises(Refused, match="No access"):
        await world.github.configuration(Repository(repository, installation_id))


async def test_configuration_is_read_as_bytes(world: World) -> None:
    assert await world.github.configuration(world.demo) == {
        "config.yaml": b"enabled: true\n",
        "agents/pm.md": "---\n---\nPlän.\n".encode(),
    }


async def test_no_configuration_is_an_empty_one(world: World) -> None:
    plain = Repository("octo/plain", world.demo.installation_id)
    assert await world.github.configuration(plain) == {}


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({".squadron/config.yaml": "#" * (configuration.MAX_FILE_BYTES + 1)}, "256001 bytes"),
        ({f".squadron/agents/r{n}.md": "x" for n in range(65)}, "65 files"),
        ({".squadron": "x"}, "is no directory"),
    ],
)
async def test_configuration_beyond_its_bounds_is_refused(
    world: World, tmp_path: Path, files: dict[str, str], problem: str
) -> None:
    await world.box.add_repository("octo/big", write(tmp_path / "big", files))
    with pytest.raises(Refused, match=problem):
        await world.github.configuration(Repository("octo/big", world.demo.installation_id))


async def test_a_link_in_the_configuration_is_refused(world: World, tmp_path: Path) -> None:
    source = write(tmp_path / "linked", {"elsewhere.yaml": "enabled: true\n", ".squadron/x": ""})
    (source / ".squadron/config.yaml").symlink_to("../elsewhere.yaml")
    await world.box.add_repository("octo/linked", source)
    with pytest.raises(Refused, match="symlink"):
        await world.github.configuration(Repository("octo/linked", world.demo.installation_id))


async def test_configuration_at_its_bounds_is_read(world: World, tmp_path: Path) -> None:
    largest = "#" * configuration.MAX_FILE_BYTES
    files = {f".squadron/agents/r{n}.md": "x" for n in range(configuration.MAX_FILES - 1)}
    files[".squadron/config.yaml"] = largest
    await world.box.add_repository("octo/full", write(tmp_path / "full", files))
    read = await world.github.configuration(Repository("octo/full", world.demo.installation_id))
    assert len(read) == configuration.MAX_FILES
    assert read["config.yaml"] == largest.encode()


async def test_permissions_are_told_apart(world: World) -> None:
    seen = {login: await world.github.permission(world.demo, login) for login in PEOPLE}
    assert seen == PEOPLE
    assert await world.github.permission(world.demo, "who/ever ?") is Permission.NONE


async def test_an_issue_as_it_stands(world: World) -> None:
    number = await world.open_issue(body="It fails.", labels=["bug"], assignees=["triager"])
    issue = await world.github.issue(world.demo, number)
    assert issue is not None
    assert (issue.number, issue.title, issue.body) == (number, "Fix login", "It fails.")
    assert (issue.labels, issue.assignees, issue.author) == (("bug",), ("triager",), "writer")
    assert issue.is_open
    assert not issue.is_pull_request
    await world.do("writer", "PATCH", f"/issues/{number}", {"state": "closed"})
    closed = await world.github.issue(world.demo, number)
    assert closed is not None
    assert not closed.is_open
    assert await world.github.issue(world.demo, number + 1) is None


async def test_open_issues_by_label_and_by_assignee(world: World) -> None:
    label = "squadron:bug fix"
    await world.do("writer", "POST", "/labels", {"name": label})
    labelled = [await world.open_issue(labels=[label]) for _ in range(2)]
    closed = await world.open_issue(labels=[label])
    await world.do("writer", "PATCH", f"/issues/{closed}", {"state": "closed"})
    assigned = await world.open_issue(assignees=["triager"])
    await world.branch("squadron/x")
    pull = await world.github.open_pull_request(
        world.demo, branch="squadron/x", base="main", title="T", body=""
    )
    await world.do("writer", "POST", f"/issues/{pull.number}/labels", {"labels": [label]})

    github, demo = world.github, world.demo
    assert [each.number for each in await github.issues(demo, label=label)] == labelled
    assert [each.number for each in await github.issues(demo, assignee="triager")] == [assigned]
    assert [each.number for each in await github.issues(demo)] == [*labelled, assigned]
    assert await github.issues(demo, label="never seen") == []


async def test_who_set_a_label_last(world: World) -> None:
    label = "feature: x y"
    await world.do("writer", "POST", "/labels", {"name": label})
    number = await world.open_issue()
    assert await world.github.labeller(world.demo, number, label) is None
    for who in ("writer", "triager"):
        await world.do(who, "POST", f"/issues/{number}/labels", {"labels": [label]})
        assert await world.github.labeller(world.demo, number, label) == who
        await world.do(who, "DELETE", f"/issues/{number}/labels/feature%3A%20x%20y")


async def test_who_set_a_label_last_is_looked_for_on_every_page() -> None:
    label = "feature: x y"
    # Only the second page holds it: most of what happens to an issue are other things.
    pages = {
        "1": [timeline_event(label, "writer"), timeline_event("bug", "boss")],
        "2": [timeline_event(label, "triager"), timeline_event("bug", "boss")],
    }

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/app/installations/2/access_tokens":
            example = examples()["POST /app/installations/{installation_id}/access_tokens"]["201"]
            return httpx.Response(201, json={**example, "expires_at": "2026-03-01T13:00:00Z"})
        assert request.url.path == f"{DEMO}/issues/3/timeline"
        page = request.url.params.get("page", "1")
        link = {"1": f'<{request.url}&page=2>; rel="next"'}.get(page, "")
        return httpx.Response(200, json=pages[page], headers={"link": link})

    wire = Judged(httpx.MockTransport(answer))
    github = GitHubApp(7, app_key(), "http://github.test", SetClock(), wire)
    demo = Repository("octo/demo", 2)
    assert await github.labeller(demo, 3, label) == "triager"
    assert await github.labeller(demo, 3, "Feature: X y") == "triager"
    assert await github.labeller(demo, 3, "never set") is None


def timeline_event(label: str, login: str) -> dict[str, object]:
    """GitHub's own example of a `labeled` event, about that label, by that person."""
    timeline = examples()["GET /repos/{owner}/{repo}/issues/{issue_number}/timeline"]["200"]
    example = next(each for each in timeline if each["event"] == "labeled")
    return {
        **example,
        "label": {**example["label"], "name": label},
        "actor": {**example["actor"], "login": login},
    }


async def test_only_our_own_comments_are_found_on_every_page(world: World) -> None:
    number = await world.open_issue()
    for count in range(150):
        who = "writer" if count % 50 else None
        await world.do(who, "POST", f"/issues/{number}/comments", {"body": f"{count} {MARKER}"})
    last = await world.github.comment(world.demo, number, f"last {MARKER}")
    await world.github.comment(world.demo, number, "of ours, unmarked")

    found = await world.github.comments(world.demo, number, MARKER)
    assert [each.body.split()[0] for each in found] == ["0", "50", "100", "last"]
    assert found[-1] == last
    assert len([each for each in world.wire.calls("GET") if each.endswith("/comments")]) == 2


async def test_a_comment_is_edited_and_deleted(world: World) -> None:
    number = await world.open_issue()
    posted = await world.github.comment(world.demo, number, "first")
    edited = await world.github.edit_comment(world.demo, posted.number, f"second {MARKER}")
    assert edited == replace(posted, body=f"second {MARKER}")
    assert await world.github.comments(world.demo, number, MARKER) == [edited]
    await world.github.delete_comment(world.demo, posted.number)
    assert await world.github.comments(world.demo, number, MARKER) == []
    with pytest.raises(Refused) as gone:
        await world.github.delete_comment(world.demo, posted.number)
    assert gone.value.status == 404


async def test_an_issue_is_opened_with_labels_and_people_that_exist(world: World) -> None:
    labels = ["needs-human", "feature: x y", "bug"]
    opened = await world.github.open_issue(
        world.demo, "[needs-human]", f"Help {MARKER}", labels, ["maintainer", "stranger"]
    )
    issue = await world.github.issue(world.demo, opened.number)
    assert issue is not None
    assert (set(issue.labels), issue.assignees) == (set(labels), ("maintainer",))
    assert issue.author == await world.github.bot_login()
    created = world.wire.calls("POST").count(f"{DEMO}/labels")
    assert created == 2
    await world.github.open_issue(world.demo, "again", "", labels, [])
    assert world.wire.calls("POST").count(f"{DEMO}/labels") == created


async def test_a_label_that_somebody_else_creates_meanwhile_is_fine(world: World) -> None:
    answers = await asyncio.gather(
        *(world.github.open_issue(world.demo, "T", "", ["needs-human"], []) for _ in range(3))
    )
    assert len({each.number for each in answers}) == 3


async def test_our_marked_issues_are_found_open_and_closed(world: World) -> None:
    github, demo = world.github, world.demo
    ours = [
        await github.open_issue(demo, f"{n}", f"{n} {MARKER}", ["needs-human"], [])
        for n in range(2)
    ]
    await github.open_issue(demo, "unmarked", "", ["needs-human"], [])
    await github.open_issue(demo, "unlabelled", MARKER, [], [])
    await world.open_issue(body=MARKER, labels=["needs-human"])
    closed = await github.edit_issue(demo, ours[0].number, close=True)
    assert (closed.is_open, closed.body) == (False, f"0 {MARKER}")
    assert await github.marked_issues(demo, "needs-human", MARKER) == [closed, ours[1]]


async def test_an_issues_text_is_replaced(world: World) -> None:
    number = await world.open_issue(body="before")
    edited = await world.github.edit_issue(world.demo, number, body="after")
    assert (edited.body, edited.is_open) == ("after", True)


async def test_a_check_is_created_found_and_settled(world: World) -> None:
    sha = await world.branch("squadron/x")
    running = CheckText("squadron/pm", "octo/demo#1/pm/1", None, "At work", "3 of 200 calls")
    created = await world.github.create_check(world.demo, sha, running)
    other = CheckText("squadron/pm", "octo/demo#2/pm/1", "neutral", "Other", "another agent's")
    await world.github.create_check(world.demo, sha, other)
    doubled = await world.github.create_check(world.demo, sha, running)

    found = await world.github.checks(world.demo, sha, running.name, running.external_id)
    assert [each.number for each in found] == [created.number, doubled.number]
    assert found[0].body == "3 of 200 calls"

    failed = CheckText(running.name, running.external_id, "failure", "Stopped", "200 of 200")
    settled = await world.github.update_check(world.demo, created.number, failed)
    assert (settled.number, settled.body) == (created.number, "200 of 200")
    seen = await world.do("writer", "GET", f"/check-runs/{created.number}")
    assert isinstance(seen, dict)
    assert (seen["status"], seen["conclusion"]) == ("completed", "failure")
    assert seen["output"]["title"] == "Stopped"


async def test_a_check_on_an_unknown_commit_is_refused(world: World) -> None:
    check = CheckText("squadron/pm", "x", "failure", "T", "S")
    with pytest.raises(Refused) as refused:
        await world.github.create_check(world.demo, "0" * 40, check)
    assert refused.value.status == 422


async def test_a_pull_request_from_opening_to_merge(world: World) -> None:
    github, demo, branch = world.github, world.demo, "squadron/bug-fix/issue-1"
    assert await github.pull_requests(demo, branch) == []
    sha = await world.branch(branch)
    await world.branch("squadron/other")
    opened = await github.open_pull_request(
        demo, branch=branch, base="main", title="Fix", body="Fixes #1"
    )
    await github.open_pull_request(
        demo, branch="squadron/other", base="main", title="Other", body=""
    )
    assert (opened.is_open, opened.is_merged, opened.head_sha) == (True, False, sha)
    assert await github.pull_requests(demo, branch) == [opened]
    with pytest.raises(Refused, match="already exists"):
        await github.open_pull_request(demo, branch=branch, base="main", title="Fix", body="")

    await world.do("maintainer", "PUT", f"/pulls/{opened.number}/merge", {})
    merged = await github.pull_request(demo, opened.number)
    assert (merged.is_open, merged.is_merged) == (False, True)
    assert await github.pull_requests(demo, branch) == [merged]
    seen = await github.issue(demo, opened.number)
    assert seen is not None
    assert seen.is_pull_request


async def test_tokens_are_narrow_and_kept(world: World) -> None:
    github, demo = world.github, world.demo
    for _ in range(2):
        await github.repository(demo)
        assert await github.token(demo, "read") != await github.token(demo, "write")
    assert world.wire.token_orders() == [
        {
            "repositories": ["demo"],
            "permissions": {
                "checks": "write",
                "contents": "read",
                "issues": "write",
                "metadata": "read",
                "pull_requests": "write",
            },
        },
        {"repositories": ["demo"], "permissions": {"contents": "read"}},
        {"repositories": ["demo"], "permissions": {"contents": "write"}},
    ]


async def test_an_expired_token_is_replaced_and_the_call_done_once(world: World) -> None:
    number = await world.open_issue()
    await world.github.issue(world.demo, number)
    world.box.faults.add(
        {"kind": "token_expired", "method": "POST", "path": "comments", "count": 1}
    )
    await world.github.comment(world.demo, number, MARKER)
    assert len(world.wire.token_orders()) == 2
    assert len(await world.github.comments(world.demo, number, MARKER)) == 1


@pytest.mark.parametrize("phase", ["before", "after"])
async def test_after_a_failure_the_look_up_knows_whether_it_happened(
    world: World, phase: str
) -> None:
    number = await world.open_issue()
    world.box.faults.add(
        {"kind": "error", "status": 502, "method": "POST", "path": "comments$", "phase": phase,
         "count": 1}
    )  # fmt: skip
    with pytest.raises(Unreachable):
        await world.github.comment(world.demo, number, MARKER)
    assert len(await world.github.comments(world.demo, number, MARKER)) == (phase == "after")


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        ({"kind": "primary_limit", "retry_after": 600}, 600),
        ({"kind": "secondary_limit", "retry_after": 90}, 90),
        ({"kind": "secondary_limit"}, 60),
    ],
)
async def test_limits_of_the_box(world: World, fault: dict[str, object], seconds: int) -> None:
    number = await world.open_issue()
    world.box.faults.add({**fault, "method": "POST", "path": "comments$", "count": 1})
    with pytest.raises(RateLimited) as limited:
        await world.github.comment(world.demo, number, MARKER)
    wait = limited.value.resets_at - world.clock.now()
    assert abs(wait.total_seconds() - seconds) <= 1


async def test_what_is_not_permitted_is_refused(world: World) -> None:
    number = await world.open_issue()
    await world.do("maintainer", "PUT", f"/issues/{number}/lock", {})
    with pytest.raises(Refused) as locked:
        await world.github.comment(world.demo, number, "hello")
    assert locked.value.status == 403
