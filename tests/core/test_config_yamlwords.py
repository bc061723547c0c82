"""What is no YAML is told in words of who wrote it, with the place where it went wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.yamltree import parse

BACKSLASH = "this backslash means nothing in double quotes: use single quotes, or double it"
WRONG = {
    "roles:\n  docs:\n    model: x\n   tests: none\n": (
        "4:4: line 4 is indented less than line 3, and like no line above it"
    ),
    "roles:\n    docs: {}\n\n  # more\n  pm: {}\n": (
        "5:3: line 5 is indented less than line 2, and like no line above it"
    ),
    "enabled: true\n  co_author: true\n": (
        "2:3: line 2 is indented more than line 1, which has its value"
    ),
    "enabled: true\n  - a: 1\n": "2:3: line 2 is indented more than line 1, which has its value",
    "roles:\n\tdocs: {}\n": "2:1: a tab: use spaces, not tabs",
    "roles:\n  docs:\n\t  model: x\n": "3:1: a tab: use spaces, not tabs",
    "roles:\t\n  docs: {}\n": "1:7: a tab: use spaces, not tabs",
    "escalation:\n  assignees: @ada\n": "2:14: quote '@ada': a text cannot begin with @",
    "escalation:\n  assignees: [@ada, bo]\n": "2:15: quote '@ada': a text cannot begin with @",
    "escalation:\n  assignees:\n    - @ada\n": "3:7: quote '@ada': a text cannot begin with @",
    "x: `a`\n": "1:4: quote '`a`': a text cannot begin with `",
    "x: *.py\n": "1:4: quote '*.py': a text cannot begin with *",
    "x: |abc\n": "1:4: quote '|abc': a text cannot begin with |",
    "x: >=3\n": "1:4: quote '>=3': a text cannot begin with >",
    "verify: npm run: all\n": ("1:16: a text with a colon and a blank in it has to be in quotes"),
    "enabled true\nco_author: true\n": (
        "1:1: line 1 is no `key: value`: it needs a colon, and a blank after that"
    ),
    "roles:\n  docs\n    model: x\n": (
        "2:3: line 2 is no `key: value`: it needs a colon, and a blank after that"
    ),
    "x:1\ny: 2\n": "1:1: line 1 is no `key: value`: it needs a colon, and a blank after that",
    "x: 'abc\ny: 2\n": "1:4: this quote is never closed",
    'x: "abc\ny: 2\n': "1:4: this quote is never closed",
    'x: "a" b\n': "1:8: text after the end of a value: put all of it into one pair of quotes",
    'x: "\\d+"\n': f"1:5: {BACKSLASH}",
    "x: [a, b\ny: 2\n": "1:4: this [ is not closed before line 2: a comma or ] is missing",
    "x: {a: 1\ny: 2\n": "1:4: this { is not closed before line 2: a comma or } is missing",
    "x: [a\n": "1:4: this [ is not closed before the end of the file: a comma or ] is missing",
    "x: ]\n": "1:4: this ] ends nothing: quote a text that begins with it",
    "x: 1\n- a\n": "2:1: an item of a list among keys: indent it below the key it belongs to",
    "- a\nx: 1\n": "2:1: a key among the items of a list: indent it as a part of one of them",
    "%x: 1\n": "1:1: a line cannot begin with %: quote the text",
    "a: 1\n<<<<<<< HEAD\nx: 1\n=======\nx: 2\n>>>>>>> b\n": "2:1: a merge conflict is left here",
}


@pytest.mark.parametrize("text", WRONG)
def test_the_place_and_what_to_do_about_it(text: str) -> None:
    document = parse(text)
    assert document.root is None
    [mistake] = document.mistakes
    assert f"{mistake.place.line}:{mistake.place.column}: {mistake.message}" == WRONG[text]


PIECES = st.sampled_from(
    ["a", ":", " ", "\n", "\n  ", "\t", "-", "- ", "[", "]", "{", "}", ",", "'", '"', "@", "*", "&",
     "|", ">", "%", "!", "#", "\\", "?", "<<<<<<< ", "\r", "\u2028", "ä"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
def test_whatever_it_is_the_place_is_one_of_the_text(text: str) -> None:
    lines = text.count("\n") + text.count("\r") + text.count("\u2028") + 1
    for mistake in parse(text).mistakes:
        assert 1 <= mistake.place.line <= lines + 1 and mistake.place.column >= 1
        assert mistake.message and mistake.message.isprintable()
