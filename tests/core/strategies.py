"""What the tests of the core have in common: settings, selections of tests, limits, rows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import settings

from app.core.agents.agent import Agent, AgentId, Assignment, Task
from app.core.agents.events import (
    Waits,
)
from app.core.agents.lifecycle import State
from app.core.limits import Limits
from app.core.rules.plan import EscalationRules
from app.testruns import Outcome, Suite, SuiteRules

EXAMPLES = settings(deadline=None, derandomize=True, max_examples=100)
FEWER_EXAMPLES = settings(EXAMPLES, max_examples=50)

START = datetime(2026, 3, 1, 9, tzinfo=UTC)

EVERYTHING = Suite("pytest", (), status_visible=True)
FOLDER = Suite("pytest", ("tests/login",), status_visible=True)
ONE_FILE = Suite("pytest", ("tests/login/test_form.py",), status_visible=True)
ELSEWHERE = Suite("pytest", ("tests/search",), status_visible=True)
OTHER_RUNNER = Suite("jest", (), status_visible=True)
SUITES = (EVERYTHING, FOLDER, ONE_FILE, ELSEWHERE, OTHER_RUNNER)
WIDER_OR_SAME = {
    EVERYTHING: {EVERYTHING},
    FOLDER: {FOLDER, EVERYTHING},
    ONE_FILE: {ONE_FILE, FOLDER, EVERYTHING},
    ELSEWHERE: {ELSEWHERE, EVERYTHING},
    OTHER_RUNNER: {OTHER_RUNNER},
}
"""Which passes clear the failure of a selection, written down by hand."""

NOT_PASSED = (Outcome.FAILED, Outcome.DID_NOT_RUN, Outcome.UNKNOWN)

A_YEAR = 365 * 24 * 3600
NO_LIMITS = Limits(
    max_iterations=None,
    max_tool_calls=None,
    max_turns=None,
    max_active_duration=A_YEAR,
    max_sleep_duration=A_YEAR,
    max_output_tokens_per_call=None,
    max_repeated_errors=None,
    max_repeated_calls=None,
    max_unrunnable_tests=None,
    max_spawns=None,
    max_depth=None,
    max_idle_duration=None,
    max_review_rounds=None,
)
"""As little bound as an agent can be: the two durations cannot be switched off."""


def only(**maxima: Any) -> Limits:
    """Limits of which only these bind."""
    return replace(NO_LIMITS, **maxima)


def after_seconds(seconds: float) -> datetime:
    """An instant so many seconds after `START`."""
    return START + timedelta(seconds=seconds)


# --- rows of the registry ---------------------------------------------------------------------


def agent(
    state: State = State.ACTIVE,
    *,
    waits_for: Waits | None = None,
    limits: Limits | None = None,
    updated_at: datetime = START,
) -> Agent:
    """A row of the registry; only what matters to the core differs from test to test."""
    assignment = Assignment(
        limits=limits or Limits(),
        prompt="Fix the bug.",
        model="scripted:one",
        planning_model=None,
        tools=None,
        setup=(),
        escalation=EscalationRules(),
        suites=SuiteRules(),
        task=Task("Login fails", "It says 500."),
    )
    return Agent(
        id=AgentId("octo/demo", 12, "bug-fix", 1),
        repository_id=1296269,
        repository="octo/demo",
        installation_id=1,
        state=state,
        waits_for=waits_for,
        segment=0,
        segment_attempts=1,
        worker="worker-1",
        assignment=assignment,
        branch="squadron/bug-fix/issue-12",
        default_branch="main",
        base_sha="b" * 40,
        sha="a" * 40,
        pull_request=None,
        blocked_by=(),
        summary="",
        stop=None,
        started_by="mona",
        predecessor=None,
        input_tokens=0,
        output_tokens=0,
        created_at=START,
        updated_at=updated_at,
    )
