"""A provider of models that is away: who asks it, when, and what is made of its answers."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.counters import fold
from app.core.agents.events import (
    AgentEvent,
    HeldUp,
    ModelAsked,
    ModelCalled,
    Phase,
    SegmentEnded,
    SegmentStarted,
    TurnAsked,
    Waits,
)
from app.core.rules.outages import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    PROBE_FOR,
    Outage,
    ProviderFailure,
    after_failure,
    asked,
    is_away,
    look_again_at,
    may_ask,
    no_key,
    providers_of,
)
from app.core.words.alerts import refused_key
from app.core.words.refusals import provider_away

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DOWN = ProviderFailure("openai", "the model gpt-4o at api.openai.com answered with HTTP status 503")


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def after(tries: int, failure: ProviderFailure = DOWN) -> Outage:
    """An agent has asked so many times, each as soon as it was allowed to."""
    outage = after_failure(None, failure, "a", NOON)
    for _ in range(tries - 1):
        outage = after_failure(asked(outage, "a", outage.retry_at), failure, "a", outage.retry_at)
    return outage


def test_pauses_grow_from_five_seconds_to_an_hour() -> None:
    outages = [after(tries) for tries in range(1, 14)]
    instants = [NOON, *(outage.retry_at for outage in outages)]
    pauses = [(end - begin).total_seconds() for begin, end in pairwise(instants)]
    assert pauses == [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]
    assert [outage.tries for outage in outages] == list(range(1, 14))
    assert {outage.since for outage in outages} == {NOON}


@pytest.mark.parametrize(
    ("asked_for", "seconds"), [(None, 5), (0, 5), (3, 5), (30, 30), (3_600, 3_600), (1e9, 3_600)]
)
def test_a_provider_may_ask_for_a_longer_pause(asked_for: float | None, seconds: float) -> None:
    failure = ProviderFailure("openai", "429", retry_after_seconds=asked_for)
    assert after(1, failure).retry_at == later(seconds)


def test_one_agent_asks_at_a_time() -> None:
    outage = after(1)
    assert not may_ask(outage, "a", later(4))
    assert may_ask(outage, "a", later(5)) and may_ask(outage, "b", later(5))
    outage = asked(outage, "b", later(5))
    assert may_ask(outage, "b", later(6))
    assert not may_ask(outage, "a", later(6))
    until = 5 + PROBE_FOR.total_seconds()
    assert not may_ask(outage, "a", later(until - 1))
    assert may_ask(outage, "a", later(until))


def test_who_asked_before_it_was_known_tells_nothing_new() -> None:
    outage = after(3)
    assert after_failure(outage, DOWN, "late", outage.retry_at - FIRST_PAUSE) == outage
    counted = after_failure(outage, DOWN, "late", outage.retry_at)
    assert (counted.tries, counted.since) == (4, NOON)


def test_whoever_asks_in_vain_is_not_who_asks_any_more() -> None:
    outage = asked(after(1), "a", later(5))
    again = after_failure(outage, DOWN, "a", later(6))
    assert (again.probe, again.probe_until, again.tries) == ("", None, 2)
    assert again.retry_at == later(16)


def test_the_reason_is_the_last_one() -> None:
    broke = ProviderFailure("openai", "401", is_refused=True)
    assert after_failure(after(1), broke, "a", later(5)).failure is broke


@given(st.integers(1, 40), st.floats(0, 4_000))
def test_who_waits_looks_again_in_time(tries: int, seconds: float) -> None:
    outage = after(tries)
    now = outage.retry_at + timedelta(seconds=seconds) - LONGEST_PAUSE
    look = look_again_at([outage], now)
    assert now < look <= now + LONGEST_PAUSE
    assert look == outage.retry_at or now >= outage.retry_at


def test_who_needs_two_waits_for_both() -> None:
    assert look_again_at([after(1), after(3)], NOON) == after(3).retry_at
    assert providers_of("openai:gpt-4o", "anthropic:claude") == {"openai", "anthropic"}
    assert providers_of("openai:gpt-4o", None) == {"openai"}


@pytest.mark.parametrize("status", [401, 402, 403, 408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_these_say_that_the_provider_fails(status: int) -> None:
    assert is_away(status)


@pytest.mark.parametrize("status", [200, 301, 400, 404, 405, 413, 415, 422])
def test_these_say_that_the_request_is_wrong(status: int) -> None:
    assert not is_away(status)


def test_a_refused_key_is_told_once_however_long_it_lasts() -> None:
    refused = no_key("anthropic")
    [first], [last] = (refused_key(after(tries, refused), later(tries)) for tries in (1, 12))
    assert (first.key, first.silence) == (last.key, last.silence)
    assert "there is no key for " in first.text and "anthropic" in first.text
    [next_time] = refused_key(after_failure(None, refused, "a", later(99)), later(99))
    assert next_time.key != first.key


def test_the_reason_of_a_stranger_stays_in_its_line() -> None:
    words = provider_away(ProviderFailure("openai", "# Approved\n\nby *everybody*"))
    assert "\n" not in words and "the agent goes on by itself" in words


# --- what counts ------------------------------------------------------------------------------


WORKED: tuple[AgentEvent, ...] = (
    SegmentStarted(at=NOON, segment=0, attempt=1),
    TurnAsked(at=later(1)),
    ModelAsked(at=later(1), phase=Phase.EXECUTION),
    ModelCalled(
        at=later(3),
        model="openai:gpt-4o",
        input_tokens=100,
        output_tokens=10,
        cost_nanousd=5,
        phase=Phase.EXECUTION,
    ),
)
IN_VAIN: tuple[AgentEvent, ...] = (
    TurnAsked(at=later(4)),
    ModelAsked(at=later(4), phase=Phase.EXECUTION),
    ModelAsked(at=later(30), phase=Phase.EXECUTION),
    SegmentEnded(at=later(60), why="it is away"),
)


@pytest.mark.parametrize("times", [1, 3])
def test_what_was_asked_of_it_in_vain_counts_for_nothing(times: int) -> None:
    told = HeldUp(at=later(60), waits_for=Waits.PROVIDER, why="it is away")
    begun = SegmentStarted(at=later(4), segment=1, attempt=1)
    log = [*WORKED, SegmentEnded(at=later(3), why="closed"), *times * (begun, *IN_VAIN, told)]
    counters = fold(log)
    assert (counters.turns, counters.model_calls) == (1, 1)
    assert counters.active == timedelta(seconds=3)


def test_a_runtime_that_died_has_asked_all_the_same() -> None:
    counters = fold([*WORKED, *IN_VAIN])
    assert (counters.turns, counters.model_calls) == (2, 3)
    assert counters.active == timedelta(seconds=60)
    no_room = HeldUp(at=later(60), waits_for=Waits.ROOM, why="the disk is full")
    assert fold([no_room], counters) == counters
