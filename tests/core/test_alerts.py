"""What an operator is told at once, and what people read when a start has to wait.

Issue, "Alerts" and "Budgets"; seed 000, "Monitoring and Alerts".
"""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.core.agents.agent import AgentId
from app.core.agents.events import Passed, Warned
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Balance, Insufficient
from app.core.limits import LimitName
from app.core.money import NANOUSD, nanousd
from app.core.words.alerts import (
    FOR_GOOD,
    HOUR,
    AtLimit,
    nearly_spent,
    overspent,
    spending,
    trips,
    unseen,
    unwritten,
    warned,
)
from app.core.words.refusals import account_words, budget_refused, rate_refused

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
DAY = datetime(2026, 5, 4, tzinfo=UTC)


def account(usd: float = 20, window: Window = Window.DAY) -> Account:
    since = None if window is Window.TOTAL else DAY
    return Account("role:octo/demo:feat-dev", window, since, nanousd(usd))


# --- alerts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spent", "told"), [(0, False), (10 * NANOUSD, False), (10 * NANOUSD + 1, True)]
)
def test_spending_is_told_beyond_its_bound_and_not_at_it(spent: int, told: bool) -> None:
    found = spending(spent, 10.0, NOON)
    assert bool(found) is told
    for alert in found:
        assert (alert.key, alert.kind, alert.bound, alert.at) == (
            "cost",
            "cost_per_hour",
            10.0,
            NOON,
        )


def test_spending_says_how_much_of_how_much() -> None:
    [alert] = spending(nanousd(12.5), 10.0, NOON)
    assert alert.text == "$12.50 spent in the last hour; the bound is $10.00."
    assert alert.figure == 12.5


def test_what_github_does_not_take_is_told_with_the_oldest_first() -> None:
    assert unwritten([], NOON) == ()
    one = ("the check of octo/demo#1/docs/1", NOON - timedelta(hours=30))
    [alert] = unwritten([("the issue of octo/demo#2/docs/1", NOON - 25 * HOUR), one], NOON)
    assert alert.text.startswith(
        "GitHub has not taken 2 writes for more than a day; the oldest is"
        " the check of octo/demo#1/docs/1, wanted since 2026-05-03 06:00 UTC."
    )
    assert (alert.figure, alert.bound, alert.silence) == (30.0, 24.0, timedelta(days=1))
    assert "one write for" in unwritten([one], NOON)[0].text


def test_repositories_of_which_github_tells_nothing_are_counted() -> None:
    assert unseen({}, NOON) == ()
    two = {"octo/demo": NOON - 25 * HOUR, "octo/old": NOON - 48 * HOUR}
    [alert] = unseen(two, NOON)
    assert "about octo/old and 1 more: last seen 2026-05-02 12:00 UTC" in alert.text
    assert (alert.figure, alert.silence) == (48.0, timedelta(days=1))
    assert "about octo/old: last" in unseen({"octo/old": NOON - 48 * HOUR}, NOON)[0].text


@pytest.mark.parametrize(("stopped", "told"), [(0, False), (5, False), (6, True)])
def test_more_than_five_trips_are_a_systemic_problem(stopped: int, told: bool) -> None:
    """Seed 000: "Alert when >5 agents terminate per hour (systemic issue)"."""
    found = trips(stopped, 5, NOON)
    assert bool(found) is told
    for alert in found:
        assert alert.text == "6 agents were stopped for good in the last hour; the bound is 5."
        assert (alert.key, alert.kind, alert.figure) == ("trips", "trips_per_hour", 6)


@pytest.mark.parametrize(
    ("spent_usd", "told"), [(0, False), (15.99, False), (16, True), (21, True)]
)
def test_a_budget_is_told_of_at_four_fifths(spent_usd: float, told: bool) -> None:
    balance = Balance(account(20), nanousd(spent_usd), nanousd(20))
    found = nearly_spent([balance], NOON)
    assert bool(found) is told
    for alert in found:
        assert alert.key == "budget:day:2026-05-04:role:octo/demo:feat-dev:20000000000"
        assert (alert.kind, alert.figure, alert.bound) == ("budget", spent_usd, 20)


def test_a_budget_is_told_of_once_in_its_window_and_again_when_it_was_raised() -> None:
    """An hour later it is as spent as before: nobody needs to hear that again."""
    (told,) = nearly_spent([Balance(account(20), nanousd(17), 0)], NOON)
    (later,) = nearly_spent([Balance(account(20), nanousd(19), 0)], NOON + timedelta(hours=5))
    (raised,) = nearly_spent([Balance(account(22), nanousd(19), 0)], NOON)
    assert told.key == later.key != raised.key
    assert told.silence == raised.silence == FOR_GOOD


def test_what_is_about_an_hour_is_told_again_in_the_next() -> None:
    found = (*spending(nanousd(11), 10.0, NOON), *trips(6, 5, NOON))
    assert [alert.silence for alert in found] == [HOUR] * 2


AGENT = AgentId("octo/demo", 12, "bug-fix", 1)


def close(limit: LimitName, observed: float, maximum: float) -> Warned:
    return Warned(at=NOON, limit=limit, observed=observed, maximum=maximum)


def reached(*, shadow: bool = False, refused: bool = False) -> Passed:
    return Passed(
        at=NOON,
        limit=LimitName.MAX_TURNS,
        observed=50,
        maximum=50,
        shadow=shadow,
        refused=refused,
    )


@pytest.mark.parametrize(
    ("event", "kind", "text"),
    [
        (
            close(LimitName.MAX_TURNS, 40, 50),
            "limit_close",
            "octo/demo#12/bug-fix/1 comes close to max_turns: 40 of 50 turns.",
        ),
        (
            close(LimitName.MAX_COST_USD, 0.8, 1),
            "limit_close",
            "octo/demo#12/bug-fix/1 comes close to max_cost_usd: $0.80 of $1.00.",
        ),
        (
            reached(),
            "limit_passed",
            "octo/demo#12/bug-fix/1 has reached max_turns (50 of 50 turns) and goes on"
            " (`on_limit: warn`).",
        ),
    ],
)
def test_who_comes_close_to_a_limit_is_told_with_that_limit(
    event: Warned | Passed, kind: str, text: str
) -> None:
    """Seed 000: "Alert when agent exceeds 80% of max_turns (early warning)"."""
    [alert] = warned(AGENT, event, NOON)
    assert (alert.kind, alert.text, alert.at) == (kind, text, NOON)
    assert (alert.figure, alert.bound) == (event.observed, event.maximum)
    assert alert.about == AtLimit(AGENT, event.limit)


@pytest.mark.parametrize("event", [reached(shadow=True), reached(refused=True)])
def test_what_calls_for_nothing_is_told_to_nobody(event: Passed) -> None:
    assert not warned(AGENT, event, NOON)


def test_a_limit_that_was_raised_is_told_of_again() -> None:
    [first] = warned(AGENT, close(LimitName.MAX_TURNS, 40, 50), NOON)
    [same] = warned(AGENT, close(LimitName.MAX_TURNS, 41, 50), NOON + HOUR)
    [raised] = warned(AGENT, close(LimitName.MAX_TURNS, 60, 75), NOON)
    other = AgentId("octo/demo", 13, "bug-fix", 1)
    [of_another] = warned(other, close(LimitName.MAX_TURNS, 40, 50), NOON)
    assert first.key == same.key
    assert len({first.key, raised.key, of_another.key}) == 3
    assert first.silence == FOR_GOOD


def test_what_is_reserved_is_not_spent() -> None:
    full = Balance(account(20), nanousd(1), nanousd(20))
    assert not nearly_spent([full], NOON)


def test_each_budget_is_told_of_for_itself() -> None:
    month = Balance(account(100, Window.MONTH), nanousd(80), 0)
    day, quiet = Balance(account(), nanousd(20), 0), Balance(account(1_000, Window.WEEK), 1, 1)
    found = nearly_spent([day, quiet, month], NOON)
    assert [alert.text for alert in found] == [
        "$20.00 of the budget `role:octo/demo:feat-dev` ($20.00 a day) is spent.",
        "$80.00 of the budget `role:octo/demo:feat-dev` ($100.00 a month) is spent.",
    ]
    assert len({alert.key for alert in found}) == 2


@pytest.mark.parametrize(("beyond", "told"), [(0, False), (1, True)])
def test_an_agent_that_spent_more_than_it_reserved_is_told_of(beyond: int, told: bool) -> None:
    alerts = overspent("octo/demo#1/dev/1", beyond, NOON)
    assert len(alerts) == told


def test_overspending_names_the_agent_and_the_amount() -> None:
    [alert] = overspent("octo/demo#1/dev/1", nanousd(0.25), NOON)
    assert alert.text == "octo/demo#1/dev/1 spent $0.25 more than it had reserved."
    assert timedelta(days=50 * 365) < FOR_GOOD
    assert spending(nanousd(2), 1.0, NOON)[0].silence == timedelta(hours=1)
    assert (alert.key, alert.kind) == ("overspent:octo/demo#1/dev/1:250000000", "overspent")
    assert (alert.figure, alert.bound, alert.at, alert.silence) == (0.25, 0, NOON, FOR_GOOD)


@settings(deadline=None)
@given(spent=st.integers(0, 10**13), bound_cents=st.integers(1, 10**6))
@example(spent=nanousd(0.3), bound_cents=30)
@example(spent=nanousd(0.3) + 1, bound_cents=30)
def test_no_cent_of_spending_is_lost_in_a_float(spent: int, bound_cents: int) -> None:
    is_beyond = spent > bound_cents * 10_000_000
    assert bool(spending(spent, bound_cents / 100, NOON)) is is_beyond


# --- what people read ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (Window.DAY, "($20.00 a day)"),
        (Window.WEEK, "($20.00 a week)"),
        (Window.MONTH, "($20.00 a month)"),
        (Window.TOTAL, "($20.00 in all)"),
    ],
)
def test_a_budget_is_named_with_its_amount_and_window(window: Window, words: str) -> None:
    assert account_words(account(20, window)) == f"`role:octo/demo:feat-dev` {words}"


def test_a_refusal_says_which_budget_how_much_is_left_and_when_it_renews() -> None:
    text = budget_refused("feat-dev", Insufficient(account(), nanousd(8), nanousd(12)))
    assert text.startswith(
        "[squadron:feat-dev] The agent has not started yet: the budget"
        " `role:octo/demo:feat-dev` ($20.00 a day) has $8.00 left, and the agent"
        " may need up to $12.00. The budget renews at 2026-05-05 00:00"
    )
    assert "starts by itself as soon as there is enough" in text
    assert "remove the label or close the issue" in text


def test_a_budget_that_never_renews_says_so() -> None:
    short = Insufficient(account(20, Window.TOTAL), 0, nanousd(1))
    assert "has $0.00 left" in budget_refused("pm", short)
    assert "The budget never renews." in budget_refused("pm", short)


def test_more_than_the_whole_budget_is_a_mistake_to_be_told() -> None:
    text = budget_refused("feat-dev", Insufficient(account(20), nanousd(20), nanousd(20) + 1))
    assert "more than all of it: lower the role's `max_cost_usd`, or raise the budget" in text
    exactly = budget_refused("feat-dev", Insufficient(account(20), nanousd(19), nanousd(20)))
    assert "more than all of it" not in exactly


def test_too_many_starts_are_said_without_calling_the_person() -> None:
    text = rate_refused("maria", 100, NOON + timedelta(minutes=30))
    assert "@\u200bmaria started or steered agents 100 times within an hour" in text
    assert "until 2026-05-04 12:30" in text
    assert "started or steered agents once within an hour" in rate_refused("maria", 1, NOON)
