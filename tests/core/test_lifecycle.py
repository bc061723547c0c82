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
    target,
)
from tests.core.strategies import EXAMPLES

DIAGRAM = """
    QUEUED    started      ACTIVE
    QUEUED    interrupted  QUEUED
    QUEUED    finished     COMPLETED
    QUEUED    tripped      ESCALATED
    QUEUED    taken_away   STOPPING
    QUEUED    abandoned    CANCELLED
    ACTIVE    started      ACTIVE
    ACTIVE    interrupted  QUEUED
    ACTIVE    waits        SLEEPING
    ACTIVE    needs_raise  PAUSED
    ACTIVE    finished     COMPLETED
    ACTIVE    tripped      ESCALATED
    ACTIVE    taken_away   STOPPING
    ACTIVE    abandoned    CANCELLED
    SLEEPING  woken        QUEUED
    SLEEPING  finished     COMPLETED
    SLEEPING  tripped      ESCALATED
    SLEEPING  taken_away   STOPPING
    SLEEPING  abandoned    CANCELLED
    PAUSED    raised       QUEUED
    PAUSED    finished     COMPLETED
    PAUSED    tripped      ESCALATED
    PAUSED    taken_away   STOPPING
    PAUSED    abandoned    CANCELLED
    STOPPING  stopped      CANCELLED
"""
"""docs/design.md, States; besides, a segment that was drained or lost is queued anew, and one that
died begins once more."""

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


@EXAMPLES
@given(st.lists(st.sampled_from(list(Signal)), max_size=40))
def test_no_series_of_signals_reaches_a_second_final_state(signals: list[Signal]) -> None:
    state, finals = State.QUEUED, []
    for signal in signals:
        try:
            state = target(state, signal)
        except ImpossibleTransition:
            continue
        if state in FINAL:
            finals.append(state)
    assert len(finals) <= 1
