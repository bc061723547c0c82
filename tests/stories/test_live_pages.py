"""A page that is open follows what happens."""

import asyncio
from datetime import timedelta
from itertools import count

from fastapi.sse import EventSourceResponse

from app.web.pages.live import LOOK_SECONDS, MOST_OPEN, QUIET_SECONDS, STALE_SECONDS, Live
from tests.stories.happening import ASKS, FIXES, ROLES
from tests.support.pages import Reader
from tests.support.people import REPOSITORY, repository
from tests.twins.clock import TurnedClock
from tests.twins.story import story

PLACES = {REPOSITORY: repository(ROLES)}
A_LOOK = timedelta(seconds=2 * LOOK_SECONDS)


def test_an_open_page_shows_what_has_happened_since() -> None:
    with story(PLACES) as squad:
        followed = Reader(squad).follow("/needs-you.live")
        [page] = followed.pages()
        assert "Nobody waits for you." in page.text
        squad.give("fixer", "The colour is wrong", *ASKS, *FIXES)
        squad.clock.turn(A_LOOK)
        squad.settle()
        assert "Which colour?" in followed.pages()[-1].text


def test_what_looks_the_same_is_not_sent_again() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The colour is wrong", *ASKS, *FIXES)
        squad.settle()
        triage, fleet = (Reader(squad).follow(path) for path in ("/triage.live", "/fleet.live"))
        assert len(triage.pages()) == len(fleet.pages()) == 1
        squad.comment(task, "Green.")
        squad.settle()
        squad.clock.turn(A_LOOK)
        squad.settle()
        assert not triage.kinds()
        assert "handed over" in fleet.pages()[-1].text


def test_an_open_page_tells_how_long_ago_it_was() -> None:
    with story(PLACES) as squad:
        squad.give("fixer", "The colour is wrong", *ASKS, *FIXES)
        squad.passes(minutes=10)
        followed = Reader(squad).follow("/needs-you.live")
        assert "for 10m" in followed.pages()[-1].text
        squad.passes(seconds=60 + STALE_SECONDS)
        assert "for 11m" in followed.pages()[-1].text


async def test_a_page_is_made_again_though_nothing_was_committed() -> None:
    clock, made = TurnedClock(), count()

    async def nobody_commits() -> str:
        return ""

    async def make() -> str:
        return f"page {next(made)}"

    answer = await Live(nobody_commits, clock, lambda: False).follow(make)
    assert isinstance(answer, EventSourceResponse)
    events = aiter(answer.body_iterator)
    assert "page 0" in str(await anext(events))
    following = asyncio.ensure_future(anext(events))
    for _ in range(int(STALE_SECONDS / LOOK_SECONDS) + 1):
        assert not following.done()
        clock.turn(timedelta(seconds=LOOK_SECONDS))
        for _ in range(5):
            await asyncio.sleep(0)
    assert following.done()
    assert "page 1" in str(following.result())


def test_a_line_on_which_nothing_happens_is_alive() -> None:
    with story(PLACES) as squad:
        followed = Reader(squad).follow("/triage.live")
        assert followed.kinds() == ["page"]
        squad.passes(seconds=QUIET_SECONDS + LOOK_SECONDS)
        assert followed.kinds() == ["alive"]


def test_whoever_leaves_makes_room_and_no_more_follow_than_may() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        open_pages = [reader.follow("/triage.live") for _ in range(MOST_OPEN)]
        refused = reader.get("/triage.live")
        assert refused.status_code == 503
        assert refused.json()["detail"].startswith(f"{MOST_OPEN} pages are open already.")
        open_pages[0].leave()
        squad.settle()
        assert reader.follow("/triage.live").status == 200


def test_what_is_not_understood_or_not_there_is_not_followed() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        assert reader.get("/fleet.live?state=NONE").status_code == 400
        assert reader.get("/agents/octo/demo/1/fixer/1.live").status_code == 404
        assert reader.get(f"/configuration/{REPOSITORY}").status_code == 200
        assert "event-stream" not in reader.page(f"/configuration/{REPOSITORY}").html


def test_a_repository_may_be_called_as_a_stream_is() -> None:
    with story({"octo/be.live": repository(ROLES)}) as squad:
        page = Reader(squad).page("/configuration/octo/be.live")
        assert 'href="/configuration/octo/be.live.json"' in page.html


def test_a_page_names_the_address_of_its_events() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        for path, events in (
            ("/", "/needs-you.live"),
            ("/fleet?role=fixer&state=ACTIVE", "/fleet.live?role=fixer&amp;state=ACTIVE"),
        ):
            link = f'<link rel="alternate" type="text/event-stream" href="{events}">'
            assert link in reader.page(path).html
            [followed] = reader.follow(events.replace("&amp;", "&")).pages()
            assert link in followed.html


def test_no_page_holds_a_server_up_that_ends() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        followed = reader.follow("/needs-you.live")
        reader.is_closing = True
        squad.clock.turn(A_LOOK)
        squad.settle()
        assert followed.is_over


def test_a_database_that_goes_away_ends_the_line() -> None:
    with story(PLACES) as squad:
        followed = Reader(squad).follow("/triage.live")
        squad.tolerates("database is locked")
        with squad.without("database"):
            squad.clock.turn(A_LOOK)
            squad.loop.run_until_quiet()
        assert followed.is_over
