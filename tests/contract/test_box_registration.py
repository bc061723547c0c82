"""How a person registers an App at the box, by a manifest, and installs it: as on GitHub."""

from __future__ import annotations

import html
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.contract.box_support import REPO, Rig, app_jwt, rig

MANIFEST = {
    "name": "Squadron of Octo",
    "url": "https://squadron.example",
    "hook_attributes": {"url": "http://squadron.test/webhook"},
    "redirect_url": "http://127.0.0.1:8001/created",
    "public": False,
    "default_permissions": {"issues": "write", "members": "read"},
    "default_events": ["issues"],
}
NEW = "/settings/apps/new?state=s3cret"


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path) as here:
        await here.installation()  # something that the contract can judge on the way out
        yield here


def manifest(**changed: object) -> dict[str, str]:
    return {"manifest": json.dumps({**MANIFEST, **changed})}


def hidden(page: str) -> dict[str, str]:
    """What the fields of the form on a page hold."""
    fields = re.findall(r'<input[^>]* name="(\w+)" value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in fields}


async def registered(browser: httpx.AsyncClient, path: str = NEW, **changed: object) -> str:
    """Press the button on the page that a manifest leads to; the code in the redirect."""
    page = await browser.post(path, data=manifest(**changed))
    assert page.status_code == 200, page.text
    [action] = re.findall(r'<form method="post" action="([^"]+)"', page.text)
    answer = await browser.post(action, data=hidden(page.text))
    assert answer.status_code == 302, answer.text
    address = urlsplit(answer.headers["location"])
    assert f"{address.scheme}://{address.netloc}{address.path}" == MANIFEST["redirect_url"]
    query = parse_qs(address.query)
    assert query["state"] == ["s3cret"]
    return query["code"][0]


async def test_the_page_shows_what_the_manifest_asks_for(box: Rig) -> None:
    page = await box.client().post(NEW, data=manifest())
    assert "Create GitHub App for octo" in page.text
    for shown in ("issues", "write", "members", "http://squadron.test/webhook"):
        assert shown in page.text
    assert hidden(page.text)["name"] == MANIFEST["name"]


async def test_a_code_gives_the_secrets_once_and_only_for_an_hour(box: Rig) -> None:
    browser = box.client()
    late, code = await registered(browser), await registered(browser, name="Another")
    made = await browser.post(f"/app-manifests/{code}/conversions")
    assert made.status_code == 201
    about = made.json()
    assert (about["name"], about["owner"]["login"]) == ("Another", "octo")
    assert about["permissions"] == {"issues": "write", "members": "read", "metadata": "read"}
    assert about["events"] == ["issues"]
    assert about["webhook_secret"]
    assert (await browser.post(f"/app-manifests/{code}/conversions")).status_code == 404
    box.clock.shows += timedelta(hours=1)
    assert (await browser.post(f"/app-manifests/{late}/conversions")).status_code == 404
    said = box.record.read_text()
    assert "PRIVATE KEY" not in said and about["webhook_secret"] not in said


async def test_a_new_app_is_nobody_until_it_is_installed_and_then_takes_the_place(
    box: Rig,
) -> None:
    browser, old = box.client(), box.app()
    code = await registered(browser, "/organizations/octo/settings/apps/new?state=s3cret")
    about = (await browser.post(f"/app-manifests/{code}/conversions")).json()
    new = box.client("Bearer " + app_jwt(about["id"], about["pem"].encode()))
    assert (await new.get("/app")).json()["slug"] == "squadron-of-octo"
    assert (await new.get("/app/installations")).json() == []
    assert (await new.get(f"{REPO}/installation")).status_code == 404
    number = box.box.identity.installation_id
    assert (await new.post(f"/app/installations/{number}/access_tokens")).status_code == 404

    page = await browser.get("/apps/squadron-of-octo/installations/new")
    assert "in place of the App that is installed now" in page.text
    token = await box.installation()
    answer = await browser.post("/apps/squadron-of-octo/installations")
    assert answer.headers["location"].endswith("/apps/squadron-of-octo")
    assert "octo/demo" in (await browser.get("/apps/squadron-of-octo")).text
    assert (await token.get(REPO)).status_code == 401
    assert (await old.get("/app/installations")).json() == []
    [installation] = (await new.get("/app/installations")).json()
    assert installation["app_slug"] == "squadron-of-octo"
    # Deliveries are signed with the new App's secret now, and only what it subscribed to is told.
    assert await box.heard() == []
    box.listener.secret = about["webhook_secret"]
    ann = box.person("write")
    await ann.post(f"{REPO}/issues", json={"title": "Told"})
    await ann.post(f"{REPO}/issues/1/comments", json={"body": "not told"})
    assert await box.heard() == ["issues.opened"]


async def test_an_app_signs_with_any_of_its_keys_until_one_is_deleted(box: Rig) -> None:
    orders = box.client()
    made = (await orders.post("/_box/keys", json={})).json()
    second = app_jwt(box.box.identity.app_id, made["private_key"].encode())
    assert (await box.client(f"Bearer {second}").get("/app")).status_code == 200
    assert (await box.app().get("/app")).status_code == 200
    left = (await orders.post("/_box/forget_key", json={})).json()
    assert left == {"keys": [made["fingerprint"]]}
    assert (await box.app().get("/app")).status_code == 401
    assert (await box.client(f"Bearer {second}").get("/app")).status_code == 200


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"url": None}, "url is no address"),
        ({"hook_attributes": {}}, "url is no address"),
        ({"redirect_url": "javascript:alert(1)"}, "redirect_url is no address"),
        ({"name": "x" * 35}, "at most 34 characters"),
        ({"default_permissions": {"isues": "write"}}, "there is no isues: write"),
        ({"default_permissions": {"issues": "all"}}, "there is no issues: all"),
        ({"default_events": ["push"]}, "default events unsupported: push"),
        ({"default_events": ["pushed"]}, "default events unsupported: pushed"),
        ({"webhook": "x"}, "unknown keys: webhook"),
    ],
)
async def test_a_manifest_that_github_would_not_take_is_refused(
    box: Rig, changed: dict[str, object], why: str
) -> None:
    answer = await box.client().post(NEW, data=manifest(**changed))
    assert (answer.status_code, why in answer.text) == (422, True), answer.text


async def test_a_name_that_is_taken_and_an_account_that_is_not_there(box: Rig) -> None:
    page = await box.client().post(NEW, data=manifest())
    fields = hidden(page.text) | {"name": "Squadron Box"}
    answer = await box.client().post("/settings/apps", data=fields)
    assert (answer.status_code, "already taken" in answer.text) == (422, True)
    nowhere = await box.client().post("/organizations/nobody/settings/apps/new", data=manifest())
    assert nowhere.status_code == 404
