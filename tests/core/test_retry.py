"""Retries are decided, within bounds."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app import ports
from app.core.effects.retry import (
    ASK_AGAIN_AFTER,
    ASK_AGAIN_EVERY,
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


@pytest.mark.parametrize("attempt", [1, 2, 12])
def test_a_refusal_is_never_repeated(attempt: int) -> None:
    assert after(Refused("locked"), attempt, NOW) == GiveUp("locked")


def test_unreachable_is_tried_with_doubling_waits_for_as_long_as_it_takes() -> None:
    waits = [seconds_until(after(Unreachable("502"), attempt, NOW)) for attempt in range(1, 15)]
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600, 3600]
    assert seconds_until(after(Unreachable("502"), 10**6, NOW)) == 3600


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
        (limited(seconds=60), 11, 2048),
        (limited(seconds=60), 12, 3600),
        (limited(seconds=-30), 1, 2),  # never at once
    ],
)
def test_a_limit_is_waited_for(failure: RateLimited, attempt: int, seconds: float) -> None:
    assert seconds_until(after(failure, attempt, NOW)) == seconds


def test_a_defect_may_pass_but_is_not_tried_for_long() -> None:
    waits = [seconds_until(after(Unforeseen("KeyError"), attempt, NOW)) for attempt in (1, 2, 3)]
    assert waits == [2, 4, 8]
    assert after(Unforeseen("KeyError"), 4, NOW) == GiveUp("KeyError (after 4 attempts)")


def test_a_limit_that_never_ends_is_waited_for_for_ever() -> None:
    assert seconds_until(after(limited(seconds=60), 1_000, NOW)) == 3600


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
def test_every_retry_is_later_than_now_and_within_its_bound(
    failure: FailedCall, attempt: int
) -> None:
    match after(failure, attempt, NOW):
        case RetryAt(at):
            most = MAX_RATE_LIMIT_WAIT if isinstance(failure, RateLimited) else MAX_BACKOFF
            assert NOW < at <= NOW + most
        case GiveUp(reason):
            assert isinstance(failure, Refused | Unforeseen)
            assert reason.startswith(failure.reason)


def test_failures_of_the_port_become_failures_of_the_core() -> None:
    assert failure_of(ports.RateLimited("slow down", NOW)) == RateLimited("slow down", NOW)
    assert failure_of(ports.Refused("gone", 410)) == Refused("gone")
    assert failure_of(ports.Unreachable("502")) == Unreachable("502")


def test_what_was_refused_is_asked_for_again_seldom_and_for_ever() -> None:
    waits = [ask_again(refusals, NOW) - NOW for refusals in range(1, 20)]
    minutes = [wait.total_seconds() / 60 for wait in waits]
    assert minutes[: len(ASK_AGAIN_AFTER)] == [1 / 6, 1, 5, 30, 120, 360, 720]
    assert waits[len(ASK_AGAIN_AFTER) :] == [ASK_AGAIN_EVERY] * (19 - len(ASK_AGAIN_AFTER))
