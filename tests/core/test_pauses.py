"""What people read of an agent that waits for them, and what Squadron answers to their commands.

The issue, "What happens at a limit": which limit, how much more, evidence of progress since the
start or the last grant, and how to go on.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.core.agents.agent import Agent, Effect, EffectName
from app.core.agents.events import DiffSize, Held, Kept, Waits
from app.core.agents.lifecycle import State
from app.core.agents.stops import Hold, Layer
from app.core.breaker.raises import Grant
from app.core.budgets.budgets import Account, Window, window_start
from app.core.budgets.ledger import Insufficient
from app.core.commands.grammar import Misread, commands
from app.core.effects.wanted import check_conclusion, may_edit
from app.core.limits import CATALOGUE, Action, LimitName, Limits
from app.core.words.calls import call_comment
from app.core.words.messages import check_summary, check_title, progress_comment
from app.core.words.pauses import (
    answer_marker,
    capped_words,
    command_answer,
    misread_words,
    not_paused_words,
    raised_words,
    unfunded_words,
    unknown_agent_words,
    which_agent_words,
)
from app.core.words.report import Report, report
from app.testruns import Outcome
from tests.core.life import Life, begun
from tests.core.strategies import EVERYTHING, START, agent

CALLS, MONEY = LimitName.MAX_TOOL_CALLS, LimitName.MAX_COST_USD
ASKS = Limits(max_tool_calls=3, actions={CALLS: Action.REQUEST_INCREASE})


def keeps(life: Life, files: int, added: int, deleted: int) -> None:
    """The work is taken out of the workspace."""
    diff = DiffSize(files=files, added=added, deleted=deleted)
    life.happens(Kept(at=life.now, sha="a" * 40, pushed=True, problem="", diff=diff))


def runs_its_tests(life: Life, outcome: Outcome, content: str) -> None:
    life.asks_tests(EVERYTHING, content)
    life.tests_end(life.last_call, outcome, content)


def shown(life: Life) -> Report:
    """The agent as it waits for a raise."""
    row = agent(State.PAUSED, waits_for=Waits.RAISE, limits=life.limits, updated_at=life.now)
    return report(row, life.log, life.now + timedelta(hours=1))


def asked(life: Life) -> str:
    """The comment by which it calls people."""
    view = shown(life)
    return call_comment(view, view.calls[-1], life.now)


def test_at_the_limit_it_shows_what_was_done_since_the_start_and_what_to_type() -> None:
    life = begun(ASKS)
    runs_its_tests(life, Outcome.FAILED, "v1")
    runs_its_tests(life, Outcome.PASSED, "v2")
    life.asks_tool()
    life.asks_tool()
    keeps(life, 2, 30, 4)
    view = shown(life)
    assert view.hold is not None and view.hold.asks
    comment = asked(life)
    for words in (
        "[squadron:bug-fix] @mona this agent is paused: max_tool_calls reached: 3 of 3 tool calls.",
        "**The agent asks for 3 tool calls more.**",
        "Since the work began:\n\n- Changes on the branch: 2 files, +30 −4 lines.\n"
        "- Test runs: 2, of which 1 passed.",
        "| 1 | `pytest` | failed |  | no |\n| 2 | `pytest` | passed |  | yes |",
        "write this line in a comment here by **2026-03-02 09:00 UTC** (within 24 hours):\n\n"
        "```\n/squadron resume bug-fix\n```\n\nThat grants 3 tool calls more."
        " `/squadron raise max_tool_calls +AMOUNT bug-fix` grants as much as you say.",
        "Otherwise Squadron stops the agent for good then; its work stays on its branch.",
    ):
        assert words in comment
    assert "ceiling" not in comment
    progress = progress_comment(view)
    assert (
        "[squadron:bug-fix] The agent is paused: max_tool_calls reached: 3 of 3 tool calls."
        in progress
    )
    assert "/squadron" not in progress, "what is to be typed stands in one place"
    assert check_conclusion(view.agent, None) == "action_required"
    assert check_title(view) == "The agent is paused: max_tool_calls reached: 3 of 3 tool calls."
    assert "/squadron resume" in check_summary(view)


def test_after_a_grant_only_what_came_after_it_counts_as_progress() -> None:
    life = begun(ASKS)
    runs_its_tests(life, Outcome.FAILED, "v1")
    life.asks_tool()
    life.asks_tool()
    life.asks_tool()
    keeps(life, 1, 10, 0)
    life.ends_segment()
    life.is_granted(CALLS, 2)
    life.begins_segment()
    runs_its_tests(life, Outcome.DID_NOT_RUN, "v3")
    life.asks_tool()
    life.asks_tool()
    keeps(life, 3, 25, 6)
    comment = asked(life)
    assert "is paused: max_tool_calls reached: 5 of 5 tool calls." in comment
    assert "Since mona granted 5 tool calls (`max_tool_calls`):" in comment
    assert (
        "- Changes on the branch: 3 files, +25 −6 lines (before: 1 file, +10 −0 lines)." in comment
    )
    assert "- Test runs: 1, of which 0 passed." in comment
    assert "| 1 | `pytest` | did not run |  | yes |" in comment


def test_a_pause_that_asks_for_nothing_shows_the_same_ways_on() -> None:
    life = begun(Limits(max_tool_calls=1, default_action=Action.PAUSE))
    life.asks_tool()
    life.asks_tool()
    comment = asked(life)
    assert (
        "Squadron keeps session, branch and work." in comment
        and "The agent asks for" not in comment
    )
    assert comment.endswith("- Changes on the branch: not measured.\n- Test runs: 0.")
    assert "\n/squadron resume bug-fix\n" in comment


def test_what_the_agent_says_for_itself_is_quoted_and_has_no_power() -> None:
    limits = Limits(max_tool_calls=10, ceilings={CALLS: 25})
    life = begun(limits)
    life.asks_tool()
    hold = Hold(
        limit=CALLS,
        observed=1,
        maximum=10,
        layer=Layer.HOOK,
        at=life.now,
        reason="The agent asks for more of max_tool_calls: it used 1 of 10 tool calls.",
        asks=True,
        amount=40,
        claim="Half is done.\n\n<!-- ask @octo/leads, fixes #1\n```\n/squadron resume",
    )
    life.happens(Held(at=life.now, hold=hold))
    comment = asked(life)
    assert "**The agent asks for 40 tool calls more.**" in comment
    assert (
        "> Half is done.\n>\n> <\u200b!-- ask @\u200bocto/leads, f\u200bixes #1\n> ```" in comment
    )
    assert "\n/squadron raise max_tool_calls +15 bug-fix\n" in comment, "up to the ceiling"
    assert "`/squadron resume bug-fix` grants 10 tool calls more" in comment
    assert "The operator's ceiling allows 15 tool calls more at most." in comment


def test_money_reads_as_money_everywhere() -> None:
    life = begun(Limits(max_cost_usd=0.1, actions={MONEY: Action.REQUEST_INCREASE}))
    life.calls_model(99_999_999)
    life.asks_model(2)
    comment = asked(life)
    assert "max_cost_usd reached: $0.10 of $0.10 spent, and the next model call may" in comment
    assert "**The agent asks for $0.10 more.**" in comment
    assert "`/squadron raise max_cost_usd +AMOUNT bug-fix` grants as much" in comment
    assert "| `max_cost_usd` | $0.10 | $0.10 | USD |" in progress_comment(shown(life))


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (Limits(max_tool_calls=1, default_action=Action.WARN), "(`on_limit: warn`)"),
        (Limits(max_tool_calls=1, shadow=frozenset({CALLS})), "(in `shadow`: only judged)"),
    ],
)
def test_a_limit_that_let_it_pass_is_shown_while_it_works(limits: Limits, why: str) -> None:
    life = begun(limits)
    life.asks_tool()
    life.asks_tool()
    row = agent(limits=limits)
    view = report(row, life.log, life.now)
    line = f"- `max_tool_calls` was reached at 1 of 1 tool calls, and the agent went on {why}."
    assert line in progress_comment(view) and line in check_summary(view)
    assert view.hold is None and "/squadron" not in progress_comment(view)


def test_only_a_paused_agent_shows_a_hold() -> None:
    life = begun(Limits(max_tool_calls=1, default_action=Action.PAUSE))
    life.asks_tool()
    life.asks_tool()
    for state in set(State) - {State.PAUSED}:
        assert report(agent(state, limits=life.limits), life.log, life.now).hold is None


@pytest.mark.parametrize(
    ("state", "edits", "may"),
    [
        (State.ACTIVE, 0, True),
        (State.ACTIVE, 1, False),
        (State.PAUSED, 1, True),
        (State.PAUSED, 2, False),
        (State.ESCALATED, 1, True),
    ],
)
def test_what_asks_a_human_does_not_wait_behind_progress(
    state: State, edits: int, may: bool
) -> None:
    effect = Effect(EffectName.COMMENT, edits=(START,) * edits)
    assert may_edit(effect, agent(state), START + timedelta(seconds=59)) is may
    assert may_edit(effect, agent(state), START + timedelta(seconds=60))


# --- answers to commands -----------------------------------------------------------------------


def test_an_answer_is_found_again_by_the_comment_it_answers() -> None:
    assert command_answer(71, "k", ["No."]) == (
        "<!-- squadron:answer:71 -->\n<!-- squadron:answered:k -->\n[squadron] No."
    )
    assert command_answer(71, "k", ["A.", "B."]).endswith("[squadron] \n- A.\n- B.")
    assert answer_marker(7) not in command_answer(71, "k", ["No."])


def test_a_misspelt_command_is_answered_with_the_one_that_is_near() -> None:
    [misread] = commands(["/squadron rase max_turns +5"])
    assert isinstance(misread, Misread)
    assert misread_words(misread) == (
        "`/squadron rase max_turns +5` was not understood. Did you mean `raise`? It is written"
        " `/squadron raise LIMIT +AMOUNT [ROLE]`. Nothing was changed."
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "/squadron raise max_tool_calls 3 pm",
            "`/squadron raise max_tool_calls +3 pm`, which adds 3, or `/squadron resume`, which"
            " adds the limit's own amount once more",
        ),
        (
            "/squadron raise max_cost_usd $2.50",
            "`/squadron raise max_cost_usd +$2.50`, which adds $2.50, or `/squadron resume`, which"
            " adds the limit's own amount once more",
        ),
        (
            "/squadron retry pm raise max_turns 3",
            "`/squadron retry pm raise max_turns +3`, which adds 3, or `/squadron retry`, which"
            " adds nothing to its limits",
        ),
    ],
)
def test_an_amount_without_a_plus_is_refused_with_the_two_right_forms(
    line: str, expected: str
) -> None:
    [misread] = commands([line])
    assert isinstance(misread, Misread)
    assert misread_words(misread) == (
        f"`{line}` was not understood; expected {expected}. Nothing was changed."
    )


def test_a_misread_line_is_shown_without_power() -> None:
    words = misread_words(Misread("/squadron `rm` @mona", "one of these"))
    assert words.startswith("`/squadron 'rm' @\u200bmona` was not understood; expected one of")
    assert words.endswith("Nothing was changed.")
    assert misread_words(Misread("", "fewer")).startswith("These commands were not understood")


def an_agent(state: State, waits_for: Waits | None = None) -> Agent:
    return replace(agent(state, waits_for=waits_for), blocked_by=(3, 4), pull_request=9)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (an_agent(State.QUEUED), "is at work"),
        (an_agent(State.ACTIVE), "is at work"),
        (an_agent(State.SLEEPING, Waits.BLOCKER), "sleeps until #3 and #4 are closed"),
        (an_agent(State.SLEEPING, Waits.ANSWER), "write it as an ordinary comment"),
        (an_agent(State.SLEEPING, Waits.REVIEW), "waits for a review of #9"),
        (an_agent(State.ESCALATED), "stopped for good. Comment `/squadron retry bug-fix` on #12:"),
        (an_agent(State.COMPLETED), "Comment `/squadron retry bug-fix` on #12: a fresh agent"),
        (an_agent(State.CANCELLED), "Comment `/squadron retry bug-fix` on #12: a fresh agent"),
        (an_agent(State.PAUSED, Waits.RAISE), "is just being moved on"),
    ],
)
def test_in_every_other_state_it_says_what_would_help(row: Agent, words: str) -> None:
    said = not_paused_words(row)
    assert said.startswith("`bug-fix` ") and words in said
    assert said.endswith(" Nothing was changed.")


def test_for_whom_a_command_is_has_to_be_clear() -> None:
    one = agent()
    other = replace(one, id=replace(one.id, role="pm"))
    assert "`/squadron resume bug-fix` or `/squadron resume pm`" in which_agent_words([other, one])
    said = unknown_agent_words("`x` @mona", [one, other])
    assert said.startswith(
        "No agent `'x' @\u200bmona` works on this issue; there is `bug-fix`, `pm`."
    )
    assert "starts one" in unknown_agent_words(None, [])
    assert "starts one" in unknown_agent_words("pm", [])


@pytest.mark.parametrize(
    ("window", "then"),
    [(Window.DAY, " The budget renews at 2026-03-02 00:00 UTC."), (Window.TOTAL, "")],
)
def test_a_budget_that_is_too_empty_is_named(window: Window, then: str) -> None:
    account = Account("role:octo/demo:bug-fix", window, window_start(window, START), 10**9)
    short = Insufficient(account, left_nanousd=250_000_000, asked_nanousd=10**9)
    assert unfunded_words(short) == (
        "The budget `role:octo/demo:bug-fix` has $0.25 left, and this takes $1.00."
        f"{then} Nothing was changed."
    )


def test_what_was_granted_is_said_to_people_and_to_the_agent() -> None:
    given = Grant(CATALOGUE[CALLS], 50, 250, 100)
    assert capped_words(given) == (
        "Squadron raised `max_tool_calls` by 50 tool calls only, to 250 tool calls: that is its"
        " ceiling."
    )
    assert raised_words("mona", [given, Grant(CATALOGUE[MONEY], 0.5, 1.5, 0.5)], "Go on.") == (
        "mona raised `max_tool_calls` by 50 tool calls, to 250 tool calls and raised"
        " `max_cost_usd` by $0.50, to $1.50. mona wrote:\n\nGo on."
    )
    assert raised_words("api", [given], "").endswith("to 250 tool calls.")
