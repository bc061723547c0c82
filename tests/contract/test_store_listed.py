"""Whom a repository lists, by GitHub's ids: kept once for all processes."""

from app.ports import Repository
from tests.contract.store_support import NOON, World, a_new_agent

HERE = "octo/demo"
BOTH = ("ada", "tom")


async def test_what_was_kept_first_stays_for_every_process(world: World) -> None:
    store, other = world.stores
    assert await store.listed_accounts(HERE) == {}
    await store.list_accounts(HERE, BOTH, {"ada": 7_000_000_000, "tom": None})
    await other.list_accounts(HERE, BOTH, {"ada": 8, "tom": 9})
    assert await other.listed_accounts(HERE) == {"ada": 7_000_000_000, "tom": None}
    assert await other.listed_accounts("octo/other") == {}


async def test_who_is_no_longer_listed_is_forgotten_and_can_be_listed_anew(world: World) -> None:
    store = world.store
    await store.list_accounts(HERE, BOTH, {"ada": 1, "tom": 2})
    await store.list_accounts("octo/other", BOTH, {"ada": 1, "tom": 2})
    await store.list_accounts(HERE, ("ada",), {})
    assert await store.listed_accounts(HERE) == {"ada": 1}
    await store.list_accounts(HERE, BOTH, {"tom": 3})
    assert await store.listed_accounts(HERE) == {"ada": 1, "tom": 3}
    await store.list_accounts(HERE, (), {})
    assert await store.listed_accounts(HERE) == {}
    assert await store.listed_accounts("octo/other") == {"ada": 1, "tom": 2}


async def test_it_follows_its_repository(world: World) -> None:
    store, new = world.store, a_new_agent()
    assert await store.create(new, NOON) is not None
    await store.list_accounts(HERE, BOTH, {"ada": 1, "tom": 2})
    await store.follow(new.repository_id, Repository("acme/renamed", 2), NOON)
    assert await store.listed_accounts(HERE) == {}
    assert await store.listed_accounts("acme/renamed") == {"ada": 1, "tom": 2}
