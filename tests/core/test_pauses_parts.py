"""What a paused agent shows, paragraph by paragraph, and short answers to commands."""

from dataclasses import replace

from app.core.agents.events import Held, Waits
from app.core.agents.lifecycle import State
from app.core.agents.stops import Hold, Layer
from app.core.effects.calls import called_people
from app.core.limits import Action, LimitName, Limits
from app.core.words.pauses import (
    held_by_another,
    pause_section,
    unknown_agent_words,
    written_before_words,
)
from app.core.words.report import Report, report
from tests.core.life import Life, begun
from tests.core.strategies import agent, only

CALLS = LimitName.MAX_TOOL_CALLS


def at_its_limit(limits: Limits) -> Life:
    life = begun(limits)
    for _ in range(4):
        life.asks_tool()
    return life


def shown(life: Life) -> Report:
    row = agent(State.PAUSED, waits_for=Waits.RAISE, limits=life.limits, updated_at=life.now)
    return report(row, life.log, life.now)


def paragraphs(life: Life) -> list[str]:
    return pause_section(shown(life)).split("\n\n")


def test_who_is_not_held_has_nothing_to_show() -> None:
    assert pause_section(report(agent(), begun().log, begun().now)) == ""


def test_every_paragraph_of_a_pause() -> None:
    life = at_its_limit(only(max_tool_calls=3, actions={CALLS: Action.REQUEST_INCREASE}))
    assert paragraphs(life) == [
        "To let the agent go on, write this line in a comment on #12 by 2027-03-01 09:00 UTC:",
        "```\n/squadron resume bug-fix\n```",
        "That grants 3 tool calls more. `/squadron raise max_tool_calls +AMOUNT bug-fix` grants as"
        " much as you say. Who may start agents here may write it.",
        "**The agent asks for 3 tool calls more.** Squadron keeps session, branch and"
        " work. Otherwise Squadron stops the agent for good then (`max_sleep_duration`); the agent"
        " does nothing until then, and no other time counts.",
        "Since the work began:",
        "- Changes on the branch: not measured.\n- Test runs: 0.",
    ]


def test_a_ceiling_that_leaves_less_is_told() -> None:
    limits = only(max_tool_calls=3, actions={CALLS: Action.REQUEST_INCREASE}, ceilings={CALLS: 5})
    text = pause_section(shown(at_its_limit(limits)))
    assert "```\n\nThat grants 2 tool calls more." in text
    assert "`/squadron raise max_tool_calls +AMOUNT bug-fix` grants as much as you say" in text
    assert " The operator's ceiling allows 2 tool calls more at most." in text


def test_what_was_asked_for_is_what_is_shown_to_be_typed_up_to_the_ceiling() -> None:
    limits = only(max_tool_calls=3, ceilings={CALLS: 50})
    for amount, typed in ((20, 20), (100, 47)):
        life = begun(limits)
        hold = Hold(
            limit=CALLS, observed=1, maximum=3, layer=Layer.HOOK, at=life.now, reason="More!",
            asks=True, amount=amount,
        )  # fmt: skip
        life.happens(Held(at=life.now, hold=hold))
        text = pause_section(shown(life))
        assert f"**The agent asks for {amount} tool calls more.**" in text
        assert f"\n/squadron raise max_tool_calls +{typed} bug-fix\n" in text
        assert f"That grants {typed} tool calls more." in text
        assert "`/squadron resume bug-fix` grants 3 tool calls more" in text


def test_words_of_the_agents_own_are_a_paragraph() -> None:
    life = begun(only(max_tool_calls=3))
    hold = Hold(
        limit=CALLS, observed=1, maximum=3, layer=Layer.HOOK, at=life.now, reason="More!",
        claim="Two of three are done.",
    )  # fmt: skip
    life.happens(Held(at=life.now, hold=hold))
    assert paragraphs(life)[4:6] == ["The agent says:", "> Two of three are done."]


def test_no_app_is_called() -> None:
    by_app = replace(agent(), started_by="helper[bot]")
    assert called_people(by_app) == ""
    team = replace(by_app.assignment.escalation, mention=("@octo/leads", "@Octo/Leads"))
    told = replace(by_app, assignment=replace(by_app.assignment, escalation=team))
    assert called_people(told) == "@Octo/Leads"
    assert called_people(replace(told, started_by="mona")) == "@mona @Octo/Leads"


def test_a_command_for_nobody_names_whom_there_is() -> None:
    nobody = "No agent works on this issue. The label `squadron:<role>` starts one."
    assert unknown_agent_words(None, [agent()]) == nobody
    assert unknown_agent_words("pm", []) == nobody
    assert unknown_agent_words("pm", [agent()]) == (
        "No agent `pm` works on this issue; there is `bug-fix`. Nothing was changed."
    )
    fits, long = (unknown_agent_words("x" * length, [agent()]) for length in (50, 51))
    assert f"`{'x' * 50}`" in fits
    assert f"`{'x' * 51}`" not in long


def test_why_a_command_did_nothing() -> None:
    row = replace(agent(), stop=None)
    hold = Hold(
        limit=CALLS, observed=1, maximum=3, layer=Layer.HOOK, at=row.updated_at, reason="Enough."
    )
    assert "`bug-fix` is held by `max_tool_calls`" in held_by_another(row, hold)
    assert "`bug-fix` has paused after this was written." in written_before_words(row)
