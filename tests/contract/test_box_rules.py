"""Rules of GitHub's that clients meet late: suites, versions, media types, whose refusal it is."""

from __future__ import annotations

import base64

import pytest

from tests.contract.box_support import REPO, Rig
from tests.contract.test_box_story import branch


async def test_a_commit_has_a_suite_for_each_app(box: Rig) -> None:
    app = await box.installation()
    sha = await branch(box, "work", "a.txt", "one\n")
    place = f"{REPO}/commits/{sha}/check-suites"
    fresh = (await app.get(place)).json()
    [ours] = fresh["check_suites"]
    assert (fresh["total_count"], ours["status"], ours["conclusion"]) == (1, "queued", None)
    assert (ours["head_branch"], ours["latest_check_runs_count"]) == ("work", 0)

    runs = [
        await app.post(f"{REPO}/check-runs", json={"name": name, "head_sha": sha})
        for name in ("lint", "test", "test")
    ]
    await app.patch(f"{REPO}/check-runs/{runs[0].json()['id']}", json={"conclusion": "success"})
    order = {"repository": "octo/demo", "ref": "work", "name": "tests", "conclusion": "neutral"}
    (await box.client().post("/_box/foreign_check", json=order)).raise_for_status()
    found = {each["app"]["slug"]: each for each in (await app.get(place)).json()["check_suites"]}
    assert {*found} == {"squadron-box", "ci-box"}
    assert found["squadron-box"]["id"] == ours["id"] == runs[0].json()["check_suite"]["id"]
    assert found["squadron-box"]["status"] == "in_progress"
    assert found["squadron-box"]["latest_check_runs_count"] == 2, "of one name the newest counts"
    assert found["ci-box"]["conclusion"] == "neutral"

    await app.patch(f"{REPO}/check-runs/{runs[2].json()['id']}", json={"conclusion": "failure"})
    suite = (await app.get(f"{REPO}/check-suites/{ours['id']}")).json()
    assert (suite["status"], suite["conclusion"]) == ("completed", "failure")
    listed = (await app.get(f"{REPO}/check-suites/{ours['id']}/check-runs")).json()
    assert [each["name"] for each in listed["check_runs"]] == ["test", "lint"]
    us = await app.get(f"{place}?app_id={box.box.identity.app_id}")
    assert [each["id"] for each in us.json()["check_suites"]] == [ours["id"]]
    named = await app.get(f"{place}?check_name=tests")
    assert [each["app"]["slug"] for each in named.json()["check_suites"]] == ["ci-box"]
    assert (await app.get(f"{REPO}/check-suites/1")).status_code == 404


@pytest.mark.parametrize(
    ("version", "status"),
    [("2022-11-28", 200), ("2026-03-10", 200), ("2022-11-29", 400), ("v3", 400), ("", 400)],
)
async def test_a_version_of_the_api_that_github_does_not_know(
    box: Rig, version: str, status: int
) -> None:
    ann = box.person("write")
    answer = await ann.get(REPO, headers={"X-GitHub-Api-Version": version})
    assert answer.status_code == status
    if status == 400:
        assert f'"{version}", is not a supported version' in answer.json()["message"]
        assert '"2026-03-10", "2022-11-28"' in answer.json()["message"]


@pytest.mark.parametrize("narrowing", [{}, {"permissions": {}}])
async def test_a_token_for_which_nothing_is_named_may_all(
    box: Rig, narrowing: dict[str, object]
) -> None:
    number = box.box.identity.installation_id
    place = f"/app/installations/{number}/access_tokens"
    made = (await box.app().post(place, json=narrowing)).json()
    assert made["permissions"] == {**box.box.identity.granted(None)}
    app = box.client(f"Bearer {made['token']}")
    assert (await app.post(f"{REPO}/issues", json={"title": "t"})).status_code == 201


async def test_files_come_raw_and_changes_as_a_diff(box: Rig) -> None:
    app, ann = await box.installation(), box.person("write")
    sha = await branch(box, "work", "calc.py", "é = 1\n")
    await app.post(f"{REPO}/pulls", json={"title": "t", "head": "work", "base": "main"})
    place = f"{REPO}/contents/calc.py?ref=work"
    for name in ("application/vnd.github.raw+json", "application/vnd.github.v3.raw"):
        raw = await ann.get(place, headers={"Accept": name})
        assert raw.content == "é = 1\n".encode()
        assert raw.headers["X-GitHub-Media-Type"] == "github.v3; param=raw"
    usual = await ann.get(place, headers={"Accept": "application/vnd.github+json"})
    assert base64.b64decode(usual.json()["content"]) == raw.content
    diffs = [
        await ann.get(f"{REPO}/{what}", headers={"Accept": "application/vnd.github.v3.diff"})
        for what in ("pulls/1", f"commits/{sha}", "compare/main...work")
    ]
    assert {each.headers["Content-Type"] for each in diffs} == {
        "application/vnd.github.diff; charset=utf-8"
    }
    assert len({each.text for each in diffs}) == 1
    assert diffs[0].text.startswith("diff --git a/calc.py b/calc.py\n")
    assert "\n+é = 1\n" in diffs[0].text
    await branch(box, "other", "other.py", "other = 1\n")
    await app.post(f"{REPO}/pulls", json={"title": "o", "head": "other", "base": "main"})
    assert (await ann.put(f"{REPO}/pulls/2/merge", json={})).status_code == 200
    behind = {"Accept": "application/vnd.github.diff"}
    for what in ("pulls/1", "compare/main...work"):
        shown = await ann.get(f"{REPO}/{what}", headers=behind)
        assert shown.text == diffs[0].text, "since they parted"
    again = {"If-None-Match": diffs[0].headers["ETag"], "Accept": "application/vnd.github.diff"}
    assert (await ann.get(f"{REPO}/pulls/1", headers=again)).status_code == 304


async def test_a_refusal_says_what_kind_of_token_it_is(box: Rig) -> None:
    app, ann, rita = await box.installation(), box.person("write"), box.person("read")
    issue = (await app.post(f"{REPO}/issues", json={"title": "t"})).json()["number"]
    comment = (await app.post(f"{REPO}/issues/{issue}/comments", json={"body": "b"})).json()
    refused = await rita.patch(f"{REPO}/issues/comments/{comment['id']}", json={"body": "mine"})
    words = "Resource not accessible by personal access token"
    assert (refused.status_code, refused.json()["message"]) == (403, words)
    narrow = await box.installation(permissions={"metadata": "read"})
    refused = await narrow.post(f"{REPO}/issues", json={"title": "t"})
    assert refused.json()["message"] == "Resource not accessible by integration"
    refused = await ann.post(f"{REPO}/check-runs", json={"name": "x", "head_sha": "0" * 40})
    assert refused.json()["message"] == "You must authenticate via a GitHub App."
