"""`docs/acceptance.md`: each scenario that rules out a failure of others has its named tests."""

import ast
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/acceptance.md"
PLACES = ("tests/scenarios", "tests/stories", "tests/crash")
NUMBERS = range(1, 31)
_NAME = re.compile(r"test_peers_(\d\d)_[a-z0-9_]+")
_ROW = re.compile(r"\| (\d+) \| ([^|]+) \| ([^|]+) \|")


@cache
def told() -> Mapping[int, Sequence[str]]:
    """Scenario → `file: test` of each test that is named after it."""
    found = defaultdict(list)
    for place in PLACES:
        for file in sorted((ROOT / place).glob("test_*.py")):
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and (name := _NAME.fullmatch(node.name)):
                    number, said = int(name[1]), " ".join((ast.get_docstring(node) or "").split())
                    words = f"peers, scenario {number}"
                    assert re.search(rf"{words}\b", said, re.IGNORECASE), (
                        f"{file.name}: the docstring of {node.name} has to say {words!r}"
                    )
                    found[number].append(f"`{file.relative_to(ROOT)}`: `{node.name}`")
    return found


def test_every_scenario_has_a_test_of_its_name() -> None:
    assert told().keys() == {*NUMBERS}


@pytest.mark.parametrize("number", NUMBERS)
def test_the_table_names_exactly_the_tests_there_are(number: int) -> None:
    rows = {int(row[1]): row for row in _ROW.finditer(PAGE.read_text(encoding="utf-8"))}
    tests = "; ".join(told()[number])
    right = f"| {number} | {rows[number][2]} | {tests} |"
    assert rows[number][0] == right, f"{PAGE.name} has to say: {right}"
