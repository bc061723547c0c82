"""Which tests a command line asks for, and which selection covers which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from app.testruns.judge import judge, program_name
from app.testruns.names import base_name
from app.testruns.reached import path_from, running
from app.testruns.runner import Asked
from app.testruns.shell_line import (
    HOLE,
    ShellLine,
    SimpleCommand,
    Words,
)
from app.testruns.status import Ending, ending_if_it_fails, failure_is_visible
from app.testruns.wordset import word_set

HARMLESS: Final = word_set(
    """[ [[ . : awk basename cat cd cut date declare df diff dirname du echo egrep env exit export
    expr false fgrep file find grep head hostname id jq less local ls more nl popd printenv printf
    ps pushd pwd read readlink realpath return rg seq set shift shopt sleep sort source stat tail
    test time times tr true type ulimit umask uname uniq unset wait wc whereis which whoami xxd"""
)
"""Programs that change no file unless their output is sent into one."""
_INSTALLERS: Final = word_set(
    """apt apt-get bun bundle composer conda gem npm nvm pip pip3 pipenv pnpm poetry rbenv rustup uv
    yarn"""
)
_OF_GIT: Final = word_set("add branch commit diff fetch log ls-files push rev-parse show status")
"""What git does without changing files."""
CD: Final = "cd "
"""Begins the selector of a run of everything in one folder, `cd web`."""
IN: Final = "in "
"""Begins the selector of a run of a folder's own scripts, `in web`: another folder has others,
and so has the folder where the line starts, which is `in .` beside others."""
_ELSEWHERE: Final = ("/", "~", "..")
"""How a path begins that need not lie below the folder where the line starts."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Which tests a command asks for."""

    runner: str
    """`pytest`, `npm test`, `cargo test`, … in one spelling, however it was started."""
    selectors: tuple[str, ...]
    """What narrows the run (paths, test ids, `-k expr`, `cd web`, `in web`), sorted; empty: the
    whole suite where the line starts, and paths are seen from there."""
    status_visible: bool
    """Exit status 0 of the command proves a pass: the caller sees the runner's own status."""
    others_before: bool = False
    """A failing status may be that of a command before the tests, which then did not run:
    `ruff check . && pytest`."""
    others_behind: bool = False
    """A failing status may be that of a command behind tests that passed:
    `pytest && ruff check .`."""
    status_printed: bool = False
    """The line prints the runner's own status: `pytest; echo "rc=$?"`."""
    silent: bool = False
    """The line itself takes all output of the tests away: `pytest > /dev/null 2>&1`."""


@dataclass(frozen=True, slots=True)
class SuiteRules:
    """`test_commands:` of a repository: beginnings of argument lists."""

    add: tuple[Words, ...] = ()
    """These are test runs too (`make verify`)."""
    exclude: tuple[Words, ...] = ()
    """These are none, whatever the tables say; wins over `add`."""


def suite_of(line: ShellLine, rules: SuiteRules | None = None, root: str = "") -> Suite | None:
    """The test run that `line` asks for, or None.

    One call is at most one test run: of several runners the first gives the name, their selectors
    are united, and a run of everything among them makes it a run of everything. `root`: the
    absolute folder in which the line starts, where it is known: `cd ROOT/web` is then `cd web`.
    Else an absolute folder is another one than where the line starts.
    """
    rules = rules or SuiteRules()
    found: list[tuple[SimpleCommand, str, frozenset[str]]] = []
    commands = list(running(line.root))
    for command, folder in commands:
        asked = _asked(command, rules)
        if asked is not None:
            found.append((command, asked.runner, _selectors(asked, folder, root)))
    if not found:
        return None
    targets = {id(command): command for command, _, _ in found}
    is_visible = (
        line.complete
        and len(targets) <= MAX_RUNNERS
        and all(failure_is_visible(line, target) for target in targets.values())
    )
    beside = [command for command, _ in commands if id(command) not in targets]
    others = _endings_of_others(line, beside) if is_visible else []
    return Suite(
        runner=_readable(found[0][1]),
        selectors=tuple(sorted(map(_readable, _united([chosen for _, _, chosen in found])))),
        status_visible=is_visible,
        others_before=any(targets.keys().isdisjoint(other.reached) for other in others),
        others_behind=any(targets.keys() <= other.reached for other in others),
        status_printed=not is_visible
        and len(targets) == 1
        and ending_if_it_fails(line, found[0][0]).is_printed,
        silent=all(target.silent for target in targets.values()),
    )


MAX_RUNNERS: Final = 64
"""Test runners in one line; past it nothing is proved."""
MAX_OTHERS: Final = 8
"""Commands beside the tests whose failing is thought through."""
STEADY: Final = word_set(
    """. : alias cat cd chmod cp date declare echo env export head local ls ln mkdir mv popd printf
    pushd pwd rm sed set shopt sleep source tail touch trap true ulimit umask unset wait wc"""
)
"""Programs that fail for no reason of the project's own, or that say why in the shell's words."""


def _endings_of_others(line: ShellLine, beside: Iterable[SimpleCommand]) -> list[Ending]:
    """How `line` ends if one of the commands beside the tests fails, where it tells so."""
    unsteady = [
        command
        for command in beside
        if command.starts is None and base_name(command.words[0]) not in STEADY
    ]
    endings = [ending_if_it_fails(line, command) for command in unsteady[:MAX_OTHERS]]
    return [ending for ending in endings if ending.is_told]


def _united(choices: list[frozenset[str]]) -> frozenset[str]:
    united = frozenset[str]().union(*choices)
    if all(choices):
        return united
    folders = frozenset(selector for selector in united if selector.startswith(IN))
    return folders | {f"{IN}."} if folders else frozenset()


def may_change(line: ShellLine, rules: SuiteRules | None = None) -> bool:
    """Whether `line` may change files besides running tests: `sed -i … && pytest`.

    Everything may that is no test run and not known to be harmless. So an edit and a test run in
    one command line cannot pass for a repeat without a change.
    """
    rules = rules or SuiteRules()
    return any(_may_change(command, rules) for command, _ in running(line.root))


def may_restore(line: ShellLine, rules: SuiteRules | None = None) -> bool:
    """Whether `line` may change files for the time of the tests alone: `git stash; pytest; git
    stash pop`. Installers add files, and commits change none: these restore nothing."""
    rules = rules or SuiteRules()
    return any(
        _may_change(command, rules) and not _only_adds(command) for command, _ in running(line.root)
    )


def _may_change(command: SimpleCommand, rules: SuiteRules) -> bool:
    is_other = _asked(command, rules) is None and command.starts is None
    is_harmless = not command.writes and base_name(command.words[0]) in HARMLESS
    return is_other and not is_harmless


def _only_adds(command: SimpleCommand) -> bool:
    program, *operands = command.words
    name = base_name(program)
    is_of_git = name == "git" and _OF_GIT.issuperset(operands[:1])
    return not command.writes and (name in _INSTALLERS or is_of_git)


def _selectors(asked: Asked, folder: str, root: str) -> frozenset[str]:
    """The selectors of a run in `folder` as they read where the line starts: paths below it, and
    for a run of everything there `cd FOLDER`."""
    folder = _below_root(path_from(folder, asked.folder), root)
    chosen = asked.selectors
    if not asked.spans_folders:
        return chosen | {f"{IN}{folder}"} if folder else chosen
    filters = {selector for selector in chosen if selector.startswith("-")}
    paths = {_seen_from_start(path, folder, root) for path in chosen - filters}
    if "" in paths:
        paths = set()
    elif folder and not paths:
        paths = {f"{CD}{folder}"}
    return frozenset(filters | paths)


def _seen_from_start(selector: str, folder: str, root: str) -> str:
    if selector.startswith("//"):
        return selector  # the label of a target
    return _below_root(path_from(folder, selector), root)


def _below_root(path: str, root: str) -> str:
    """`ROOT/web` as `web`."""
    if not root or not f"{path}/".startswith(f"{root}/"):
        return path
    return path[len(root) :].strip("/")


def covers(wide: Suite, narrow: Suite) -> bool:
    """Does a pass of `wide` say that `narrow` passes?

    Same runner, and each selector of `narrow` is, or lies below, one of `wide`. An expression
    (`-k …`) is covered by an equal one only, and a selection by expression covers nothing else.
    Everything where the line starts says nothing of a folder elsewhere, nor of another folder's
    own scripts.
    """
    if wide.runner != narrow.runner:
        return False
    above, below = _parts(wide), _parts(narrow)
    if not above.filters <= below.filters or not below.folders <= above.folders:
        return False
    if not above.paths:
        return not any(map(_is_elsewhere, below.paths))
    return bool(below.paths) and all(
        any(_lies_below(path.removeprefix(CD), one.removeprefix(CD)) for one in above.paths)
        for path in below.paths
    )


class _Parts(NamedTuple):
    filters: frozenset[str]
    folders: frozenset[str]
    """Whose own scripts are run."""
    paths: frozenset[str]


def _parts(suite: Suite) -> _Parts:
    filters = frozenset(s for s in suite.selectors if s.startswith("-"))
    folders = frozenset(s for s in suite.selectors if s.startswith(IN))
    paths = frozenset(suite.selectors) - filters - folders
    return _Parts(filters, folders or frozenset({f"{IN}."}), paths)


def _is_elsewhere(selector: str) -> bool:
    """A folder that a variable names may be anywhere; files that one names were there to see."""
    path = selector.removeprefix(CD)
    is_label = path.startswith("//")  # of a target
    is_variable_folder = path != selector and path.startswith("$")
    return is_variable_folder or (path.startswith(_ELSEWHERE) and not is_label)


def _lies_below(path: str, above: str) -> bool:
    """`tests/a.py::T::t[1]` lies below `tests`, `tests/a.py`, `…::T` and `…::t`."""
    if path == above:
        return True
    if above.endswith("/..."):
        return path.startswith(above[:-3]) or path == above[:-4]
    return path.startswith(above) and path[len(above) :].startswith(("/", "::", "[", ":"))


def _readable(text: str) -> str:
    """Holes as a person would have written them: `$FILES`."""
    pieces = text.split(HOLE)
    return "".join(f"${piece or '?'}" if i % 2 else piece for i, piece in enumerate(pieces))


def _asked(command: SimpleCommand, rules: SuiteRules) -> Asked | None:
    for layer in command.layers:
        if any(_begins(layer, rule) is not None for rule in rules.exclude):
            return None
    for layer in command.layers:
        for rule in rules.add:
            behind = _begins(layer, rule)
            if behind is not None:
                return Asked(" ".join(rule), frozenset(behind))
    own = command.layers if command.starts is None else command.layers[:-1]
    for layer in reversed(own):  # what starts a shell is judged by what that shell reads
        asked = judge(layer, command.made)
        if asked is not None:
            return asked
    return None


def _begins(words: Words, rule: Words) -> Words | None:
    """What stands behind `rule` in `words`, where options are no part of it: `make -s verify`."""
    if not rule or rule[0] not in {words[0], base_name(words[0]), program_name(words[0])}:
        return None
    position = 1
    for wanted in rule[1:]:
        while position < len(words) and words[position] != wanted:
            if not words[position].startswith("-"):
                return None
            position += 1
        if position == len(words):
            return None
        position += 1
    return words[position:]
