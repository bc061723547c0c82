"""Commands in comments: what GitHub shows as the author's own words, and nothing else.

The issue, "What happens at a limit"; docs/design.md, promise 6.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.markdown import visible_lines
from app.core.agents.counters import Counters, after
from app.core.agents.events import Raised
from app.core.breaker.raises import BadAmount, Grant, NotGranted, grant, left_to_grant, typed, worth
from app.core.commands.grammar import (
    MOST_COMMANDS,
    RAISABLE,
    Command,
    Misread,
    Raise,
    Resume,
    command_lines,
    commands,
    may_hold_commands,
    new_lines,
    says_more,
)
from app.core.github.hints import Commented
from app.core.limits import CATALOGUE, Action, LimitName, Limits
from app.core.rules.trust import Sender
from app.core.steering.concerns import concerns

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CALLS, MONEY = LimitName.MAX_TOOL_CALLS, LimitName.MAX_COST_USD


def heard(body: str) -> list[Command | Misread]:
    """The commands of a comment."""
    found = commands(visible_lines(body))
    assert not found or may_hold_commands(body), "the quick look misses nothing"
    return list(found)


# --- what is a command -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("/squadron resume", Resume()),
        ("/squadron resume bug-fix", Resume("bug-fix")),
        ("/squadron resume octo/demo#12/bug-fix/1", Resume("octo/demo#12/bug-fix/1")),
        ("/SQUADRON Resume", Resume()),
        ("/squadron\N{NO-BREAK SPACE}resume", Resume()),
        ("   /squadron   resume  ", Resume()),
        ("/squadron\tresume", Resume()),
        ("/squadron raise max_tool_calls +100", Raise(CALLS, 100)),
        ("/squadron raise MAX_TOOL_CALLS +100 pm", Raise(CALLS, 100, "pm")),
        ("/squadron raise max_cost_usd +2.50", Raise(MONEY, 2.5)),
        ("/squadron raise max_cost_usd +2.50 USD", Raise(MONEY, 2.5)),
        ("/squadron raise max_tool_calls +100 tool calls", Raise(CALLS, 100)),
        ("/squadron raise max_tool_calls +100 calls pm", Raise(CALLS, 100, "pm")),
        ("/squadron raise max_cost_usd +$2.50", Raise(MONEY, 2.5)),
        ("/squadron raise max_cost_usd +$0.000000001", Raise(MONEY, 1e-9)),
        ("Thanks for asking!\n\n/squadron resume\n\nRegards", Resume()),
        ("Thanks\n/squadron resume\nbye", Resume()),
        ("/squadron resume\r\n", Resume()),
        ("/squadron resume\n---\nMaria", Resume()),
        ("/squadron resume <!-- quickly -->", Resume()),
        ("<!-- a template -->\n/squadron resume", Resume()),
        ("> It asks.\n\n/squadron resume", Resume()),
        ("- a list\n\n/squadron resume", Resume()),
        ("```\ncode\n```\n/squadron resume", Resume()),
        ("<pre>\n\ncode\n</pre>\n\n/squadron resume", Resume()),
        ("Like <code>this</code>\n/squadron resume", Resume()),
        ("<blockquote>\n\nIt asks.\n\n</blockquote>\n\n/squadron resume", Resume()),
        ("a </code> that nobody opened\n\n/squadron resume", Resume()),
        ("<!-- use <pre> -->\n\n<!-->\n\n/squadron resume", Resume()),
        ("`<pre>` is HTML\n\n/squadron resume", Resume()),
        ("\\/squadron stop\n/squadron resume", Resume()),
        (r"/squadron raise max\_tool\_calls +100", Raise(CALLS, 100)),
    ],
)
def test_a_line_of_ones_own_is_obeyed(body: str, expected: Command) -> None:
    assert heard(body) == [expected]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "Please resume.",
        "Use /squadron resume.",
        "/squadronresume",
        "/squadrons resume",
        "/\N{LATIN SMALL LETTER LONG S}quadron resume",
        "/SQUADRON\N{COMBINING DOT BELOW} resume",
        "squadron resume",
        "@squadron resume",
        "> /squadron resume",
        "> quoted\n/squadron resume",
        ">> /squadron resume",
        "`/squadron resume`",
        "say `x\n/squadron resume` to it",
        "```\n/squadron resume\n```",
        "```\n/squadron resume",
        "~~~ sh\n/squadron resume\n~~~",
        "    /squadron resume",
        "\t/squadron resume",
        "<!-- /squadron resume -->",
        "<!--\n\n/squadron resume\n\n-->",
        "<!--\n/squadron resume",
        "words <!-- \n/squadron resume\n--> words",
        "- /squadron resume",
        "- item\n  /squadron resume",
        "1. /squadron resume",
        "# /squadron resume",
        "**/squadron resume**",
        "[/squadron resume](https://example.org)",
        "<pre>\n/squadron resume\n</pre>",
        "<details>\n/squadron resume\n</details>",
        "| a |\n| - |\n| /squadron resume |",
        "![/squadron resume](x.png)",
        "<blockquote>\n\n/squadron resume\n\n</blockquote>",
        "<BLOCKQUOTE class='>'>\n\n> quoted\n\n/squadron resume",
        "<div><pre>\n\n/squadron resume\n\n</pre></div>",
        "Try <code>\n/squadron resume\n</code>",
        "Try <kbd>this:\n\n/squadron resume</kbd>",
        "Try <code>\n\n```\n</code>\n```\n\n/squadron resume",
        '<q>\n\n<b title="</q>">x</b>\n\n/squadron resume',
        "<code><code></code>\n/squadron resume</code>",
        "# <code>\n\n/squadron resume",
        "<div><!--\n\n/squadron resume\n\n-->",
        r"\/squadron resume",
        "Type\n\\/squadron resume",
        "&#47;squadron resume /squadron",
    ],
)
def test_what_is_quoted_hidden_or_shown_as_something_else_is_not(body: str) -> None:
    assert heard(body) == []


@pytest.mark.parametrize(
    ("body", "at_work", "is_bot", "concerned"),
    [
        ("Go on.", True, False, True),
        ("Go on.", False, False, False),
        ("/squadron resume", True, False, True),
        ("/squadron resume", False, False, True),
        ("/squadron resume", True, True, True),
    ],
)
def test_a_command_is_heard_where_no_agent_is_at_work_too(
    body: str, at_work: bool, is_bot: bool, concerned: bool
) -> None:
    """Whoever asks a stopped agent to go on is told what would help."""
    comment = Commented(
        repository="octo/demo",
        installation_id=1,
        sender=Sender("maria", is_bot),
        issue=12,
        comment=7,
        at=NOW,
        body=body,
    )
    assert concerns(comment, {"octo/demo"} if at_work else set()) is concerned


def test_several_commands_in_one_comment_keep_their_order() -> None:
    body = "/squadron raise max_turns +5\n/squadron resume pm\n\n/squadron halt\n/squadron resume"
    first, second, third, fourth = heard(body)
    assert (first, second, fourth) == (Raise(LimitName.MAX_TURNS, 5), Resume("pm"), Resume())
    assert isinstance(third, Misread) and third.line == "/squadron halt"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/squadron", "one of `/squadron raise LIMIT +AMOUNT [ROLE]`, `/squadron resume [ROLE]`"),
        ("/squadron halt", "one of `/squadron raise"),
        ("/squadron stop a b", "`/squadron stop [ROLE]`"),
        ("/squadron status docs", "`/squadron status`"),
        ("/squadron help me", "`/squadron help`"),
        ("/squadron resume bug fix", "`/squadron resume [ROLE]`"),
        ("/squadron raise", "`/squadron raise LIMIT +AMOUNT [ROLE]`"),
        ("/squadron resume a b c", "`/squadron resume [ROLE]`"),
        ("/squadron raise max_tool_calls", "`/squadron raise LIMIT +AMOUNT [ROLE]`"),
        ("/squadron raise max_tool_calls +1 pm now", "`/squadron raise LIMIT +AMOUNT [ROLE]`"),
        ("/squadron raise max_tool_cals +1", "the limit `max_tool_calls`, not `max_tool_cals`"),
        ("/squadron raise everything +1", "a limit: one of max_iterations, max_tool_calls"),
        *(
            (f"/squadron raise max_tool_calls {amount}", "an amount above 0, as in `+100`")
            for amount in (
                *("-5", "+-5", "many", "1e9", "nan", "inf", "0x10", "1,000", "1_000", "٣"),
                *("+", "$", "1.", ".5", "1.2.3", "+1000000000000", "0.0000000001"),
            )
        ),
    ],
)
def test_a_line_that_is_none_says_what_is_expected(line: str, expected: str) -> None:
    [misread] = heard(line)
    assert isinstance(misread, Misread)
    assert misread.line == line
    assert expected in misread.expected
    assert ("one of `" in expected) is ("one of `" in misread.expected)


def test_a_long_comment_is_parsed_once_however_often_it_is_asked_about() -> None:
    body = "![" * 30_000 + "\n/squadron resume"
    assert visible_lines(body) is visible_lines("".join(body))
    assert heard(body) == [Resume()]


def test_a_flood_of_commands_is_one_mistake() -> None:
    assert len(heard("/squadron resume\n" * MOST_COMMANDS)) == MOST_COMMANDS
    assert heard("/squadron resume\n" * (MOST_COMMANDS + 1)) == [
        Misread("", "at most 20 commands in one comment")
    ]


@pytest.mark.parametrize(
    ("lines", "before", "heard", "set_aside", "new"),
    [
        ("abc", "", "", [], "abc"),
        ("abc", "ab", "", [], "c"),
        ("abc", "", "AC", [], "b"),
        ("aab", "ab", "a", [], "a"),
        ("ax", "", "", ["ax"], ""),
        ("ax", "ax", "", ["AX"], ""),
        ("xa", "ax", "", ["ax"], ""),
        ("ab", "ax", "", ["ax"], "ab"),
        ("a", "ax", "", ["ax"], "a"),
        ("axb", "ax", "", ["ax"], "axb"),
        ("sab", "sax", "s", ["ax"], "ab"),
        ("sax", "sax", "s", ["ax"], ""),
        ("sab", "sax", "", ["ax"], "ab"),
        ("aab", "aax", "a", ["ax"], "ab"),
        ("abc", "ab", "ab", ["ax"], "c"),
    ],
)
def test_what_was_set_aside_is_new_again_in_another_text(
    lines: str, before: str, heard: str, set_aside: list[str], new: str
) -> None:
    """Each letter is a line; x is the wrong one."""
    assert new_lines(lines, before, heard, set_aside) == tuple(new)


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=4))
def test_however_a_comment_is_edited_each_line_runs_as_often_as_it_stands_at_most(
    versions: list[list[str]],
) -> None:
    heard: list[str] = []
    for version in versions:
        heard += new_lines(version, (), heard, ())
        assert new_lines(version, (), heard, ()) == ()
    most = {line: max(version.count(line) for version in versions) for line in heard}
    assert {line: heard.count(line) for line in heard} == most


def test_equal_lines_are_equal_however_they_are_spaced() -> None:
    lines = ["/squadron   stop ", "words", "/squadron", "/squadrons stop"]
    assert command_lines(lines) == ("/squadron stop", "/squadron")


def test_of_a_long_line_the_beginning_is_quoted() -> None:
    [misread] = heard("/squadron " + "x" * 200)
    assert isinstance(misread, Misread)
    assert misread.line == "/squadron " + "x" * 90
    [unknown] = heard("/squadron raise " + "x" * 200 + " +1")
    assert isinstance(unknown, Misread)
    assert f"not `{'x' * 100}`" in unknown.expected


def test_every_limit_at_which_an_agent_can_wait_can_be_named() -> None:
    never = {LimitName.MAX_SLEEP_DURATION, LimitName.MAX_OUTPUT_TOKENS_PER_CALL}
    assert set(RAISABLE) == set(LimitName) - never
    for name in RAISABLE:
        assert heard(f"/squadron raise {name} +3") == [Raise(LimitName(name), 3)]


@settings(deadline=None)
@given(st.text(alphabet="/squadron reme\n >`-<!#*_+10\t[]()|~\\", max_size=200))
def test_no_comment_makes_the_reader_fail(body: str) -> None:
    for each in heard(body):
        assert isinstance(each, Raise | Resume | Misread)


# --- how much is granted -----------------------------------------------------------------------


def granted(limits: Limits, name: LimitName, amount: float | None, **used: Any) -> Grant:
    return grant(limits, Counters(**used), name, amount, NOW)


def test_resume_grants_the_limits_own_amount_once_more_each_time() -> None:
    limits, counters = Limits(max_tool_calls=200), Counters(tool_calls=200)
    for maximum in (400, 600, 800):
        given_now = grant(limits, counters, CALLS, None, NOW)
        assert given_now == Grant(CATALOGUE[CALLS], 200, maximum, 200)
        counters = after(
            counters, Raised(at=NOW, limit=CALLS, amount=200, maximum=maximum, by="maria")
        )


@pytest.mark.parametrize(
    ("wanted", "amount", "is_capped"),
    [(99, 99, False), (100, 100, False), (101, 100, True), (None, 100, True)],
)
def test_the_ceiling_caps_a_grant(wanted: float | None, amount: float, is_capped: bool) -> None:
    limits = Limits(max_tool_calls=200, ceilings={CALLS: 300})
    found = granted(limits, CALLS, wanted, tool_calls=200)
    assert (found.amount, found.maximum, found.is_capped) == (amount, 200 + amount, is_capped)
    assert left_to_grant(limits, Counters(), CALLS) == 100


@pytest.mark.parametrize("ceiling", [200, 150])
def test_at_the_ceiling_nothing_is_left(ceiling: int) -> None:
    limits = Limits(max_tool_calls=200, ceilings={CALLS: ceiling})
    with pytest.raises(NotGranted, match=f"ceiling of {ceiling if ceiling == 200 else 200} tool"):
        granted(limits, CALLS, 1, tool_calls=200)


def test_without_a_ceiling_the_limits_own_range_is_one() -> None:
    most = int(CATALOGUE[LimitName.MAX_DEPTH].most)
    found = granted(Limits(max_depth=2), LimitName.MAX_DEPTH, 1_000)
    assert (found.maximum, found.is_capped) == (most, True)


@pytest.mark.parametrize("amount", [0, -1, 0.5, 1.5, float("nan"), float("inf"), -float("inf")])
def test_only_whole_amounts_above_zero_can_be_added_to_a_count(amount: float) -> None:
    with pytest.raises(BadAmount, match="a whole number above 0 of tool calls"):
        granted(Limits(), CALLS, amount)


@pytest.mark.parametrize("amount", [0, -0.01, float("nan"), float("inf")])
def test_money_has_to_be_above_zero_and_finite(amount: float) -> None:
    with pytest.raises(BadAmount, match="an amount above 0 of USD"):
        granted(Limits(max_cost_usd=1.0), MONEY, amount)


def test_money_is_added_without_the_noise_of_floats() -> None:
    found = granted(Limits(max_cost_usd=0.1), MONEY, 0.2)
    assert found.maximum == 0.3
    capped = granted(Limits(max_cost_usd=0.1, ceilings={MONEY: 0.3}), MONEY, 5)
    assert (capped.amount, capped.maximum) == (0.2, 0.3)


def test_a_limit_of_zero_has_no_amount_of_its_own() -> None:
    with pytest.raises(BadAmount, match=r"/squadron raise max_spawns \+1"):
        granted(Limits(max_spawns=0), LimitName.MAX_SPAWNS, None)
    assert granted(Limits(max_spawns=0), LimitName.MAX_SPAWNS, 2).maximum == 2


def test_what_is_switched_off_or_never_waited_at_cannot_be_raised() -> None:
    with pytest.raises(NotGranted, match="switched off"):
        granted(Limits(), LimitName.MAX_TOKENS, 5)
    for name in (LimitName.MAX_SLEEP_DURATION, LimitName.MAX_OUTPUT_TOKENS_PER_CALL):
        with pytest.raises(BadAmount, match="cannot be raised"):
            granted(Limits(), name, 5)


@pytest.mark.parametrize(("amount", "is_enough"), [(500, False), (501, True)])
def test_an_amount_that_is_used_already_would_stop_it_again_at_once(
    amount: int, is_enough: bool
) -> None:
    """1,500 of 1,000 tokens are used: an amount trips when the maximum is reached."""
    limits, tokens = Limits(max_tokens=1_000), LimitName.MAX_TOKENS
    if is_enough:
        assert granted(limits, tokens, amount, input_tokens=1_500).maximum == 1_501
        return
    with pytest.raises(NotGranted, match="1500 tokens are used, so more than 500 tokens has to"):
        granted(limits, tokens, amount, input_tokens=1_500)


def test_a_ceiling_below_what_is_used_leaves_no_use() -> None:
    limits = Limits(max_tokens=1_000, ceilings={LimitName.MAX_TOKENS: 1_400})
    with pytest.raises(NotGranted, match="ceiling of 1400 tokens leaves nothing to use"):
        granted(limits, LimitName.MAX_TOKENS, 5_000, input_tokens=1_500)


def test_the_ceiling_itself_leaves_no_use_either() -> None:
    limits = Limits(max_tokens=1_000, ceilings={LimitName.MAX_TOKENS: 1_500})
    with pytest.raises(NotGranted, match="ceiling of 1500 tokens leaves nothing to use"):
        granted(limits, LimitName.MAX_TOKENS, 5_000, input_tokens=1_500)


@pytest.mark.parametrize(("wanted", "maximum"), [(1, 6), (5, 10)])
def test_a_count_may_be_raised_up_to_what_is_used_already(wanted: int, maximum: int) -> None:
    """A maximum of N lets N happen; only the next one asks again."""
    limits = Limits(max_tool_calls=5, ceilings={CALLS: 10})
    assert granted(limits, CALLS, wanted, tool_calls=10).maximum == maximum


def test_what_counts_from_nothing_after_a_hold_is_raised_only_by_an_amount() -> None:
    rounds = LimitName.MAX_REPEATED_CALLS
    assert granted(Limits(), rounds, None) == Grant(CATALOGUE[rounds], 0, 5, 0)
    assert granted(Limits(), rounds, 3) == Grant(CATALOGUE[rounds], 3, 8, 3)


def test_of_a_limit_that_is_switched_off_nothing_is_left_to_grant() -> None:
    assert left_to_grant(Limits(max_tool_calls=None), Counters(), CALLS) is None


@settings(deadline=None)
@given(
    own=st.integers(1, 1_000),
    ceiling=st.integers(1, 3_000) | st.none(),
    wishes=st.lists(st.integers(-3, 2_000) | st.none(), max_size=6),
)
def test_whatever_is_asked_the_ceiling_is_never_passed(
    own: int, ceiling: int | None, wishes: list[int | None]
) -> None:
    limits = Limits(
        max_tool_calls=own,
        default_action=Action.PAUSE,
        ceilings={} if ceiling is None else {CALLS: ceiling},
    )
    counters, maximum = Counters(tool_calls=own), own
    for wish in wishes:
        try:
            found = grant(limits, counters, CALLS, wish, NOW)
        except NotGranted:
            continue
        wanted = own if wish is None else wish
        assert 0 < found.amount <= wanted and found.wanted == wanted
        maximum += int(found.amount)
        assert found.maximum == maximum
        assert ceiling is None or maximum <= ceiling
        assert found.is_capped == (found.amount < wanted)
        counters = after(
            counters,
            Raised(at=NOW, limit=CALLS, amount=found.amount, maximum=found.maximum, by="x"),
        )
        assert left_to_grant(limits, counters, CALLS) == (
            (ceiling if ceiling is not None else CATALOGUE[CALLS].most) - maximum
        )


@pytest.mark.parametrize(
    ("name", "amount", "words", "as_typed"),
    [
        (CALLS, 100, "100 tool calls", "+100"),
        (MONEY, 2.5, "$2.50", "+2.50"),
        (MONEY, 0.000001, "$0.000001", "+0.000001"),
        (LimitName.MAX_ACTIVE_DURATION, 600, "600 seconds", "+600"),
    ],
)
def test_what_is_shown_can_be_typed(
    name: LimitName, amount: float, words: str, as_typed: str
) -> None:
    assert worth(CATALOGUE[name], amount) == words
    assert typed(CATALOGUE[name], amount) == as_typed
    assert heard(f"/squadron raise {name} {as_typed}") == [Raise(name, amount)]


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("/squadron wake", False),
        ("\r\n  /Squadron  wake docs\n\n/squadron status\n", False),
        ("", False),
        ("Blue, please.\n\n/squadron wake", True),
        ("/squadronwake\n/squadron wake", True),
    ],
)
def test_words_beside_the_commands_are_seen(body: str, more: bool) -> None:
    assert says_more(body) is more


@pytest.mark.parametrize(
    "line",
    [
        "/squadron \N{LATIN SMALL LETTER LONG S}top",
        "/squadron \N{FULLWIDTH LATIN SMALL LETTER S}top",
        "/squadron rai\N{LATIN SMALL LETTER LONG S}e max_tool_calls +1",
        "/squadron raise max_tool_call\N{LATIN SMALL LETTER LONG S} +1",
    ],
)
def test_letters_that_only_fold_to_ours_are_misread_and_answered(line: str) -> None:
    [found] = commands([line])
    assert isinstance(found, Misread)
