"""Agents that have come so far, for the texts about them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from app.core.agents.agent import Agent
from app.core.agents.events import ClosingTool, Held, Reported, Slept, ToolEnded, Waits
from app.core.agents.lifecycle import State
from app.core.agents.stops import Cause, Failure, Hold, Layer, Trip
from app.core.limits import Action, LimitName, Limits
from app.core.rules.plan import RoleKind
from app.core.words.report import Links, Report, report
from app.testruns import Outcome
from tests.core.life import Life, begun
from tests.core.strategies import EVERYTHING, START, agent, only
from tests.core.wording import kept

LIMITS: Final = only(
    max_iterations=3,
    max_tool_calls=5,
    max_active_duration=7_200,
    max_sleep_duration=86_400,
    max_cost_usd=1.5,
)
PAGE: Final = "https://github.com/octo/demo"
LINKS: Final = Links(
    call=f"{PAGE}/issues/12#issuecomment-7",
    check=f"{PAGE}/runs/8",
    needs_human=f"{PAGE}/issues/13",
    comparison=f"{PAGE}/compare/main...squadron/bug-fix/issue-12",
)
CALLS: Final = Trip(
    limit=LimitName.MAX_TOOL_CALLS,
    observed=5,
    maximum=5,
    layer=Layer.HOOK,
    at=START,
    reason="max_tool_calls reached: 5 of 5 tool calls.",
)
SETUP: Final = Failure(
    cause=Cause.SETUP_FAILED, at=START, reason="`make install` ended with 2: no rule to make it."
)
FAILED: Final = """\
    def test_login() -> None:
>       assert login("mona").status == 200
E       assert 500 == 200

1 failed, 11 passed in 0.31s"""


def worked(outcome: Outcome = Outcome.FAILED, limits: Limits = LIMITS) -> Life:
    """One turn, three tool calls, one of them tests; then the work is pushed."""
    life = begun(limits)
    life.asks_turn()
    life.does("read", tool="view")
    life.edits("edit")
    life.asks_tests(EVERYTHING, "v1")
    life.happens(
        ToolEnded(
            at=life.now,
            call=life.last_call,
            ok=outcome is Outcome.PASSED,
            outcome=outcome,
            fingerprint="v1",
            failures="" if outcome is Outcome.PASSED else FAILED.splitlines()[-1],
            output="" if outcome is Outcome.PASSED else FAILED,
        )
    )
    life.model_answers(21_000_000)
    life.happens(replace(kept(commits=("Fix the login",)), content="v1"))
    return life


def paused(*, action: Action = Action.PAUSE, claim: str = "", amount: float | None = None) -> Life:
    """One that has come to its limit, and waits for somebody to grant more."""
    life = worked()
    hold = Hold(
        limit=LimitName.MAX_TOOL_CALLS,
        observed=5,
        maximum=5,
        layer=Layer.HOOK,
        at=life.now,
        reason="max_tool_calls reached: 5 of 5 tool calls.",
        asks=action is Action.REQUEST_INCREASE,
        claim=claim,
        amount=amount,
    )
    life.happens(Held(at=life.now, hold=hold))
    return life


def asleep(life: Life, reason: str, tool: ClosingTool | None = ClosingTool.REPORT_BLOCKED) -> Life:
    """It waits for an answer: to a question, or since its work could not be handed over; without a
    `tool` it has ended its turn and said nothing of the kind."""
    if tool is not None:
        life.happens(Reported(at=life.now, tool=tool, text=reason))
    life.happens(Slept(at=life.now, waits_for=Waits.ANSWER, blocked_by=(), reason=reason))
    return life


def seen(
    state: State,
    life: Life | None = None,
    *,
    kind: RoleKind = RoleKind.WORK,
    links: Links = LINKS,
    hours: float = 0,
    **changes: Any,
) -> Report:
    """The agent in that state, as people see it so many hours after the last that it did."""
    row = replace(an_agent(state, kind), **changes)
    log = life.log if life is not None else begun(LIMITS).log
    now = (life.now if life is not None else START) + timedelta(hours=hours)
    return replace(report(row, log, now), links=links)


def an_agent(state: State, kind: RoleKind = RoleKind.WORK) -> Agent:
    """Of the role `bug-fix`, or of a reviewer."""
    row = agent(state, limits=LIMITS)
    row = replace(row, assignment=replace(row.assignment, kind=kind))
    if kind is RoleKind.REVIEW:
        row = replace(row, id=replace(row.id, role="reviewer"), branch="feature/login")
    return row
