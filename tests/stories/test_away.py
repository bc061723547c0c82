"""What is away for a while: the model's provider, the App's access, the service, the engine."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from app.core.agents.events import (
    AgentEvent,
    Held,
    SegmentEnded,
    Tripped,
    Waits,
)
from app.core.agents.lifecycle import State
from app.ports import WorkKind
from app.scripted.script import Conversation, Failure, Step
from tests.stories.happening import ASKS, AT_REVIEW, FIXES, PAUSED, STOPPED, Ends
from tests.support.people import REPOSITORY, repository
from tests.support.steps import runs_at_once, thinks, writes
from tests.twins.engine import WORK
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository({"fixer": {}})}
AT_WORK, LACKS_PROVIDER = (State.ACTIVE, None), (State.QUEUED, Waits.PROVIDER)
SELDOM = {"reconciliation_interval": 3_600}
"""What happens within an hour is not found by a pass."""


def test_of_those_whose_provider_is_away_one_asks_and_all_go_on() -> None:
    asked, is_away = list[str](), True

    def unless_away(name: str, step: Step) -> Callable[[Conversation], Step]:
        def answer(conversation: Conversation) -> Step:
            asked.append(name)
            return Failure(503) if is_away else step

        return answer

    with story(PLACES, operator=SELDOM) as squad:
        first = squad.give("fixer", "The first", unless_away("first", FIXES[0]), *FIXES[1:])
        for _ in range(20):  # it tries again, less and less often
            if squad.states(first) != [LACKS_PROVIDER]:
                squad.passes(seconds=5)
        assert squad.states(first) == [LACKS_PROVIDER]
        second = squad.give("fixer", "The second", unless_away("second", FIXES[0]), *FIXES[1:])
        assert squad.states(second) == [LACKS_PROVIDER]
        before = len(asked)
        for _ in range(5):  # whoever asks waits between two tries: no jump may pass for a hang
            squad.passes(minutes=1)
            at_work = [*squad.states(first), *squad.states(second)].count(AT_WORK)
            assert at_work <= 1, "whichever of them is due first asks for both"
        assert len(asked) - before <= 4 * 3, "as seldom as if there was one of them"
        is_away = False
        for _ in range(12):
            squad.passes(minutes=1)
        assert squad.states(first) == squad.states(second) == [AT_REVIEW]


def test_who_has_no_access_waits_and_goes_on_with_it() -> None:
    with story(PLACES) as squad:
        squad.tolerates("delivery given up")
        task = squad.give("fixer", "The answer is wrong", thinks(600), *FIXES)
        squad.orders("installed", repository=REPOSITORY, installed=False, silently=True)
        squad.passes(minutes=2)
        squad.passes(seconds=5)
        assert squad.states(task) == [(State.SLEEPING, Waits.ACCESS)]
        squad.orders("installed", repository=REPOSITORY, installed=True, silently=True)
        squad.passes(minutes=2)
        squad.passes(minutes=10)
        assert squad.states(task) == [AT_REVIEW]


def test_a_service_that_stops_keeps_the_work_and_the_next_one_goes_on() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", writes("new", "n\n"), thinks(600), *FIXES)
        squad.stop()
        assert squad.sees(f"/repos/{REPOSITORY}/contents/new?ref={task.branch}")["size"] == 2
        squad.start()
        squad.passes(minutes=11)
        assert squad.states(task) == [AT_REVIEW]
        assert not any(
            isinstance(event, SegmentEnded) and event.died
            for event in squad.log(squad.agent(task).id)
        )


def loses_all_work(squad: Story) -> None:
    """The process is gone, and of what was to be done nothing is left."""
    squad.kill()
    with squad.service.database.begin() as connection:
        connection.execute(sa.delete(WORK))


def test_an_engine_that_has_lost_all_work_loses_nobody_and_no_time() -> None:
    keys = {"max_active_duration": 600, "max_idle_duration": None}
    places = {REPOSITORY: repository({"fixer": keys})}
    with story(places, operator={"workers": {"agents": 1}}) as squad:
        first = squad.give("fixer", "The first", thinks(400), *FIXES)
        second = squad.give("fixer", "The second", *FIXES)
        assert (squad.states(first), squad.states(second)) == ([AT_WORK], [(State.QUEUED, None)])
        loses_all_work(squad)
        squad.clock.turn(timedelta(hours=5))
        squad.start()
        squad.settle()
        squad.passes(seconds=401)
        squad.passes(minutes=2)
        assert squad.states(first) == squad.states(second) == [AT_REVIEW]


def test_what_a_webhook_told_is_handled_again_when_github_has_failed() -> None:
    with story(PLACES, operator=SELDOM) as squad:
        task = squad.issue("The answer is wrong", *FIXES).by("fixer")
        with squad.trouble(kind="error", method="GET", path="/permission", count=1):
            squad.label(task, "squadron:fixer")
            squad.settle()
            assert squad.has_struck()
        assert squad.states(task) == [AT_REVIEW]


def test_who_is_woken_under_a_brake_goes_on_as_soon_as_it_is_lifted() -> None:
    with story(PLACES, operator=SELDOM) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        squad.brakes()
        squad.comment(task, "Blue.")
        squad.passes(minutes=5)
        assert squad.agent(task).state is State.QUEUED
        assert "paused" in squad.comments(task)[0]
        squad.lifts_the_brake()
        squad.passes(seconds=2)
        assert squad.states(task) == [AT_REVIEW]


def test_whoever_asks_for_an_agent_under_a_brake_is_told_and_may_take_it_back() -> None:
    with story(PLACES) as squad:
        squad.brakes()
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        assert squad.agents(task) == []
        [said] = squad.comments(task)
        assert "paused" in said
        squad.comment(task, "/squadron stop")
        squad.settle()
        squad.lifts_the_brake()
        squad.passes(minutes=2)
        assert squad.agents(task) == []


@pytest.mark.parametrize(
    ("on_limit", "seen", "then"), [("pause", Held, PAUSED), ("escalate", Tripped, STOPPED)]
)
def test_a_limit_that_was_reached_just_before_a_death_counts(
    on_limit: str, seen: type[AgentEvent], then: Ends
) -> None:
    keys = {"max_tool_calls": 1, "on_limit": on_limit, "summary_wait": 50}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = squad.give("fixer", "The answer is wrong", runs_at_once("sleep 40", "true"), *FIXES)
        assert squad.states(task) == [AT_WORK]  # one tool still runs
        assert any(isinstance(event, seen) for event in squad.log(squad.agent(task).id))
        squad.restart()
        squad.settle()
        assert squad.states(task) == [then]


def test_what_woke_it_is_told_once_though_it_dies_after_that() -> None:
    told = list[int]()

    def looks(conversation: Conversation) -> Step:
        told.append(sum("commented:" in each.text for each in conversation.messages))
        return FIXES[0]

    with story(PLACES) as squad:
        steps = (*ASKS, writes("new", "n\n"), thinks(600), looks, *FIXES[1:])
        task = squad.give("fixer", "The answer is wrong", *steps)
        squad.comment(task, "Blue.")
        squad.settle()
        assert squad.states(task) == [AT_WORK]
        squad.restart()
        squad.passes(minutes=11)
        squad.passes(minutes=11)
        assert squad.states(task) == [AT_REVIEW]
        assert told == [1]


def test_work_that_is_taken_away_ends_once_though_its_segment_runs_again() -> None:
    with story(PLACES) as squad:
        squad.engine.repeats = True
        task = squad.give("fixer", "The answer is wrong", thinks(600))
        squad.close(task)
        squad.settle()
        squad.passes(seconds=5)
        assert squad.agent(task).state is State.CANCELLED


def handled(squad: Story) -> int:
    """How many deliveries were more than looked at."""
    with squad.service.database.begin() as connection:
        wanted = sa.select(sa.func.count()).where(WORK.c.kind == WorkKind.DELIVERY.value)
        return connection.scalar(wanted) or 0


@pytest.mark.parametrize("is_new", [False, True], ids=["the same process", "the next one"])
def test_while_github_is_away_the_last_plan_says_what_concerns_nobody(is_new: bool) -> None:
    """A storm of labels must not become a storm of questions that GitHub cannot answer."""
    with story(PLACES, operator=SELDOM) as squad:
        task = squad.give("fixer", "Wait", *ASKS)
        squad.settle()
        if is_new:
            squad.restart()
        before = handled(squad)
        with squad.without("rest"):
            for number in range(20):
                squad.does("maria", "POST", f"{task.path}/labels", {"labels": [f"of-{number}"]})
            squad.does("maria", "POST", "/repos/octo/demo/issues", {"title": "Idea"})
            squad.settle()
        assert handled(squad) == before


def test_a_label_that_was_mapped_a_moment_ago_starts_its_role() -> None:
    """The last plan is none from the push on: no pass is needed to find the issue."""
    mapped = repository({"fixer": {}}, {"triggers": {"labels": {"urgent": "fixer"}}})
    with story(PLACES, operator=SELDOM) as squad:
        early, late = (squad.issue(name, *ASKS).by("fixer") for name in ("Early", "Late"))
        squad.label(early, "urgent")
        squad.pushes({".squadron/config.yaml": mapped[".squadron/config.yaml"]})
        squad.label(late, "urgent")
        squad.settle()
        assert (len(squad.agents(early)), len(squad.agents(late))) == (0, 1)
