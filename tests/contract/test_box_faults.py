"""Faults, webhooks and permissions: how the box fails, on request and by right."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.contract.box_support import REPO, Rig, rig


async def fault(box: Rig, **description: object) -> None:
    answer = await box.client().post("/_box/faults", json=description)
    assert answer.status_code == 200, answer.text


async def titles(box: Rig) -> list[str]:
    app = await box.installation()
    return [one["title"] for one in (await app.get(f"{REPO}/issues")).json()]


@pytest.mark.parametrize(("phase", "left"), [("before", []), ("after", ["x"])])
@pytest.mark.parametrize("kind", ["error", "timeout", "secondary_limit", "unauthorized"])
async def test_a_fault_strikes_before_or_after_the_write(
    box: Rig, kind: str, phase: str, left: list[str]
) -> None:
    await fault(box, kind=kind, method="POST", path="/issues$", phase=phase, count=1, status=502)
    client = box.person("write")
    if kind == "timeout":
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(f"{REPO}/issues", json={"title": "x"})
    else:
        answer = await client.post(f"{REPO}/issues", json={"title": "x"})
        assert answer.status_code == (401 if kind == "unauthorized" else 502)
    assert await titles(box) == left
    assert (await client.post(f"{REPO}/issues", json={"title": "y"})).status_code == 201
    faults = (await box.client().get("/_box/faults")).json()
    assert [(one["kind"], one["fired"], one["remaining"]) for one in faults] == [(kind, 1, 0)]


async def test_limits_say_when_to_come_back(box: Rig) -> None:
    app = await box.installation()
    await fault(box, kind="primary_limit", count=1, retry_after=7)
    first = await app.get(REPO)
    assert (first.status_code, first.headers["x-ratelimit-remaining"]) == (403, "0")
    assert int(first.headers["x-ratelimit-reset"]) == int(box.now.timestamp()) + 7
    await fault(box, kind="secondary_limit", status=429, retry_after=3, count=1)
    second = await app.get(REPO)
    assert (second.status_code, second.headers["retry-after"]) == (429, "3")
    await fault(box, kind="secondary_limit")
    third = await app.get(REPO)
    assert "secondary rate limit" in third.json()["message"]
    assert "retry-after" not in third.headers
    await box.client().delete("/_box/faults")
    assert (await app.get(REPO)).status_code == 200


async def test_an_expired_token_stays_expired(box: Rig) -> None:
    app = await box.installation()
    await fault(box, kind="token_expired", count=1)
    assert [(await app.get(REPO)).status_code for _ in range(2)] == [401, 401]
    assert (await (await box.installation()).get(REPO)).status_code == 200


@pytest.mark.parametrize(
    "description",
    [
        {"kind": "meteor"},
        {"kind": "error", "path": "("},
        {"kind": "error", "phase": "during"},
        {"kind": "error", "count": -1},
        {"kind": "slow", "seconds": 1e9},
        {"kind": "error", "pth": ""},
    ],
)
async def test_a_fault_that_makes_no_sense_is_refused(
    box: Rig, description: dict[str, object]
) -> None:
    answer = await box.client().post("/_box/faults", json=description)
    assert answer.status_code == 400 and answer.json()["message"].startswith("faults: ")
    await box.client().get("/")
    await titles(box)


async def test_webhooks_go_astray_on_request(box: Rig) -> None:
    ann = box.person("write")
    for kind in ("lost", "doubled", "late"):
        await fault(box, kind=kind, event="issues.opened", count=1, seconds=0.05)
    for title in ("lost", "doubled", "late", "usual"):
        await ann.post(f"{REPO}/issues", json={"title": title})
    await box.heard()
    came = [body["issue"]["title"] for _, body in box.listener.received]
    assert sorted(came) == ["doubled", "doubled", "late", "usual"]
    doubled = [
        guid for guid, title in zip(box.listener.guids, came, strict=True) if title == "doubled"
    ]
    assert doubled[0] == doubled[1]
    listed = (await box.app().get("/app/hook/deliveries")).json()
    assert [one["status"] for one in listed] == ["OK"] * 4


async def test_a_shuffled_batch_comes_out_of_order(box: Rig) -> None:
    ann = box.person("write")
    await fault(box, kind="shuffled")
    for title in "abc":
        await ann.post(f"{REPO}/issues", json={"title": title})
    await box.heard()
    assert [body["issue"]["title"] for _, body in box.listener.received] == ["c", "b", "a"]


async def test_a_redelivery_repeats_guid_and_bytes(box: Rig) -> None:
    box.listener.status = 500
    await box.person("write").post(f"{REPO}/issues", json={"title": "é"})
    await box.heard()
    failed = (await box.app().get("/app/hook/deliveries?status=failure")).json()
    assert [(one["event"], one["status_code"]) for one in failed] == [("issues", 500)]
    detail = (await box.app().get(f"/app/hook/deliveries/{failed[0]['id']}")).json()
    assert detail["request"]["payload"]["issue"]["title"] == "é"
    box.listener.status = 202
    again = await box.app().post(f"/app/hook/deliveries/{failed[0]['id']}/attempts")
    assert again.status_code == 202
    await box.heard()
    assert box.listener.bodies[0] == box.listener.bodies[1]
    assert len(set(box.listener.guids)) == 1
    latest = await box.app().get("/app/hook/deliveries", params={"per_page": 1})
    assert latest.json()[0]["redelivery"] is True and latest.json()[0]["status"] == "OK"
    older = (await box.app().get(latest.links["next"]["url"])).json()
    assert [one["id"] for one in older] == [failed[0]["id"]]


async def test_a_delivery_that_reaches_nobody_fails_and_is_listed_for_three_days(box: Rig) -> None:
    await fault(box, kind="unreachable", event="issues.opened", count=2)
    await box.person("write").post(f"{REPO}/issues", json={"title": "x"})
    listed = "/app/hook/deliveries?status=failure"
    [first] = (await box.app().get(listed)).json()
    assert (first["status_code"], first["redelivery"]) == (502, False)
    again = await box.app().post(f"/app/hook/deliveries/{first['id']}/attempts")
    assert again.status_code == 202
    second, same = (await box.app().get(listed)).json()
    assert (second["redelivery"], second["guid"], same) == (True, first["guid"], first)
    assert not box.listener.received
    await box.client().post("/_box/age_deliveries", json={"days": 3.01})
    assert (await box.app().get(listed)).json() == []
    gone = await box.app().post(f"/app/hook/deliveries/{first['id']}/attempts")
    assert gone.status_code == 404


async def test_nobody_is_told_of_a_silent_change(box: Rig) -> None:
    ann = box.person("write")
    await ann.post(f"{REPO}/issues", json={"title": "x"})
    order = {"method": "PATCH", "path": f"{REPO}/issues/1", "body": {"state": "closed"}}
    answer = await box.client().post("/_box/silently", json={**order, "user": "write"})
    assert answer.json()["status"] == 200 and answer.json()["body"]["closed_by"]["login"] == "write"
    reply = await box.box.silently("POST", f"{REPO}/issues/1/comments", {"body": "psst"})
    assert reply.status == 201
    assert await titles(box) == []
    assert await box.heard() == ["issues.opened"]


async def test_ping_and_installation_are_sent_on_request(box: Rig) -> None:
    await box.client().post("/_box/ping")
    await box.client().post("/_box/installation", json={"action": "created"})
    await box.client().post("/_box/webhook", json={"url": None})
    await box.person("write").post(f"{REPO}/issues", json={"title": "unheard"})
    assert await box.heard() == ["ping", "installation.created"]


READ, TRIAGE, WRITE = ["read", "triage", "write", "maintain", "admin"], 1, 2


@pytest.mark.parametrize(
    ("method", "path", "body", "allowed"),
    [
        ("POST", "/issues/1/comments", {"body": "x"}, ["none", *READ]),
        ("POST", "/issues", {"title": "x"}, ["none", *READ]),
        ("POST", "/issues/1/labels", {"labels": ["bug"]}, READ[TRIAGE:]),
        ("POST", "/issues/1/assignees", {"assignees": ["admin"]}, READ[TRIAGE:]),
        ("POST", "/labels", {"name": "new", "color": "ffffff"}, READ[WRITE:]),
        ("POST", "/git/refs", {"ref": "refs/heads/new", "sha": "{main}"}, READ[WRITE:]),
        ("POST", "/statuses/{main}", {"state": "success"}, READ[WRITE:]),
        ("POST", "/check-runs", {"name": "x", "head_sha": "{main}"}, []),
    ],
)
async def test_what_each_role_may_do(
    box: Rig, method: str, path: str, body: dict[str, str], allowed: list[str]
) -> None:
    app = await box.installation()
    main = (await app.get(f"{REPO}/git/ref/heads/main")).json()["object"]["sha"]
    await app.post(f"{REPO}/issues", json={"title": "one"})
    sent = json.loads(json.dumps(body).replace("{main}", main))
    statuses = {}
    for login in box.tokens:
        answer = await box.person(login).request(
            method, REPO + path.replace("{main}", main), json=sent
        )
        statuses[login] = answer.status_code
    # of those who may, the second to make a thing of the same name is told that it exists
    assert [one for one, status in statuses.items() if status in (200, 201, 422)] == allowed
    assert {status for one, status in statuses.items() if one not in allowed} <= {403}
    assert (
        await app.request(method, REPO + path.replace("{main}", main), json=sent)
    ).status_code in (200, 201, 422)
    assert (await box.client().request(method, REPO + path, json=sent)).status_code == 401
    assert (await box.client("token ghp_wrong").get(REPO)).status_code == 401


async def test_labels_of_outsiders_vanish_and_private_repositories_hide(box: Rig) -> None:
    for login in ("read", "triage"):
        issue = {"title": "x", "labels": ["squadron:pm"], "assignees": ["admin"]}
        await box.person(login).post(f"{REPO}/issues", json=issue)
    app = await box.installation()
    found = (await app.get(f"{REPO}/issues")).json()
    assert [len(one["labels"]) for one in found] == [1, 0]
    assert [one["assignee"] is not None for one in found] == [True, False]
    order = {"repository": "octo/demo", "private": True}
    await box.client().post("/_box/visibility", json=order)
    answers = {login: (await box.person(login).get(REPO)).status_code for login in box.tokens}
    assert answers == dict.fromkeys(box.tokens, 200) | {"none": 404}


async def test_the_permission_of_each_role_and_its_legacy_name(box: Rig) -> None:
    app = await box.installation()
    seen = {}
    for login in box.tokens:
        answer = (await app.get(f"{REPO}/collaborators/{login}/permission")).json()
        seen[answer["role_name"]] = answer["permission"]
    assert seen == {
        "none": "none",
        "read": "read",
        "triage": "read",
        "write": "write",
        "maintain": "write",
        "admin": "admin",
    }
    for unknown in ("stranger", "squadron-box%5Bbot%5D"):
        answer = await app.get(f"{REPO}/collaborators/{unknown}/permission")
        assert answer.status_code == 404


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b"3", 400),
        (b"{}", 422),
        (b'{"title": ["x"]}', 422),
        (b'{"title": "x", "labels": "bug"}', 422),
        (b'{"title": "x", "body": 5}', 422),
    ],
)
async def test_invalid_bodies_are_answered_as_github_answers(
    box: Rig, content: bytes, status: int
) -> None:
    answer = await box.person("write").post(f"{REPO}/issues", content=content)
    assert answer.status_code == status
    assert {"message", "documentation_url"} <= set(answer.json())
    assert await titles(box) == []


async def test_an_unknown_route_is_remembered(tmp_path: Path) -> None:
    async with rig(tmp_path) as box:
        app = await box.installation()
        assert (await app.get(f"{REPO}/traffic/views")).json()["message"] == "Not Found"
        unknown = (await box.client().get("/_box/unknown")).json()
        assert unknown == [f"GET {REPO}/traffic/views"]
        kept = [line for line in box.record.read_text().splitlines(True) if "traffic" not in line]
        box.record.write_text("".join(kept))  # the one call that the contract may not see


async def test_an_order_is_carried_out_just_before_the_call_is_answered(box: Rig) -> None:
    body = {"repository": "octo/demo", "archived": True}
    await fault(box, kind="order", method="POST", path="/issues$", order="repository", body=body)
    app = await box.installation()
    assert (await app.get(f"{REPO}/issues")).status_code == 200
    answer = await app.post(f"{REPO}/issues", json={"title": "x"})
    assert answer.status_code == 403 and "archived" in answer.json()["message"]
    order = {"kind": "order", "order": "no such thing"}
    refused = await box.client().post("/_box/faults", json=order)
    assert refused.status_code == 400 and "no such thing" in refused.json()["message"]


async def test_an_installation_has_moods_of_its_own(box: Rig) -> None:
    order = box.client().post
    await order("/_box/users", json={"login": "acme", "permission": "admin"})
    moved = {"repository": "octo/demo", "to": "acme/demo"}
    number = (await order("/_box/install_further", json={"owner": "acme"})).json()[
        "installation_id"
    ]
    await order("/_box/move", json=moved)
    for action, mood in (("suspend", 403), ("unsuspend", 201), ("deleted", 404)):
        await order("/_box/installation", json={"action": action, "owner": "acme"})
        answer = await box.app().post(f"/app/installations/{number}/access_tokens")
        assert answer.status_code == mood, action
        assert (await box.installation()) is not None
    assert [one["id"] for one in (await box.app().get("/app/installations")).json()] == [
        box.box.identity.installation_id
    ]
    assert "repository.transferred" in await box.heard()
    box.check_contract()
