"""One agent in close-up: what runs now, and what went wrong and is not over."""

import pytest

from app.adapters.store.ledger import SqlLedger
from app.core.agents.agent import AgentId
from app.core.agents.events import AgentEvent, Kept, Known, SegmentStarted, ToolAsked, Verified
from app.services.closeup import Closeup, closeup
from tests.contract.store_support import World, later

CALL = ToolAsked(at=later(5), call="a", tool="bash", what="make")
NOT_PUSHED = Kept(at=later(6), sha=None, pushed=False, problem="GitHub refuses it.")


async def seen(world: World, *events: AgentEvent, before: int | None = None) -> Closeup:
    """An agent at work, of whose log these are the last events."""
    active = await world.an_active()
    if events:
        assert await world.store.append(active.id, 0, 3, events)
    ledger = SqlLedger(world.engine, world.writer)
    found = await closeup(world.store, ledger, active.id, before, later(60))
    assert found is not None
    return found


async def test_a_call_runs_that_has_not_ended(world: World) -> None:
    assert [each.what for each in (await seen(world, CALL)).runs] == ["bash"]


async def test_on_an_older_page_nothing_runs(world: World) -> None:
    """Its end may stand on the page behind."""
    older = await seen(world, CALL, before=4)
    assert older.entries[0].is_open and older.runs == []


def checked(sound: Known) -> Verified:
    return Verified(at=later(7), sha="b" * 40, sound=sound, why="make failed")


@pytest.mark.parametrize(
    ("events", "wrong"),
    [
        ([NOT_PUSHED, checked(Known.NO)], ["is not sound", "Its work was kept"]),
        ([NOT_PUSHED, checked(Known.UNKNOWN)], ["Its work was kept"]),
        ([NOT_PUSHED, checked(Known.YES)], []),
        ([NOT_PUSHED, SegmentStarted(at=later(9), segment=1, attempt=1)], []),
        ([checked(Known.YES), NOT_PUSHED], ["Its work was kept"]),
    ],
)
async def test_what_went_wrong_stands_there_until_it_is_over(
    world: World, events: list[AgentEvent], wrong: list[str]
) -> None:
    found = [each.what for each in (await seen(world, *events)).went_wrong]
    assert [said.endswith(words) for said, words in zip(found, wrong, strict=True)] == [True] * len(
        wrong
    )


async def test_of_nobody_there_is_none(world: World) -> None:
    ledger = SqlLedger(world.engine, world.writer)
    nobody = AgentId("octo/demo", 99, "pm", 1)
    assert await closeup(world.store, ledger, nobody, None, later(60)) is None
