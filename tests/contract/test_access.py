"""When the App is not let in, the failure says why, and where people can change that."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.clock import SystemClock
from app.adapters.github import GitHubApp
from app.githubbox.box import Box
from app.ports import CheckText, NoAccess, Refused, Repository

CHECK = CheckText("failure", "title", "summary")


@dataclass
class World:
    """A box, and the adapter with a token that was handed out before anything happened."""

    box: Box
    github: GitHubApp
    here: Repository
    orders: httpx.AsyncClient

    async def order(self, name: str, **content: object) -> None:
        answer = await self.orders.post(f"/_box/{name}", json={"silently": True, **content})
        assert answer.is_success, answer.text


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    (tmp_path / "seed").mkdir()
    (tmp_path / "seed" / "README.md").write_text("# Demo\n")
    (tmp_path / "box").mkdir()
    async with Box(tmp_path / "box", webhook_secret="x") as box:
        box.add_user("maria", "write")
        await box.add_repository("octo/demo", tmp_path / "seed")
        transport = httpx.ASGITransport(box.asgi)
        key = SecretStr(box.identity.private_key_pem.decode())
        github = GitHubApp(box.identity.app_id, [key], box.url, SystemClock(), transport)
        orders = httpx.AsyncClient(transport=transport, base_url=box.url)
        world = World(box, github, Repository("octo/demo", box.identity.installation_id), orders)
        await box.silently("POST", "/repos/octo/demo/issues", {"title": "T"}, "maria")
        await github.comment(world.here, 1, "There is a token now.")
        yield world


@pytest.mark.parametrize(
    ("order", "content", "words"),
    [
        ("installation", {"action": "suspend"}, "suspended; to end that: http.*/settings/"),
        ("installation", {"action": "deleted"}, "not installed there any more"),
        ("installed", {"repository": "octo/demo", "installed": False}, "not one of the install"),
        (
            "move",
            {"repository": "octo/demo", "to": "else/demo", "installed": False},
            "not one of the install",
        ),
        ("move", {"repository": "octo/demo", "to": "octo/new"}, "not one of the install"),
    ],
)
async def test_why_there_is_no_access_is_said(
    world: World, order: str, content: dict[str, object], words: str
) -> None:
    await world.order(order, **content)
    with pytest.raises(NoAccess, match=words):
        await world.github.comment(world.here, 1, "Nobody hears this.")
    with pytest.raises(NoAccess, match="No access to octo/demo"):
        await world.github.issue(world.here, 1)


async def test_a_configuration_that_is_out_of_reach_is_no_missing_one(world: World) -> None:
    await world.order("installed", repository="octo/demo", installed=False)
    with pytest.raises(NoAccess, match="No access to octo/demo"):
        await world.github.configuration(world.here)


async def test_a_repository_without_a_configuration_has_none(world: World) -> None:
    assert await world.github.configuration(world.here) == {}


async def test_what_was_only_deleted_is_gone(world: World) -> None:
    assert await world.github.issue(world.here, 77) is None


async def test_access_that_came_back_is_used(world: World) -> None:
    await world.order("installation", action="suspend")
    with pytest.raises(NoAccess):
        await world.github.comment(world.here, 1, "Not now.")
    await world.order("installation", action="unsuspend")
    await world.github.comment(world.here, 1, "Now.")


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_missing_permission_is_named_with_the_pages_that_grant_it(
    world: World, is_known: bool
) -> None:
    """With a token from before, and when the next token is asked for."""
    await world.order("permissions", withheld=["checks"])
    if not is_known:
        world.github = GitHubApp(
            world.box.identity.app_id,
            [SecretStr(world.box.identity.private_key_pem.decode())],
            world.box.url,
            SystemClock(),
            httpx.ASGITransport(world.box.asgi),
        )
    with pytest.raises(Refused, match="The App needs checks=write") as raised:
        await world.github.create_check(world.here, "f" * 40, "squadron/pm", "id", CHECK)
    assert not isinstance(raised.value, NoAccess)
    number = world.box.identity.installation_id
    assert "/settings/apps/squadron-box/permissions" in str(raised.value)
    assert f"/settings/installations/{number}" in str(raised.value)


async def test_what_a_repository_takes_no_more_is_refused_in_githubs_words(world: World) -> None:
    await world.order("repository", repository="octo/demo", archived=True)
    with pytest.raises(Refused, match="403: Repository was archived") as raised:
        await world.github.comment(world.here, 1, "x")
    assert not isinstance(raised.value, NoAccess)
    await world.order("repository", repository="octo/demo", archived=False, issues=False)
    with pytest.raises(Refused, match="410: Issues has been disabled"):
        await world.github.open_issue(world.here, "t", "b", (), ())
    await world.order("repository", repository="octo/demo", issues=True)
    await world.order("lock", repository="octo/demo", number=1, locked=True)
    with pytest.raises(Refused, match="403: Unable to create comment because issue is locked"):
        await world.github.comment(world.here, 1, "x")
