"""What an argument list asks of a test runner: its row of the tables, applied to the words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from app.testruns.names import WHOLE_SUITE, names_tests, target_runs_tests
from app.testruns.rows import Form, Runner
from app.testruns.shell_line import Words
from app.testruns.wordset import word_set

TEST_PROGRAMS: Final = word_set(
    "pytest jest vitest mocha ava rspec phpunit pest behat ctest tox nox bats busted"
)
"""As the name of a script most likely the program itself: `yarn …`, `uv run …`."""
_OFF: Final = frozenset({"false", "no", "0", "off"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A runner is asked for tests; `selectors` as in `Suite`."""

    runner: str
    selectors: frozenset[str]
    spans_folders: bool = True
    """As in `Runner`."""
    folder: str = ""
    """Where it works, if it is told to; as the shell's folder sees it."""


@dataclass(frozen=True, slots=True)
class Delegated:
    """The tool starts another program: judge these words instead."""

    words: Words


@dataclass(frozen=True, slots=True)
class _Arguments:
    operands: tuple[str, ...]
    narrowing: frozenset[str]
    options: frozenset[str]
    """Options as written, without their values."""
    goals: tuple[str, ...]
    """Values of `goal_options`."""
    folder: str
    """The last value of the options that name it."""


def ask(runner: Runner, words: Words) -> Asked | Delegated | None:
    """What `words` (program first) ask of `runner`; None: no tests."""
    arguments = _read(runner, words[1:])
    if arguments is None or (runner.requires and runner.requires.isdisjoint(arguments.options)):
        return None
    asked = _ask_by_form(runner, arguments, words)
    if not isinstance(asked, Asked):
        return asked
    return replace(asked, spans_folders=runner.spans_folders, folder=arguments.folder)


def _ask_by_form(runner: Runner, arguments: _Arguments, words: Words) -> Asked | Delegated | None:
    match runner.form:
        case Form.PROGRAM:
            return _ask_program(runner, arguments)
        case Form.VERB:
            return _ask_verb(runner, arguments)
        case Form.GOAL:
            return _ask_goals(runner, arguments)
        case Form.SCRIPT:
            return _ask_script(runner, arguments, words)


def _ask_program(runner: Runner, arguments: _Arguments) -> Asked | None:
    operands = arguments.operands
    if operands and operands[0] in runner.other_verbs:
        return None
    chosen = operands[1:] if operands[:1] in runner.verbs else operands
    return Asked(runner.label, arguments.narrowing | _paths(chosen))


def _ask_verb(runner: Runner, arguments: _Arguments) -> Asked | None:
    operands = arguments.operands
    starts = range(len(operands)) if runner.verbs_anywhere else range(1)
    for start in starts:
        for phrase in runner.verbs:
            end = start + len(phrase)
            if _matches(operands[start:end], phrase):
                if operands[end:] and operands[end] in runner.other_verbs:
                    return None
                rest = operands[:start] + operands[end:]
                return Asked(f"{runner.label} test", arguments.narrowing | _paths(rest))
    return None


def _matches(operands: Words, phrase: Words) -> bool:
    return len(operands) == len(phrase) and all(
        word in {"*", operands[i]} for i, word in enumerate(phrase)
    )


def _ask_goals(runner: Runner, arguments: _Arguments) -> Asked | None:
    if arguments.operands and arguments.operands[0] in runner.other_verbs:
        return None
    candidates = arguments.operands + arguments.goals
    goals = [word for word in candidates if _is_goal(runner, word)]
    if not goals:
        return None
    whole = next((word for word in goals if word in WHOLE_SUITE or not runner.named_goals), None)
    if whole is None:
        return Asked(f"{runner.label} test", arguments.narrowing | frozenset(goals))
    label = whole if runner.named_goals and whole.startswith("check") else "test"
    return Asked(f"{runner.label} {label}", arguments.narrowing)


def _is_goal(runner: Runner, word: str) -> bool:
    if (word,) in runner.verbs:
        return True
    return runner.named_goals and target_runs_tests(_target(runner, word))


def _target(runner: Runner, word: str) -> str:
    """`:app:check` → `check`, where a runner's targets carry the name of their project."""
    pieces = word.split(":")
    return word if runner.target_piece is None or len(pieces) < 2 else pieces[runner.target_piece]


def _ask_script(runner: Runner, arguments: _Arguments, words: Words) -> Asked | Delegated | None:
    operands = tuple(word for word in arguments.operands if word[:1] != "+")  # hatch's variables
    label = f"{runner.label} test"
    for name in arguments.goals:
        if names_tests(name):
            chosen = frozenset({name}) - WHOLE_SUITE
            return Asked(label, arguments.narrowing | chosen)
    for phrase in runner.verbs:
        if _matches(operands[: len(phrase)], phrase):
            return Asked(label, arguments.narrowing | _paths(operands[len(phrase) :]))
    for phrase in runner.run_verbs:
        if not _matches(operands[: len(phrase)], phrase) or len(operands) == len(phrase):
            continue
        written, *rest = operands[len(phrase) :]
        program = written.rpartition(":")[2]  # `py311:pytest`, in an environment
        if program in TEST_PROGRAMS:
            return Delegated((program, *words[words.index(written, 1) + 1 :]))
        name = written.rpartition("#")[2].strip("/")  # `.#test` of a flake; `/^test:.*/`
        target = _target(runner, name) if phrase else name  # `nx run web:test`, but `nx test web`
        if names_tests(target) and "/" not in name and not _FILE.search(name):
            chosen = frozenset({name}) - WHOLE_SUITE
            return Asked(label, arguments.narrowing | _paths(rest) | chosen)
        return Delegated((name, *words[words.index(written, 1) + 1 :]))
    return None


_FILE: Final = re.compile(r"\.\w+$")


def _read(runner: Runner, words: Words) -> _Arguments | None:
    """Tells options from operands; None when a flag says that nothing is executed."""
    operands: list[str] = []
    options: set[str] = set()
    narrowing: set[str] = set()
    goals: list[str] = []
    folder = ""
    glued = runner.narrows | runner.folders  # `-kx`, `-Cweb`
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if len(word) < 2 or word[0] != "-":
            operands.append(word)
            continue
        name, has_value, value = word.partition("=")
        flags, rest = _flags(runner, name)
        for flag in flags:
            if flag in runner.idle and value.lower() not in _OFF:
                return None
            options.add(flag)
        if len(flags) > 1:
            name, has_value, value = flags[-1], rest, rest
        if not has_value and name in runner.valued and position < len(words):
            value = words[position]
            position += 1
        elif len(name) > 2 and name not in runner.valued and name[:2] in glued:
            name, value = name[:2], word[2:]
        if name in runner.folders:
            folder = value
        if name in runner.goal_options:
            goals += value.split(",")
        if name in runner.narrows:
            narrowing.add(f"{name} {value}".rstrip())
    return _Arguments(
        tuple(operands), frozenset(narrowing), frozenset(options), tuple(goals), folder
    )


def _flags(runner: Runner, name: str) -> tuple[list[str], str]:
    """`-kn` → `-k`, `-n`, where the runner lets short flags be written together; and what is
    left of the word as the value of the last: `-kCweb` → `-k`, `-C` and `web`."""
    flags: list[str] = []
    for position, letter in enumerate(name[1:], 1):
        flags.append(f"-{letter}")
        if letter in runner.ends_cluster:
            return flags, name[position + 1 :]
        if letter not in runner.cluster:
            return [name], ""
    return flags, ""


_EVERYTHING: Final = frozenset({".", "./", "./...", "...", "//...", "::", "all"})


def _paths(operands: Iterable[str]) -> frozenset[str]:
    """Operands as selectors, in one spelling; those that mean "everything" are none."""
    if not _EVERYTHING.isdisjoint(operands):
        return frozenset()
    return frozenset(operand.removeprefix("./").rstrip("/") or operand for operand in operands)
