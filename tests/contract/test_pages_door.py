"""Who comes in to the pages of this machine, and what every answer says to a browser."""

import httpx
import pytest
from pydantic import SecretStr
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from app.web.pages.door import LocalDoor, is_local
from app.web.pages.html import Templates

TOKEN = "the-token-of-the-link"
HERE = "http://127.0.0.1:8001"


async def inside(scope: Scope, receive: Receive, send: Send) -> None:
    """What is behind the door."""
    await PlainTextResponse("inside")(scope, receive, send)


def browser(base: str = HERE, **headers: str) -> httpx.AsyncClient:
    """It keeps cookies, and follows no redirect by itself."""
    door = LocalDoor(inside, SecretStr(TOKEN), Templates())
    transport = httpx.ASGITransport(door)
    return httpx.AsyncClient(transport=transport, base_url=base, headers=headers)


async def test_the_link_lets_in_and_leaves_the_address() -> None:
    async with browser() as one:
        entered = await one.get(f"/needs-you?token={TOKEN}")
        assert (entered.status_code, entered.headers["location"]) == (303, "/needs-you")
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie and "path=/" in cookie
        assert TOKEN not in cookie, "other programs of this machine are sent it, too"
        assert (await one.get("/needs-you")).text == "inside"


@pytest.mark.parametrize(
    "path", ["/", "/?token=", "/?token=another", "/?token=t\u00e9", "/api/agents"]
)
async def test_without_the_link_nobody_comes_in(path: str) -> None:
    async with browser() as one:
        refused = await one.get(path)
        assert refused.status_code == 403
        assert "inside" not in refused.text and "squadron serve" in refused.text
        assert "set-cookie" not in refused.headers


async def test_another_cookie_opens_nothing() -> None:
    for cookie in ("", "guessed", TOKEN, "\u00e9"):
        shown = [(b"cookie", f"squadron_pages={cookie}".encode())]
        async with browser() as one:
            assert (await one.get("/", headers=shown)).status_code == 403, cookie


async def test_styles_and_scripts_hold_no_secret() -> None:
    async with browser() as one:
        assert (await one.get("/static/squadron.css")).text == "inside"


@pytest.mark.parametrize(
    "header",
    ["Forwarded", "X-Forwarded-For", "x-forwarded-host", "X-Forwarded-Proto", "X-Real-IP", "Via"],
)
async def test_what_a_proxy_passes_on_is_turned_away(header: str) -> None:
    async with browser() as one:
        await one.get(f"/?token={TOKEN}")
        for path in ("/", f"/?token={TOKEN}", "/static/squadron.css"):
            refused = await one.get(path, headers={header: "for=203.0.113.7"})
            assert refused.status_code == 403 and "proxy" in refused.text, path
        assert (await one.get("/")).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["squadron.example", "127.0.0.1.evil.example", "localhost.", "evil@localhost:x", "[::1", ""],
)
async def test_under_another_name_nobody_comes_in(host: str) -> None:
    async with browser() as one:
        await one.get(f"/?token={TOKEN}")
        refused = await one.get("/", headers={"Host": host})
        assert refused.status_code == 403 and "inside" not in refused.text


def test_names_of_this_machine() -> None:
    for host in ("127.0.0.1:8001", "localhost:9000", "LOCALHOST", "[::1]:8001", "127.0.0.1"):
        assert is_local([host]), host
    assert not is_local([])
    assert not is_local(["localhost", "squadron.example"])


async def test_every_answer_keeps_a_browser_from_what_pages_do_not_need() -> None:
    async with browser() as one:
        answers = [await one.get(path) for path in ("/", f"/?token={TOKEN}", "/", "/static/x.css")]
    assert [answer.status_code for answer in answers] == [403, 303, 200, 200]
    for answer in answers:
        assert answer.headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src"
            " 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
