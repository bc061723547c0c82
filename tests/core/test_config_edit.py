"""A value is set in a file, and nothing else in it moves."""

import string

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from app.config.yamledit import CannotEdit, Path, with_values
from tests.core.strategies import EXAMPLES

CALLS: Path = ("circuit_breakers", "roles", "bug-fix", "max_tool_calls")


def edited(text: str, value: float = 140, path: Path = CALLS) -> str:
    return with_values(text, {path: value})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "circuit_breakers:\n  roles:\n    bug-fix:\n      max_tool_calls: 140\n"),
        (
            "# nothing yet\n",
            "# nothing yet\ncircuit_breakers:\n  roles:\n    bug-fix:\n      max_tool_calls: 140\n",
        ),
        (
            "enabled: true  # on",
            "enabled: true  # on\n"
            "circuit_breakers:\n  roles:\n    bug-fix:\n      max_tool_calls: 140\n",
        ),
        (
            "circuit_breakers:\n  defaults:\n    max_turns: 9\n",
            "circuit_breakers:\n  roles:\n    bug-fix:\n      max_tool_calls: 140\n"
            "  defaults:\n    max_turns: 9\n",
        ),
        (
            "circuit_breakers:\n    roles:\n        # people\n        pm: {max_turns: 2}\n",
            "circuit_breakers:\n    roles:\n        # people\n"
            "        bug-fix:\n          max_tool_calls: 140\n        pm: {max_turns: 2}\n",
        ),
        (
            "circuit_breakers:\n  roles:\n    bug-fix:   # empty: all defaults\n    pm:\n",
            "circuit_breakers:\n  roles:\n    bug-fix:   # empty: all defaults\n"
            "      max_tool_calls: 140\n    pm:\n",
        ),
        (
            "circuit_breakers:\n  roles:\n    bug-fix:",
            "circuit_breakers:\n  roles:\n    bug-fix:\n      max_tool_calls: 140\n",
        ),
        (
            "circuit_breakers:\n  roles:\n    bug-fix: {}  # none\n",
            "circuit_breakers:\n  roles:\n    bug-fix: {max_tool_calls: 140}  # none\n",
        ),
        (
            "circuit_breakers:\n  roles:\n    bug-fix: null\n",
            "circuit_breakers:\n  roles:\n    bug-fix: {max_tool_calls: 140}\n",
        ),
        (
            "circuit_breakers:\n  roles:\n    bug-fix: {max_turns: 3}\n",
            "circuit_breakers:\n  roles:\n    bug-fix: {max_tool_calls: 140, max_turns: 3}\n",
        ),
        (
            "circuit_breakers:\n  roles:\n    bug-fix:\n      max_tool_calls: 200 # 002\n",
            "circuit_breakers:\n  roles:\n    bug-fix:\n      max_tool_calls: 140 # 002\n",
        ),
        (
            "circuit_breakers:\n  roles:\n    bug-fix:\n      max_tool_calls:\n",
            "circuit_breakers:\n  roles:\n    bug-fix:\n      max_tool_calls: 140\n",
        ),
        (
            '{"circuit_breakers": {"defaults": {"max_turns": 3}}}\n',
            '{"circuit_breakers": {roles: {bug-fix: {max_tool_calls: 140}},'
            ' "defaults": {"max_turns": 3}}}\n',
        ),
        ("{}\n", "{circuit_breakers: {roles: {bug-fix: {max_tool_calls: 140}}}}\n"),
        (
            "circuit_breakers:\r\n  roles:\r\n    bug-fix:\r\n      max_tool_calls: 200\r\n",
            "circuit_breakers:\r\n  roles:\r\n    bug-fix:\r\n      max_tool_calls: 140\r\n",
        ),
    ],
)
def test_a_value_is_set_where_people_would_write_it(before: str, after: str) -> None:
    assert edited(before) == after


def test_money_is_written_as_it_is_read() -> None:
    path = ("circuit_breakers", "roles", "pm", "max_cost_usd")
    assert yaml.safe_load(edited("", 0.35, path))["circuit_breakers"]["roles"]["pm"] == {
        "max_cost_usd": 0.35
    }


@pytest.mark.parametrize(
    "text",
    [
        "- a\n",
        "a: [1\n",
        "circuit_breakers: 7\n",
        "circuit_breakers:\n  roles:\n    bug-fix:\n      max_tool_calls: [200]\n",
        # one value for two roles
        "x: &x {max_turns: 2, max_tool_calls: 9}\ncircuit_breakers:\n  roles:\n    bug-fix: *x\n",
    ],
)
def test_what_cannot_be_edited_alone_is_refused(text: str) -> None:
    with pytest.raises(CannotEdit):
        edited(text)


names = st.text(string.ascii_lowercase, min_size=1, max_size=4) | st.sampled_from(
    ["circuit_breakers", "roles", "bug-fix", "max_tool_calls", "yes", "1"]
)
trees = st.recursive(
    st.integers(0, 9) | st.none() | st.just("text # no comment"),
    lambda inner: st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@EXAMPLES
@given(
    st.dictionaries(names, trees, max_size=5),
    st.dictionaries(st.tuples(names, names, names), st.integers(0, 999), min_size=1, max_size=3),
    st.sampled_from([True, False, None]),
)
def test_whatever_a_file_says_only_the_values_change(
    tree: dict[str, object], values: dict[Path, int], flow: bool | None
) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow)
    commented = "# first\n" + text.replace("\n", "  # note\n") if flow is False else text
    for file in (text, commented):
        try:
            new = with_values(file, values)
        except CannotEdit:
            continue
        after = yaml.safe_load(new)
        for path, value in values.items():
            place = after
            for name in path[:-1]:
                place = place[name]
            assert place[path[-1]] == value
        assert file.count("#") == new.count("#")
        kept = [line for line in file.splitlines() if "# note" in line]
        assert all(line.partition("#")[2] in new for line in kept)
