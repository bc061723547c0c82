"""What happens between an issue and its merge, told to the box by REST."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import pytest
from githubkit import AppAuthStrategy, GitHub
from githubkit.exception import RequestFailed

from app.githubbox.git import BareRepository
from tests.contract.box_support import REPO, Rig, app_jwt


async def branch(here: Rig, name: str, path: str, text: str) -> str:
    """Commit one file on a new branch, as a push would, without a working copy."""
    git = _git(here)
    main = (await git.refs())["refs/heads/main"]
    blob = await git._git("hash-object", "-w", "--stdin", stdin=text.encode())
    entries = await git._git("ls-tree", main)
    kept = [line for line in entries.splitlines() if not line.endswith(f"\t{path}")]
    lines = "\n".join([*kept, f"100644 blob {blob.strip()}\t{path}"])
    tree = await git._git("mktree", stdin=lines.encode())
    commit = await git.commit_tree(
        tree.strip(), [main], f"Change {path}", "admin", "1+admin@users.noreply.github.com"
    )
    app = await here.installation()
    made = await app.post(f"{REPO}/git/refs", json={"ref": f"refs/heads/{name}", "sha": commit})
    assert made.status_code == 201, made.text
    return commit


def _git(here: Rig) -> BareRepository:
    repository = here.box.world.repository("octo/demo")
    assert repository is not None and isinstance(repository.git, BareRepository)
    return repository.git


async def opened(client: httpx.AsyncClient, **fields: object) -> int:
    answer = await client.post(f"{REPO}/issues", json={"title": "A bug", **fields})
    assert answer.status_code == 201, answer.text
    number = answer.json()["number"]
    assert isinstance(number, int)
    return number


async def test_a_labelled_issue_becomes_a_merged_pull_request(box: Rig) -> None:
    app, ann = await box.installation(), box.person("write")
    number = await opened(ann, labels=["bug"], assignees=["squadron-box[bot]"], body="It adds up.")
    sha = await branch(box, "squadron/bug-fix/issue-1", "calc.py", "def add(a, b):\n    return 1\n")
    check = (
        await app.post(
            f"{REPO}/check-runs",
            json={
                "name": "squadron/bug-fix",
                "head_sha": sha,
                "status": "in_progress",
                "output": {"title": "Working", "summary": "on it"},
                "actions": [
                    {"label": "Stop", "description": "Stop the agent", "identifier": "stop"}
                ],
            },
        )
    ).json()
    pull = (
        await app.post(
            f"{REPO}/pulls",
            json={
                "title": "Fix",
                "head": "squadron/bug-fix/issue-1",
                "base": "main",
                "body": f"Fixes #{number}",
            },
        )
    ).json()
    assert pull["head"]["sha"] == sha and pull["user"]["login"] == "squadron-box[bot]"
    assert (await app.get(f"{REPO}/pulls/{pull['number']}")).json()["mergeable"] is None
    assert (await app.get(f"{REPO}/pulls/{pull['number']}")).json()["mergeable"] is True
    files = (await app.get(f"{REPO}/pulls/{pull['number']}/files")).json()
    assert [(one["filename"], one["additions"]) for one in files] == [("calc.py", 1)]
    commits = (await app.get(f"{REPO}/pulls/{pull['number']}/commits")).json()
    assert [one["author"]["login"] for one in commits] == ["admin"]
    await app.patch(f"{REPO}/check-runs/{check['id']}", json={"conclusion": "success"})
    review = {"event": "APPROVE", "body": "good"}
    assert (await app.post(f"{REPO}/pulls/2/reviews", json=review)).status_code == 422
    assert (await ann.post(f"{REPO}/pulls/2/reviews", json=review)).json()["state"] == "APPROVED"
    merge = await ann.put(f"{REPO}/pulls/{pull['number']}/merge", json={})
    assert merge.json()["merged"] is True
    main = (await app.get(f"{REPO}/commits/main")).json()
    assert main["sha"] == merge.json()["sha"] and len(main["parents"]) == 2
    assert (await app.get(f"{REPO}/issues/{number}")).json()["state_reason"] == "completed"
    assert (await ann.put(f"{REPO}/pulls/2/merge", json={})).status_code == 405
    assert await box.heard() == [
        "issues.opened",
        "issues.labeled",
        "issues.assigned",
        "push",
        "check_run.created",
        "pull_request.opened",
        "check_run.completed",
        "pull_request_review.submitted",
        "pull_request.closed",
        "issues.closed",
        "push",
    ]
    closed = box.listener.last("pull_request.closed")
    assert closed["pull_request"]["merged"] is True and closed["sender"]["login"] == "write"


async def test_the_head_of_an_open_pull_request_is_gits(box: Rig) -> None:
    app = await box.installation()
    await branch(box, "work", "a.txt", "one\n")
    await app.post(f"{REPO}/pulls", json={"title": "t", "head": "work", "base": "main"})
    newer = await branch(box, "newer", "a.txt", "two\n")
    refused = await app.patch(f"{REPO}/git/refs/heads/work", json={"sha": newer})
    assert refused.status_code == 422
    moved = {"sha": newer, "force": True}
    assert (await app.patch(f"{REPO}/git/refs/heads/work", json=moved)).status_code == 200
    assert (await app.get(f"{REPO}/pulls/1")).json()["head"]["sha"] == newer
    assert (await app.delete(f"{REPO}/git/refs/heads/work")).status_code == 204
    gone = (await app.get(f"{REPO}/pulls/1")).json()
    assert (gone["state"], gone["head"]["sha"]) == ("closed", newer)
    assert (await box.heard())[2:] == [
        "push",
        "push",
        "pull_request.synchronize",
        "push",
        "pull_request.closed",
    ]


async def test_a_pull_request_is_refused_for_githubs_reasons(box: Rig) -> None:
    app = await box.installation()
    await branch(box, "one", "a.txt", "one\n")
    await branch(box, "two", "a.txt", "two\n")

    async def message(**fields: str) -> str:
        wanted = {"title": "t", "base": "main", **fields}
        answer = await app.post(f"{REPO}/pulls", json=wanted)
        assert answer.status_code == 422
        return str(answer.json()["errors"][0])

    assert "No commits between main and main" in await message(head="main")
    assert "'field': 'head'" in await message(head="nowhere")
    assert "missing_field" in await message(head="one", title=" ")
    for head in ("one", "two"):
        await app.post(f"{REPO}/pulls", json={"title": head, "head": head, "base": "main"})
    assert "already exists for octo:one" in await message(head="one")
    found = await app.get(f"{REPO}/pulls", params={"head": "octo:two", "state": "all"})
    assert [one["title"] for one in found.json()] == ["two"]
    assert (await app.put(f"{REPO}/pulls/1/merge", json={"sha": "0" * 40})).status_code == 409
    squashed = {"merge_method": "squash"}
    assert (await app.put(f"{REPO}/pulls/1/merge", json=squashed)).status_code == 200
    assert (await app.put(f"{REPO}/pulls/2/merge", json={})).status_code == 405
    await app.get(f"{REPO}/pulls/2")
    assert (await app.get(f"{REPO}/pulls/2")).json()["mergeable"] is False
    again = {"title": "t", "head": "one", "base": "main"}
    closed = await app.patch(f"{REPO}/pulls/1", json={"state": "open"})
    assert closed.status_code == 422 and again


async def test_labels_comments_and_people_of_an_issue(box: Rig) -> None:
    app, ann = await box.installation(), box.person("write")
    number = await opened(ann)
    issue = f"{REPO}/issues/{number}"
    made = {"name": "feature: x/y", "color": "0e8a16"}
    assert (await app.post(f"{REPO}/labels", json=made)).status_code == 201
    assert (await app.post(f"{REPO}/labels", json=made)).status_code == 422
    await app.post(f"{issue}/labels", json={"labels": ["feature: x/y", "bug"]})
    answer = await app.delete(f"{issue}/labels/feature%3A%20x%2Fy")
    assert [one["name"] for one in answer.json()] == ["bug"]
    assert (await app.delete(f"{issue}/labels/feature%3A%20x%2Fy")).status_code == 404
    assert (await app.get(f"{REPO}/labels/feature%3A%20x%2Fy")).json()["color"] == "0e8a16"
    await app.put(f"{issue}/labels", json={"labels": ["question"]})
    comment = (await ann.post(f"{issue}/comments", json={"body": "hello"})).json()
    one = f"{REPO}/issues/comments/{comment['id']}"
    assert (await app.patch(one, json={"body": "hello there"})).json()["body"] == "hello there"
    assert (await app.post(f"{one}/reactions", json={"content": "eyes"})).status_code == 201
    assert (await app.post(f"{one}/reactions", json={"content": "eyes"})).status_code == 200
    listed = (await app.get(f"{REPO}/issues/comments")).json()
    assert listed[0]["reactions"]["eyes"] == 1
    assert (await app.delete(one)).status_code == 204
    assert (await app.get(one)).status_code == 404
    await app.post(f"{issue}/assignees", json={"assignees": ["admin", "nobody-at-all"]})
    changed = {"title": "Better", "state": "closed", "state_reason": "not_planned"}
    body = (await app.patch(issue, json=changed)).json()
    assert (body["assignee"]["login"], body["state_reason"]) == ("admin", "not_planned")
    await ann.patch(issue, json={"state": "open"})
    assert await box.heard() == [
        "issues.opened",
        "label.created",
        "issues.labeled",
        "issues.labeled",
        "issues.unlabeled",
        "issues.unlabeled",
        "issues.labeled",
        "issue_comment.created",
        "issue_comment.edited",
        "issue_comment.deleted",
        "issues.assigned",
        "issues.edited",
        "issues.closed",
        "issues.reopened",
    ]
    assert box.listener.last("issues.edited")["changes"] == {"title": {"from": "A bug"}}


async def test_blockers_locks_and_deleted_issues(box: Rig) -> None:
    app, ann, reader = await box.installation(), box.person("admin"), box.person("read")
    first, second = await opened(ann), await opened(ann)
    identity = (await app.get(f"{REPO}/issues/{first}")).json()["id"]
    blocked = f"{REPO}/issues/{second}/dependencies/blocked_by"
    assert (await app.post(blocked, json={"issue_id": identity})).status_code == 201
    assert [one["number"] for one in (await app.get(blocked)).json()] == [first]
    assert (await app.delete(f"{blocked}/{identity}")).status_code == 200
    await box.client().post(
        "/_box/sub_issue", json={"repository": "octo/demo", "number": first, "sub_issue": second}
    )
    subs = (await app.get(f"{REPO}/issues/{first}/sub_issues")).json()
    assert [one["number"] for one in subs] == [second]
    await ann.put(f"{REPO}/issues/{first}/lock")
    said = {"body": "may I?"}
    for refused in (reader, app):
        answer = await refused.post(f"{REPO}/issues/{first}/comments", json=said)
        assert answer.status_code == 403 and "locked" in answer.json()["message"]
    assert (await ann.post(f"{REPO}/issues/{first}/comments", json=said)).status_code == 201
    order = {"repository": "octo/demo", "number": first, "user": "admin"}
    assert (await box.client().post("/_box/delete_issue", json=order)).status_code == 200
    assert (await app.get(f"{REPO}/issues/{first}")).status_code == 410
    assert (await box.heard())[2:] == [
        "issue_dependencies.blocked_by_added",
        "issue_dependencies.blocked_by_removed",
        "issues.locked",
        "issue_comment.created",
        "issues.deleted",
    ]


async def test_checks_are_strict_and_can_be_found_again(box: Rig) -> None:
    app = await box.installation()
    sha = await branch(box, "work", "a.txt", "one\n")
    unknown = {"name": "x", "head_sha": "1" * 40}
    assert (await app.post(f"{REPO}/check-runs", json=unknown)).status_code == 422
    untitled = {"name": "x", "head_sha": sha, "output": {"summary": "s"}}
    assert (await app.post(f"{REPO}/check-runs", json=untitled)).status_code == 422
    for external in ("first", "second"):
        await app.post(
            f"{REPO}/check-runs",
            json={
                "name": "squadron/pm",
                "head_sha": sha,
                "external_id": external,
                "conclusion": "failure",
                "output": {"title": "t", "summary": "s", "text": "x"},
            },
        )
    asked: list[tuple[dict[str, str | int], list[str]]] = [
        ({"check_name": "squadron/pm", "app_id": box.box.identity.app_id}, ["second"]),
        ({"filter": "all"}, ["second", "first"]),
        ({"app_id": 1}, []),
        ({"status": "queued"}, []),
    ]
    for query, expected in asked:
        answer = (await app.get(f"{REPO}/commits/work/check-runs", params=query)).json()
        assert [one["external_id"] for one in answer["check_runs"]] == expected
    run = (await app.get(f"{REPO}/commits/{sha}/check-runs")).json()["check_runs"][0]
    order = {"repository": "octo/demo", "check_run_id": run["id"], "user": "write"}
    assert (await box.client().post("/_box/check_action", json=order)).status_code == 200
    assert (await box.heard())[-1] == "check_run.rerequested"
    assert (await box.client().get(run["html_url"])).status_code == 200
    for state in ("pending", "success"):
        status = {"state": state, "context": "ci", "target_url": "https://ci.example/1"}
        assert (await app.post(f"{REPO}/statuses/{sha}", json=status)).status_code == 201
    assert (await app.get(f"{REPO}/commits/work/status")).json()["state"] == "success"


async def test_lists_come_in_pages_and_unchanged_answers_as_304(box: Rig) -> None:
    app, ann = await box.installation(), box.person("write")
    for number in range(5):
        await opened(ann, title=f"issue {number}", labels=["bug"] if number % 2 else [])
    titles, url = [], f"{REPO}/issues?per_page=2&state=all"
    while url:
        answer = await app.get(url)
        titles += [one["title"] for one in answer.json()]
        url = answer.links.get("next", {}).get("url", "")
    assert titles == [f"issue {number}" for number in (4, 3, 2, 1, 0)]
    labelled = await app.get(f"{REPO}/issues", params={"labels": "bug", "creator": "write"})
    assert len(labelled.json()) == 2
    later = (box.now + timedelta(hours=1)).isoformat()
    assert (await app.get(f"{REPO}/issues", params={"since": later})).json() == []
    tag = {"If-None-Match": labelled.headers["etag"]}
    again = await app.get(
        f"{REPO}/issues", params={"labels": "bug", "creator": "write"}, headers=tag
    )
    assert again.status_code == 304 and not again.content
    assert int(again.headers["x-ratelimit-remaining"]) > 0


async def test_files_directories_and_comparisons(box: Rig) -> None:
    app = await box.installation()
    await branch(box, "work", "calc.py", "def add(a, b):\n    return a + b\n")
    names = [one["name"] for one in (await app.get(f"{REPO}/contents/")).json()]
    assert names == ["calc.py", "docs"]
    file = (await app.get(f"{REPO}/contents/docs/read%20me.md")).json()
    assert (file["type"], file["content"]) == ("file", "IyBDYWxjdWxhdG9yCg==\n")
    assert (await app.get(f"{REPO}/contents/nope")).status_code == 404
    inside = (await app.get(f"{REPO}/contents/docs", params={"ref": "work"})).json()
    assert [one["path"] for one in inside] == ["docs/read me.md"]
    compared = (await app.get(f"{REPO}/compare/main...work")).json()
    assert (compared["status"], compared["ahead_by"]) == ("ahead", 1)
    assert compared["files"][0]["patch"].endswith("-    return a - b\n+    return a + b")
    assert (await app.get(f"{REPO}/branches/work")).json()["commit"]["sha"] == (
        await app.get(f"{REPO}/git/ref/heads/work")
    ).json()["object"]["sha"]
    assert len((await app.get(f"{REPO}/commits", params={"sha": "work"})).json()) == 2


async def test_an_app_shows_who_it_is_and_its_tokens_are_narrow_and_short_lived(box: Rig) -> None:
    identity = box.box.identity
    assert (await box.app().get("/app")).json()["slug"] == "squadron-box"
    assert (await box.app().get("/app/installations")).json()[0]["id"] == identity.installation_id
    found = await box.app().get(f"{REPO}/installation")
    assert found.json()["id"] == identity.installation_id
    for minutes in (-1, 12):
        token = app_jwt(identity.app_id, identity.private_key_pem, minutes)
        assert (await box.client(f"Bearer {token}").get("/app")).status_code == 401
    app = await box.installation(permissions={"issues": "read"}, repositories=["demo"])
    assert (await app.get(f"{REPO}/issues")).status_code == 200
    refused = await app.post(f"{REPO}/issues", json={"title": "no"})
    assert refused.status_code == 403
    assert refused.json()["message"] == "Resource not accessible by integration"
    reached = (await app.get("/installation/repositories")).json()
    assert [one["full_name"] for one in reached["repositories"]] == ["octo/demo"]
    number = identity.installation_id
    for asked in ({"permissions": {"workflows": "write"}}, {"repositories": ["other"]}):
        answer = await box.app().post(f"/app/installations/{number}/access_tokens", json=asked)
        assert answer.status_code == 422
    short = await box.app().post(
        f"/app/installations/{number}/access_tokens",
        headers={"X-GitHub-Stateless-S2S-Token": "disabled"},
    )
    assert len(short.json()["token"]) == 40 and "." not in short.json()["expires_at"]
    box.clock.shows += timedelta(minutes=61)
    assert (await app.get(f"{REPO}/issues")).status_code == 401


async def test_the_client_library_of_the_service_drives_it(box: Rig) -> None:
    transport = httpx.ASGITransport(box.box.asgi)
    identity = box.box.identity
    github = GitHub(
        AppAuthStrategy(str(identity.app_id), identity.private_key_pem.decode()),
        base_url=box.box.url,
        async_transport=transport,
        auto_retry=False,
    )
    installed = github.with_auth(github.auth.as_installation(identity.installation_id))
    answer = await installed.arequest("POST", f"{REPO}/issues", json={"title": "by githubkit"})
    assert answer.json()["user"]["login"] == "squadron-box[bot]"
    for _ in range(2):  # the second time GitHub says 304
        listed = await installed.arequest("GET", f"{REPO}/issues")
        assert [one["title"] for one in listed.json()] == ["by githubkit"]
    with pytest.raises(RequestFailed) as refused:
        await installed.arequest("POST", f"{REPO}/check-runs", json={"name": "x", "head_sha": "0"})
    assert refused.value.response.status_code == 422


async def test_the_timeline_tells_who_set_which_label(box: Rig) -> None:
    ann, ted = box.person("write"), box.person("triage")
    issue = f"{REPO}/issues/{await opened(ann)}"
    await ann.post(f"{issue}/labels", json={"labels": ["bug"]})
    await ann.delete(f"{issue}/labels/bug")
    await ted.post(f"{issue}/labels", json={"labels": ["bug"]})
    told = (await ann.get(f"{issue}/timeline")).json()
    assert [(one["event"], one["label"]["name"], one["actor"]["login"]) for one in told] == [
        ("labeled", "bug", "write"),
        ("unlabeled", "bug", "write"),
        ("labeled", "bug", "triage"),
    ]


async def test_what_is_opened_while_a_list_is_made_disturbs_nobody(box: Rig) -> None:
    """An answer asks git about one pull request after the other, and others go on meanwhile."""
    app, ann = await box.installation(), box.person("write")
    for name in ("one", "two", "three"):
        sha = await branch(box, name, f"{name}.txt", name)
        await app.post(f"{REPO}/pulls", json={"title": name, "head": name, "base": "main"})
    await app.post(
        f"{REPO}/check-runs",
        json={
            "name": "squadron/bug-fix",
            "head_sha": sha,
            "status": "in_progress",
            "output": {"title": "Working", "summary": "on it"},
        },
    )

    async def issues() -> None:
        for _ in range(30):
            await opened(ann)

    listed, _ = await asyncio.gather(app.get(f"{REPO}/commits/{sha}/check-runs"), issues())
    assert [one["name"] for one in listed.json()["check_runs"]] == ["squadron/bug-fix"]
