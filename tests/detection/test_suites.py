"""Rules of a repository, and which selection covers which."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.shell import parse
from app.testruns import Suite, SuiteRules, covers, may_change, may_restore, suite_of

PROPERTY = settings(deadline=None, derandomize=True, max_examples=200)

SELECTORS = st.sampled_from(
    ["tests", "tests/unit", "tests/unit/a.py", "tests/unit/a.py::T", "tests/unit/a.py::T::t",
     "tests/unit/a.py::T::t[1]", "tests/unitary", "-k fast", "-m slow", "pkg/...", "pkg/x", "pkg",
     "cd tests", "cd tests/unit", "cd pkg", "cd /srv", "/srv/a.py", "cd $X", "$X", "../a.py",
     "in .", "in web", "in /srv", "//a:b"]
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


BELOW = ("tests", "tests/a.py::T", "-k fast", "cd tests", "pkg/...", "$X", "//a:b")
ELSEWHERE = ("cd /srv", "/srv/a.py", "cd $X", "cd ~/x", "../a.py", "cd ..", "in web", "in /srv")


@PROPERTY
@given(
    st.lists(st.sampled_from(BELOW), max_size=3, unique=True),
    st.lists(st.sampled_from(ELSEWHERE), max_size=3, unique=True),
)
def test_the_whole_suite_covers_all_below_it_nothing_elsewhere_and_is_covered_by_itself(
    below: list[str], elsewhere: list[str]
) -> None:
    whole, part = selection(), selection(*sorted(below + elsewhere))
    assert covers(whole, part) is (not elsewhere)
    assert covers(part, whole) is (part == whole)


@PROPERTY
@given(SUITES, SUITES)
def test_a_run_of_more_covers_no_less(a: Suite, b: Suite) -> None:
    """What is covered by one of two paths is covered by both together."""
    paths = tuple(s for s in b.selectors if not s.startswith(("-", "in ")))
    more = Suite(a.runner, tuple(sorted({*a.selectors, *paths})), True)
    has_paths = any(not s.startswith(("-", "in ")) for s in a.selectors)
    if has_paths and covers(a, b):
        assert covers(more, b)


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
        (("pkg/...",), ("pkg/...",), True),
        (("pkg/...",), ("pkg2/x",), False),
        (("pkg/...",), ("pk",), False),
        (("xx",), ("ab/c",), False),
        (("xx",), ("xx.c",), False),
        (("tests",), ("tests:a",), True),
        (("$X",), ("cd $X",), True),
        ((), ("cd //a",), True),
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
        ((), ("cd web",), True),
        ((), ("cd /srv/repo",), False),
        ((), ("/srv/repo/tests/a.py",), False),
        ((), ("cd ..",), False),
        ((), ("$FILES",), True),
        ((), ("cd $X",), False),
        (("cd /srv/repo",), ("cd /srv/repo",), True),
        (("cd /srv/repo",), ("/srv/repo/tests/a.py",), True),
        (("cd /srv/repo",), ("cd /srv/repository",), False),
        (("cd /srv/repo",), (), False),
        (("cd /srv",), ("cd /srv/repo",), True),
        ((), ("in web",), False),
        (("in web",), (), False),
        (("in web",), ("in web",), True),
        (("in web",), ("in web", "src/a.test.js"), True),
        (("in web", "src/a.test.js"), ("in web",), False),
        (("in web",), ("in web/api",), False),
        (("in web",), ("in api",), False),
        (("in .", "in web"), ("in web",), True),
        (("in .", "in web"), (), True),
        (("in api", "in web"), (), False),
    ],
)
def test_covers(wide: tuple[str, ...], narrow: tuple[str, ...], covered: bool) -> None:
    assert covers(selection(*wide), selection(*narrow)) is covered


@pytest.mark.parametrize(
    ("failed", "passed", "cleared"),
    [
        ("npm test", "cd web && npm test", False),
        ("cd web && npm test", "npm test", False),
        ("cd web && npm test", "npm --prefix web test", True),
        ("make test", "make -C web test", False),
        ("cd web && make test", "make -C web test", True),
        ("./run_tests.sh", "cd web && ./run_tests.sh", False),
        ("pytest", "cd web && pytest", False),
        ("cd web && pytest", "pytest", True),
        ("pytest", "cd /srv/other && pytest", False),
        ("cd /srv/other && pytest", "pytest", False),
        ("pytest", "cd /srv/repo && pytest", True),
        ("cd /srv/repo && pytest", "pytest", True),
        ("npm test", "cd /srv/repo && npm test", True),
        ("cd /srv/repo/web && npm test", "cd web && npm test", True),
        ("pytest", "cd /srv/repo/web && pytest", False),
        ("pytest /srv/repo/tests/a.py", "pytest tests", True),
        ("pytest", "pytest /srv/repo", True),
        ("pytest", "cd /srv/repo2 && pytest", False),
        ("pytest", "cd .. && pytest", False),
        ("cd .. && pytest", "pytest", False),
        ("(cd a && npm test); (cd b && npm test)", "cd a && npm test", False),
        ("cd a && npm test", "(cd a && npm test); (cd b && npm test)", True),
    ],
)
def test_a_pass_in_one_folder_clears_no_failure_in_another(
    failed: str, passed: str, cleared: bool
) -> None:
    wide, narrow = (suite_of(parse(line), root="/srv/repo") for line in (passed, failed))
    assert wide is not None
    assert narrow is not None
    assert covers(wide, narrow) is cleared


def test_without_knowing_where_a_line_starts_an_absolute_folder_is_another() -> None:
    here, there = suite_of(parse("pytest")), suite_of(parse("cd /srv/repo && pytest"))
    assert here is not None
    assert there is not None
    assert not covers(here, there)
    assert not covers(there, here)


def test_another_runner_is_never_covered() -> None:
    assert covers(Suite("pytest", (), True), Suite("npm test", (), True)) is False


RULES = SuiteRules(
    add=(("make", "verify"), ("python", "reproduce.py"), ("python3.11",), ("./dev",)),
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
        ("make", None),
        ("make -s", None),
        ("/usr/bin/make verify", "make verify"),
        ("/usr/bin/python3.11 a", "python3.11"),
        ("./dev a", "./dev"),
        ("make -s test -k e2e", None),
        ("timeout 5 make verify", "make verify"),
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
        ("/bin/ls && pytest", False),
        ("pytest; make verify", True),
    ],
)
def test_a_line_may_change_something_besides_running_tests(command: str, expected: bool) -> None:
    assert may_change(parse(command, pipefail=True)) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q", False),
        ("pip install -e . && pytest", False),
        ("npm ci; npm test", False),
        ("git add -A && git commit -qm x; pytest", False),
        ("git status; git diff --stat; pytest", False),
        ("git stash; pytest; git stash pop", True),
        ("git -C . add x && pytest", True),
        ("git status > a.py; pytest", True),
        ("sed -i s/a/b/ a.py && pytest && sed -i s/b/a/ a.py", True),
        ("python swap.py; pytest", True),
        ("pip install x > a.py && pytest", True),
    ],
)
def test_a_line_may_change_something_for_the_tests_alone(command: str, expected: bool) -> None:
    assert may_restore(parse(command, pipefail=True)) is expected


def test_what_a_repository_adds_changes_nothing_either() -> None:
    assert may_change(parse("pytest; make verify"), RULES) is False
    assert may_change(parse("tox"), RULES) is True
