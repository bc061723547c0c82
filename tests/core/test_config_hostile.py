"""Whatever the files contain: no exception, a place inside the file, and a bound on the work."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config.branchnames import checked_branch_naming, is_branch_name
from app.config.operator import OperatorConfig, read_operator
from app.config.repository import read_repository
from app.config.schema import ConfigFile
from app.config.strict import MAX_ENTRIES
from app.config.yamltree import MAX_DEPTH, MAX_FILE_BYTES, MAX_NODES, Place, parse
from app.core.rules.plan import ConfigProblem
from tests.core.test_config_operator import EVERYTHING
from tests.core.test_config_repository import ALL_DEFAULTS, SEED_002

AGENT = "---\ndescription: Works.\nmax_turns: 3\ntools: [view]\n---\n\nWork.\n"
MONEY = """\
circuit_breakers:
  defaults: {on_limit: {default: warn, max_cost_usd: request_increase}, shadow: [max_turns]}
  roles: {pm: {preset: qa, max_cost_usd: 0.5, on_limit: pause}}
budgets:
- {scope: role, name: feat-dev, window: day, max_cost_usd: 20}
- {scope: issue, name: 12, window: total, max_cost_usd: 0.01}
"""
KEYS = st.sampled_from(
    [*ConfigFile.model_fields, "defaults", "bug-fix", "pm", "preset", "max_turns", "model", "x"]
)
PIECES = [
    "\t",
    "\n",
    ":",
    "- ",
    "*a",
    "&a ",
    "!!x ",
    "[",
    "}",
    "'",
    '"',
    "---\n",
    "? ",
    "<<: ",
    "|",
]
PIECES += ["\0", "\x85", "\u2028", "\ufeff", "é", "\ud800", '"\\ud800"', "9" * 30, "{", "%"]


def inside(problem: ConfigProblem, text: str) -> bool:
    lines = re.split("\r\n|[\n\r\x85\u2028\u2029]", text.removeprefix("\ufeff"))
    if not 1 <= problem.line <= len(lines):
        return False
    return 1 <= problem.column <= len(lines[problem.line - 1]) + 1


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        upto = at + draw(st.integers(0, 12))
        piece = draw(st.sampled_from(PIECES) | st.text(max_size=3))
        text = text[:at] + piece + text[upto:]
    return text


@settings(deadline=None, derandomize=True, max_examples=250)
@given(mutated(SEED_002) | mutated(ALL_DEFAULTS) | mutated(MONEY), mutated(AGENT))
def test_no_mutation_of_a_repositorys_files_raises_and_every_problem_has_a_place(
    config: str, agent: str
) -> None:
    files = {"config.yaml": config, "agents/bug-fix.md": AGENT, "agents/pm.md": agent}
    reading = read_repository(files, OperatorConfig())
    assert (reading.plan is None) <= bool(reading.problems)
    for problem in reading.problems:
        assert inside(problem, files[problem.file.removeprefix(".squadron/")]), problem
        assert str(problem).isprintable()


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.binary(max_size=60) | mutated(EVERYTHING))
def test_nothing_makes_the_operators_file_raise(content: bytes | str) -> None:
    reading = read_operator(content, "op.yaml")
    assert (reading.config is None) == bool(reading.problems)


@pytest.mark.parametrize("count", [MAX_ENTRIES, MAX_ENTRIES + 1])
@pytest.mark.parametrize("role", ["", "{}", "{x: 1}", "{runtime: 7}"])
def test_what_shows_only_without_the_other_mistakes_is_a_mistake_too(role: str, count: int) -> None:
    """A mapping that is too long is not looked at before all that stands in it is right."""
    roles = "".join(f"  r{number}: {role}\n" for number in range(count))
    reading = read_repository({"config.yaml": f"roles:\n{roles}"}, OperatorConfig())
    told = [str(problem) for problem in reading.problems]
    assert any("roles: must have at most 200 entries" in each for each in told) == (
        count > MAX_ENTRIES
    )
    is_wrong = role in ("{x: 1}", "{runtime: 7}")
    assert sum("roles.r" in each for each in told) == (count if is_wrong else 0)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "x", "pause", "embedded"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=4)
        | inner.map(lambda value: {f"n{number}": value for number in range(MAX_ENTRIES + 1)})
        | inner.map(lambda value: [value] * (MAX_ENTRIES + 1))
    ),
    max_leaves=6,
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_no_structure_makes_a_repositorys_file_raise(document: dict[str, object]) -> None:
    """Long ones, deep ones, and right keys with wrong values."""
    config = json.dumps(document)
    reading = read_repository({"config.yaml": config}, OperatorConfig())
    assert (reading.plan is None) <= bool(reading.problems)


def only_message(config: str | bytes) -> str:
    (problem,) = read_repository({"config.yaml": config}, OperatorConfig()).problems
    return str(problem).removeprefix(".squadron/config.yaml:")


def test_a_file_is_bounded_in_bytes_depth_and_values() -> None:
    comment = b"#" * MAX_FILE_BYTES
    assert read_repository({"config.yaml": comment}, OperatorConfig()).problems == ()
    assert only_message(comment + b"#") == "1:1: larger than 256 kB"
    assert "nested deeper" in only_message("a: " + "[" * (MAX_DEPTH + 1))
    assert "nested deeper" not in only_message("enabled: " + "[" * MAX_DEPTH)
    assert "nested deeper" in only_message("? " * 5_000)
    assert f"more than {MAX_NODES} values" in only_message("a: [" + "1," * MAX_NODES + "]")


def test_an_alias_bomb_is_refused_where_it_starts() -> None:
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    problems = read_repository({"config.yaml": bomb}, OperatorConfig()).problems
    assert ".squadron/config.yaml:2:8: b[0]: aliases are not supported: write the value out" in [
        str(problem) for problem in problems
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\nb: \xff", "2:4: not UTF-8 text"),
        (b"\xef\xbb\xbfa: \xff", "1:4: not UTF-8 text"),
        ("a: \ud800", "1:4: not UTF-8 text"),
        ("enabled: true\nx\x07", "2:2: character not allowed in YAML"),
    ],
)
def test_what_is_not_text_is_refused_with_its_place(content: str | bytes, message: str) -> None:
    assert only_message(content) == message


def test_a_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    files = {
        "config.yaml": b"\xef\xbb\xbfenabled: false\r\n",
        "agents/pm.md": AGENT.replace("\n", "\r\n").encode(),
    }
    reading = read_repository(files, OperatorConfig())
    assert reading.problems == ()
    assert reading.plan is not None
    assert (reading.plan.enabled, reading.plan.roles["pm"].limits.max_turns) == (False, 3)


def test_places_lead_back_to_keys_and_values() -> None:
    document = parse("a:\n  - x\n  - b: 1\n")
    assert document.place(("a",)) == Place(2, 3)
    assert document.place(("a",), of_key=True) == Place(1, 1)
    assert document.place(("a", 1, "b")) == Place(3, 8)
    assert document.place(("a", 9, "zz")) == Place(2, 3)


REFUSED_BY_GIT = ["", "/a", "-a", "a/", "a.", ".a", "a/.b", "a..b", "a//b", "a b", "a~", "a^", "a:"]
REFUSED_BY_GIT += ["a?", "a*", "a[", "a\\", "a@{", "@", "a.lock", "a.lock/b", "HEAD", "a\x7f"]


@pytest.mark.parametrize("name", REFUSED_BY_GIT)
def test_names_that_git_refuses_are_refused(name: str) -> None:
    assert not is_branch_name(name)


@pytest.mark.parametrize(
    "pattern", ["{issue}-{role}", "squadron/{role}/{issue}", "a@b/{slug}{role}/{issue}"]
)
def test_patterns_that_git_takes_are_taken(pattern: str) -> None:
    assert checked_branch_naming(pattern) == pattern
