"""What a model gets of people's text is what people see of it."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.text.hidden_parts import ALT, REMOVED
from app.core.text.visible import FOOTNOTE, TURNED, markdown, plain
from app.core.words.prompts import fenced
from tests.core.strategies import EXAMPLES

HIDDEN = "SECRETWORD"
HIDES = [
    f"<!-- {HIDDEN} -->",
    f"<!--{HIDDEN}\n\nmore\n-->",
    f"<!-- {HIDDEN}",
    f"before <!-- ``` {HIDDEN} --> after",
    f"<!--\n```\n{HIDDEN}\n```\n-->",
    f"<?php {HIDDEN} ?>",
    f"<![CDATA[ {HIDDEN} ]]>",
    f"<!X {HIDDEN}>",
    f"[//]: # ({HIDDEN})",
    f'[note]: <> "{HIDDEN}"',
    f"[note]: #\n  '{HIDDEN}'",
    f"[{HIDDEN}]: #",
    f"> [//]: # ({HIDDEN})",
    f"- [//]: # ({HIDDEN})",
    f"1. [//]: # ({HIDDEN})",
    f"See [x].\n\n[x]: https://example.org '{HIDDEN}'",
    "".join(chr(0xE0000 + ord(letter)) for letter in HIDDEN),
    "".join(chr(0xE0100 + ord(letter) - 16) for letter in HIDDEN),
    "\ufe00\ufe01\ufe02\ufe03\ufe04",
    "\u200b\u200c\u200d\u200b\u200c\u200d",
    f'[x](https://example.org "{HIDDEN}")',
    f"[x](  https://example.org\n '{HIDDEN} and \\' more' )",
    f"[x](a(b(c(d))) ({HIDDEN}))",
    f'[x](<a b> "{HIDDEN}")',
    f"[x](<{HIDDEN} and more>)",
    f'![x](https://example.org/x.png "{HIDDEN}")',
    f'[![x](y "{HIDDEN}")](z)',
    f"See [x].\n\n[x]: <{HIDDEN} and more>",
    f'<a href="https://example.org" title="{HIDDEN}">x</a>',
    f"Here is <b\n  title = '{HIDDEN}'>bold</b>",
    f"> Here is <b\n> data-x={HIDDEN}>bold</b>",
    f"<div {HIDDEN}>x</div>",
    f'<div ="{HIDDEN} and more">x</div>',
    f"</div {HIDDEN}>",
    f'<img width="{HIDDEN}" src="{HIDDEN} and more">',
    f'<div title="{HIDDEN}',
    f'<pre>\n\n`<b title="{HIDDEN}">x</b>`\n</pre>',
    # What looks like code, and is none on GitHub:
    f'<div>\n`<b title="{HIDDEN}">x</b>`\n</div>',
    f'One ` two\nthree ` <b title="{HIDDEN}">x</b> ` four',
    f'<b title="`">x</b> <b title="{HIDDEN}">`</b>',
    f'[x](u "`") ` <b title="{HIDDEN}">`</b>',
    f'| ` | ` <b title="{HIDDEN}">x</b> ` |',
    f'\\` <b title="{HIDDEN}">x</b> `',
    f"<div>\n```\n<!-- {HIDDEN} -->\n```\n</div>",
    f"<pre>\n\n```\n<!-- {HIDDEN} -->\n```\n</pre>",
    f"- ```\n  x\n  ```\n<!-- {HIDDEN} -->",
    f"``` a`b\n<!-- {HIDDEN} -->\n```",
    f"    ```\n<!-- {HIDDEN} -->\n    ```",
    f"```\ncode\n   ``` \t\n<!-- {HIDDEN} -->",
    f"~~~\ncode\n~~~~\n<!-- {HIDDEN} -->",
    f"```\rcode\r```\r<!-- {HIDDEN} -->",
    f"```\ncode\n    ```x\n``\n```\n<!-- {HIDDEN} -->",
    f"`\u200b``\n<!-- {HIDDEN} -->\n```",
]
STAYS = [
    "A plain sentence.",
    "a < b, x <- y, 1 <? 2 is rare",
    "`code` and **bold**, [a link](https://example.org)",
    "See [docs][d].\n\n[d]: https://example.org/docs",
    "A note.[^1]\n\n[^1]: Its text.",
    f"```html\n<!-- {HIDDEN} -->\n[//]: # (x)\n```",
    f"~~~~\n```\n<!-- {HIDDEN} -->\n~~~~",
    f"```\n<!-- {HIDDEN} -->",
    f"````\n```\n<!-- {HIDDEN} -->\n````",
    f"```\n\n<!-- {HIDDEN} -->\n```",
    f"```\n    ```\n<!-- {HIDDEN} -->\n```",
    "<details><summary>More</summary>\n\ntext\n\n</details>",
    '<details open>\n<img width="20" height=\'30px\' src="https://example.org/x.png">',
    "A `<b title='x'>` and ``[`](u \"v\")`` and `![x](y)`",
    "<https://example.org/a> and <ada@example.org>\nand `<b title='x'>`",
    'Vec<String, u8>, x < y and vec![1, 2], f(a[0](b) "c"), [x](u) "said")',
    "[one](u), [two](a(b)), [three](<a>) \\![no](picture)",
    "Привет, 你好, שלום, مرحبا ١٢٣",
    "\tA tab\r\nand lines\n",
]


@pytest.mark.parametrize("text", HIDES)
def test_what_github_hides_is_taken_out_and_leaves_a_mark(text: str) -> None:
    shown = markdown(f"Before.\n\n{text}\n\n")
    assert HIDDEN not in shown
    assert shown.startswith("Before.\n\n") and REMOVED in shown


@pytest.mark.parametrize("text", [each for each in STAYS if "1 <? 2" not in each])
def test_what_github_shows_stays_as_it_is(text: str) -> None:
    assert markdown(text) == text


def test_text_after_what_is_hidden_stays() -> None:
    assert markdown("a <!-- b --> c\n[//]: # (d)\ne") == f"a {REMOVED} c\n{REMOVED}\ne"


def test_a_footnote_that_nothing_refers_to_is_shown_as_hidden() -> None:
    assert markdown("Text.\n\n[^x]: Push to main.") == f"Text.\n\n{FOOTNOTE} Push to main."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![Push it](x.png)", "![alt text: Push it](x.png)"),
        ("[![Push *it*](x)](y)", "[![alt text: Push *it*](x)](y)"),
        ("![Push [it]](x)", "![alt text: Push [it]](x)"),
        ("![a][b]\n\n[b]: x", "![alt text: a][b]\n\n[b]: x"),
        ("![B][]\n\n[b]: x", "![alt text: B][B]\n\n[b]: x"),
        ("![b]\n\n[b]: x", "![alt text: b][b]\n\n[b]: x"),
        ('<img alt=\'Say "x"\' src="x">', '<img alt="alt text: Say \'x\'" src="x">'),
        ('<img src="x" alt="">', '<img src="x" alt="">'),
    ],
)
def test_words_that_stand_for_a_picture_are_called_that(text: str, shown: str) -> None:
    assert markdown(text) == markdown(shown) == shown


def test_a_link_keeps_its_address_and_a_tag_what_holds_no_words() -> None:
    assert markdown("[x](u 'v') y") == f"[x](u){REMOVED} y"
    assert markdown("[x](<u v>) y") == f"[x]({REMOVED}) y"
    assert markdown('a <b title="x" HREF=u open id=y>z') == f"a <b HREF=u open {REMOVED}>z"
    assert markdown("<p id=y/>\n\n`<p id=y>`") == f"<p {REMOVED}>\n\n`<p id=y>`"


def test_a_title_is_no_markdown() -> None:
    assert plain("Parse <!-- in templates") == "Parse <!-- in templates"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("in\u200bvisible", "invisible"),
        ("na\u00efve\u00ad", "na\u00efve"),
        ("\u2764\ufe0f", "\u2764"),
        ("\ufeffbegin", "begin"),
        ("a\u202egnp.exe\u202c", f"a{TURNED}gnp.exe{TURNED}"),
        ("a\u2066b\u2069", f"a{TURNED}b{TURNED}"),
        ("one\u2028two", "one\ntwo"),
        ("\x1b[2Jgone\x00", "[2Jgone"),
        ("\U000e0041", REMOVED),
        ("\u200b" * 4, REMOVED),
    ],
)
def test_characters_that_nobody_sees(text: str, shown: str) -> None:
    assert plain(text) == markdown(text) == shown


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (0x00AD, 0x00AD),
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x200B, 0x200F),
        (0x2060, 0x2065),
        (0x206A, 0x206F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0),
        (0xFFF9, 0xFFFB),
        (0xE0000, 0xE0FFF),
    ],
    ids=hex,
)
def test_each_range_that_nobody_sees_ends_where_it_ends(first: int, last: int) -> None:
    """Its neighbours are seen, or turn the text, and are not swallowed."""
    for code in (first, last):
        assert plain(chr(code)) in ("", REMOVED)
    for code in (first - 1, last + 1):
        assert plain(chr(code)) in (chr(code), TURNED, "\n")


@EXAMPLES
@given(st.text(st.characters(codec="utf-8", max_codepoint=0xE0FFF), max_size=60))
def test_no_character_is_left_that_nobody_sees(text: str) -> None:
    for character in markdown(text):
        seen = unicodedata.category(character) not in ("Cf", "Cc") or character in "\n\r\t"
        assert seen or 0x600 <= ord(character) <= 0x8FF
        assert not 0xFE00 <= ord(character) <= 0xFE0F and ord(character) < 0xE0000


@EXAMPLES
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 50)), min_size=1, max_size=6))
def test_in_any_company_hidden_words_go_and_shown_words_stay(
    choice: list[tuple[bool, int]],
) -> None:
    """Paragraph by paragraph; what is left open hides all that follows, so it comes last."""
    open_ended = (f"<!-- {HIDDEN}", f"```\n<!-- {HIDDEN} -->")
    hides = [each for each in HIDES if each.count("```") % 2 == 0 and each not in open_ended]
    stays = [each for each in STAYS[:5] if "<?" not in each]
    pieces = [
        (hides[number % len(hides)] if is_hidden else stays[number % len(stays)])
        for is_hidden, number in choice
    ]
    words = [f"word{number}." for number in range(len(pieces) + 1)]
    mixed = "\n\n".join(part for pair in zip(words, [*pieces, ""], strict=True) for part in pair)
    shown = markdown(mixed)
    assert HIDDEN not in shown
    places = [shown.find(word) for word in words]
    assert -1 not in places and all(one < other for one, other in pairwise(places))


@EXAMPLES
@given(st.lists(st.sampled_from([*HIDES, *STAYS, "word", "\n\n", "\n", " ", "`", '"']), max_size=6))
def test_what_was_shown_once_is_shown_again(pieces: list[str]) -> None:
    """Nothing is found in a text from which the hidden parts are gone. What is invisible may have
    kept a text from being markdown, so there is none of it here."""
    text = plain("".join(pieces))
    assert markdown(markdown(text)) == markdown(text)


@EXAMPLES
@given(st.text(st.sampled_from("ab ![]()\"'"), max_size=30))
def test_words_outside_of_titles_stay(text: str) -> None:
    """Of links and pictures at most what stands in quotes goes."""
    bare = text.replace('"', "").replace("'", "")
    shown = markdown(bare).replace(ALT, "").replace(REMOVED, "")
    assert [each for each in shown if each in "ab"] == [each for each in bare if each in "ab"]


def test_the_longest_text_is_read_to_its_end() -> None:
    """GitHub's longest body, made of what is looked for."""
    for part in (
        "<!--",
        "[a]: ",
        "[x]: y (",
        "```\n",
        "<?",
        "\u200b",
        "<!x",
        "[^1]:",
        "> - [x]: <",
        "](a",
        "](a (",
        "](((",
        "](a()",
        "![",
        "![]",
        "[![x](",
        "<a ",
        '<a b="',
        "<a\n>",
        "` ``",
        "=<a=",
    ):
        text = (part * 65_536)[:65_536]
        assert len(markdown(text)) <= len(text) * 4


def test_a_prompt_holds_only_what_people_see() -> None:
    assert HIDDEN not in fenced(f"Fix it.\n\n<!-- {HIDDEN} -->", "Body")
    assert "````text" in fenced("``\u200b`", "Body")
