"""The states of an agent, and the moves between them."""

from collections.abc import Iterator

from app.core.agents.lifecycle import FINAL, LIVE, TRANSITIONS, Signal, State
from docs.from_code.markdown import attribute_docstrings, sentence, table

_AT_LARGE = LIVE - {State.STOPPING}
_ENDS = tuple(
    signal for signal in Signal if all((state, signal) in TRANSITIONS for state in _AT_LARGE)
)
"""Signals that end an agent in whatever state it is, unless it is being stopped."""


def meanings() -> Iterator[str]:
    """Every state."""
    said = attribute_docstrings(State)
    return table(("state", "meaning"), ((f"`{each}`", sentence(said[each.name])) for each in State))


def signals() -> Iterator[str]:
    """Every reason to change the state."""
    said = attribute_docstrings(Signal)
    rows = ((f"`{each}`", sentence(said[each.name])) for each in Signal)
    return table(("signal", "what has happened"), rows)


def transitions() -> Iterator[str]:
    """The table of allowed moves, all of it."""
    rows = ((f"`{at}`", f"`{by}`", f"`{to}`") for at, by, to in _moves())
    return table(("from", "signal", "to"), rows)


def _moves() -> Iterator[tuple[State, Signal, State]]:
    """From, signal, to: in the order of the states, then of the signals."""
    for at in State:
        for by in Signal:
            if (at, by) in TRANSITIONS:
                yield at, by, TRANSITIONS[at, by]


def diagram() -> Iterator[str]:
    """The same as a picture; what leads to an end from every state is drawn once."""
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield '    state "not ended" as live {'
    yield f"        [*] --> {State.QUEUED}"
    for at, by, to in _moves():
        if by not in _ENDS and at in _AT_LARGE:
            yield f"        {at} --> {to}: {by}"
    yield "    }"
    for signal in _ENDS:
        for to in sorted({TRANSITIONS[state, signal] for state in _AT_LARGE}):
            yield f"    live --> {to}: {signal}"
    for at, by, to in _moves():
        if at not in _AT_LARGE:
            yield f"    {at} --> {to}: {by}"
    for state in State:
        if state in FINAL:
            yield f"    {state} --> [*]"
    yield "```"
