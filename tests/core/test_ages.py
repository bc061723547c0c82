"""How long ago something is, and instants as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.words.ages import age_words, instant_of
from tests.core.strategies import EXAMPLES

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (3_599, "59m"),
        (3_600, "1h"),
        (48 * 3_600 - 1, "47h"),
        (48 * 3_600, "2d"),
        (9_999 * 86_400, "9999d"),
    ],
)
def test_ages(seconds: float, words: str) -> None:
    assert age_words(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("30m", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2h", datetime(2026, 3, 1, 10, 30, tzinfo=UTC)),
        ("1d", datetime(2026, 2, 28, 12, 30, tzinfo=UTC)),
        ("1w", datetime(2026, 2, 22, 12, 30, tzinfo=UTC)),
        ("2026-02-03", datetime(2026, 2, 3, tzinfo=UTC)),
        ("2026-02-03T04:05:06Z", datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("2026-02-03 04:05", datetime(2026, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-02-03T04:05+02:00", datetime(2026, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_instants(text: str, at: datetime) -> None:
    found = instant_of(text, NOW)
    assert found == at and found.utcoffset() == timedelta()


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2 h", "h", "-3d", "999999w", "3s", "2026-13-01", "0001-01-01T00:00+23:00"],
)
def test_what_is_no_instant_is_told_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="is no instant: write 30m, 2h, 3d, or a date as") as told:
        instant_of(text, NOW)
    assert repr(text) in str(told.value)


@EXAMPLES
@given(st.text(max_size=40))
def test_whatever_is_written_is_an_instant_or_told_to_be_none(text: str) -> None:
    try:
        assert instant_of(text, NOW).utcoffset() == timedelta()
    except ValueError as error:
        assert "is no instant" in str(error)
