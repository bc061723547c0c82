"""Money of agents that wait, and of those that work through the end of a day."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from app.adapters.store.ledger import SqlLedger
from app.core.agents.counters import fold
from app.core.agents.events import HeldUp, ModelCalled, Waits
from app.core.agents.lifecycle import State
from app.core.budgets.budgets import Account, Budget, Scope, Started, Window, accounts
from app.core.budgets.ledger import Balance
from app.core.money import nanousd, usd
from tests.stories.happening import ASKING, ASKS, AT_REVIEW, FIXES
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import completes, is_blocked, runs
from tests.twins.story import Story, story

PRICES: Final[Mapping[str, Any]] = {"pricing": {"scripted": {"input": 0, "output": 800}}}
LONG: Final = is_blocked("Which colour? " * 180)
"""An answer of 50 cents."""
BUSY: Final = replace(runs("echo busy"), think_seconds=3_000)
WAITS: Final = (State.QUEUED, Waits.BUDGET)
ROLES: Final = {"dear": {"max_cost_usd": 0.6}, "other": {"max_cost_usd": 0.6}}


def budget(most: float, window: str = "day", **about: Any) -> Mapping[str, Any]:
    return {"budgets": [{"scope": "repository", "window": window, "max_cost_usd": most, **about}]}


def squad_of(most: float, window: str = "day", **about: Any) -> Any:
    places = {REPOSITORY: repository(ROLES, budget(most, window, **about))}
    return story(places, operator=PRICES)


def answers(squad: Story, task: Task, words: str = "Blue.") -> None:
    squad.does("maria", "POST", f"{task.path}/comments", {"body": words})
    squad.settle()


def ledger_of(squad: Story) -> SqlLedger:
    return SqlLedger(squad.database.engine, squad.service.writer)


def balances(squad: Story, *days: datetime) -> Sequence[Balance]:
    """Of the repository's budget of $2, on these days."""
    ledger = ledger_of(squad)
    rule = Budget(Scope.REPOSITORY, Window.DAY, nanousd(2), repository=REPOSITORY)
    started = Started(REPOSITORY, 1, "dear", "maria")
    counted: list[Account] = [one for day in days for one in accounts([rule], started, day)]
    return [squad.run(ledger.balance(account)) for account in counted]


def active_seconds(squad: Story, task: Task) -> float:
    counters = fold(squad.log(squad.agent(task).id))
    return counters.active.total_seconds()


def held_up(squad: Story, task: Task) -> Sequence[HeldUp]:
    log = squad.log(squad.agent(task).id)
    return [event for event in log if isinstance(event, HeldUp)]


def test_who_waits_for_an_answer_holds_nobodys_money() -> None:
    with squad_of(1) as squad:
        first = squad.give("dear", "The first", *ASKS, *FIXES)
        second = squad.give("other", "The second", *ASKS, *FIXES)
        assert (squad.state(first), squad.state(second)) == (ASKING, ASKING)
        answers(squad, first)
        answers(squad, second)
        assert (squad.state(first), squad.state(second)) == (AT_REVIEW, AT_REVIEW)
        assert not held_up(squad, first) and not held_up(squad, second)


def test_what_is_missing_when_it_is_answered_it_waits_for_until_the_budget_renews() -> None:
    with squad_of(1) as squad:
        first = squad.give("dear", "The first", *ASKS, *FIXES)
        squad.give("other", "The second", LONG)
        answers(squad, first)
        assert squad.state(first) == WAITS
        midnight = squad.clock.now().date() + timedelta(days=1)
        said = squad.comments(first)[-1]
        assert "The agent waits for money: the budget `repository:octo/demo` ($1.00 a day) has" in (
            said
        )
        assert f"The budget renews at {midnight:%Y-%m-%d} 00:00 UTC. Nothing is lost" in said
        active = active_seconds(squad, first)
        for _ in range(26):
            squad.passes(minutes=60)
        assert squad.state(first) == AT_REVIEW
        assert squad.was_told(first, "Blue.")
        assert active_seconds(squad, first) - active < 60, "no clock ran meanwhile"
        assert len(held_up(squad, first)) == 1, "said once"


def test_what_others_return_lets_it_go_on_before_that() -> None:
    with squad_of(1) as squad:
        first = squad.give("dear", "The first", *ASKS, *FIXES)
        second = squad.give("other", "The second", BUSY, completes("Done."))
        answers(squad, first)
        assert squad.state(first) == WAITS
        squad.close(second)
        squad.settle()
        squad.passes(minutes=2)
        assert squad.state(first) == AT_REVIEW


def test_a_budget_that_never_renews_says_so_and_a_larger_one_lets_it_go_on() -> None:
    with squad_of(1, "total") as squad:
        first = squad.give("dear", "The first", *ASKS, *FIXES)
        squad.give("other", "The second", LONG)
        answers(squad, first)
        assert squad.state(first) == WAITS
        assert "The budget never renews. Nothing is lost" in squad.comments(first)[-1]
        for _ in range(3):
            squad.passes(hours=24)
        assert squad.state(first) == WAITS
        squad.pushes(repository(ROLES, budget(3, "total")))
        squad.settle()
        squad.passes(minutes=2)
        assert squad.state(first) == AT_REVIEW


def test_who_was_paused_takes_its_money_again_when_people_let_it_go_on() -> None:
    roles = {**ROLES, "pauser": {"max_tool_calls": 1, "on_limit": "pause", "max_cost_usd": 0.6}}
    with story({REPOSITORY: repository(roles, budget(1))}, operator=PRICES) as squad:
        first = squad.give("pauser", "The first", runs("echo 1"), runs("echo 2"), *FIXES)
        assert squad.state(first) == (State.PAUSED, Waits.RAISE)
        second = squad.give("other", "The second", BUSY, completes("Done."))
        assert squad.state(second) == (State.ACTIVE, None), "nobody holds what it needs"
        answers(squad, first, "/squadron raise max_tool_calls +9")
        assert squad.state(first) == WAITS
        squad.close(second)
        squad.settle()
        squad.passes(minutes=2)
        assert squad.state(first) == AT_REVIEW


def test_it_waits_on_after_the_process_was_killed_and_can_be_stopped() -> None:
    with squad_of(1) as squad:
        first = squad.give("dear", "The first", *ASKS, *FIXES)
        squad.give("other", "The second", LONG)
        third = squad.give("other", "The third", *ASKS, *FIXES)
        assert squad.agents(third) == [], "$0.60 is not left"
        answers(squad, first)
        squad.restart()
        squad.passes(minutes=3)
        assert squad.state(first) == WAITS
        answers(squad, first, "/squadron stop")
        assert squad.state(first) == (State.CANCELLED, None)


def test_who_works_on_through_midnight_spends_of_both_days() -> None:
    with squad_of(2) as squad:
        day = timedelta(days=1)
        to_midnight = (squad.clock.now() + day).replace(
            hour=0, minute=0, second=0
        ) - squad.clock.now()
        squad.passes(seconds=to_midnight.total_seconds() - 900)
        monday = squad.clock.now()
        steps = (
            replace(runs("echo 1", say="Go on. " * 60), think_seconds=800),
            replace(BUSY, think_seconds=800),
        )
        task = squad.give("dear", "Through midnight", *steps, LONG)
        for _ in range(15):
            squad.passes(minutes=2)
        tuesday = squad.clock.now()
        agent = squad.agent(task)
        calls = [event for event in squad.log(agent.id) if isinstance(event, ModelCalled)]
        before, after = (
            sum(call.cost_nanousd or 0 for call in calls if call.at.date() == each.date())
            for each in (monday, tuesday)
        )
        assert before > 0 and after > 0, "it spent on both days"
        assert squad.state(task) == ASKING
        on_monday, on_tuesday = balances(squad, monday, tuesday)
        assert (on_monday.actual_nanousd, on_monday.held_nanousd) == (before, before)
        assert on_tuesday.actual_nanousd == on_tuesday.held_nanousd
        assert (
            on_monday.actual_nanousd + on_tuesday.actual_nanousd
            == fold(squad.log(agent.id)).cost_nanousd
        )
        assert usd(on_tuesday.actual_nanousd) > 0.5


@pytest.mark.parametrize("status", [403, 503])
def test_a_team_that_github_does_not_tell_of_now_is_asked_for_again(status: int) -> None:
    """403: the App may not see the team any more; 503: GitHub is away for a while."""
    with squad_of(1, scope="team", name="leads") as squad:
        squad.orders("teams", org="octo", team="leads", members=["maria"])
        task = squad.give("dear", "The first", *ASKS, *FIXES)
        assert squad.state(task) == ASKING
        with squad.trouble(kind="error", status=status, path="memberships"):
            answers(squad, task)
            waits = Waits.BUDGET if status == 403 else Waits.GIT
            assert squad.state(task) == (State.QUEUED, waits)
        squad.passes(minutes=8)
        assert squad.state(task) == AT_REVIEW


def test_what_was_raised_is_taken_again_too() -> None:
    roles = {"pauser": {"max_cost_usd": 0.6, "on_limit": "pause"}}
    with story({REPOSITORY: repository(roles, budget(2))}, operator=PRICES) as squad:
        dear = runs("echo 1", say="Go on. " * 200)  # 28 cents, and the next may cost 41
        task = squad.give("pauser", "The first", dear, *ASKS, BUSY, completes("Done."))
        assert squad.state(task) == (State.PAUSED, Waits.RAISE)
        answers(squad, task, "/squadron raise max_cost_usd +1")
        assert squad.state(task) == ASKING
        answers(squad, task)
        agent = squad.agent(task)
        spent, ledger = fold(squad.log(agent.id)).cost_nanousd, ledger_of(squad)
        assert squad.run(ledger.remaining(agent.id)) == nanousd(1.6) - spent
