"""Who waits for a person, and for what."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.limits import Limits
from app.core.words.glance import first_glance
from app.core.words.matters import LONG_IN_QUEUE, Matter, MatterKind, matters
from tests.core.strategies import START, agent

WHY = "It says why."


def found(
    row: Agent,
    *refused: str,
    why: str = WHY,
    after: timedelta = timedelta(),
    is_taken_over: bool = False,
) -> tuple[Matter, ...]:
    """What waits for a person so long after the agent's last move."""
    seen, now = replace(first_glance(row), why=why), row.updated_at + after
    return matters(row, seen, refused, is_taken_over=is_taken_over, now=now)


@pytest.mark.parametrize(
    ("state", "waits_for", "kind", "action"),
    [
        (State.SLEEPING, Waits.ANSWER, MatterKind.QUESTION, "comment on #12"),
        (State.SLEEPING, Waits.ACCESS, MatterKind.ACCESS, "let the App in"),
        (State.PAUSED, Waits.RAISE, MatterKind.DECISION, "/squadron resume on #12"),
        (State.ESCALATED, None, MatterKind.STOPPED, "/squadron retry on #12"),
        (State.QUEUED, Waits.PROVIDER, MatterKind.PROVIDER, "see to openai"),
        (State.QUEUED, Waits.BUDGET, MatterKind.BUDGET, "raise the budget"),
        (State.QUEUED, Waits.ROOM, MatterKind.START, "free disk space"),
        (State.QUEUED, None, MatterKind.START, "squadron resume"),
    ],
)
def test_some_wait_for_a_person_from_the_first_moment(
    state: State, waits_for: Waits | None, kind: MatterKind, action: str
) -> None:
    row = replace(agent(state, waits_for=waits_for), missing_provider="openai")
    [matter] = found(row)
    assert (matter.kind, matter.action, matter.why) == (kind, action, WHY)
    assert matter.since == row.updated_at


@pytest.mark.parametrize(
    ("waits_for", "action"), [(None, "see squadron workers"), (Waits.GIT, "see GitHub's status")]
)
def test_who_is_queued_waits_for_a_person_after_a_while(
    waits_for: Waits | None, action: str
) -> None:
    row = agent(State.QUEUED, waits_for=waits_for)
    why = WHY if waits_for else ""
    assert found(row, why=why, after=LONG_IN_QUEUE - timedelta(seconds=1)) == ()
    [matter] = found(row, why=why, after=LONG_IN_QUEUE)
    assert (matter.kind, matter.action) == (MatterKind.START, action)


@pytest.mark.parametrize(
    ("state", "waits_for"),
    [
        (State.QUEUED, Waits.CAP),
        (State.ACTIVE, None),
        (State.SLEEPING, Waits.REVIEW),
        (State.SLEEPING, Waits.BLOCKER),
        (State.STOPPING, None),
        (State.COMPLETED, None),
        (State.CANCELLED, None),
    ],
)
def test_all_others_go_on_by_themselves(state: State, waits_for: Waits | None) -> None:
    assert found(agent(state, waits_for=waits_for), after=timedelta(days=30)) == ()


def test_what_github_refuses_is_a_matter_of_its_own() -> None:
    stopped = agent(State.ESCALATED)
    kinds = [matter.kind for matter in found(stopped, "403: no.", "410: gone.")]
    assert kinds == [MatterKind.STOPPED, MatterKind.REFUSED]
    [refused] = found(agent(State.COMPLETED), "403: no.", "410: gone.")
    assert refused.why == "403: no. 410: gone."


def test_a_sub_agent_and_who_was_taken_over_need_nobody() -> None:
    stopped = agent(State.ESCALATED)
    assert found(replace(stopped, parent="octo/demo#12/bug-fix/1"), "403: no.") == ()
    assert found(stopped, "403: no.", is_taken_over=True) == ()


def test_the_deadline_is_the_end_of_the_wait_or_the_next_look() -> None:
    limits = Limits(max_sleep_duration=3600)
    for row in (
        agent(State.SLEEPING, waits_for=Waits.ANSWER, limits=limits),
        agent(State.PAUSED, waits_for=Waits.RAISE, limits=limits),
    ):
        [matter] = found(row)
        assert matter.deadline == row.updated_at + timedelta(hours=1)
    away = replace(agent(State.QUEUED, waits_for=Waits.PROVIDER), retry_at=START)
    assert found(away)[0].deadline == START
    assert found(agent(State.ESCALATED))[0].deadline is None
