"""Rules of a repository, and which selection covers which."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.shell import parse
from app.core.testruns import Suite, SuiteRules, covers, may_change, suite_of

PROPERTY = settings(deadline=None, derandomize=True, max_examples=200)

SELECTORS = st.sampled_from(
    ["tests", "tests/unit", "tests/unit/a.py", "tests/unit/a.py::T", "tests/unit/a.py::T::t",
     "tests/unit/a.py::T::t[1]", "tests/unitary", "-k fast", "-m slow", "pkg/...", "pkg/x", "pkg",
     "cd tests", "cd tests/unit", "cd pkg"]
)  # fmt: skip
SUITES = st.builds(
    Suite,
    runner=st.sampled_from(["pytest", "go test"]),
    selectors=st.lists(SELECTORS, max_size=3, unique=True).map(lambda s: tuple(sorted(s))),
    status_visible=st.booleans(),
)


@PROPERTY
@given(SUITES)
def test_covers_is_reflexive(suite: Suite) -> None:
    assert covers(suite, suite)


@PROPERTY
@given(SUITES, SUITES, SUITES)
def test_covers_is_transitive(a: Suite, b: Suite, c: Suite) -> None:
    if covers(a, b) and covers(b, c):
        assert covers(a, c)


@PROPERTY
@given(SUITES)
def test_the_whole_suite_covers_all_and_only_it_covers_itself(suite: Suite) -> None:
    whole = Suite(suite.runner, (), True)
    assert covers(whole, suite)
    assert covers(suite, whole) is (suite.selectors == ())


def selection(*selectors: str) -> Suite:
    return Suite("pytest", selectors, True)


@pytest.mark.parametrize(
    ("wide", "narrow", "covered"),
    [
        (("tests",), ("tests/a.py",), True),
        (("tests/a.py",), ("tests/a.py::t",), True),
        (("tests/a.py::t",), ("tests/a.py::t[1]",), True),
        (("spec/a_spec.rb",), ("spec/a_spec.rb:12",), True),
        (("pkg/...",), ("pkg/x",), True),
        (("pkg/...",), ("pkg",), True),
        (("tests/a.py",), ("tests",), False),
        (("tests/a",), ("tests/ab.py",), False),
        (("tests/a.py", "tests/b.py"), ("tests/b.py::t",), True),
        (("tests/a.py",), ("tests/a.py", "tests/b.py"), False),
        (("-k fast",), ("-k fast",), True),
        (("-k fast",), ("-k slow",), False),
        (("-k fast",), ("tests/a.py",), False),
        (("-k fast",), ("-k fast", "tests/a.py"), True),
        (("-k fast", "tests"), ("tests/a.py",), False),
        (("tests",), ("-k fast", "tests/a.py"), True),
        (("tests",), ("-k fast",), False),
        (("cd web",), ("web/tests/a.py",), True),
        (("cd web",), ("cd web/api",), True),
        (("cd web",), ("cd api",), False),
        (("cd web",), (), False),
        (("web/tests",), ("cd web",), False),
    ],
)
def test_covers(wide: tuple[str, ...], narrow: tuple[str, ...], covered: bool) -> None:
    assert covers(selection(*wide), selection(*narrow)) is covered


def test_another_runner_is_never_covered() -> None:
    assert not covers(Suite("pytest", (), True), Suite("npm test", (), True))


RULES = SuiteRules(
    add=(("make", "verify"), ("python", "reproduce.py")),
    exclude=(("make", "test", "e2e"), ("tox",)),
)


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("make verify", "make verify"),
        ("cd x && timeout 5 make verify | tail", "make verify"),
        ("python3 reproduce.py --fast", "python reproduce.py"),
        ("make -s verify", "make verify"),
        ("make -C sub verify", None),
        ("make other verify", None),
        ("python other.py", None),
        ("tox -e py311", None),
        ("make test", "make test"),
        ("make test e2e", None),
        ("bash -c 'tox'", None),
        ("tox; pytest", "pytest"),
    ],
)
def test_a_repository_adds_and_excludes(command: str, runner: str | None) -> None:
    found = suite_of(parse(command), RULES)
    assert (found.runner if found else None) == runner


def test_exclude_wins_over_add() -> None:
    both = SuiteRules(add=(("make", "verify"),), exclude=(("make", "verify"),))
    assert suite_of(parse("make verify"), both) is None


def test_a_rule_tells_what_narrows() -> None:
    found = suite_of(parse("python reproduce.py case7"), RULES)
    assert found is not None
    assert found.selectors == ("case7",)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q", False),
        ("cd web && timeout 60 pytest 2>&1 | tail -5", False),
        ("bash -c 'pytest -q'", False),
        ("pytest > out.log", False),
        ("source env/bin/activate; python -m pytest", False),
        ("sed -i s/a/b/ shapes.py && pytest", True),
        ("cat > shapes.py <<'EOF'\nx = 1\nEOF\npytest", True),
        ("cat <<EOF > shapes.py\nx = 1\nEOF\npytest", True),
        ("(echo 'x = 1' > shapes.py); pytest", True),
        ("git checkout . && pytest", True),
        ("python fix.py; pytest", True),
    ],
)
def test_a_line_may_change_something_besides_running_tests(command: str, expected: bool) -> None:
    assert may_change(parse(command, pipefail=True)) is expected
