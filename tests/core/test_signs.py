"""Signs that an agent gets nowhere: told once each time that they come, and nothing stops."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.events import Noticed
from app.core.agents.loops import call_key
from app.core.agents.signs import Sign, Signs, sign_words
from app.core.breaker.verdict import Answer
from app.core.limits import LimitName
from tests.core.life import Life, begun
from tests.core.strategies import EXAMPLES, NO_LIMITS, only


def told(life: Life) -> list[Sign]:
    return [event.sign for event in life.log if isinstance(event, Noticed)]


def looks(life: Life, *keys: str) -> list[Answer]:
    """Calls that say something else each time: no limit on rows sees them."""
    return [life.does(key, f"{len(life.log)}").answer for key in keys]


# --- nothing new ------------------------------------------------------------------------------


def test_the_eighth_call_in_a_row_that_was_made_before_is_told_of() -> None:
    life = begun(NO_LIMITS)
    looks(life, *"abcdefgh")
    assert looks(life, *"hgfedcb") == [Answer.ALLOW] * 7
    verdict = life.does("a")
    assert (verdict.answer, verdict.limit) == (Answer.WARN, None)
    assert verdict.reason == sign_words(Sign.NOTHING_NEW)
    assert "each of your last 8 calls was made before" in verdict.reason
    assert told(life) == [Sign.NOTHING_NEW]


def test_of_a_sign_that_goes_on_nothing_more_is_said() -> None:
    life = begun(NO_LIMITS)
    looks(life, *"abcdefgh", *"abcdefgh", *"aabbccdd" * 5)
    assert told(life) == [Sign.NOTHING_NEW]


@pytest.mark.parametrize("news", ["i", ""])
def test_one_new_call_ends_the_sign_which_may_come_again(news: str) -> None:
    """Without a key a call is like no other."""
    life = begun(NO_LIMITS)
    looks(life, *"abcdefgh", *"abcdefgh", news, *"abcdefg")
    assert told(life) == [Sign.NOTHING_NEW]
    looks(life, "h")
    assert told(life) == [Sign.NOTHING_NEW] * 2


def test_what_was_made_before_a_person_spoke_is_known_and_the_row_begins_anew() -> None:
    life = begun(NO_LIMITS)
    looks(life, *"abcdefgh", *"abcdefg")
    life.wakes()
    looks(life, *"abcdefg")
    assert told(life) == []
    looks(life, "h")
    assert told(life) == [Sign.NOTHING_NEW]


@EXAMPLES
@given(st.integers(0, 2_000))
def test_work_that_always_does_something_new_is_never_told_of(first: int) -> None:
    """Although a call leaves only one of 8,192 marks."""
    signs = Signs()
    for number in range(first, first + 500):
        signs = signs.asked(call_key("view", {"page": number}))
        assert signs.untold == ()


# --- failing ----------------------------------------------------------------------------------


def ends(life: Life, *well: bool) -> list[Answer]:
    answers = []
    for is_well in well:
        error = "" if is_well else f"error {len(life.log)}"
        answers.append(life.does("", "said", error).answer)
    return answers


def test_five_failures_among_six_calls_are_told_of_with_the_next() -> None:
    life = begun(NO_LIMITS)
    ends(life, False, False, True, False, False, False)
    assert told(life) == []
    assert ends(life, True) == [Answer.WARN]
    assert told(life) == [Sign.FAILING]


def test_five_failures_are_enough_and_four_of_six_are_not() -> None:
    five, four = begun(NO_LIMITS), begun(NO_LIMITS)
    assert ends(five, *[False] * 5, True)[-1] is Answer.WARN
    assert ends(four, *[False, False, True] * 9) == [Answer.ALLOW] * 27


def test_whoever_fails_again_is_told_again() -> None:
    life = begun(NO_LIMITS)
    ends(life, *[False] * 9)
    assert told(life) == [Sign.FAILING]
    ends(life, True, True, *[False] * 6)
    assert told(life) == [Sign.FAILING] * 2


def test_a_call_that_was_cut_off_has_not_failed() -> None:
    life = begun(NO_LIMITS)
    ends(life, *[False] * 4)
    for _ in range(3):
        assert life.asks_tool("bash").allowed
        life.is_cut_off()
    assert ends(life, True) == [Answer.ALLOW]


def test_only_a_call_of_a_tool_is_told() -> None:
    """What a model call or a turn is answered with reaches nobody."""
    life = begun(NO_LIMITS)
    ends(life, *[False] * 5)
    assert {life.asks_model().answer, life.asks_turn().answer} == {Answer.ALLOW}
    assert told(life) == []
    assert ends(life, True) == [Answer.WARN]


# --- beside limits ----------------------------------------------------------------------------


def test_no_sign_stops_anybody_whatever_happens_at_limits() -> None:
    life = begun(replace(NO_LIMITS, max_tool_calls=1_000))
    for _ in range(100):
        assert life.does("a", f"{len(life.log)}", f"error {len(life.log)}").allowed
    assert set(told(life)) == set(Sign) and len(told(life)) == 2


def test_a_sign_stands_behind_the_warning_of_a_limit() -> None:
    life = begun(only(max_tool_calls=9, warning_threshold=1.0))
    looks(life, *"a" * 8)
    verdict = life.does("a")
    assert (verdict.answer, verdict.limit) == (Answer.WARN, LimitName.MAX_TOOL_CALLS)
    assert verdict.reason.endswith(sign_words(Sign.NOTHING_NEW))
