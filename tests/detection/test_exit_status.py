"""`status_visible` against bash itself: a stub runner fails; does the caller see it?"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from app.adapters.shell import parse
from app.testruns import suite_of
from app.testruns.shell_line import (
    Assignment,
    Not,
    Pipeline,
    Sequence,
    ShellLine,
    ShellNode,
    SimpleCommand,
    Subshell,
)
from app.testruns.status import failure_is_visible
from tests.detection.exit_forms import FORMS, UNPROVABLE

RUNNER_STATUS = 3
BASH_SECONDS = 20


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


@pytest.mark.parametrize(("runners", "visible"), [(64, True), (65, False), (6_000, False)])
def test_so_many_runners_are_followed_and_no_more(runners: int, visible: bool) -> None:
    suite = suite_of(parse(" && ".join(["pytest"] * runners)))
    assert suite is not None
    assert suite.status_visible is visible


RUN = SimpleCommand((("pytest",),))
OTHER = SimpleCommand((("echo",),))


def within(nodes: int, root: ShellNode = RUN) -> ShellNode:
    """The runner, or another command, below so many nodes."""
    for _ in range(nodes):
        root = Sequence((root,))
    return root


def test_a_line_is_followed_to_its_bounds_and_no_further() -> None:
    assert failure_is_visible(ShellLine(within(99)), RUN)
    assert failure_is_visible(ShellLine(within(100)), RUN) is False
    beside = Sequence((within(98), OTHER, within(98)))
    assert failure_is_visible(ShellLine(beside), RUN)
    deeper = Sequence((within(98, OTHER), within(100)))
    assert failure_is_visible(ShellLine(deeper), RUN) is False
    others = (OTHER,) * 19_998
    assert failure_is_visible(ShellLine(Sequence((*others, RUN))), RUN)
    assert failure_is_visible(ShellLine(Sequence((*others, OTHER, RUN))), RUN) is False


def test_a_line_as_it_is_made_is_read_to_its_end_by_a_shell_without_options() -> None:
    suite = suite_of(ShellLine(RUN))
    assert suite is not None
    assert suite.status_visible
    unread = suite_of(ShellLine(RUN, complete=False))
    assert unread is not None
    assert not unread.status_visible
    assert not failure_is_visible(ShellLine(Pipeline((RUN, OTHER))), RUN)


def test_a_new_shell_has_no_options_unless_it_is_told_so() -> None:
    then, piped = Sequence((RUN, OTHER)), Pipeline((RUN, OTHER))
    assert not failure_is_visible(ShellLine(Subshell(then, fresh=True)), RUN)
    assert failure_is_visible(ShellLine(Subshell(then, fresh=True, errexit=True)), RUN)
    assert not failure_is_visible(ShellLine(Subshell(piped, fresh=True)), RUN)
    assert failure_is_visible(ShellLine(Subshell(piped, fresh=True, pipefail=True)), RUN)


def test_an_assignment_tells_the_status_of_its_substitution_unless_it_is_declared() -> None:
    assert failure_is_visible(ShellLine(Assignment((), (RUN,))), RUN)
    assert not failure_is_visible(ShellLine(Assignment((), (RUN,), declared=True)), RUN)


def test_a_negated_failure_is_a_success() -> None:
    assert failure_is_visible(ShellLine(Not(RUN)), RUN) is False
    assert failure_is_visible(ShellLine(Not(Not(RUN))), RUN)
