"""Retries are decided, within bounds."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app import ports
from app.core.effects.retry import (
    ASK_AGAIN_AFTER,
    MAX_ATTEMPTS_RATE_LIMITED,
    MAX_ATTEMPTS_UNREACHABLE,
    MAX_BACKOFF,
    MAX_RATE_LIMIT_WAIT,
    FailedCall,
    GiveUp,
    RateLimited,
    Refused,
    RetryAt,
    Unforeseen,
    Unreachable,
    after,
    ask_again,
)
from app.services.failures import failure_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def limited(**wait: float) -> RateLimited:
    return RateLimited("too many", NOW + timedelta(**wait))


def seconds_until(decision: RetryAt | GiveUp) -> float:
    assert isinstance(decision, RetryAt)
    return (decision.at - NOW).total_seconds()


@pytest.mark.parametrize("attempt", [1, 2, MAX_ATTEMPTS_UNREACHABLE])
def test_a_refusal_is_never_repeated(attempt: int) -> None:
    assert after(Refused("locked"), attempt, NOW) == GiveUp("locked")


def test_unreachable_is_tried_with_doubling_waits_until_the_last_attempt() -> None:
    waits = [seconds_until(after(Unreachable("502"), attempt, NOW)) for attempt in range(1, 12)]
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert MAX_ATTEMPTS_UNREACHABLE == 12
    assert after(Unreachable("502"), 12, NOW) == GiveUp("502 (after 12 attempts)")


@pytest.mark.parametrize(
    ("failure", "attempt", "seconds"),
    [
        (limited(minutes=10), 1, 600),  # when GitHub says
        (limited(hours=1), 1, 3600),
        (limited(hours=1, minutes=5), 1, 3900),
        (limited(hours=1, minutes=5, seconds=1), 1, 3900),  # no later, whatever GitHub says
        (limited(days=3000), 1, 3900),
        (limited(seconds=60), 5, 60),
        (limited(seconds=60), 6, 64),  # growing, if it says the same again and again
        (limited(seconds=60), MAX_ATTEMPTS_RATE_LIMITED - 1, 300),
        (limited(seconds=-30), 1, 2),  # never at once
    ],
)
def test_a_limit_is_waited_for(failure: RateLimited, attempt: int, seconds: float) -> None:
    assert seconds_until(after(failure, attempt, NOW)) == seconds


def test_a_defect_may_pass_but_is_not_tried_for_long() -> None:
    waits = [seconds_until(after(Unforeseen("KeyError"), attempt, NOW)) for attempt in (1, 2, 3)]
    assert waits == [2, 4, 8]
    assert after(Unforeseen("KeyError"), 4, NOW) == GiveUp("KeyError (after 4 attempts)")


def test_a_limit_that_never_ends_is_given_up() -> None:
    decision = after(limited(seconds=60), MAX_ATTEMPTS_RATE_LIMITED, NOW)
    assert decision == GiveUp("too many (after 48 attempts)")


FAILURES = st.one_of(
    st.builds(Refused, st.text(max_size=5)),
    st.builds(Unreachable, st.text(max_size=5)),
    st.builds(Unforeseen, st.text(max_size=5)),
    st.builds(
        RateLimited,
        st.text(max_size=5),
        st.timedeltas(-timedelta(days=9000), timedelta(days=9000)).map(NOW.__add__),
    ),
)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(FAILURES, st.integers(1, 10**9))
@example(Unreachable(""), MAX_ATTEMPTS_UNREACHABLE - 1)
@example(RateLimited("", NOW), MAX_ATTEMPTS_RATE_LIMITED - 1)
def test_every_retry_is_later_than_now_and_within_its_bound(
    failure: FailedCall, attempt: int
) -> None:
    match after(failure, attempt, NOW):
        case RetryAt(at):
            most = MAX_RATE_LIMIT_WAIT if isinstance(failure, RateLimited) else MAX_BACKOFF
            assert NOW < at <= NOW + most
            assert attempt < MAX_ATTEMPTS_RATE_LIMITED
        case GiveUp(reason):
            assert reason.startswith(failure.reason)


def test_failures_of_the_port_become_failures_of_the_core() -> None:
    assert failure_of(ports.RateLimited("slow down", NOW)) == RateLimited("slow down", NOW)
    assert failure_of(ports.Refused("gone", 410)) == Refused("gone")
    assert failure_of(ports.Unreachable("502")) == Unreachable("502")


def test_what_was_refused_is_asked_for_again_seldom_and_not_for_ever() -> None:
    instants = [ask_again(refusals, NOW) for refusals in range(1, 20)]
    waits = [at - NOW for at in instants if at is not None]
    minutes = [wait.total_seconds() / 60 for wait in waits]
    assert minutes == [1 / 6, 1, 5, 30, 120, 360, 720] and len(waits) == len(ASK_AGAIN_AFTER)
    assert instants[len(waits) :] == [None] * (19 - len(waits))
