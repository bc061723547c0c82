"""`status_visible` against bash itself: a stub runner fails; does the caller see it?"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from app.adapters.shell import parse
from app.core.testruns import suite_of

RUNNER_STATUS = 3
BASH_SECONDS = 20

FORMS = [
    "pytest",
    "cd sub && pytest",
    "cd sub; pytest",
    "pytest > log",
    "pytest > log 2>&1",
    "pytest &> log",
    "> log pytest",
    "pytest && echo ok",
    "pytest || exit 1",
    "pytest || exit",
    "pytest || false",
    "pytest || { echo failed; exit 1; }",
    "pytest || (echo failed && exit 1)",
    "pytest || true",
    "pytest || :",
    "pytest || echo failed",
    "pytest && echo ok || echo failed",
    "pytest || echo failed && echo ok",
    "pytest; exit $?",
    'pytest; exit "$?"',
    "pytest; rc=$?; echo done; exit $rc",
    "pytest; rc=$?; echo done; exit ${rc}",
    'pytest; rc=$?; echo "rc=$rc"',
    "pytest; echo done",
    'pytest; echo "rc=$?"',
    "pytest\necho done",
    "rc=0; pytest || rc=1; exit $rc",
    "rc=0; pytest || rc=$?; exit $rc",
    "rc=0; pytest; exit $rc",
    "rc=0; true || rc=1; pytest; exit $rc",
    "pytest; rc=$?; if [ $rc -ne 0 ]; then exit 1; fi",
    "pytest; rc=$?; if [ $rc -eq 0 ]; then echo ok; else exit 4; fi",
    "pytest; if [ $? -ne 0 ]; then echo bad; exit 1; fi; echo good",
    "pytest; if [ $? -ne 0 ]; then echo bad; fi",
    "pytest; [ $? -eq 0 ] && echo ok",
    "pytest; [ $? -eq 0 ] || exit 7",
    "pytest; test $? -eq 0",
    "pytest; [[ $? == 0 ]]",
    "pytest; (( $? == 0 ))",
    "pytest; rc=$?; ((rc)) && exit 9; echo",
    "ok=yes; pytest || ok=no; [ $ok = yes ]",
    "fail=0; pytest || fail=1; [ $fail -gt 0 ] && exit 1",
    "fail=0; pytest || ((fail++)); exit $fail",
    "fail=0; pytest || fail=$((fail + 1)); exit $fail",
    "fail=0; pytest; fail=$((fail + $?)); exit $fail",
    "pytest | tail -1",
    "pytest 2>&1 | tail -1",
    "cd sub && pytest 2>&1 | tail -1",
    "pytest |& tee log",
    "pytest | grep collected",
    "pytest | cat > log",
    "pytest | tail -1; exit ${PIPESTATUS[0]}",
    "pytest 2>&1 | tee log; exit ${PIPESTATUS[0]}",
    "pytest | tail -1; rc=${PIPESTATUS[0]}; echo; exit $rc",
    "pytest | tail -1; exit ${PIPESTATUS[1]}",
    "pytest | tail -1; exit $?",
    'pytest | tail -1; test "${PIPESTATUS[0]}" -eq 0',
    "set -o pipefail; pytest | tail -1",
    "set -o pipefail && pytest | tail -1",
    "set -euo pipefail; pytest | tail -1; echo done",
    "set -o pipefail; pytest | tail -1; echo done",
    "set -o pipefail; set +o pipefail; pytest | tail -1",
    "set -e; pytest; echo done",
    "set -e\ncd sub\npytest\necho done",
    "set -e; set +e; pytest; echo done",
    "set -e; pytest | tail -1",
    "set -e; pytest || true; echo done",
    "set -e; if pytest; then echo ok; fi; echo done",
    "set -e; (pytest; echo inner); echo done",
    "set -e; pytest && echo ok; echo done",
    "(pytest)",
    "{ pytest; }",
    "{ pytest; echo done; }",
    "(pytest; exit $?)",
    "(pytest; exit 0)",
    "(cd sub && pytest)",
    "(exit 0); pytest",
    'bash -c "pytest"',
    'bash -c "pytest; exit 0"',
    'bash -c "pytest | tail -1"',
    "bash -o pipefail -c 'pytest | tail -1'",
    "bash -ec 'pytest; echo done'",
    "bash -c 'set -e; pytest; echo done'",
    "set -o pipefail; bash -c 'pytest | tail -1'",
    "eval pytest",
    "eval 'pytest; true'",
    "bash <<'EOF'\npytest\nEOF",
    "bash <<'EOF'\npytest\necho done\nEOF",
    "echo pytest | bash",
    "cat <<'EOF' | bash\npytest\nEOF",
    "timeout 60 pytest",
    "nice pytest",
    "env A=1 pytest",
    "A=1 pytest",
    "command pytest",
    "exec pytest",
    "nohup pytest",
    "time pytest",
    "xargs pytest < /dev/null",
    "echo a | xargs -n1 pytest",
    "find . -maxdepth 0 -exec pytest {} \\;",
    "find . -maxdepth 0 -exec pytest {} +",
    "if pytest; then echo ok; fi",
    "if pytest; then echo ok; else echo bad; fi",
    "if pytest; then echo ok; else exit 1; fi",
    "if ! pytest; then exit 1; fi",
    "if ! pytest; then echo bad; fi",
    "if true; then pytest; fi",
    "if [ -d sub ]; then pytest; else echo none; fi",
    "if [ -d nowhere ]; then echo; elif [ -d sub ]; then pytest; fi",
    "case x in x) pytest;; esac",
    "case x in x) pytest; echo;; esac",
    "x=$(pytest)",
    'x=$(pytest); echo "$x"',
    'x=$(pytest) || exit 1; echo "$x"',
    "x=$(pytest | tail -1)",
    "export x=$(pytest)",
    "f() { local x=$(pytest); }; f",
    "f() { local x; x=$(pytest); }; f",
    'echo "$(pytest)"',
    "cat <(pytest)",
    "pytest > >(cat)",
    "pytest &",
    "pytest & wait",
    "pytest & wait $!",
    "pytest & pid=$!; echo; wait $pid",
    "pytest & pid=$!; wait $pid; echo",
    "pytest & wait %1",
    "for i in 1 2; do pytest; done",
    "for i in 1 2; do pytest || exit 1; done",
    "for i in 1 2; do pytest || break; done",
    "for i in 1 2; do pytest; echo; done",
    "for t in pytest; do $t; done",
    "! pytest",
    "! pytest | tail -1",
    "pytest; true",
    "pytest; git --version",
    "true && pytest",
    "false || pytest",
    "[ -d sub ] && pytest",
    "trap 'exit 0' EXIT; pytest",
    "trap 'echo bye' EXIT; pytest",
    "trap 'rm -f x' EXIT; pytest; exit $?",
    "f() { pytest; }; f",
    "f() { pytest; echo; }; f",
    "f() { pytest || return 5; echo; }; f",
    "f() { pytest; return $?; }; f",
    "f() { pytest; return 0; }; f",
    "f() { pytest; }; f | tail -1",
    "f() { pytest; }; f; echo",
    "T=pytest; $T",
    "pytest # then || true",
    "pytest && pytest",
    "pytest > log || { cat log; exit 1; }",
    "pytest > log; cat log",
    "pytest > log; s=$?; cat log; (exit $s)",
    "pytest; exit 1",
    "cat log || true; pytest",
    "{ pytest; } 2>&1 | tail -1",
    "(pytest) || true",
    "(pytest || exit 4)",
    "pytest 2>/dev/null || echo x | cat",
    "until [ -d sub ]; do sleep 1; done; pytest",
    "while read -r x; do pytest; done < names",
    "script -qec pytest /dev/null",
    "script -qc pytest /dev/null",
    "! { pytest; }",
    "true; pytest | tail -1 || exit 1",
    "pytest -q 2>&1 | tail -1 && echo fine",
]

UNPROVABLE = [
    # The failing stub's status reaches the caller here, but only by the grace of a program whose
    # answer nobody can foresee: 0 would prove nothing.
    "pytest > log; grep -q collected log && exit 1",
    "pytest; [ -e log ] || exit 1",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a stub `pytest` that says a line and fails."""
    root = tmp_path_factory.mktemp("place")
    (root / "bin").mkdir()
    (root / "sub").mkdir()
    (root / "names").write_text("a\nb\n")
    stub = root / "bin" / "pytest"
    stub.write_text(f"#!/bin/sh\necho collected\nexit {RUNNER_STATUS}\n")
    stub.chmod(0o755)
    return root


def status_in_bash(place: Path, command: str, *options: str) -> int:
    return subprocess.run(
        ["bash", *options, "-c", command],
        cwd=place,
        env={"PATH": f"{place / 'bin'}:{os.environ['PATH']}", "HOME": str(place)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=BASH_SECONDS,
        check=False,
    ).returncode


@pytest.mark.parametrize("command", FORMS)
def test_visible_means_that_bash_tells_its_caller(place: Path, command: str) -> None:
    suite = suite_of(parse(command))
    assert suite is not None
    assert suite.status_visible == (status_in_bash(place, command) != 0)


@pytest.mark.parametrize("command", [form for form in FORMS if "|" in form])
def test_visible_under_pipefail_too(place: Path, command: str) -> None:
    suite = suite_of(parse(command, pipefail=True))
    assert suite is not None
    told = status_in_bash(place, command, "-o", "pipefail") != 0
    assert suite.status_visible == told


@pytest.mark.parametrize("command", UNPROVABLE)
def test_what_cannot_be_foreseen_counts_as_hidden(command: str) -> None:
    suite = suite_of(parse(command))
    assert suite is not None
    assert not suite.status_visible


def test_each_of_several_runners_has_to_be_visible() -> None:
    for command, visible in {
        "pytest && npm test": True,
        "pytest; npm test": False,
        "set -e; pytest; npm test": True,
        "pytest | tail; npm test": False,
        "pytest || pytest --lf": False,
    }.items():
        suite = suite_of(parse(command))
        assert suite is not None
        assert suite.status_visible is visible, command


def test_a_line_that_was_not_read_to_its_end_proves_nothing() -> None:
    suite = suite_of(parse("pytest; " + "echo x; " * 20_000))
    assert suite is not None
    assert not suite.status_visible
