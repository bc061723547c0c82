"""Parts of a log: pages of it, what tells its turns and calls apart, what it cost in the course of
time. Packed or not, they are the same."""

from collections.abc import Sequence

import pytest

from app.adapters.store.ledger import SqlLedger
from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import (
    AgentEvent,
    Created,
    Finished,
    HandedOver,
    Kept,
    ModelAsked,
    ModelCalled,
    Proposed,
    SegmentStarted,
    Spoke,
    SuiteAsked,
    Ticked,
    ToolAsked,
    ToolEnded,
    TurnAsked,
)
from app.core.agents.lifecycle import Signal
from app.ports import Logged, SpentUntil
from app.testruns import Outcome, Suite
from tests.contract.store_support import World, later
from tests.support.moves import Changes, move

SUITE = SuiteAsked(suite=Suite("pytest", (), status_visible=True), fingerprint="f")
MOST_PAGES = 50
TRICK = '"suite":{ "outcome":null {"type":"Kept"'
"""What a command line may hold that is no test."""
DID: Sequence[AgentEvent] = (
    TurnAsked(at=later(3)),
    ModelAsked(at=later(3)),
    ModelCalled(at=later(4), model="m", input_tokens=1, output_tokens=1, cost_nanousd=5),
    Spoke(at=later(4)),
    ToolAsked(at=later(5), call="a", tool="bash", what=TRICK),
    ToolEnded(at=later(6), call="a", ok=False, failures=TRICK),
    ToolAsked(at=later(7), call="b", tool="bash", what=TRICK, suite=SUITE),
    ToolEnded(at=later(8), call="b", ok=True, outcome=Outcome.PASSED, failures=TRICK),
    Proposed(at=later(9), issue=1, role="pm", labels=(), why=TRICK),
    Ticked(at=later(10)),
)


@pytest.fixture
def ledger(world: World) -> SqlLedger:
    return SqlLedger(world.engine, world.writer)


async def an_ended(world: World, *events: AgentEvent, issue: int = 12) -> Agent:
    active = await world.an_active(issue)
    assert await world.store.append(active.id, 0, 3, events)
    done = Finished(at=later(50), why="#7 was merged.")
    ended = await move(world.store, active, Signal.FINISHED, [done], Changes())
    assert ended is not None
    return ended


async def pages(world: World, agent: AgentId, most: int) -> list[Logged]:
    """The whole log, page by page, in order."""
    found, before = list[Logged](), None
    for _ in range(MOST_PAGES):
        page = await world.store.log_before(agent, before=before, most=most)
        if not page:
            return found
        assert len(page) <= most
        found, before = [*page, *found], page[0].seq
    raise AssertionError("the log does not end")


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("most", [1, 3, 4, 100])
async def test_pages_of_a_log_are_the_log(world: World, most: int, is_packed: bool) -> None:
    agent = await an_ended(world, *DID, Kept(at=later(11), sha=None, pushed=False, problem=""))
    whole = [*enumerate(await world.store.log(agent.id), 1)]
    if is_packed:
        assert await world.store.pack_logs(later(51)) == 1
    assert await pages(world, agent.id, most) == whole
    assert await world.store.log_before(agent.id, before=1, most=most) == []
    assert await world.store.log_before(agent.id, before=3, most=1) == [whole[1]]


async def test_a_log_that_was_packed_in_part_is_read_across_the_seam(world: World) -> None:
    agent = await an_ended(world, *DID)
    assert await world.store.pack_logs(later(51)) == 1
    await world.store.note_handed_over(agent, HandedOver(at=later(60), pull_request=7))
    whole = [*enumerate(await world.store.log(agent.id), 1)]
    for most in (1, 2, 5, 100):
        assert await pages(world, agent.id, most) == whole


@pytest.mark.parametrize("is_packed", [False, True])
async def test_landmarks_are_what_is_no_turn_and_no_call_but_of_tests(
    world: World, is_packed: bool
) -> None:
    agent = await an_ended(world, *DID)
    if is_packed:
        assert await world.store.pack_logs(later(51)) == 1
    found = await world.store.landmarks(agent.id, 100)
    assert [(seq, type(event)) for seq, event in found] == [
        (1, Created),
        (2, SegmentStarted),
        (9, ToolAsked),
        (10, ToolEnded),
        (11, Proposed),
        (13, Finished),
    ]
    assert await world.store.landmarks(agent.id, 2) == found[-2:]
    assert await world.store.landmarks(agent.id, 4) == found[-4:]


async def test_nobody_has_no_log(world: World) -> None:
    nobody = AgentId("octo/demo", 99, "pm", 1)
    assert await world.store.log_before(nobody, before=None, most=5) == []
    assert await world.store.landmarks(nobody, 5) == []


def call(seconds: float, nanousd: int | None) -> ModelCalled:
    return ModelCalled(
        at=later(seconds), model="m", input_tokens=1, output_tokens=1, cost_nanousd=nanousd
    )


async def test_what_was_spent_grows_call_by_call(world: World, ledger: SqlLedger) -> None:
    agent = await an_ended(world, call(3, 5), call(4, None), call(9, 10))
    await an_ended(world, call(3, 1_000), issue=13)
    grown = [
        SpentUntil(later(3), 5),
        SpentUntil(later(4), 5),
        SpentUntil(later(9), 15),
    ]
    assert await ledger.spent_in_time(agent.id, 3) == grown
    assert await ledger.spent_in_time(agent.id, 60) == grown


@pytest.mark.parametrize("points", [1, 2, 3, 7, 99, 100])
async def test_of_many_calls_as_many_points_are_told_as_are_wanted(
    world: World, ledger: SqlLedger, points: int
) -> None:
    agent = await an_ended(world, *(call(3 + number, 1) for number in range(100)))
    told = await ledger.spent_in_time(agent.id, points)
    assert len(told) == points
    assert told[-1] == SpentUntil(later(102), 100)
    assert all(nanousd == (at - later(2)).total_seconds() for at, nanousd in told)


async def test_who_has_called_no_model_has_spent_nothing(world: World, ledger: SqlLedger) -> None:
    assert await ledger.spent_in_time(AgentId("octo/demo", 99, "pm", 1), 60) == []
