"""Every method of the port against the box; GitHub's own description judges each exchange."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.github import GitHubApp, configuration, reading
from app.core.rules.trust import Permission
from app.githubbox.box import Box
from app.githubbox.data import examples
from app.githubbox.git import output
from app.githubbox.http import Refused as RefusedByGitHub
from app.githubbox.state import Json
from app.ports import (
    CheckText,
    Edit,
    GitHub,
    Head,
    RateLimited,
    Refused,
    Repository,
    RepositoryInfo,
    Unreachable,
)
from tests.contract.github_support import Judged, app_key
from tests.support.github import git
from tests.twins.clock import TurnedClock

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
    clock: TurnedClock
    demo: Repository

    async def do(
        self, user: str | None, method: str, path: str, body: Json | None = None
    ) -> object:
        """As a person, or as somebody else's code in our own App's name."""
        return (await self.box.silently(method, DEMO + path, body, user)).body

    async def open_issue(self, user: str | None = "writer", **fields: object) -> int:
        opened = await self.do(user, "POST", "/issues", {"title": "Fix login", **fields})
        assert isinstance(opened, dict)
        number: int = opened["number"]
        return number

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
    clock = TurnedClock(datetime.now(UTC))
    async with Box(root, webhook_secret="s", clock=clock) as box:
        for login, permission in PEOPLE.items():
            box.add_user(login, permission.name.lower())
        await box.add_repository("octo/demo", write(tmp_path / "demo", FILES))
        await box.add_repository("octo/plain", write(tmp_path / "plain", {"a.txt": "a"}))
        wire = Judged(httpx.ASGITransport(box.asgi))
        key = SecretStr(box.identity.private_key_pem.decode())
        github = GitHubApp(box.identity.app_id, [key], box.url, clock, wire)
        demo = Repository("octo/demo", box.identity.installation_id)
        yield World(box, wire, github, clock, demo)


async def test_it_is_the_port(world: World) -> None:
    port: GitHub = world.github
    assert await port.bot_login() == "squadron-box[bot]"


async def test_who_we_are_is_asked_once_however_many_want_to_know(world: World) -> None:
    logins = await asyncio.gather(*(world.github.bot_login() for _ in range(5)))
    assert set(logins) == {"squadron-box[bot]"}
    assert world.wire.calls("GET").count("/app") == 1


async def test_half_a_character_is_sent_as_a_replacement(world: World) -> None:
    number = await world.open_issue()
    await world.github.comment(world.demo, number, "\ud800 of it")
    [posted] = await world.github.comments(world.demo, number, "of it")
    assert posted.body == "\ufffd of it"


async def test_the_bot_signs_its_commits(world: World) -> None:
    bot_id = world.box.identity.bot.id
    expected = f"{bot_id}+squadron-box[bot]@users.noreply.box.localhost"
    assert await world.github.bot_email() == expected


async def test_a_person_has_an_address_as_well(world: World) -> None:
    login, there = next(iter(PEOPLE)), world.box.world
    expected = f"{there.users[login].id}+{login}@users.noreply.box.localhost"
    assert await world.github.noreply_email(world.demo, login) == expected


async def test_it_sees_the_repositories_of_its_installations(world: World) -> None:
    installation = world.demo.installation_id
    assert (await world.github.repositories()).repositories == {
        one.id: Repository(one.full_name, installation)
        for one in world.box.world.repositories.values()
    }


async def test_one_accounts_trouble_does_not_hide_the_repositories_of_the_others(
    world: World, tmp_path: Path
) -> None:
    other = await world.box.add_repository("acme/other", write(tmp_path / "other", {"x": "x"}))
    further = world.box.identity.install_further(other.owner)
    world.box.faults.add({"kind": "primary_limit", "path": "installation/repositories", "count": 1})
    listed = await world.github.repositories()
    assert listed.repositories == {other.id: Repository("acme/other", further)}
    assert list(listed.unlisted) == [world.demo.installation_id]
    assert isinstance(listed.unlisted[world.demo.installation_id], RateLimited)


async def test_what_must_be_known_of_a_repository(world: World) -> None:
    demo = world.box.world.repositories["octo/demo"]
    assert await world.github.repository(world.demo) == RepositoryInfo(
        demo.id, "octo/demo", "main", is_archived=False
    )


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
        ({".squadron/config.yaml": "#" * (configuration.MAX_FILE_BYTES + 1)}, "262145 bytes"),
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
    files = {f".squadron/agents/r{n}.md": "x" for n in range(configuration.MAX_FILES - 2)}
    files[".squadron/config.yaml"] = files[".squadron/setup.sh"] = largest
    files |= {".squadron/other.sh": "not read", ".squadron/agents/setup.sh": "not read"}
    await world.box.add_repository("octo/full", write(tmp_path / "full", files))
    read = await world.github.configuration(Repository("octo/full", world.demo.installation_id))
    assert len(read) == configuration.MAX_FILES
    assert read["config.yaml"] == read["setup.sh"] == largest.encode()


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


async def test_open_threads_and_those_that_changed(world: World) -> None:
    github, demo = world.github, world.demo
    first, second = [await world.open_issue() for _ in range(2)]
    await world.branch("squadron/x")
    pull = await github.open_pull_request(
        demo, branch="squadron/x", base="main", title="T", body=""
    )
    world.clock.turn(timedelta(minutes=5))
    await world.do("writer", "PATCH", f"/issues/{second}", {"state": "closed"})
    found = await github.threads(demo)
    assert [(each.number, each.is_pull_request) for each in found] == [
        (first, False),
        (pull.number, True),
    ]
    since = world.clock.now() - timedelta(minutes=4)
    [closed] = await github.threads(demo, since)
    assert (closed.number, closed.is_open) == (second, False)
    assert closed.closed_at == closed.updated_at > closed.created_at


async def test_who_marked_an_issue(world: World) -> None:
    label = "feature: x y"
    await world.do("writer", "POST", "/labels", {"name": label})
    number = await world.open_issue()
    assert await world.github.marks(world.demo, number) == []
    for who in ("writer", "triager"):
        await world.do(who, "POST", f"/issues/{number}/labels", {"labels": [label]})
        await world.do(who, "DELETE", f"/issues/{number}/labels/feature%3A%20x%20y")
    await world.do("writer", "POST", f"/issues/{number}/assignees", {"assignees": ["triager"]})
    await world.do("boss", "DELETE", f"/issues/{number}/assignees", {"assignees": ["triager"]})
    for state in ("closed", "open"):
        await world.do("writer", "PATCH", f"/issues/{number}", {"state": state})
    marks = await world.github.marks(world.demo, number)
    assert [(mark.what, mark.about, mark.by) for mark in marks] == [
        ("labeled", label, "writer"),
        ("unlabeled", label, "writer"),
        ("labeled", label, "triager"),
        ("unlabeled", label, "triager"),
        ("assigned", "triager", "writer"),
        ("unassigned", "triager", "boss"),
        ("closed", "", "writer"),
        ("reopened", "", "writer"),
    ]


async def test_who_edited_title_and_body_and_when(world: World) -> None:
    """REST does not tell: GraphQL does."""
    number = await world.open_issue()
    assert await world.github.edits(world.demo, number) == []
    begun = world.clock.now().replace(microsecond=0)
    for minute, (who, change) in enumerate(
        [("writer", {"body": "other"}), ("triager", {"title": "new"}), ("writer", {"body": "x"})]
    ):
        world.clock.turn(timedelta(minutes=1))
        await world.do(who, "PATCH", f"/issues/{number}", change)
        edits = await world.github.edits(world.demo, number)
        assert len(edits) == minute + 1
        assert edits[-1] == Edit(who, is_bot=False, at=begun + timedelta(minutes=minute + 1))
    with pytest.raises(Unreachable, match="did not say who edited"):
        await world.github.edits(world.demo, 999)


@pytest.mark.parametrize(
    ("api_url", "asked"),
    [
        ("https://api.github.test", "https://api.github.test/graphql"),
        ("https://github.test/api/v3", "https://github.test/api/graphql"),
    ],
)
async def test_edits_are_asked_for_where_graphql_is_and_gaps_have_a_name(
    api_url: str, asked: str
) -> None:
    def edit(login: str | None, kind: str) -> dict[str, object]:
        editor = None if login is None else {"__typename": kind, "login": login}
        return {"editedAt": "2026-03-01T12:00:00Z", "editor": editor}

    found = {
        "createdAt": "2026-02-01T12:00:00Z",
        "userContentEdits": {"totalCount": 3, "nodes": [edit("helper", "Bot"), edit(None, "User")]},
        "timelineItems": {"nodes": []},
    }

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/access_tokens"):
            return httpx.Response(201, json={"token": "t", "expires_at": "2026-03-01T13:00:00Z"})
        assert str(request.url) == asked
        return httpx.Response(200, json={"data": {"repository": {"issueOrPullRequest": found}}})

    transport = httpx.MockTransport(answer)
    github = GitHubApp(7, [app_key()], api_url, TurnedClock(), transport)
    edits = await github.edits(Repository("octo/demo", 2), 3)
    assert [(each.by, each.is_bot) for each in edits] == [
        ("ghost", False),
        ("helper[bot]", True),
        ("ghost", False),
    ]


async def test_what_has_not_changed_is_not_sent_again(world: World) -> None:
    await world.open_issue()
    with world.github.counted() as first:
        before = await world.github.threads(world.demo)
    with world.github.counted() as second:
        assert await world.github.threads(world.demo) == before
    await world.open_issue()
    with world.github.counted() as third:
        assert len(await world.github.threads(world.demo)) == 2
    counts = [(each.requests, each.unchanged) for each in (first, second, third)]
    assert counts == [(1, 0), (1, 1), (1, 0)]
    assert first.for_tokens == 1


async def test_a_configuration_that_has_not_changed_costs_one_request(
    world: World, tmp_path: Path
) -> None:
    with world.github.counted() as first:
        before = await world.github.configuration(world.demo)
    with world.github.counted() as second:
        assert await world.github.configuration(world.demo) == before
    assert (first.requests, second.requests, second.unchanged) == (4, 1, 1)
    bare = world.box.world.repositories["octo/demo"].git.path
    git("clone", "--quiet", str(bare), str(tmp_path / "clone"), cwd=tmp_path)
    (tmp_path / "clone/.squadron/agents/pm.md").write_text("Other.\n")
    git("commit", "--quiet", "-am", "Change a role", cwd=tmp_path / "clone")
    git("push", "--quiet", cwd=tmp_path / "clone")
    after = await world.github.configuration(world.demo)
    assert after == {**before, "agents/pm.md": b"Other.\n"}


async def test_heads_of_open_pull_requests(world: World) -> None:
    for name in ("one", "two"):
        await world.branch(name)
    first, second = [
        await world.github.open_pull_request(
            world.demo, branch=name, base="main", title=name, body=""
        )
        for name in ("one", "two")
    ]
    await world.do("writer", "PATCH", f"/pulls/{second.number}", {"state": "closed"})
    expected = Head(first.number, first.head_sha, is_here=True)
    assert await world.github.open_heads(world.demo) == [expected]
    assert await world.github.branch_heads(world.demo, "on") == {"one": expected.sha}
    assert await world.github.branch_heads(world.demo, "no/such") == {}


def test_a_head_in_a_fork_is_elsewhere() -> None:
    example = examples()["GET /repos/{owner}/{repo}/pulls"]["200"][0]
    name = example["head"]["repo"]["full_name"]
    assert reading.head(example, name.upper()).is_here
    assert not reading.head(example, "octo/demo").is_here
    gone = {**example, "head": {**example["head"], "repo": None}}
    assert not reading.head(gone, name).is_here


@pytest.mark.parametrize("event", ["reopened", "ready_for_review"])
def test_marks_of_what_happened_to_a_thread(event: str) -> None:
    entry = {**timeline_event("bug", "writer"), "event": event}
    [mark] = reading.marks(entry)
    assert (mark.what, mark.about, mark.by) == (event, "", "writer")


async def test_marks_are_looked_for_on_every_page() -> None:
    label = "feature: x y"
    # Most of what happens to an issue are other things.
    pages = {
        "1": [timeline_event(label, "writer"), timeline_event("bug", "boss")],
        "2": [timeline_event(label, "triager")],
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
    github = GitHubApp(7, [app_key()], "http://github.test", TurnedClock(), wire)
    marks = await github.marks(Repository("octo/demo", 2), 3)
    assert [(mark.about, mark.by) for mark in marks] == [
        (label, "writer"),
        ("bug", "boss"),
        (label, "triager"),
    ]


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


async def test_a_long_thread_is_read_once(world: World) -> None:
    """Later only what has changed is; what was deleted, edited or written anew meanwhile counts."""
    number = await world.open_issue()
    kept = await world.github.comment(world.demo, number, f"kept {MARKER}")
    edited = await world.github.comment(world.demo, number, f"edited {MARKER}")
    deleted = await world.github.comment(world.demo, number, f"deleted {MARKER}")
    for count in range(250):
        world.clock.turn(timedelta(minutes=1))
        await world.do("writer", "POST", f"/issues/{number}/comments", {"body": f"{count}"})

    async def search() -> tuple[list[str], int]:
        before = world.wire.calls("GET")
        found = await world.github.comments(world.demo, number, MARKER)
        asked = world.wire.calls("GET")[len(before) :]
        return [each.body for each in found], sum("/comments" in each for each in asked)

    assert await search() == ([f"kept {MARKER}", f"edited {MARKER}", f"deleted {MARKER}"], 3)
    world.clock.turn(timedelta(hours=1))
    await world.github.edit_comment(world.demo, edited.number, "no more")
    await world.github.delete_comment(world.demo, deleted.number)
    world.clock.turn(timedelta(hours=1))
    await world.do(None, "POST", f"/issues/{number}/comments", {"body": f"new {MARKER}"})
    await world.do("writer", "POST", f"/issues/{number}/comments", {"body": f"theirs {MARKER}"})
    what_has_changed, whether_it_is_there_still = 1, 2
    assert await search() == (
        [f"kept {MARKER}", f"new {MARKER}"],
        what_has_changed + whether_it_is_there_still,
    )
    world.clock.turn(timedelta(hours=1))
    await world.github.edit_comment(world.demo, kept.number, "no more")
    assert await search() == ([f"new {MARKER}"], what_has_changed)


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


async def test_a_label_is_set_and_taken_off_however_often(world: World) -> None:
    number = await world.open_issue()

    async def labels() -> list[str]:
        issue = await world.github.issue(world.demo, number)
        assert issue is not None
        return [*issue.labels]

    for _ in range(2):
        await world.github.add_labels(world.demo, number, ["needs an answer/now?"])
        assert await labels() == ["needs an answer/now?"]
    for _ in range(2):
        await world.github.remove_label(world.demo, number, "needs an answer/now?")
        assert await labels() == []


async def test_a_reaction_is_given_once_however_often(world: World) -> None:
    number = await world.open_issue()
    said = await world.do("writer", "POST", f"/issues/{number}/comments", {"body": "Go on."})
    assert isinstance(said, dict)
    for _ in range(2):
        await world.github.react(world.demo, said["id"], "rocket")
    seen = await world.do("writer", "GET", f"/issues/comments/{said['id']}")
    assert isinstance(seen, dict) and seen["reactions"]["rocket"] == 1
    [reply] = await world.github.said(world.demo, world.clock.now())
    assert (reply.number, reply.author, reply.body) == (said["id"], "writer", "Go on.")
    assert reply.thread == number
    with pytest.raises(Refused) as gone:
        await world.github.react(world.demo, 1, "eyes")
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
    github, running = world.github, CheckText(None, "At work", "3 of 200 calls")
    created = await github.create_check(world.demo, sha, "squadron/pm", "one", running)
    failed = CheckText("failure", "Stopped", "200 of 200")
    second = await github.create_check(world.demo, sha, "squadron/pm", "two", failed)
    await github.create_check(world.demo, sha, "squadron/docs", "one", running)
    assert (created.external_id, created.conclusion) == ("one", None)
    assert (second.external_id, second.conclusion) == ("two", "failure")
    assert await github.checks(world.demo, sha, "squadron/pm") == [created, second]

    settled = await github.change_check(world.demo, created.number, failed)
    assert settled == replace(created, conclusion="failure")
    seen = await world.do("writer", "GET", f"/check-runs/{created.number}")
    assert isinstance(seen, dict)
    assert (seen["status"], seen["conclusion"]) == ("completed", "failure")
    assert seen["output"]["title"] == "Stopped"


async def test_a_check_that_has_completed_keeps_its_conclusion_and_takes_other_words(
    world: World,
) -> None:
    sha = await world.branch("squadron/x")
    passed = CheckText("success", "Handed over", "Done.")
    created = await world.github.create_check(world.demo, sha, "squadron/pm", "one", passed)
    for conclusion in (None, "failure"):
        turned = CheckText(conclusion, "Turned", "Turned.")
        assert await world.github.change_check(world.demo, created.number, turned) == created
    worded = CheckText("failure", "Reworded", "In other words.")
    assert await world.github.reword_check(world.demo, created.number, worded) == created
    seen = await world.do("writer", "GET", f"/check-runs/{created.number}")
    assert isinstance(seen, dict)
    assert (seen["status"], seen["conclusion"]) == ("completed", "success")
    assert seen["output"] == {**seen["output"], "title": "Reworded", "summary": "In other words."}


async def test_a_check_on_an_unknown_commit_is_refused(world: World) -> None:
    check = CheckText("failure", "T", "S")
    with pytest.raises(Refused) as refused:
        await world.github.create_check(world.demo, "0" * 40, "squadron/pm", "x", check)
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
    assert opened.closed_at is None and merged.closed_at == world.clock.now().replace(microsecond=0)
    assert await github.pull_requests(demo, branch) == [merged]
    seen = await github.issue(demo, opened.number)
    assert seen is not None
    assert seen.is_pull_request


async def test_a_draft_is_made_ready_and_a_draft_again(world: World) -> None:
    github, demo, branch = world.github, world.demo, "squadron/bug-fix/issue-1"
    await world.branch(branch)
    opened = await github.open_pull_request(
        demo, branch=branch, base="main", title="Fix", body="Seen: nothing", is_draft=True
    )
    assert (opened.is_draft, opened.body) == (True, "Seen: nothing")
    merge = f"{DEMO}/pulls/{opened.number}/merge"
    with pytest.raises(RefusedByGitHub, match="still a draft"):
        await world.box.silently("PUT", merge, {}, "maintainer")
    for is_draft in (False, False, True, True, False):
        await github.set_draft(demo, opened.number, is_draft=is_draft)
        assert (await github.pull_request(demo, opened.number)).is_draft is is_draft
    told = await world.do("writer", "GET", f"/issues/{opened.number}/timeline")
    assert isinstance(told, list)
    assert [each["event"] for each in told] == [
        "ready_for_review",
        "convert_to_draft",
        "ready_for_review",
    ]
    assert (await world.box.silently("PUT", merge, {}, "maintainer")).status == 200


async def test_where_there_are_no_drafts_github_says_so(world: World) -> None:
    github, demo, branch = world.github, world.demo, "squadron/bug-fix/issue-1"
    await world.branch(branch)
    world.box.world.repositories[demo.full_name].has_drafts = False
    with pytest.raises(Refused, match="Draft pull requests are not supported") as refused:
        await github.open_pull_request(
            demo, branch=branch, base="main", title="Fix", body="", is_draft=True
        )
    assert refused.value.status == 422
    opened = await github.open_pull_request(demo, branch=branch, base="main", title="F", body="")
    with pytest.raises(Refused, match="Draft pull requests are not supported"):
        await github.set_draft(demo, opened.number, is_draft=True)
    assert not (await github.pull_request(demo, opened.number)).is_draft


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ({"data": None, "errors": [{"type": "FORBIDDEN", "message": "No."}]}, Refused, "No."),
        ({"data": None, "errors": [{"type": "FORBIDDEN"}]}, Refused, "no reason"),
        ({"data": None}, Unreachable, "did not say"),
    ],
)
async def test_a_draft_that_did_not_change_is_no_success(
    answer: object, error: type[Exception], words: str
) -> None:
    """GraphQL answers 200 to what it does not do."""

    def replies(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/access_tokens"):
            return httpx.Response(201, json={"token": "t", "expires_at": "2026-03-01T13:00:00Z"})
        if request.url.path.endswith("/graphql"):
            return httpx.Response(200, json=answer)
        return httpx.Response(200, json={"node_id": "PR_1"})

    github = GitHubApp(
        7, [app_key()], "https://api.github.test", TurnedClock(), httpx.MockTransport(replies)
    )
    with pytest.raises(error, match=words):
        await github.set_draft(Repository("octo/demo", 2), 3, is_draft=True)


async def test_our_open_pull_requests_are_found_by_how_their_branch_begins(world: World) -> None:
    github, demo, prefix = world.github, world.demo, "squadron/limits-"
    for branch in ("squadron/limits-1", "squadron/limits-2", "squadron/limitless", "theirs"):
        await world.branch(branch)
    opened = [
        await github.open_pull_request(demo, branch=branch, base="main", title="T", body="")
        for branch in ("squadron/limits-1", "squadron/limitless")
    ]
    fields = {"title": "T", "head": "squadron/limits-2", "base": "main"}
    await world.do("writer", "POST", "/pulls", fields)
    assert await github.open_pull_requests(demo, prefix) == [opened[0]]
    await world.do("writer", "PATCH", f"/pulls/{opened[0].number}", {"state": "closed"})
    assert await github.open_pull_requests(demo, prefix) == []


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
                "statuses": "read",
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
