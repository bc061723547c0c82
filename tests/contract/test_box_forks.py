"""Forks in the box: the work of people who may only read, and pull requests that bring it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from app.githubbox.git import BareRepository
from app.githubbox.state import Repository
from tests.contract.box_support import REPO, Rig, rig

FORK = "/repos/read/demo"


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path) as here:
        answer = await here.client().post(
            "/_box/fork", json={"repository": "octo/demo", "user": "read"}
        )
        assert answer.json() == {"full_name": "read/demo"}
        yield here


def repository(here: Rig, name: str) -> Repository:
    found = here.box.world.repository(name)
    assert found is not None
    return found


async def commit(here: Rig, message: str) -> str:
    """A commit that only the fork has."""
    git = repository(here, "read/demo").git
    assert isinstance(git, BareRepository)
    parent = await git.commit((await git.refs())["refs/heads/main"])
    blob = (await git._git("hash-object", "-w", "--stdin", stdin=message.encode())).strip()
    tree = await git._git("mktree", stdin=f"100644 blob {blob}\tnew.txt\n".encode())
    return await git.commit_tree(tree.strip(), [parent.sha], message, "read", "read@example.org")


async def pull_request(client: httpx.AsyncClient, head: str) -> httpx.Response:
    return await client.post(f"{REPO}/pulls", json={"title": "t", "head": head, "base": "main"})


async def test_its_owner_brings_work_into_the_repository_and_no_webhook_tells_of_the_fork(
    box: Rig,
) -> None:
    theirs, app = box.person("read"), await box.installation()
    first = await commit(box, "one")
    made = await theirs.post(f"{FORK}/git/refs", json={"ref": "refs/heads/work", "sha": first})
    assert made.status_code == 201
    assert (await app.get(f"{REPO}/commits/{first}")).status_code == 422
    pull = (await pull_request(theirs, "read:work")).json()
    assert (pull["head"]["label"], pull["head"]["sha"]) == ("read:work", first)
    assert (pull["head"]["repo"]["full_name"], pull["head"]["repo"]["fork"]) == ("read/demo", True)
    assert pull["base"]["repo"]["fork"] is False
    contents = await app.get(f"{REPO}/contents/new.txt", params={"ref": first})
    assert contents.json()["name"] == "new.txt"
    check = {"name": "c", "head_sha": first, "status": "queued"}
    assert (await app.post(f"{REPO}/check-runs", json=check)).json()["pull_requests"] == []
    for head, found in (("read:work", 1), ("octo:work", 0), ("READ:work", 1)):
        listed = await app.get(f"{REPO}/pulls", params={"head": head})
        assert len(listed.json()) == found, head
    second = await commit(box, "two")
    moved = {"sha": second, "force": True}
    assert (await theirs.patch(f"{FORK}/git/refs/heads/work", json=moved)).status_code == 200
    assert (await app.get(f"{REPO}/pulls/{pull['number']}")).json()["head"]["sha"] == second
    merged = await box.person("write").put(f"{REPO}/pulls/{pull['number']}/merge", json={})
    assert merged.json()["merged"] is True
    assert (await app.get(f"{REPO}/contents/new.txt")).status_code == 200
    assert await box.heard() == [
        "pull_request.opened",
        "check_run.created",
        "pull_request.synchronize",
        "pull_request.closed",
        "push",
    ]


async def test_a_branch_that_is_deleted_in_the_fork_closes_its_pull_request(box: Rig) -> None:
    theirs = box.person("read")
    reference = {"ref": "refs/heads/work", "sha": await commit(box, "one")}
    await theirs.post(f"{FORK}/git/refs", json=reference)
    number = (await pull_request(theirs, "read:work")).json()["number"]
    assert (await pull_request(theirs, "read:work")).status_code == 422
    assert (await theirs.delete(f"{FORK}/git/refs/heads/work")).status_code == 204
    assert (await theirs.get(f"{REPO}/pulls/{number}")).json()["state"] == "closed"


async def test_nobody_gets_further_by_a_fork_than_its_owner(box: Rig) -> None:
    theirs, app = box.person("read"), await box.installation()
    for other in (box.person("triage"), app):
        assert (await pull_request(other, "read:main")).status_code == 403
    assert (await pull_request(theirs, "main")).status_code == 403
    for unknown in ("triage:main", "read:nothing"):
        assert (await pull_request(theirs, unknown)).status_code == 422
    reference = {"ref": "refs/heads/x", "sha": await commit(box, "one")}
    assert (await box.person("triage").post(f"{FORK}/git/refs", json=reference)).status_code == 403
    assert (await app.get(f"{FORK}/branches/main")).status_code == 404
