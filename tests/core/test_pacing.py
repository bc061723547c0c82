"""The pace of one installation: GitHub's limits are kept, and what is urgent goes first."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.effects.pacing import (
    CREATIONS,
    MAX_PUT_OFF,
    MAX_STOP,
    WRITES,
    Bucket,
    Pace,
    is_limited,
    take,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def asked(pace: Pace, at: datetime, *, urgent: bool) -> tuple[Pace, datetime | None]:
    return take(pace, at, creates=True, urgent=urgent, limited=True)


def most_within(instants: list[datetime], window: timedelta) -> int:
    """The most of the instants (in order) that any window of that length holds."""
    most = first = 0
    for last, instant in enumerate(instants):
        while instants[first] <= instant - window:
            first += 1
        most = max(most, last - first + 1)
    return most


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 4_000), st.booleans(), st.booleans()), min_size=1, max_size=900
    )
)
def test_no_window_holds_more_than_github_allows(steps: list[tuple[int, bool, bool]]) -> None:
    pace, now, written, created = Pace(), NOON, list[datetime](), list[datetime]()
    for wait_ms, creates, urgent in steps:
        now += timedelta(milliseconds=wait_ms)
        pace, later = take(pace, now, creates=creates, urgent=urgent, limited=True)
        if later is None:
            written.append(now)
            created += [now] if creates else []
        else:
            assert now < later <= now + MAX_PUT_OFF
    assert most_within(written, timedelta(minutes=1)) <= 80
    assert most_within(created, timedelta(hours=1)) <= 500


def test_who_always_comes_back_gets_through_as_fast_as_github_allows() -> None:
    """The hour's bound is used, not only kept: 300 writers who come back when they are told."""
    pace, waiting, written = Pace(), [NOON] * 300, list[datetime]()
    while waiting:
        now = min(waiting)
        waiting.remove(now)
        pace, later = asked(pace, now, urgent=True)
        (written if later is None else waiting).append(later or now)
    assert written[-1] - NOON <= timedelta(minutes=30)
    assert most_within(written, timedelta(minutes=1)) <= 80


def test_escalations_go_before_what_is_routine() -> None:
    pace = Pace()
    for _ in range(100):
        pace, _later = asked(pace, NOON, urgent=False)
    pace, later = asked(pace, NOON, urgent=False)
    assert later is not None
    for _ in range(WRITES.reserve):
        pace, later = asked(pace, NOON, urgent=True)
        assert later is None
    pace, urgent = asked(pace, NOON, urgent=True)
    assert urgent == NOON + SECOND
    for second in range(1, 60):  # as long as there is something urgent, routine gives way
        now = NOON + second * SECOND
        pace, routine = asked(pace, now, urgent=False)
        pace, urgent = asked(pace, now, urgent=True)
        assert (routine is not None, urgent) == (True, None)


def test_those_who_are_put_off_do_not_come_back_all_at_once() -> None:
    pace, told = Pace(), list[datetime]()
    for _ in range(100):
        pace, later = asked(pace, NOON, urgent=False)
        told += [] if later is None else [later]
    assert len(told) == len(set(told)) == 100 - (WRITES.burst - WRITES.reserve)


def test_a_limit_of_githubs_stops_everybody_and_not_for_ever() -> None:
    pace = Pace().stopped(NOON + timedelta(minutes=2), NOON)
    for limited in (True, False):
        _, later = take(pace, NOON, creates=False, urgent=True, limited=limited)
        assert later is not None and later >= NOON + timedelta(minutes=2)
    _, later = take(pace, NOON + timedelta(minutes=2), creates=False, urgent=False, limited=True)
    assert later is None
    pace = Pace().stopped(NOON + timedelta(days=9), NOON)
    assert pace.stopped_until == NOON + MAX_STOP


def test_the_buckets_are_these() -> None:
    """The figures of GitHub: 80 a minute is 20 + 60 seconds, 500 an hour 140 + 360 times ten."""
    assert Bucket(burst=20, every=SECOND, reserve=8) == WRITES
    assert Bucket(burst=140, every=10 * SECOND, reserve=60) == CREATIONS
    assert (timedelta(minutes=65), timedelta(minutes=10)) == (MAX_STOP, MAX_PUT_OFF)


@pytest.mark.parametrize(("urgent", "most"), [(True, 140), (False, 80)])
def test_creations_have_a_bucket_of_their_own(urgent: bool, most: int) -> None:
    """At a pace that the other bucket takes; then one more each ten seconds."""
    pace, now, created = Pace(), NOON, 0
    while True:
        pace, later = asked(pace, now, urgent=urgent)
        if later is not None:
            break
        created, now = created + 1, now + SECOND
    # While `most` are written one after another, a tenth as many come back.
    assert created == most + (most - 1) // 9
    edits = take(pace, now, creates=False, urgent=urgent, limited=True)
    assert edits[1] is None
    assert edits[0].creations_full_at == pace.creations_full_at


def test_only_what_creates_uses_up_creations() -> None:
    edited, _ = take(Pace(), NOON, creates=False, urgent=True, limited=True)
    assert edited == replace(Pace(), writes_full_at=NOON + SECOND)
    created, _ = take(Pace(), NOON, creates=True, urgent=True, limited=True)
    assert created == replace(edited, creations_full_at=NOON + 10 * SECOND)
    again, _ = take(created, NOON, creates=True, urgent=True, limited=True)
    assert again.creations_full_at == NOON + 20 * SECOND
    much_later, _ = take(created, NOON + 60 * SECOND, creates=True, urgent=True, limited=True)
    assert much_later.creations_full_at == NOON + 70 * SECOND


def test_the_two_lines_do_not_mix() -> None:
    stopped = Pace().stopped(NOON + SECOND, NOON)
    urgent, at = asked(stopped, NOON, urgent=True)
    assert urgent == replace(stopped, urgent_line=NOON + SECOND) and at == NOON + SECOND
    routine, at = asked(stopped, NOON, urgent=False)
    assert routine == replace(stopped, routine_line=NOON + SECOND) and at == NOON + SECOND


@pytest.mark.parametrize(
    ("host", "limited"),
    [
        ("github.com", True),
        ("api.github.com", True),
        ("api.corp.ghe.com", True),
        ("ghe.com", False),
        ("", False),
    ],
)
def test_githubs_own_hosts_have_limits(host: str, limited: bool) -> None:
    assert is_limited(host) is limited


def test_an_enterprise_server_says_its_limits_itself() -> None:
    assert is_limited("api.github.com")
    assert is_limited("api.corp.ghe.com")
    assert not is_limited("git.corp.example")
    pace = Pace()
    for _ in range(1_000):
        pace, later = take(pace, NOON, creates=True, urgent=False, limited=False)
        assert later is None
