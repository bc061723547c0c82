"""How a program is recognised, and which of a line's commands are reached, and where.

Left a command line, right what the detector says of it: the runner and what narrows the run.
"""

from __future__ import annotations

import pytest

from app.adapters.shell import parse
from app.testruns import SuiteRules, suite_of
from app.testruns.judge import judge, program_name
from app.testruns.reached import path_from, running
from app.testruns.shell_line import Sequence, SimpleCommand
from tests.detection.table import said

NAMES = {
    "pytest": "pytest",
    "/usr/bin/python3.11": "python",
    "C:\\tools\\dotnet.exe": "dotnet",
    "Jest.CMD": "Jest",
    "jest@29": "jest",
    "jest@29.1.0-next": "jest",
    "mocha.js": "mocha",
    "vitest.mjs": "vitest",
    "phpunit.phar": "phpunit",
    "composer.phar": "composer",
    "vstest.console.exe": "vstest.console",
    "phpunit-9": "phpunit",
    "nose2": "nose2",
    "pytest-3": "pytest-3",
    "py.test": "py.test",
    "gradle8": "gradle",
    "\0MAKE\0": "make",
    "\0Mvn\0": "mvn",
    "x\0MAKE\0": "x\0MAKE\0",
    "\0DIR\0/make": "make",
}
PROGRAMS = {
    "concurrently npm:test": "npm test",
    "concurrently pnpm:test:unit": "pnpm test: test:unit",
    "concurrently npm:lint": "-",
    "concurrently make:test": "-",
    "npx @angular/cli test": "ng test",
    "npx @angular/cli@17 test": "ng test",
    "npx @cucumber/cucumber features/a.feature": "cucumber-js: features/a.feature",
    "npx @foo/jest test": "-",
    "$MAKE test": "make test",
    "x$MAKE test": "-",
    "./run_tests.sh a -v": "run_tests.sh: a",
    "./run_tests.sh --list": "-",
    "./run_tests.sh -h": "-",
    "build/tests/unit_tests --gtest_list_tests": "-",
    "$DIR/run_tests.sh": "$DIR/run_tests.sh",
    "./test_$NAME.sh": "-",
    "run_tests": "-",
    "run_tests.bat": "run_tests.bat",
    "run_tests.sh": "run_tests.sh",
    "scripts/run_tests": "scripts/run_tests",
    "cd api && ./run_tests.sh": "run_tests.sh: in api",
    "./build.sh test a": "build.sh test: a",
    "./scripts/run_tests.rb a": "scripts/run_tests.rb: a",
    "run_tests.py": "run_tests.py",
    "./test_a.py": "-",
    "bin/pytest --co": "-",
    "bin/ctest -N": "-",
    "'' pytest": "-",
}
REACHED = {
    "exit; pytest": "-",
    "return; pytest": "-",
    "exit; pytest; ls": "-",
    "exit $(pytest); npm test": "pytest",
    "logout; pytest": "-",
    "pytest; exit 1; npm test": "pytest",
    "exit 1 || true; pytest": "pytest",
    "false && pytest": "-",
    "true && pytest": "pytest",
    ": && pytest": "pytest",
    ": || pytest": "-",
    "true || pytest": "-",
    "false || pytest": "pytest",
    "true || ls && pytest": "pytest",
    "false && ls || pytest": "pytest",
    "false || false && pytest": "-",
    "false || true && pytest": "pytest",
    "ls && true || pytest": "pytest",
    "ls || false && pytest": "pytest",
    "true $(ls) || pytest": "pytest",
    "! true && pytest": "-",
    "! false && pytest": "pytest",
    "! ls && pytest": "pytest",
    "if true; then pytest; else npm test; fi": "pytest",
    "if false; then pytest; else npm test; fi": "npm test",
    "if false; then pytest; fi": "-",
    "if true; then ls; else pytest; fi": "-",
    "if ls; then pytest; fi": "pytest",
    "if pytest; then ls; fi": "pytest",
    "while false; do pytest; done": "-",
    "while true; do pytest; done": "pytest",
    "until true; do pytest; done": "-",
    "until false; do pytest; done": "pytest",
    "until ls; do pytest; done": "pytest",
    "while pytest; do ls; done": "pytest",
    "for i in 1; do pytest; done": "pytest",
    "f() { pytest; }": "-",
    "f() { pytest; }; f": "pytest",
    "f; f() { pytest; }": "-",
    "f() { pytest; f; }; f": "pytest",
    "f() { g; }; g() { pytest; }; f": "pytest",
    "f() { exit; }; pytest": "pytest",
}
FOLDERS = {
    "cd web; pytest": "pytest: cd web",
    "cd -P web && pytest": "pytest: cd web",
    "cd -- web && pytest": "pytest: cd web",
    "cd && pytest": "pytest: cd ~",
    "cd a; cd b; cd -; pytest": "pytest: cd a",
    "cd a; cd -; cd -; pytest": "pytest: cd a",
    "pushd web; pytest": "pytest: cd web",
    "cd -; pytest": "pytest",
    "popd; pytest": "pytest",
    "pushd web; popd; pytest": "pytest",
    "chdir web; pytest": "pytest",
    "cd a; (cd b; ls); pytest": "pytest: cd a",
    "cd a; (cd b; pytest)": "pytest: cd a/b",
    "cd a | cat; pytest": "pytest",
    "cd a & pytest": "pytest",
    "{ cd a; }; pytest": "pytest: cd a",
    "f() { cd a; }; f; pytest": "pytest: cd a",
    "pytest; cd a": "pytest",
    "cd a; pytest tests/a.py ../b.py": "pytest: a/tests/a.py, b.py",
    "cd a; pytest /srv/a.py": "pytest: /srv/a.py",
    "cd a; pytest -k x": "pytest: -k x, cd a",
    "cd a; pytest ..": "pytest",
    "pytest tests/../b.py ./c//d.py": "pytest: b.py, c/d.py",
    "pytest tests/..": "pytest",
    "cd a; bazel test //b:c": "bazel test: //b:c",
}
PATHS = {
    ("", "web"): "web",
    ("", "./a/../b//c/."): "b/c",
    ("", "../../x"): "../../x",
    ("a", "../.."): "..",
    ("a/b", ".."): "a",
    ("", "/a/../../b"): "/b",
    ("/srv", ".."): "/",
    ("/srv", "../.."): "/",
    ("a", "/"): "/",
    ("a", "/srv/x"): "/srv/x",
    ("a", "~/x"): "~/x",
    ("~/x", "y"): "~/x/y",
    ("a", "\0X\0/y"): "\0X\0/y",
    ("\0X\0", "y"): "\0X\0/y",
    ("a", ""): "a",
}


@pytest.mark.parametrize(("word", "name"), NAMES.items())
def test_the_name_of_a_program(word: str, name: str) -> None:
    assert program_name(word) == name


@pytest.mark.parametrize(
    ("command", "answer"),
    [pair for table in (PROGRAMS, REACHED, FOLDERS) for pair in table.items()],
)
def test_what_a_line_asks_for(command: str, answer: str) -> None:
    assert said(command) == answer


@pytest.mark.parametrize(("place", "path"), PATHS.items())
def test_a_path_as_it_reads_from_where_the_line_starts(place: tuple[str, str], path: str) -> None:
    assert path_from(*place) == path


def test_programs_that_start_programs_are_followed_so_far_and_no_further() -> None:
    started = ("-m", "pdb") * 6
    assert judge(("python", *started, "-m", "pytest")) is not None
    assert judge(("python", *started, "-m", "pdb", "-m", "pytest")) is None


def test_no_more_than_so_many_commands_are_looked_at() -> None:
    line = Sequence((SimpleCommand((("ls",),)),) * 20_001)
    assert len(list(running(line))) == 19_999


def test_a_function_that_calls_itself_is_entered_once() -> None:
    assert len(list(running(parse("f() { ls; f; }; f; f").root))) == 4


def test_an_empty_rule_says_nothing() -> None:
    assert suite_of(parse("pytest"), SuiteRules(exclude=((),))) is not None
    assert suite_of(parse("ls"), SuiteRules(add=((),))) is None
