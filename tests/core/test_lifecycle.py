"""The table of transitions against the diagram, pair by pair."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.lifecycle import (
    FINAL,
    LIVE,
    TRANSITIONS,
    ImpossibleTransition,
    Signal,
    State,
    next_segment,
    target,
)
from tests.core.strategies import EXAMPLES

DIAGRAM = """
    QUEUED    started      ACTIVE
    QUEUED    interrupted  QUEUED
    QUEUED    finished     COMPLETED
    QUEUED    tripped      ESCALATED
    QUEUED    taken_away   CANCELLED
    ACTIVE    interrupted  QUEUED
    ACTIVE    waits        SLEEPING
    ACTIVE    needs_raise  PAUSED
    ACTIVE    finished     COMPLETED
    ACTIVE    tripped      ESCALATED
    ACTIVE    taken_away   CANCELLED
    SLEEPING  woken        QUEUED
    SLEEPING  finished     COMPLETED
    SLEEPING  tripped      ESCALATED
    SLEEPING  taken_away   CANCELLED
    PAUSED    raised       QUEUED
    PAUSED    finished     COMPLETED
    PAUSED    tripped      ESCALATED
    PAUSED    taken_away   CANCELLED
"""
"""docs/design.md, States; besides, a segment that was drained or lost is queued anew."""

ALLOWED = {
    (State(source), Signal(signal)): State(reached)
    for source, signal, reached in (line.split() for line in DIAGRAM.split("\n") if line.strip())
}


@pytest.mark.parametrize(("source", "signal"), list(product(State, Signal)))
def test_every_signal_against_every_state(source: State, signal: Signal) -> None:
    if (source, signal) in ALLOWED:
        assert target(source, signal) is ALLOWED[source, signal]
        return
    with pytest.raises(ImpossibleTransition) as refused:
        target(source, signal)
    assert (refused.value.source, refused.value.signal) == (source, signal)
    assert str(refused.value) == f"an agent that is {source} cannot be {signal}"


def test_the_table_holds_nothing_else() -> None:
    assert dict(TRANSITIONS) == ALLOWED


def test_nothing_leaves_a_final_state() -> None:
    assert {State.COMPLETED, State.ESCALATED, State.CANCELLED} == FINAL
    assert not [source for source, _ in TRANSITIONS if source in FINAL]
    assert set(State) == FINAL | LIVE and not FINAL & LIVE


@pytest.mark.parametrize(("source", "signal"), list(ALLOWED))
def test_a_new_segment_begins_whenever_an_agent_is_queued_again(
    source: State, signal: Signal
) -> None:
    queued = ALLOWED[source, signal] is State.QUEUED
    assert next_segment(source, signal) == (1 if queued else 0)


def test_an_impossible_move_has_no_next_segment() -> None:
    with pytest.raises(ImpossibleTransition):
        next_segment(State.COMPLETED, Signal.WOKEN)


@EXAMPLES
@given(st.lists(st.sampled_from(list(Signal)), max_size=40))
def test_no_series_of_signals_reaches_a_second_final_state(signals: list[Signal]) -> None:
    state, segment, finals = State.QUEUED, 0, []
    for signal in signals:
        try:
            segment += next_segment(state, signal)
            state = target(state, signal)
        except ImpossibleTransition:
            continue
        if state in FINAL:
            finals.append(state)
    assert len(finals) <= 1
    assert segment <= len(signals)
