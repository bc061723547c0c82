"""What fails in a pass as nobody has foreseen."""

import logging

import pytest

from app.ports import GitHubFailed, StoreUnavailable
from app.services.guard import MOST_LISTED, Guard


def fail(guard: Guard, what: str, error: Exception) -> None:
    with guard.over(what):
        raise error


def test_its_traceback_is_in_the_log_once_for_each_kind(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard()
    errors = [KeyError("a"), KeyError("b"), ValueError("c"), ValueError("d")]
    with caplog.at_level(logging.ERROR, "squadron.reconcile"):
        for error in errors:
            guard.begin()
            fail(guard, "an agent", error)
    told = [record.exc_info for record in caplog.records]
    assert [each and each[1] for each in told] == [errors[0], errors[2]]
    assert (guard.passes("an agent"), guard.failed) == (2, {"an agent": "ValueError"})


def test_what_fails_at_two_places_of_a_pass_is_told_of_once_at_each(
    caplog: pytest.LogCaptureFixture,
) -> None:
    guard = Guard()
    for _ in range(3):
        guard.begin()
        for error in (KeyError("a"), ValueError("b"), KeyError("c")):
            fail(guard, "an agent", error)
    assert [record.getMessage() for record in caplog.records] == [
        "not reconciled: KeyError",
        "not reconciled: ValueError",
    ]
    assert (guard.passes("an agent"), guard.failed) == (3, {"an agent": "KeyError, ValueError"})


def test_what_is_well_again_is_listed_no_more_and_told_of_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    guard = Guard()
    for is_ill in (True, False, True):
        guard.begin()
        with guard.over("an agent"):
            if is_ill:
                raise KeyError
        assert guard.failed == ({"an agent": "KeyError"} if is_ill else {})
        assert guard.passes("an agent") == is_ill
    assert len(caplog.records) == 2


@pytest.mark.parametrize("error", [GitHubFailed("away"), StoreUnavailable("away")])
def test_what_says_itself_what_is_to_be_done_goes_on_to_whoever_does_it(error: Exception) -> None:
    guard = Guard()
    with pytest.raises(type(error)):
        fail(guard, "an agent", error)
    assert guard.failed == {}


def test_the_list_has_a_bound() -> None:
    guard = Guard()
    for number in range(MOST_LISTED + 5):
        fail(guard, f"agent {number}", KeyError())
    assert len(guard.failed) == MOST_LISTED
