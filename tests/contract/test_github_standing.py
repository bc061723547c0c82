"""What GitHub says of the App, asked of the box; its own description judges each exchange."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.github.registration import APP_EVENTS, APP_PERMISSIONS
from app.adapters.github.standing import Installation, Standing, standing
from app.githubbox.box import Box
from app.ports import RateLimited, Unreachable
from tests.contract.github_support import Judged, app_key
from tests.twins.clock import TurnedClock


@dataclass
class World:
    """A box with one repository, and who asks it."""

    box: Box
    clock: TurnedClock

    async def stands(self, *keys: SecretStr) -> Standing:
        asked = keys or (SecretStr(self.box.identity.private_key_pem.decode()),)
        wire = Judged(httpx.ASGITransport(self.box.asgi))
        return await standing(self.box.identity.app_id, asked, self.box.url, self.clock, wire)

    async def becomes(self, order: str, **body: object) -> None:
        """One order to the box."""
        transport = httpx.ASGITransport(self.box.asgi)
        async with httpx.AsyncClient(transport=transport, base_url=self.box.url) as client:
            (await client.post(f"/_box/{order}", json=body)).raise_for_status()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    clock = TurnedClock(datetime.now(UTC).replace(microsecond=0))
    (tmp_path / "box").mkdir()
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/README.md").write_text("# Demo\n")
    async with Box(tmp_path / "box", webhook_secret="s", clock=clock) as box:
        await box.add_repository("octo/demo", tmp_path / "demo")
        yield World(box, clock)


async def test_an_app_that_has_all_it_needs(world: World) -> None:
    found = await world.stands()
    assert (found.ahead, found.refusals) == (timedelta(0), [""])
    assert found.app is not None
    assert (found.app.lacking, found.app.unheard) == ("", [])
    assert found.app.page == f"{world.box.url}/apps/squadron-box"
    assert found.app.settings == f"{world.box.url}/settings/apps/squadron-box/permissions"
    number = world.box.identity.installation_id
    page = f"{world.box.url}/settings/installations/{number}"
    assert found.app.installations == [Installation("octo", page, False, "")]


async def test_what_the_app_does_not_ask_for_is_told_of_the_app_alone(world: World) -> None:
    permissions = {**APP_PERMISSIONS, "issues": "read"}
    del permissions["checks"]
    await world.becomes("app", permissions=permissions, events=[*APP_EVENTS][1:])
    app = (await world.stands()).app
    assert app is not None
    assert (app.lacking, app.unheard) == ("checks=write, issues=write", ["issues"])
    assert [one.lacking for one in app.installations] == [""]


async def test_what_an_owner_has_not_granted_is_told_of_the_installation(world: World) -> None:
    world.box.add_user("acme", "admin")
    await world.becomes("install_further", owner="acme")
    await world.becomes("permissions", withheld=["checks", "contents"], owner="acme")
    await world.becomes("installation", action="suspend", silently=True)
    app = (await world.stands()).app
    assert app is not None and app.lacking == ""
    assert [(one.account, one.is_suspended, one.lacking) for one in app.installations] == [
        ("octo", True, ""),
        ("acme", False, "checks=write, contents=write"),
    ]


async def test_of_two_keys_each_is_tried(world: World) -> None:
    own = SecretStr(world.box.identity.private_key_pem.decode())
    found = await world.stands(app_key(), own)
    assert found.app is not None
    assert "GitHub refused GET /app with 401" in found.refusals[0] and not found.refusals[1]
    foreign = await world.stands(app_key())
    assert foreign.app is None and len(foreign.refusals) == 1


@pytest.mark.parametrize("seconds", [-300, 900])
async def test_a_clock_that_differs_is_told_although_no_key_works_then(
    world: World, seconds: int
) -> None:
    await world.becomes("clock", seconds=seconds)
    found = await world.stands()
    assert (found.ahead, found.app) == (timedelta(seconds=-seconds), None)
    assert "this machine's clock" in found.refusals[0]


async def test_a_github_that_cannot_be_asked_is_said(world: World) -> None:
    await world.becomes("faults", kind="error", status=502, path="^/app$")
    with pytest.raises(Unreachable, match="answered GET /app with 502"):
        await world.stands()


async def test_a_limit_of_github_is_none_of_the_key(world: World) -> None:
    await world.becomes("faults", kind="primary_limit", path="^/app$", retry_after=30)
    with pytest.raises(RateLimited):
        await world.stands()


async def test_something_else_than_github_is_noticed(world: World) -> None:
    def welcome(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="Welcome")

    with pytest.raises(Unreachable, match="no date; is this GitHub's API"):
        await standing(1, [app_key()], world.box.url, world.clock, httpx.MockTransport(welcome))
