"""What is to be seen of an agent on GitHub in each state, and how our own items are marked."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.core.agents.agent import Agent, AgentId, Effect, EffectName, EffectState
from app.core.agents.events import Known, Waits
from app.core.agents.evidence import Evidence
from app.core.agents.lifecycle import State
from app.core.agents.stops import Cause
from app.core.effects.retry import FAILING_SINCE
from app.core.effects.wanted import (
    NEEDS,
    check_conclusion,
    escalation_marker,
    escalation_sign,
    in_turn,
    is_urgent,
    lets_on,
    marker,
    may_edit,
    original_of,
    unwanted,
    wanted,
)
from app.core.rules.plan import RoleKind, Tests
from tests.core.strategies import START, agent

REVIEW, WORK, CHECK, CALL, LABEL, COMMENT, PULL_REQUEST, ISSUE, BRANCH, TRIAGE = EffectName
ID = AgentId("octo/demo", 12, "bug-fix", 1)

CHECKS = """
    QUEUED    -        -
    ACTIVE    -        -
    SLEEPING  blocker  -
    SLEEPING  answer   action_required
    SLEEPING  review   -
    SLEEPING  review   neutral  #7
    PAUSED    raise    action_required
    COMPLETED -        success
    ESCALATED -        failure
    CANCELLED -        cancelled
"""
"""State, what it waits for, how the check ends, its pull request if it has one."""


@pytest.mark.parametrize(
    "row", [line.split() for line in CHECKS.strip().splitlines()], ids=" ".join
)
def test_the_check_says_what_the_table_says(row: list[str]) -> None:
    state, waits_for, conclusion, *pulls = row
    waits = None if waits_for == "-" else Waits(waits_for)
    pull_request = int(pulls[0].removeprefix("#")) if pulls else None
    one = replace(agent(State(state), waits_for=waits), pull_request=pull_request)
    shown = check_conclusion(one, None)
    assert shown == (None if conclusion == "-" else conclusion)


SEEN = """
    yes      yes      success
    yes      no       action_required
    yes      unknown  neutral
    no       unknown  neutral
    unknown  unknown  neutral
"""
"""Whether tests ran since the last edit, whether they passed, how the check of the work ends."""


@pytest.mark.parametrize("line", SEEN.strip().splitlines(), ids=str.split)
@pytest.mark.parametrize(
    ("state", "pull_request", "is_merged"),
    [(State.SLEEPING, 7, True), (State.COMPLETED, 7, False)],
)
def test_the_check_of_work_says_what_was_seen_of_its_tests(
    line: str, state: State, pull_request: int, is_merged: bool
) -> None:
    """Also when the longest wait for a review is over, which is no merge."""
    tests_run, tests_passed, conclusion = line.split()
    saw = Evidence(Known(tests_run), Known(tests_passed), None, ())
    one = replace(agent(state, waits_for=Waits.REVIEW), pull_request=pull_request)
    assert check_conclusion(one, saw, is_merged=is_merged) == conclusion
    unasked = replace(one, assignment=replace(one.assignment, tests=Tests.NONE))
    assert check_conclusion(unasked, saw, is_merged=is_merged) == "success"
    merged = replace(one, state=State.COMPLETED)
    assert check_conclusion(merged, saw, is_merged=True) == "success"


def test_an_escalation_begins_with_the_work_and_ends_with_the_issue() -> None:
    """docs/design.md, Shape: keep the work, then the check (it blocks the merge), the comment, the
    issue."""
    assert wanted(agent(State.ESCALATED)) == (WORK, CHECK, CALL, LABEL, COMMENT, ISSUE)


def test_work_that_was_taken_away_is_kept_before_anything_says_so() -> None:
    assert wanted(agent(State.CANCELLED)) == (WORK, CHECK, CALL, LABEL, COMMENT)


def test_a_hand_over_opens_the_pull_request_of_what_is_pushed() -> None:
    asleep = agent(State.SLEEPING, waits_for=Waits.REVIEW)
    assert wanted(asleep) == (WORK, PULL_REQUEST, CHECK, CALL, LABEL, COMMENT)
    assert NEEDS[PULL_REQUEST] == {WORK}
    assert not lets_on(Effect(WORK, EffectState.REFUSED))
    assert lets_on(Effect(WORK, EffectState.DONE))
    assert lets_on(Effect(REVIEW, EffectState.REFUSED))
    assert not lets_on(Effect(REVIEW))


def failing(name: EffectName) -> Effect:
    return Effect(name, attempts=3, detail={FAILING_SINCE: START.isoformat()})


def test_what_fails_holds_up_nothing_that_does_not_need_it() -> None:
    stopped = agent(State.ESCALATED)
    assert in_turn(stopped, {}) == (WORK, CHECK, CALL, LABEL, COMMENT, ISSUE)
    late = {name: failing(name) for name in (WORK, CHECK)}
    assert in_turn(stopped, late) == (CALL, LABEL, COMMENT, ISSUE, WORK, CHECK)
    assert in_turn(stopped, {CHECK: Effect(CHECK, attempts=1)}) == wanted(stopped)


def test_what_others_need_is_tried_before_them_whatever_it_does() -> None:
    asleep = agent(State.SLEEPING, waits_for=Waits.REVIEW)
    late = {name: failing(name) for name in (WORK, PULL_REQUEST, CHECK)}
    assert in_turn(asleep, late) == (WORK, PULL_REQUEST, CALL, LABEL, COMMENT, CHECK)


@pytest.mark.parametrize("state", sorted(set(State) - {State.ESCALATED, State.CANCELLED}))
@pytest.mark.parametrize("waits_for", [None, Waits.BLOCKER, Waits.ANSWER])
def test_every_other_state_has_a_check_and_a_comment(state: State, waits_for: Waits | None) -> None:
    """While a segment runs, it is the segment that pushes."""
    work = () if state in (State.ACTIVE, State.STOPPING) else (WORK,)
    assert wanted(agent(state, waits_for=waits_for)) == (*work, CHECK, CALL, LABEL, COMMENT)


def test_a_review_is_only_waited_for_in_one_state() -> None:
    assert wanted(agent(State.COMPLETED, waits_for=Waits.REVIEW)) == (
        WORK,
        CHECK,
        CALL,
        LABEL,
        COMMENT,
    )
    assert check_conclusion(agent(State.ACTIVE, waits_for=Waits.REVIEW), None) is None


@pytest.mark.parametrize("state", [State.COMPLETED, State.ESCALATED, State.CANCELLED])
def test_of_one_that_triages_there_is_no_needs_human_issue(state: State) -> None:
    over = of_kind(agent(state), RoleKind.TRIAGE)
    assert wanted(over) == (CHECK, CALL, LABEL, COMMENT, TRIAGE)
    assert wanted(replace(over, sha=None)) == ()
    assert wanted(of_kind(agent(State.ACTIVE), RoleKind.TRIAGE)) == (CHECK, CALL, LABEL, COMMENT)


def test_a_review_is_posted_first_and_only_once_it_is_done() -> None:
    assert wanted(of_kind(agent(State.COMPLETED), RoleKind.REVIEW)) == (
        REVIEW,
        CHECK,
        CALL,
        LABEL,
        COMMENT,
    )
    assert wanted(of_kind(agent(State.ESCALATED), RoleKind.REVIEW)) == (
        CHECK,
        CALL,
        LABEL,
        COMMENT,
        ISSUE,
    )
    assert wanted(of_kind(agent(State.CANCELLED), RoleKind.REVIEW)) == (CHECK, CALL, LABEL, COMMENT)


def test_the_branch_of_merged_work_is_the_last_to_go() -> None:
    merged = replace(agent(State.COMPLETED), pull_request=7)
    assert wanted(merged) == (CHECK, CALL, LABEL, COMMENT, BRANCH)
    assert wanted(replace(merged, state=State.CANCELLED)) == (WORK, CHECK, CALL, LABEL, COMMENT)


def of_kind(one: Agent, kind: RoleKind) -> Agent:
    return replace(one, assignment=replace(one.assignment, kind=kind))


def test_an_escalation_issue_names_its_original() -> None:
    mark = escalation_marker(77, 12)
    assert mark.startswith(escalation_sign(77))
    assert original_of(f"{mark}\nHelp.", 77) == 12
    assert original_of(mark, 7) is None
    assert original_of(f"See {mark}", 77) is None


@pytest.mark.parametrize("state", list(State))
def test_people_hear_first_of_what_is_over_and_of_what_asks_them(state: State) -> None:
    urgent = {State.PAUSED, State.COMPLETED, State.ESCALATED, State.CANCELLED}
    assert is_urgent(agent(state)) == (state in urgent)


def test_what_a_brake_holds_may_be_said_as_the_last_word() -> None:
    assert not may_edit(edited(10), agent(), START)
    assert may_edit(edited(10), agent(), START, is_held=True)
    assert not may_edit(edited(40, 10), agent(), START, is_held=True)


def test_items_are_marked_with_agent_and_effect() -> None:
    assert marker(ID, COMMENT) == "<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->"
    assert escalation_marker(77, 12) == "<!-- squadron:escalation:77#12 -->"


def edited(*seconds_ago: float) -> Effect:
    """A comment that was edited so long ago each time."""
    instants = tuple(START - timedelta(seconds=each) for each in seconds_ago)
    return Effect(COMMENT, edits=instants)


@pytest.mark.parametrize(
    ("edits", "progress", "at_the_end"),
    [
        ((), True, True),
        ((10,), False, True),
        ((60,), True, True),
        ((59.999,), False, True),
        ((40, 10), False, False),
        ((60, 10), False, True),
        ((90, 80), True, True),
    ],
)
def test_progress_makes_no_noise_and_the_last_word_does_not_wait(
    edits: tuple[float, ...], progress: bool, at_the_end: bool
) -> None:
    for state in (State.QUEUED, State.ACTIVE, State.SLEEPING):
        assert may_edit(edited(*edits), agent(state), START) is progress
    for state in (State.PAUSED, State.COMPLETED, State.ESCALATED, State.CANCELLED):
        assert may_edit(edited(*edits), agent(state), START) is at_the_end


# --- the agent itself -------------------------------------------------------------------------


def test_an_id_reads_as_it_is_written() -> None:
    assert str(ID) == "octo/demo#12/bug-fix/1"
    assert AgentId.parse("octo/demo#12/bug-fix/1") == ID
    assert ID.post == "octo/demo#12/bug-fix"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "octo/demo",
        "octo/demo#12/bug-fix",
        "octo#12/bug-fix/1",
        "octo/demo#x/bug-fix/1",
        "octo/demo#12/bug-fix/1 ",
        "octo/demo#12/bug fix/1",
        "a/b/c#12/bug-fix/1",
    ],
)
def test_anything_else_is_no_id(text: str) -> None:
    with pytest.raises(ValueError, match="is no agent id; one reads octo/demo#12/bug-fix/1"):
        AgentId.parse(text)


def test_an_agent_knows_whether_it_is_over_and_what_it_has_used() -> None:
    over = {state for state in State if agent(state).is_final}
    assert over == {State.COMPLETED, State.ESCALATED, State.CANCELLED}
    assert replace(agent(), input_tokens=70, output_tokens=5).tokens == 75


def test_effects_are_stored_by_these_words() -> None:
    assert [state.value for state in EffectState] == ["wanted", "done", "refused"]
    assert [name.value for name in EffectName] == [
        "review",
        "work",
        "check",
        "call",
        "label",
        "comment",
        "pull_request",
        "issue",
        "branch",
        "triage",
    ]


def test_an_effect_begins_wanted_and_an_agent_without_a_parent() -> None:
    effect = Effect(COMMENT)
    assert (effect.state, effect.attempts, effect.url) == (EffectState.WANTED, 0, None)
    assert (agent().parent, agent().depth) == (None, 0)


def test_causes_are_stored_by_these_words() -> None:
    """EXAMPLES: the `limit` of a trip that no limit but a failure caused."""
    assert [cause.value for cause in Cause] == [
        "runtime_died",
        "worker_died",
        "setup_failed",
        "blocked_in_circle",
        "workspace_failed",
        "no_access",
        "model_failed",
        "runtime_missing",
        "session_damaged",
        "conflict",
        "disk_full",
    ]


def test_what_nothing_asks_for_any_more_is_let_go_once_the_agent_rests() -> None:
    tried = {
        name: Effect(name, state, attempts=3)
        for name, state in (
            (PULL_REQUEST, EffectState.WANTED),
            (ISSUE, EffectState.REFUSED),
            (BRANCH, EffectState.DONE),
            (CHECK, EffectState.WANTED),
        )
    }
    assert unwanted(agent(State.CANCELLED), tried) == [tried[PULL_REQUEST], tried[ISSUE]]
    asleep = agent(State.SLEEPING, waits_for=Waits.REVIEW)
    assert unwanted(asleep, tried) == [tried[ISSUE]]
    for state in (State.ACTIVE, State.STOPPING):
        assert unwanted(agent(state), tried) == []
