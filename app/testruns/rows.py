"""What is known about one test runner: a row of the tables under `table/`.

Which program it is, which words make it execute tests, which options narrow the run, and with
which flags nothing is executed at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from app.testruns.shell_line import Words
from app.testruns.wordset import word_set


class Form(Enum):
    """What in a program's arguments asks for tests."""

    PROGRAM = "program"
    """Nothing more: the program is a test runner (`pytest`)."""
    VERB = "verb"
    """Its first operands (`go test`)."""
    GOAL = "goal"
    """Any of its operands, each the name of something to do (`make all check`)."""
    SCRIPT = "script"
    """The name of a script that the project defines (`npm run NAME`)."""


@dataclass(frozen=True, slots=True)
class Runner:
    form: Form
    programs: tuple[str, ...]
    """Base names; the first one is the label in `Suite.runner`."""
    verbs: tuple[Words, ...] = ()
    """VERB and SCRIPT: phrases that run tests. GOAL: goals besides those that names tell.
    PROGRAM: what it may be told beside that, and would do anyhow (`vitest run`)."""
    verbs_anywhere: bool = False
    """A verb may stand behind other operands: `xcodebuild … test`."""
    run_verbs: tuple[Words, ...] = ()
    """SCRIPT: phrases before the name of a script; the empty phrase: the name comes at once."""
    named_goals: bool = True
    """GOAL: targets are named freely, so names decide; else only `verbs` count."""
    target_piece: int | None = None
    """Which piece of `PROJECT:TARGET` says what is done; None: targets are written otherwise."""
    other_verbs: frozenset[str] = frozenset()
    """First operands, after the verb if there is one, with which it does something else
    (`vitest list`)."""
    valued: frozenset[str] = frozenset()
    """Options whose value is the next word."""
    narrows: frozenset[str] = frozenset()
    """Options of `valued` that choose tests, and flags that do (`--lf`)."""
    folders: frozenset[str] = frozenset()
    """Options of `valued` that name the folder in which it works (`make -C web`)."""
    spans_folders: bool = True
    """A run of everything in one folder is one of everything below it: tests are collected. Else
    each folder has scripts or targets of its own."""
    goal_options: frozenset[str] = frozenset()
    """Options of `valued` whose value is a goal or the name of a script (`cmake --target test`)."""
    requires: frozenset[str] = frozenset()
    """At least one of these flags has to be there (`node --test`)."""
    idle: frozenset[str] = frozenset()
    """Flags with which no test is executed."""
    cluster: str = ""
    """Letters of short flags without a value that may be written together (`make -kn`)."""
    ends_cluster: str = ""
    """Letters of flags whose value is the rest of such a word, or the next one (`make -kCweb`)."""

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


def _phrases(*phrases: str) -> tuple[Words, ...]:
    """Longest first; a `*` in a phrase is any word."""
    return tuple(sorted((tuple(phrase.split()) for phrase in phrases), key=len, reverse=True))


def program(
    names: str,
    *,
    verbs: str = "",
    valued: str = "",
    narrows: str = "",
    folders: str = "",
    idle: str = "",
    other_verbs: str = "",
    requires: str = "",
    cluster: str = "",
) -> Runner:
    """A program that is a test runner."""
    return Runner(
        Form.PROGRAM,
        tuple(names.split()),
        verbs=_phrases(*verbs.split()),
        valued=word_set(valued) | word_set(folders),
        folders=word_set(folders),
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
    folders: str = "",
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
        valued=word_set(valued) | word_set(folders),
        folders=word_set(folders),
        narrows=word_set(narrows),
        idle=word_set(idle) | HELP_FLAGS,
        other_verbs=word_set(other_verbs),
        requires=word_set(requires),
    )


def goal(
    names: str,
    *goals: str,
    named: bool = True,
    target_piece: int | None = None,
    valued: str = "",
    narrows: str = "",
    folders: str = "",
    spans_folders: bool = False,
    idle: str = "",
    other_verbs: str = "",
    goal_options: str = "",
    requires: str = "",
    cluster: str = "",
    ends_cluster: str = "",
) -> Runner:
    """A build tool or task runner that takes the names of targets."""
    return Runner(
        Form.GOAL,
        tuple(names.split()),
        verbs=_phrases(*goals),
        named_goals=named,
        target_piece=target_piece,
        valued=word_set(valued) | word_set(goal_options) | word_set(folders),
        folders=word_set(folders),
        spans_folders=spans_folders,
        narrows=word_set(narrows),
        idle=word_set(idle) | HELP_FLAGS,
        other_verbs=word_set(other_verbs),
        goal_options=word_set(goal_options),
        requires=word_set(requires),
        cluster=cluster,
        ends_cluster=ends_cluster,
    )


def script(
    names: str,
    *run: str,
    direct: str = "",
    target_piece: int | None = None,
    valued: str = "",
    narrows: str = "",
    folders: str = "",
    spans_folders: bool = False,
    idle: str = "",
    goal_options: str = "",
) -> Runner:
    """A tool that runs a project's named scripts (or, failing that, installed programs)."""
    return Runner(
        Form.SCRIPT,
        tuple(names.split()),
        verbs=_phrases(*direct.split()),
        run_verbs=_phrases(*run),
        target_piece=target_piece,
        valued=word_set(valued) | word_set(goal_options) | word_set(folders),
        folders=word_set(folders),
        spans_folders=spans_folders,
        narrows=word_set(narrows) | NARROWING_ANYWHERE,
        goal_options=word_set(goal_options),
        idle=word_set(idle) | HELP_FLAGS | IDLE_ANYWHERE,
    )
