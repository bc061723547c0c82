"""All writers of an installation keep one pace: across processes, and whatever they write."""

import asyncio
from datetime import timedelta

import httpx
import pytest

from app.adapters.github import GitHubApp
from app.adapters.store.pacing import SqlPacing
from app.core.effects.pacing import WRITES
from app.ports import CheckText, Paced, RateLimited, Repository
from tests.contract.github_support import app_key
from tests.contract.store_support import NOON, World
from tests.twins.clock import TurnedClock

HERE, THERE, ELSEWHERE = (
    Repository("octo/demo", 7),
    Repository("octo/other", 7),
    Repository("else/demo", 8),
)
ROUTINE = WRITES.burst - WRITES.reserve
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes."


async def test_two_processes_keep_one_pace(world: World) -> None:
    both = [SqlPacing(each, limited=True) for each in (world.writer, world.other_writer)]
    asked = [pacing.take(7, NOON, creates=False, urgent=True) for _ in range(15) for pacing in both]
    answers = await asyncio.gather(*asked)
    assert answers.count(None) == WRITES.burst
    await both[0].stop(7, NOON + timedelta(hours=1), NOON)
    later = await both[1].take(7, NOON + timedelta(minutes=5), creates=False, urgent=True)
    assert later == NOON + timedelta(hours=1)
    assert await both[1].take(8, NOON, creates=False, urgent=False) is None


class Wire:
    """GitHub, which takes everything unless it is told not to; and what it was sent."""

    def __init__(self) -> None:
        self.writes: list[str] = []
        self.limited = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/access_tokens"):
            until = f"{NOON + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
            return httpx.Response(201, json={"token": "x", "expires_at": until})
        self.writes.append(request.url.path)
        if self.limited:
            answer = {"message": SECONDARY}
            return httpx.Response(403, json=answer, headers={"retry-after": "90"})
        written = {"id": 1, "html_url": "https://x", "body": "b", "status": "queued"}
        return httpx.Response(201, json=written)


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock(NOON)


@pytest.fixture
def github(world: World, wire: Wire, clock: TurnedClock) -> GitHubApp:
    pacing = SqlPacing(world.writer, limited=True)
    url = "https://api.github.com"
    return GitHubApp(7, [app_key()], url, clock, httpx.MockTransport(wire), pacing)


async def test_a_flood_is_put_off_before_it_is_sent_and_what_is_urgent_goes_first(
    github: GitHubApp, wire: Wire, clock: TurnedClock
) -> None:
    for _ in range(ROUTINE):
        await github.edit_comment(HERE, 1, "progress")
    with pytest.raises(Paced, match=r"PATCH /repos/octo/demo/issues/comments/1 has to wait"):
        await github.edit_comment(HERE, 1, "progress")
    with pytest.raises(Paced):
        await github.react(THERE, 1, "eyes")
    check = CheckText("failure", "t", "s")
    await github.urgently().change_check(THERE, 1, check)
    await github.edit_comment(ELSEWHERE, 1, "an installation of its own")
    assert len(wire.writes) == ROUTINE + 2
    clock.turn(timedelta(seconds=3))
    await github.edit_comment(HERE, 1, "progress")


async def test_a_limit_that_one_write_meets_stops_all_writers_of_the_installation(
    github: GitHubApp, wire: Wire, clock: TurnedClock
) -> None:
    wire.limited = True
    with pytest.raises(RateLimited):
        await github.comment(HERE, 1, "one too many")
    wire.limited = False
    for writer in (github, github.urgently()):
        with pytest.raises(Paced) as put_off:
            await writer.comment(THERE, 1, "not now")
        assert put_off.value.resets_at >= NOON + timedelta(seconds=90)
    await github.comment(ELSEWHERE, 1, "not concerned")
    assert wire.writes == [
        "/repos/octo/demo/issues/1/comments",
        "/repos/else/demo/issues/1/comments",
    ]
    clock.turn(timedelta(seconds=90))
    await github.comment(THERE, 1, "now")
