"""Who waits for a person: all that does is listed, and leaves the list when it is seen to."""

from collections.abc import Callable
from typing import Final

import pytest

from app.core.words.matters import MatterKind
from app.services.needs_you import NeedsYou, needs_you, place_to_act
from tests.stories.happening import ASKS, FIXES, ROLES
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import runs
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository(ROLES)}
TOO_MUCH: Final = (runs("true"), runs("true"))


def found(squad: Story) -> NeedsYou:
    return squad.run(needs_you(squad.service.store, squad.clock.now()))


def kinds(squad: Story) -> list[tuple[int, MatterKind]]:
    """By issue, in the order in which people read them."""
    return [(each.listed.agent.id.issue, each.matter.kind) for each in found(squad).waiting]


def places(squad: Story) -> list[str]:
    """Where people act."""
    return [place_to_act(each.listed, each.matter, squad.box.url) for each in found(squad).waiting]


def number_of(squad: Story, task: Task) -> int:
    """Of its needs-human issue."""
    [issue] = squad.needs_human(task)
    return int(issue["number"])


def issue_path(number: int) -> str:
    return f"/repos/{REPOSITORY}/issues/{number}"


def test_what_waits_is_there_with_the_place_to_answer_it() -> None:
    """First whose time runs out first, then who has waited for longest."""
    with story(PLACES) as squad:
        stopped = squad.give("stopper", "Two calls are too many", *TOO_MUCH)
        squad.passes(minutes=10)
        asks = squad.give("fixer", "The colour is wrong", *ASKS, *FIXES)
        squad.passes(minutes=10)
        paused = squad.give("pauser", "So are these", *TOO_MUCH)
        squad.give("fixer", "The answer is wrong", *FIXES)
        assert kinds(squad) == [
            (asks.number, MatterKind.QUESTION),
            (paused.number, MatterKind.DECISION),
            (stopped.number, MatterKind.STOPPED),
        ]
        question, decision, stop = places(squad)
        assert f"issues/{asks.number}#issuecomment-" in question
        assert f"issues/{paused.number}#issuecomment-" in decision
        assert stop.endswith(f"/issues/{number_of(squad, stopped)}")
        squad.comment(asks, "Green.")
        squad.settle()
        assert (asks.number, MatterKind.QUESTION) not in kinds(squad)


def closes_it(squad: Story, task: Task) -> None:
    number = number_of(squad, task)
    squad.does("maria", "PATCH", issue_path(number), {"state": "closed"})


def closes_the_original(squad: Story, task: Task) -> None:
    squad.close(task)


def retries(squad: Story, task: Task) -> None:
    squad.comment(task, "/squadron retry stopper")


@pytest.mark.parametrize("how", ["told", "untold"])
@pytest.mark.parametrize("does", [closes_it, closes_the_original, retries])
def test_a_stop_that_somebody_has_seen_to_leaves_the_list(
    does: Callable[[Story, Task], None], how: str
) -> None:
    with story(PLACES) as squad:
        task = squad.give("stopper", "Two calls are too many", *TOO_MUCH)
        [first] = squad.agents(task)
        assert kinds(squad) == [(task.number, MatterKind.STOPPED)]
        with squad.telling(how):
            does(squad, task)
        here = [each.listed.agent.id for each in found(squad).waiting]
        assert first.id not in here


def test_a_needs_human_issue_that_is_opened_again_calls_again() -> None:
    with story(PLACES) as squad:
        task = squad.give("stopper", "Two calls are too many", *TOO_MUCH)
        number = number_of(squad, task)
        closes_it(squad, task)
        squad.settle()
        assert kinds(squad) == []
        squad.does("maria", "PATCH", issue_path(number), {"state": "open"})
        squad.passes(hours=1)
        assert kinds(squad) == [(task.number, MatterKind.STOPPED)]


def test_what_keeps_all_from_working_is_told_once() -> None:
    with story(PLACES) as squad:
        [worker] = squad.run(squad.service.store.workers(squad.clock.now()))
        squad.run(squad.service.store.ask_drain(worker.name, squad.clock.now()))
        squad.passes(seconds=6)
        squad.give("fixer", "The answer is wrong", *FIXES)
        assert found(squad).lacks_worker
        squad.restart()
        squad.settle()
        assert not found(squad).lacks_worker
