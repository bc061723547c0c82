"""Who is in which team: the adapter against the box, each exchange judged by GitHub's contract."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.github import GitHubApp
from app.githubbox.box import Box
from app.githubbox.identity import DEFAULT_PERMISSIONS
from app.ports import Refused, Repository
from tests.contract.github_support import Judged
from tests.twins.clock import TurnedClock


@dataclass(frozen=True, slots=True)
class World:
    """The adapter, and a box with one team."""

    github: GitHubApp
    wire: Judged
    demo: Repository
    orders: httpx.AsyncClient
    """Of the box itself."""


@asynccontextmanager
async def a_world(root: Path, permissions: dict[str, str]) -> AsyncIterator[World]:
    (root / "box").mkdir()
    (root / "seed").mkdir()
    (root / "seed" / "a.txt").write_text("a\n")
    clock = TurnedClock(datetime.now(UTC))
    async with Box(root / "box", webhook_secret="s", clock=clock, permissions=permissions) as box:
        box.add_user("maria", "write")
        box.add_user("ada", "admin")
        await box.add_repository("octo/demo", root / "seed")
        wire = Judged(httpx.ASGITransport(box.asgi))
        key = SecretStr(box.identity.private_key_pem.decode())
        github = GitHubApp(box.identity.app_id, [key], box.url, clock, wire)
        demo = Repository("octo/demo", box.identity.installation_id)
        transport = httpx.ASGITransport(box.asgi)
        async with httpx.AsyncClient(transport=transport, base_url=box.url) as orders:
            team = {"org": "octo", "team": "core", "members": ["Maria"]}
            answer = await orders.post("/_box/teams", json=team)
            assert answer.json() == {"org": "octo", "team": "core", "members": ["maria"]}
            yield World(github, wire, demo, orders)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, dict(DEFAULT_PERMISSIONS)) as world:
        yield world


async def test_a_member_is_told_from_others_and_names_ignore_case(world: World) -> None:
    github, demo = world.github, world.demo
    assert await github.is_team_member(demo, "octo/core", "maria")
    assert await github.is_team_member(demo, "Octo/Core", "MARIA")
    assert not await github.is_team_member(demo, "octo/core", "ada")
    assert not await github.is_team_member(demo, "octo/nobody-made-it", "maria")
    assert not await github.is_team_member(demo, "octo/core", "no body/../maria")


async def test_who_leaves_a_team_is_no_member_any_more(world: World) -> None:
    team = {"org": "octo", "team": "core", "members": ["ada"]}
    assert (await world.orders.post("/_box/teams", json=team)).is_success
    assert not await world.github.is_team_member(world.demo, "octo/core", "maria")
    assert await world.github.is_team_member(world.demo, "octo/core", "ada")


async def test_the_token_for_it_can_do_nothing_else(world: World) -> None:
    for _ in range(2):
        await world.github.is_team_member(world.demo, "octo/core", "maria")
    assert world.wire.token_orders() == [{"permissions": {"members": "read"}}]


async def test_an_app_that_may_not_see_members_says_so(tmp_path: Path) -> None:
    less = {name: level for name, level in DEFAULT_PERMISSIONS.items() if name != "members"}
    async with a_world(tmp_path, less) as world:
        with pytest.raises(Refused, match="needs members=read") as refused:
            await world.github.is_team_member(world.demo, "octo/core", "maria")
        assert refused.value.status == 403


async def test_a_token_without_the_permission_sees_no_members(world: World) -> None:
    narrow = await world.github.token(world.demo, "read")
    path = "/orgs/octo/teams/core/memberships/maria"
    bearer = {"Authorization": f"Bearer {narrow}"}
    assert (await world.orders.get(path, headers=bearer)).status_code == 403
    assert (await world.orders.get(path)).status_code == 401


async def test_an_order_for_a_team_of_strangers_is_refused_in_words(world: World) -> None:
    for members, words in ((["nobody"], "no user 'nobody'"), ("maria", "a list of logins")):
        team = {"org": "octo", "team": "core", "members": members}
        answer = await world.orders.post("/_box/teams", json=team)
        assert answer.status_code == 400 and words in answer.json()["message"]
