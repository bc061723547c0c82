"""How words of others are put before people: bounded, without power, in one line or a quote."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.core.agents.counters import Counters
from app.core.breaker.verdict import LimitUse
from app.core.limits import CATALOGUE, LimitName
from app.core.text.harmless import defused
from app.core.text.markdown import cut, fenced, folded, in_one_line, instant, quoted
from app.core.words.report import TestRun as ReportedRun
from app.core.words.report import report
from app.core.words.tables import in_unit, limits_table, runs_table
from app.testruns import Outcome
from tests.core.strategies import EXAMPLES, START, agent

NOTHING = "\u200b"


# --- lines ------------------------------------------------------------------------------------

FORGED = "Done.\r\r## Escalated\r\r| limit | used |\r| --- | --- |\r/squadron retry"


@pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n"])
def test_no_line_break_leads_out_of_a_quote(line_break: str) -> None:
    text = FORGED.replace("\r", line_break)
    shown = quoted(text)
    assert "\r" not in shown
    assert all(line.startswith(">") for line in shown.split("\n"))
    assert "> ## Escalated" in shown
    assert "\n" not in in_one_line(text) and "\r" not in in_one_line(text)


def test_what_a_text_leaves_open_ends_with_its_quote() -> None:
    """CommonMark: a fence in a block quote ends where the quote does, which is at a blank line."""
    shown = f"{quoted('Look:' + chr(13) + '```sh' + chr(13) + 'ls')}\n\nBranch: `x`."
    assert shown == "> Look:\n> ```sh\n> ls\n\nBranch: `x`."
    tokens = MarkdownIt("commonmark").parse(shown)
    assert [each.type for each in tokens][-3:] == ["paragraph_open", "inline", "paragraph_close"]


@given(st.text("ab\r\n`~#>|- ", max_size=60))
def test_nothing_escapes_from_a_quote(text: str) -> None:
    """As GitHub's own parser would read it: all of it is in quotes, what follows is not."""
    tokens = MarkdownIt("commonmark").parse(f"{quoted(text)}\n\nAfter it.")
    outside = [each for each in tokens if each.level == 0]
    kinds = {each.type for each in outside}
    assert kinds <= {"blockquote_open", "blockquote_close", "paragraph_open", "paragraph_close"}
    assert tokens[-2].content == "After it." and tokens[-2].level == 1


# --- bounds -----------------------------------------------------------------------------------


def test_a_text_that_fits_is_left_as_it_is() -> None:
    assert cut("x" * 50, 50) == "x" * 50
    assert cut("", 50) == ""


def test_a_text_that_is_cut_says_so_within_the_bound() -> None:
    assert cut("x" * 51, 50) == "x" * 35 + " … (shortened)"
    assert cut("word " * 20, 50) == "word word word word word word word … (shortened)"


@EXAMPLES
@given(st.text(), st.integers(20, 60))
def test_no_text_is_longer_than_allowed(text: str, most: int) -> None:
    assert len(cut(text, most)) <= most


# --- power ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("@mona look", f"@{NOTHING}mona look"),
        ("mail@example.org", f"mail@{NOTHING}example.org"),
        ("@ mona", "@ mona"),
        ("<!-- hidden", f"<{NOTHING}!-- hidden"),
        ("<details>", f"<{NOTHING}details>"),
        ("</details>", f"<{NOTHING}/details>"),
        ("<?xml", f"<{NOTHING}?xml"),
        ("a < b", "a < b"),
        ("1 <2", "1 <2"),
        ("fixes #3", f"f{NOTHING}ixes #3"),
        ("Closes: octo/demo#3", f"C{NOTHING}loses: octo/demo#3"),
        ("resolved GH-3", f"r{NOTHING}esolved GH-3"),
        ("fix https://github.com/o/r/issues/1", f"f{NOTHING}ix https://github.com/o/r/issues/1"),
        ("fixes the login", "fixes the login"),
        ("prefix #3", "prefix #3"),
        ("fixed 3 of 4, see #5", "fixed 3 of 4, see #5"),
        ("Fixes [#3](x)", f"F{NOTHING}ixes [#3](x)"),
        ("Fixes: **#3**", f"F{NOTHING}ixes: **#3**"),
        ("\uff20mona", f"\uff20{NOTHING}mona"),
        ("&#64;mona &#x40;mona", f"&{NOTHING}#64;mona &{NOTHING}#x40;mona"),
        ("&commat;mona", f"&{NOTHING}commat;mona"),
        ("a && b; R&D", "a && b; R&D"),
        ("![x](y.png)", f"!{NOTHING}[x](y.png)"),
        ("![x][y]", f"!{NOTHING}[x][y]"),
        ("[x](https://github.com/o/r/pull/1#d)", "[x](https://github.com/o/r/pull/1#d)"),
        ("[x](docs/a.md)", "[x](docs/a.md)"),
        ("[x](//e.org)", f"[x]{NOTHING}(//e.org)"),
        ("[x](\\//e.org)", f"[x]{NOTHING}(\\//e.org)"),
        ("[x](<//e.org>)", f"[x]{NOTHING}(<{NOTHING}//e.org>)"),
        ("[x](https\\://e.org)", f"[x]{NOTHING}(h{NOTHING}ttps\\://e.org)"),
        (
            "[x](https://github.com@e.org)",
            f"[x]{NOTHING}(h{NOTHING}ttps://github.com@{NOTHING}e.org)",
        ),
        ("[x]: //e.org", f"[x]{NOTHING}: //e.org"),
        ("[x]:\nhttps\\://e.org", f"[x]{NOTHING}:\nh{NOTHING}ttps\\://e.org"),
        ("a: list[int]: b", "a: list[int]: b"),
        ("HTTP://e.org", f"H{NOTHING}TTP://e.org"),
        ("www.e.org", f"w{NOTHING}ww.e.org"),
        ("```mermaid\ngraph", "```text\ngraph"),
        ("```python\nx", "```python\nx"),
    ],
)
def test_words_of_others_call_nobody_hide_nothing_and_close_nothing(
    text: str, harmless: str
) -> None:
    assert defused(text) == harmless


POWERFUL = (
    *("@mona", "\uff20mona", "&#64;mona", "![a]", "[a]", "(https://e.org/x)", "(//e.org)", "[a]:"),
    *("(<https://e.org>)", "https://e.org", "www.e.org", "<img src=//e.org>", "<!--", "fixes #1"),
    *("h&#116;tps://e.org", "https\\://e.org", "\\", "`", "\n", " ", ">", "*", "!", "[", "]", "("),
)
SHOWN_BY_ITSELF = re.compile(r"(?:https?|ftp)://|www\.\w|[@\uff20]\w|\bfixes \W*#", re.IGNORECASE)


@EXAMPLES
@given(
    st.lists(st.sampled_from(POWERFUL), max_size=8).map("".join), st.sampled_from([defused, quoted])
)
def test_nothing_that_a_page_shows_of_it_loads_leads_away_or_calls(
    text: str, shown: Callable[[str], str]
) -> None:
    """As a parser of CommonMark reads it: no picture, no link but to GitHub, no HTML; and what is
    left is nothing that GitHub makes a link or a mention of."""
    for block in MarkdownIt("commonmark").parse(shown(text)):
        assert block.type != "html_block"
        for token in block.children or ():
            assert token.type not in ("image", "html_inline")
            assert "e.org" not in str(token.attrs.get("href", ""))
            assert token.type != "text" or not SHOWN_BY_ITSELF.search(token.content)


def test_one_line_is_one_line() -> None:
    assert in_one_line("  a\n\tb   @c\r\n") == f"a b @{NOTHING}c"


def test_nothing_that_a_program_printed_ends_its_block() -> None:
    printed = "one\n```\n````` two\n<!-- squadron:escalation:1#2 -->"
    lines = fenced(printed).splitlines()
    assert (lines[0], lines[-1]) == ("``````text", "``````")
    assert "<!--" not in fenced(printed)
    assert fenced("one") == "```text\none\n```"


def test_what_is_folded_has_something_in_it() -> None:
    assert folded("Limits", "") == ""
    assert folded("Limits", "x") == "<details><summary>Limits</summary>\n\nx\n\n</details>"


def test_a_quote_quotes_every_line() -> None:
    assert quoted("one\n\n  two ") == "> one\n>\n>   two"
    assert quoted("") == ""


# --- figures ----------------------------------------------------------------------------------


def test_an_instant_is_told_in_utc_to_the_minute() -> None:
    assert instant(datetime(2026, 3, 1, 9, 5, 59, tzinfo=UTC)) == "2026-03-01 09:05 UTC"
    east = timezone(timedelta(hours=2))
    assert instant(datetime(2026, 3, 1, 1, 0, tzinfo=east)) == "2026-02-28 23:00 UTC"


@pytest.mark.parametrize(
    ("limit", "amount", "text"),
    [
        ("max_cost_usd", 0.021, "$0.021"),
        ("max_planning_cost_usd", 1, "$1.00"),
        ("max_tool_calls", 5, "5"),
        ("max_cost_usd", None, "unknown"),
        ("setup_failed", 2, "2"),
    ],
)
def test_an_amount_is_told_in_the_unit_of_its_limit(
    limit: str, amount: float | None, text: str
) -> None:
    assert in_unit(limit, amount) == text


def test_limits_are_a_table_and_estimates_are_named_below_it() -> None:
    uses = (
        LimitUse(CATALOGUE[LimitName.MAX_TURNS], 1, 50),
        LimitUse(CATALOGUE[LimitName.MAX_EXECUTION_COST_USD], 0.06, 2.5),
    )
    shown = replace(report(agent(), [], START), uses=uses)
    guessed = replace(shown, counters=Counters(model_calls=3, estimated_calls=2))
    assert limits_table(guessed) == (
        f"{limits_table(shown)}\n\n"
        "The model's endpoint did not report what 2 of 3 model calls used. Their tokens and their"
        " cost are estimated from what was sent and received."
    )
    assert limits_table(shown) == (
        "| limit | used | maximum | unit |\n"
        "| --- | ---: | ---: | --- |\n"
        "| `max_turns` | 1 | 50 | turns |\n"
        "| `max_execution_cost_usd` | $0.06 | $2.50 | USD |"
    )


def run(number: int, outcome: Outcome | None = Outcome.FAILED, failures: str = "") -> ReportedRun:
    """A test run whose command has its number."""
    return ReportedRun(
        command=f"pytest -k t{number}",
        outcome=outcome,
        failures=failures,
        output="",
        changed=number % 2 == 0,
    )


def test_test_runs_are_a_table_that_no_command_can_break() -> None:
    runs = [
        run(1, failures="a | b"),
        run(2, Outcome.DID_NOT_RUN),
        run(3, None),
        ReportedRun("echo `x` | pytest\n@mona", Outcome.PASSED, "", "", changed=False),
    ]
    assert runs_table(runs) == (
        "| # | test run | outcome | failures | changed before |\n"
        "| ---: | --- | --- | --- | --- |\n"
        "| 1 | `pytest -k t1` | failed | a ¦ b | no |\n"
        "| 2 | `pytest -k t2` | did not run |  | yes |\n"
        "| 3 | `pytest -k t3` | not finished |  | no |\n"
        f"| 4 | `echo 'x' ¦ pytest @{NOTHING}mona` | passed |  | no |"
    )


def test_the_latest_twelve_test_runs_are_listed_under_their_numbers() -> None:
    def numbers(count: int) -> list[str]:
        lines = runs_table([run(n) for n in range(1, count + 1)]).splitlines()[2:]
        shown = [(line.split(" | ")[0], line.split("`")[1]) for line in lines]
        assert all(command == f"pytest -k t{mark[2:]}" for mark, command in shown)
        return [mark for mark, _ in shown]

    assert numbers(1) == ["| 1"]
    assert numbers(12) == [f"| {n}" for n in range(1, 13)]
    assert numbers(13) == [f"| {n}" for n in range(2, 14)]


def test_long_commands_and_failures_are_cut_in_the_table() -> None:
    table = runs_table([ReportedRun("x" * 500, Outcome.FAILED, "y" * 500, "", changed=True)])
    command, _, failures = table.splitlines()[-1].split(" | ")[1:4]
    assert len(command.strip("`")) == 79 and len(failures) == 119
