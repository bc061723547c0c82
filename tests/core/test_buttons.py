"""The buttons of a check, and retry with more. EXAMPLES, "Checks"; the issue, "Commands"."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.core.agents.counters import Counters
from app.core.agents.lifecycle import State
from app.core.agents.stops import Hold, Layer
from app.core.breaker.raises import NotGranted, at_start
from app.core.commands.buttons import (
    Button,
    buttons,
    command_of,
)
from app.core.commands.grammar import (
    USAGE,
    Misread,
    Raise,
    Resume,
    Retry,
    Stop,
    commands,
)
from app.core.effects.wanted import escalation_marker, original_of
from app.core.limits import CATALOGUE, HOLDS, LimitName, Limits
from tests.core.strategies import START, only
from tests.core.wording import row

CALLS = LimitName.MAX_TOOL_CALLS
MOST_BUTTONS, MOST_LABEL, MOST_DESCRIPTION, MOST_IDENTIFIER = 3, 20, 40, 20
"""What GitHub takes (create a check run, `actions`), texts in characters."""


def held(limit: LimitName, amount: float | None = None) -> Counters:
    """An agent that waits at a limit."""
    hold = Hold(
        limit=limit,
        observed=1,
        maximum=1,
        layer=Layer.HOOK,
        at=START,
        reason="Reached.",
        amount=amount,
    )
    return Counters(hold=hold)


@pytest.mark.parametrize("state", State)
def test_the_buttons_of_each_state(state: State) -> None:
    expected = {
        State.QUEUED: ["stop"],
        State.ACTIVE: ["stop"],
        State.SLEEPING: ["stop"],
        State.PAUSED: ["resume", "raise", "stop"],
        State.ESCALATED: ["retry"],
        State.COMPLETED: [],
        State.CANCELLED: [],
        State.STOPPING: [],
    }[state]
    agent = row(state)
    shown = buttons(agent, held(CALLS))
    assert [button.identifier for button in shown] == expected
    for button in shown:
        assert command_of(button.identifier, agent, held(CALLS)) is not None


@pytest.mark.parametrize(
    "limit", [name for name, info in CATALOGUE.items() if info.actions & HOLDS]
)
@pytest.mark.parametrize("amount", [None, 1, 999_999_999.0])
def test_github_takes_every_button(limit: LimitName, amount: float | None) -> None:
    lowered: dict[str, Any] = {limit.value: 1}
    limits = replace(row(State.PAUSED).assignment.limits, **lowered)
    paused = row(State.PAUSED)
    paused = replace(paused, assignment=replace(paused.assignment, limits=limits))
    shown = buttons(paused, held(limit, amount))
    assert 0 < len(shown) <= MOST_BUTTONS
    for button in shown:
        assert 0 < len(button.identifier) <= MOST_IDENTIFIER
        assert 0 < len(button.label) <= MOST_LABEL
        assert 0 < len(button.description) <= MOST_DESCRIPTION


def test_raise_grants_what_is_asked_for_and_no_button_is_unknown() -> None:
    agent = row(State.PAUSED)
    who = str(agent.id)
    assert command_of("raise", agent, held(CALLS, 7)) == Raise(CALLS, 7, who)
    assert command_of("resume", agent, held(CALLS)) == Resume(who)
    assert command_of("stop", agent, Counters()) == Stop(who)
    assert command_of("retry", agent, Counters()) == Retry(who)
    assert command_of("merge", agent, Counters()) is None


def test_each_button_says_what_it_does() -> None:
    resume, grant, stop = buttons(row(State.PAUSED), held(CALLS, 3))
    assert resume == Button("resume", "Resume", "Grant the limit's own amount again")
    assert grant == Button("raise", "Raise", "Grant 3 tool calls more")
    assert stop == Button("stop", "Stop", "Take the work away; it is kept")
    [retry] = buttons(row(State.ESCALATED), Counters())
    assert retry == Button("retry", "Retry", "A fresh agent takes over the branch")


def test_without_a_hold_or_room_there_is_nothing_to_raise() -> None:
    paused = row(State.PAUSED)
    assert [each.identifier for each in buttons(paused, Counters())] == ["resume", "stop"]
    full = replace(only(max_tool_calls=5), ceilings={CALLS: 5})
    full_up = replace(paused, assignment=replace(paused.assignment, limits=full))
    assert [each.identifier for each in buttons(full_up, held(CALLS))] == ["resume", "stop"]
    one_left = replace(full, ceilings={CALLS: 6})
    nearly = replace(paused, assignment=replace(paused.assignment, limits=one_left))
    assert buttons(nearly, held(CALLS))[1].description == "Grant 1 tool call more"


def test_a_button_whose_hold_is_over_is_answered_like_resume() -> None:
    agent = row(State.ACTIVE)
    assert command_of("raise", agent, Counters()) == Resume(str(agent.id))


# --- retry with more ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("retry", Retry()),
        ("retry docs", Retry("docs")),
        ("retry raise max_tool_calls +5", Retry(None, ((CALLS, 5),))),
        ("retry docs raise max_tool_calls +5 tool calls", Retry("docs", ((CALLS, 5),))),
        (
            "retry docs raise max_tool_calls +5 raise max_turns +2",
            Retry("docs", ((CALLS, 5), (LimitName.MAX_TURNS, 2))),
        ),
    ],
)
def test_retry_can_raise(line: str, expected: Retry) -> None:
    assert commands([f"/squadron {line}"]) == (expected,)


@pytest.mark.parametrize(
    "line",
    [
        "retry docs second",
        "retry raise",
        "retry raise max_tool_calls",
        "retry raise max_tool_call +5",
        "retry raise max_tool_calls five",
        "retry raise max_tool_calls +5 docs",
    ],
)
def test_a_wrong_retry_is_told_what_is_right(line: str) -> None:
    [read] = commands([f"/squadron {line}"])
    assert isinstance(read, Misread)
    usage = next(usage for usage in USAGE if "retry" in usage)
    assert usage in read.expected or "max_tool_calls" in read.expected or "+100" in read.expected


def test_a_fresh_agent_never_starts_above_a_ceiling() -> None:
    limits = Limits(max_tool_calls=5, max_cost_usd=0.5, ceilings={CALLS: 8})
    raised, grants = at_start(limits, [(CALLS, 100), (LimitName.MAX_COST_USD, 0.25)], START)
    assert (raised.max_tool_calls, raised.max_cost_usd) == (8, 0.75)
    assert [given.is_capped for given in grants] == [True, False]
    with pytest.raises(NotGranted, match="ceiling of 8 tool calls"):
        at_start(raised, [(CALLS, 1)], START + timedelta(days=1))
    with pytest.raises(NotGranted, match="switched off"):
        at_start(limits, [(LimitName.MAX_TOKENS, 1)], START)


def test_a_needs_human_issue_names_its_original() -> None:
    body = f"{escalation_marker(77, 12)}\n\nWords"
    assert original_of(body, 77) == 12
    for other in ("", "Words", f"Words\n{body}"):
        assert original_of(other, 77) is None
    assert original_of(body, 78) is None
