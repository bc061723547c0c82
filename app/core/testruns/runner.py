"""What is known about one test runner, and how its arguments are read.

A `Runner` is a row of the tables under `table/`: which program, which words make it execute
tests, which options narrow the run, and with which flags nothing is executed at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from app.core.shell_line import Words
from app.core.testruns.names import WHOLE_SUITE, names_tests, target_runs_tests
from app.core.testruns.wordset import word_set


class Form(Enum):
    """What in a program's arguments asks for tests."""

    PROGRAM = "program"
    """Nothing more: the program is a test runner (`pytest`)."""
    VERB = "verb"
    """Its first operands (`go test`)."""
    GOAL = "goal"
    """Any of its operands, each the name of something to do (`make build test`)."""
    SCRIPT = "script"
    """The name of a script that the project defines (`npm run test:unit`)."""


@dataclass(frozen=True, slots=True)
class Runner:
    form: Form
    programs: tuple[str, ...]
    """Base names; the first one is the label in `Suite.runner`."""
    verbs: tuple[Words, ...] = ()
    """VERB and SCRIPT: phrases that run tests. GOAL: goals besides those that names tell."""
    verbs_anywhere: bool = False
    """A verb may stand behind other operands: `xcodebuild -scheme A test`."""
    run_verbs: tuple[Words, ...] = ()
    """SCRIPT: phrases before the name of a script; the empty phrase: the name comes at once."""
    named_goals: bool = True
    """GOAL: targets are named freely, so names decide; else only `verbs` count."""
    other_verbs: frozenset[str] = frozenset()
    """First operands, after the verb if there is one, with which it does something else
    (`vitest list`)."""
    valued: frozenset[str] = frozenset()
    """Options whose value is the next word."""
    narrows: frozenset[str] = frozenset()
    """Options of `valued` that choose tests, and flags that do (`--lf`)."""
    goal_options: frozenset[str] = frozenset()
    """Options of `valued` whose value is a goal or the name of a script (`cmake --target test`)."""
    requires: frozenset[str] = frozenset()
    """At least one of these flags has to be there (`node --test`)."""
    idle: frozenset[str] = frozenset()
    """Flags with which no test is executed."""
    cluster: str = ""
    """Letters of short flags without a value that may be written together (`make -kn`)."""

    @property
    def label(self) -> str:
        return self.programs[0]


HELP_FLAGS: Final = frozenset({"--help", "--version", "-h", "-help", "-version"})
IDLE_ANYWHERE: Final = frozenset(
    {"--listTests", "--list-tests", "--collect-only", "--dry-run", "--list", "--co"}
)
"""Flags that a task runner hands on to whatever test runner stands behind its script."""
NARROWING_ANYWHERE: Final = word_set(
    """-k -m -t -g --grep --filter --testNamePattern --test-name-pattern --testPathPattern --tests
    --spec"""
)
TEST_PROGRAMS: Final = word_set(
    "pytest jest vitest mocha ava rspec phpunit pest behat ctest tox nox bats busted"
)
"""As the name of a script most likely the program itself: `yarn jest`, `uv run pytest`."""
_OFF: Final = frozenset({"false", "no", "0", "off"})


def _phrases(*phrases: str) -> tuple[Words, ...]:
    """Longest first; a `*` in a phrase is any word."""
    return tuple(sorted((tuple(phrase.split()) for phrase in phrases), key=len, reverse=True))


def program(
    names: str,
    *,
    valued: str = "",
    narrows: str = "",
    idle: str = "",
    other_verbs: str = "",
    requires: str = "",
    cluster: str = "",
) -> Runner:
    """A program that is a test runner."""
    return Runner(
        Form.PROGRAM,
        tuple(names.split()),
        valued=word_set(valued),
        narrows=word_set(narrows),
        idle=word_set(idle) | HELP_FLAGS,
        other_verbs=word_set(other_verbs),
        requires=word_set(requires),
        cluster=cluster,
    )


def verb(
    names: str,
    *phrases: str,
    anywhere: bool = False,
    valued: str = "",
    narrows: str = "",
    idle: str = "",
    other_verbs: str = "",
    requires: str = "",
) -> Runner:
    """A tool that runs tests when asked by a verb."""
    return Runner(
        Form.VERB,
        tuple(names.split()),
        verbs=_phrases(*phrases),
        verbs_anywhere=anywhere,
        valued=word_set(valued),
        narrows=word_set(narrows),
        idle=word_set(idle) | HELP_FLAGS,
        other_verbs=word_set(other_verbs),
        requires=word_set(requires),
    )


def goal(
    names: str,
    *goals: str,
    named: bool = True,
    valued: str = "",
    narrows: str = "",
    idle: str = "",
    other_verbs: str = "",
    goal_options: str = "",
    requires: str = "",
    cluster: str = "",
) -> Runner:
    """A build tool or task runner that takes the names of targets."""
    return Runner(
        Form.GOAL,
        tuple(names.split()),
        verbs=_phrases(*goals),
        named_goals=named,
        valued=word_set(valued) | word_set(goal_options),
        narrows=word_set(narrows),
        idle=word_set(idle) | HELP_FLAGS,
        other_verbs=word_set(other_verbs),
        goal_options=word_set(goal_options),
        requires=word_set(requires),
        cluster=cluster,
    )


def script(
    names: str,
    *run: str,
    direct: str = "",
    valued: str = "",
    narrows: str = "",
    idle: str = "",
    goal_options: str = "",
) -> Runner:
    """A tool that runs a project's named scripts (or, failing that, installed programs)."""
    return Runner(
        Form.SCRIPT,
        tuple(names.split()),
        verbs=_phrases(*direct.split()),
        run_verbs=_phrases(*run),
        valued=word_set(valued) | word_set(goal_options),
        narrows=word_set(narrows) | NARROWING_ANYWHERE,
        goal_options=word_set(goal_options),
        idle=word_set(idle) | HELP_FLAGS | IDLE_ANYWHERE,
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """A runner is asked for tests; `selectors` as in `Suite`."""

    runner: str
    selectors: frozenset[str]


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


def ask(runner: Runner, words: Words) -> Asked | Delegated | None:
    """What `words` (program first) ask of `runner`; None: no tests."""
    arguments = _read(runner, words[1:])
    if arguments is None or (runner.requires and runner.requires.isdisjoint(arguments.options)):
        return None
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
    if arguments.operands and arguments.operands[0] in runner.other_verbs:
        return None
    return Asked(runner.label, arguments.narrowing | _paths(arguments.operands))


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
        word in {"*", operand} for operand, word in zip(operands, phrase, strict=True)
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
    return runner.named_goals and target_runs_tests(word)


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
        if names_tests(name) and "/" not in name and not _FILE.search(name):
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
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if len(word) < 2 or word[0] != "-":
            operands.append(word)
            continue
        name, has_value, value = word.partition("=")
        for flag in _flags(runner, name):
            if flag in runner.idle and value.lower() not in _OFF:
                return None
            options.add(flag)
        if not has_value and name in runner.valued and position < len(words):
            value = words[position]
            position += 1
        elif not has_value and name[:2] in runner.narrows and len(name) > 2 and name[1] != "-":
            name, value = name[:2], name[2:]
        if name in runner.goal_options:
            goals += value.split(",")
        if name in runner.narrows:
            narrowing.add(f"{name} {value}".rstrip())
    return _Arguments(tuple(operands), frozenset(narrowing), frozenset(options), tuple(goals))


def _flags(runner: Runner, name: str) -> Iterable[str]:
    """`-kn` → `-k`, `-n`, where the runner lets short flags be written together."""
    if runner.cluster and len(name) > 2 and all(letter in runner.cluster for letter in name[1:]):
        return [f"-{letter}" for letter in name[1:]]
    return [name]


_EVERYTHING: Final = frozenset({".", "./", "./...", "...", "//...", "::", "all"})


def _paths(operands: Iterable[str]) -> frozenset[str]:
    """Operands as selectors, in one spelling; those that mean "everything" are none."""
    chosen = [operand for operand in operands if operand != "--"]
    if any(operand in _EVERYTHING for operand in chosen):
        return frozenset()
    return frozenset(operand.removeprefix("./").rstrip("/") or operand for operand in chosen)
