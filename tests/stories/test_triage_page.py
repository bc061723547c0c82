"""Agents that were stopped stand on one page, by what stopped them, until somebody sees to them."""

from tests.stories.happening import ASKS, ROLES
from tests.support.pages import Reader
from tests.support.people import REPOSITORY, repository
from tests.support.steps import is_blocked, runs
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository(ROLES)}
TOO_MUCH = (runs("true"), runs("true"))


def groups(squad: Story) -> list[tuple[str, str, int]]:
    """What stopped whom, and how many."""
    told = Reader(squad).get("/triage.json").json()
    assert told["is_whole"]
    return [(each["stopped_by"], each["role"], len(each["waiting"])) for each in told["groups"]]


def test_stops_are_grouped_by_what_stopped_them_the_largest_group_first() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        assert "No stop is open." in reader.page("/triage").text
        squad.give("sleeper", "The colour is wrong", *ASKS)
        first = squad.give("stopper", "Two calls are too many", *TOO_MUCH)
        squad.give("pauser", "It waits, and is not stopped", *TOO_MUCH)
        squad.passes(hours=2)
        last = squad.give("stopper", "And two more", *TOO_MUCH)
        assert groups(squad) == [
            ("max_tool_calls", "stopper", 2),
            ("max_sleep_duration", "sleeper", 1),
        ]
        page = reader.page("/triage")
        assert "Triage 3" in page.text
        assert "max_tool_calls stopped 2 of the role stopper The first waits for 2h" in page.text
        assert "Together they have cost: unknown." in page.text, "nobody knows the model's price"
        assert page.text.index("And two more") < page.text.index("Two calls are"), "the last first"
        assert page.links["And two more"] == f"/agents/octo/demo/{last.number}/stopper/1"
        squad.comment(first, "/squadron retry stopper")
        squad.close(last)
        squad.settle()
        assert ("max_sleep_duration", "sleeper", 1) in groups(squad)
        assert "And two more" not in reader.page("/triage").links


def test_a_stop_without_a_limit_is_named_by_its_cause() -> None:
    with story(PLACES) as squad:
        first, second = (
            squad.issue(f"No. {n}", is_blocked("After that.", other)).by("fixer")
            for n, other in ((1, 2), (2, 1))
        )
        squad.label(first, "squadron:fixer")
        squad.settle()
        squad.label(second, "squadron:fixer")
        squad.settle()
        assert groups(squad) == [("blocked_in_circle", "fixer", 1)]
        page = Reader(squad).page("/triage")
        assert "Blocked in circle stopped 1 of the role fixer" in page.text
