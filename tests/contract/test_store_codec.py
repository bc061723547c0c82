"""What is stored is what comes back."""

from collections.abc import Mapping
from typing import get_args

import pytest
from hypothesis import given, settings

from app.adapters.store.codec import decode_event, encode_event
from app.core.agents.events import AgentEvent, Failed, Held, Kept, SuiteAsked, ToolAsked, Tripped
from app.core.agents.stops import Cause, Failure, Layer, Trip
from app.core.limits import LimitName
from tests.contract.store_support import NOON
from tests.support.anything import values

KINDS = get_args(AgentEvent)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_event_comes_back_as_it_was(kind: type[AgentEvent]) -> None:
    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(values(kind))
    def comes_back(event: AgentEvent) -> None:
        back = decode_event(encode_event(event))
        assert back == event
        assert type(back) is kind
        assert hash(back) == hash(event)  # frozen all the way down: tuples, not lists
        assert back.at.utcoffset() == event.at.utcoffset()

    comes_back()


def test_the_generator_reaches_what_is_nested() -> None:
    """Or the test above would say nothing about suites and trips."""
    asked: list[ToolAsked] = []

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(values(ToolAsked))
    def draw(event: ToolAsked) -> None:
        asked.append(event)

    draw()
    assert any(isinstance(event.suite, SuiteAsked) for event in asked)


def test_the_form_of_an_event_is_stable() -> None:
    """Logs of earlier versions have to be read for ever."""
    trip = Trip(
        limit=LimitName.MAX_TURNS,
        observed=3.0,
        maximum=2.0,
        layer=Layer.HOOK,
        at=NOON,
        reason="Too many.",
    )
    assert encode_event(Tripped(at=NOON, trip=trip)) == (
        '{"type":"Tripped","at":"2026-05-04T12:00:00.123456Z","trip":{"limit":"max_turns",'
        '"observed":3.0,"maximum":2.0,"layer":"hook","at":"2026-05-04T12:00:00.123456Z",'
        '"reason":"Too many."}}'
    )


def test_a_failure_that_was_written_as_a_trip_is_a_failure() -> None:
    """Earlier versions invented a limit and a layer for it."""
    old = (
        '{"type":"Tripped","at":"2026-05-04T12:00:00.123456Z","trip":{"limit":"setup_failed",'
        '"observed":null,"maximum":null,"layer":"hook","at":"2026-05-04T12:00:00.123456Z",'
        '"reason":"`make deps` ended with 2."}}'
    )
    reason = "`make deps` ended with 2."
    failure = Failure(cause=Cause.SETUP_FAILED, at=NOON, reason=reason)
    assert decode_event(old) == Failed(at=NOON, failure=failure)
    assert decode_event(encode_event(decode_event(old))) == Failed(at=NOON, failure=failure)


def test_what_an_agent_claims_was_written_as_evidence() -> None:
    """Earlier versions gave its words the name of what Squadron saw itself."""
    at = '"at":"2026-05-04T12:00:00.123456Z"'
    old = (
        f'{{"type":"Held",{at},"hold":{{"limit":"max_turns","observed":1.0,"maximum":2.0,'
        f'"layer":"hook",{at},"reason":"Asked.","asks":true,"amount":3.0,"evidence":"Nearly."}}}}'
    )
    held = decode_event(old)
    assert isinstance(held, Held) and held.hold.claim == "Nearly."
    assert decode_event(encode_event(held)) == held


def test_text_that_is_no_utf8_is_replaced() -> None:
    event = Kept(at=NOON, sha=None, pushed=False, problem="half a \ud83d pair")
    back = decode_event(encode_event(event))
    assert back == Kept(
        at=NOON, sha=None, pushed=False, problem="half a \N{REPLACEMENT CHARACTER} pair"
    )


@pytest.mark.parametrize("text", ['{"type":"Exploded"}', '{"at":"2026-05-04T12:00:00Z"}'])
def test_an_unknown_event_is_an_error(text: str) -> None:
    with pytest.raises(KeyError):
        decode_event(text)


def test_every_event_has_a_name_of_its_own() -> None:
    names: Mapping[str, type] = {kind.__name__: kind for kind in KINDS}
    assert len(names) == len(KINDS)
