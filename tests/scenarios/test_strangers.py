"""Strangers at the door of the real service: whatever they do, GitHub's deliveries get in."""

import json
from collections.abc import Iterator
from typing import Final

import httpx
import pytest

from tests.support.deliveries import headers
from tests.support.people import repository
from tests.support.squad import Squad, squad
from tests.support.strangers import CROWDS, MEBIBYTE, crowd

pytestmark = pytest.mark.full

DELIVERIES: Final = 60
MOST_SECONDS: Final = 60.0


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("strangers")
    places = {"octo/demo": repository({"docs": {}})}
    with squad(directory, places, reconciliation_seconds=3600) as team:
        yield team


async def answers(team: Squad, name: str) -> list[int]:
    """What GitHub is answered, delivery by delivery, each on a connection of its own."""
    seen = []
    for number in range(DELIVERIES):
        size = MEBIBYTE if number % 20 == 19 else 7_000
        body = json.dumps({"zen": "x" * size}).encode()
        sent = headers("ping", f"{name}-{number}", body)
        url = team.service.http.base_url
        async with httpx.AsyncClient(timeout=MOST_SECONDS, base_url=url) as github:
            seen.append((await github.post("/webhook", content=body, headers=sent)).status_code)
    return seen


@pytest.mark.parametrize("name", [*CROWDS, "all"])
async def test_every_signed_delivery_is_accepted_in_a_crowd(team: Squad, name: str) -> None:
    """From the attack's start on, not only when its connections have timed out."""
    crowds = dict(CROWDS) if name == "all" else {name: CROWDS[name]}
    async with crowd(team.service.http.base_url.port or 0, **crowds):
        assert set(await answers(team, name)) == {202}
    known = team.registry.deliveries()
    assert {f"{name}-{number}" for number in range(DELIVERIES)} <= known
