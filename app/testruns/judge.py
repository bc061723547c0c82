"""One argument list: does this program start tests, and which?

`judge` looks a program up in the tables, or looks through an interpreter (`python -m pytest`,
`node …/.bin/jest`, `sh run_tests.sh`) at the program that it starts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from app.testruns.interpreters import asked_of_task_script, started_by
from app.testruns.languages import INTERPRETERS
from app.testruns.names import base_name, of_system, script_runs_tests
from app.testruns.odd import ODD
from app.testruns.products import lies_in
from app.testruns.rows import program
from app.testruns.runner import Asked, Delegated, ask
from app.testruns.shell_line import HOLE, Words
from app.testruns.table import RUNNERS
from app.testruns.wordset import word_set

MAX_DELEGATIONS: Final = 8

_DECORATION: Final = re.compile(r"(?<=.)(?:@[^/]*|\.(?:exe|cmd|bat|phar|[cm]?js|jar|rb))$", re.I)
_VERSION: Final = re.compile(r"(?<=[a-z])-?\d+(?:\.\d+)*$")
_NAMED_HOLE: Final = re.compile(f"{HOLE}(\\w+){HOLE}")


_PACKAGE_VERSION: Final = re.compile(r"(?<=.)@[^/]*$")
_SCOPED_PACKAGES: Final[Mapping[str, str]] = {
    "@angular/cli": "ng",
    "@cucumber/cucumber": "cucumber-js",
    "@playwright/test": "playwright",
    "@storybook/test-runner": "test-storybook",
    "@stryker-mutator/core": "stryker",
    "@vscode/test-cli": "vscode-test",
    "@wdio/cli": "wdio",
    "@web/test-runner": "web-test-runner",
}
"""The programs of packages that are not called as they are: `npx @wdio/cli run`."""
_PACKAGE_MANAGERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})


def judge(words: Words, made: frozenset[str] = frozenset()) -> Asked | None:
    """What tests `words`, an argument list with its program first, asks for; None: no tests.

    `made` are files that the same command line has made: as scripts and programs of their own they
    are none of the project's tests, whatever they are called.
    """
    for _ in range(MAX_DELEGATIONS):
        if not words:
            return None
        verdict = _judge_once(words, made)
        if not isinstance(verdict, Delegated):
            return verdict
        words = verdict.words
    return None


def _judge_once(words: Words, made: frozenset[str]) -> Asked | Delegated | None:
    manager, _, script = words[0].partition(":")
    if script and manager in _PACKAGE_MANAGERS:  # `concurrently npm:test`
        return Delegated((manager, "run", script))
    if words[0].startswith("@"):
        program = _SCOPED_PACKAGES.get(_PACKAGE_VERSION.sub("", words[0]))
        return Delegated((program, *words[1:])) if program else None
    name = program_name(words[0])
    verdict = ODD[name](words) if name in ODD else None
    if verdict is not None:
        return verdict
    for runner in RUNNERS.get(name, ()):
        verdict = ask(runner, words)
        if verdict is not None:
            return verdict
    if name in INTERPRETERS:
        return started_by(name, words[1:], made)
    return None if name in _KNOWN else _judge_script(words, made)


@lru_cache(maxsize=1_024)  # few programs, many commands
def program_name(word: str) -> str:
    """The name under which the tables know a program.

    `/usr/bin/python3.11` → `python`, `jest@29` → `jest`, and a variable that by custom holds a
    program stands for it: `$MAKE` → `make`.
    """
    hole = _NAMED_HOLE.fullmatch(word)
    name = hole[1].lower() if hole else _DECORATION.sub("", base_name(word))
    return name if name in _KNOWN else _VERSION.sub("", name)


_KNOWN: Final = RUNNERS.keys() | INTERPRETERS.keys() | ODD.keys()


def _judge_script(words: Words, made: frozenset[str]) -> Asked | Delegated | None:
    """`./run_tests.sh`, `script/test`, `build/tests/unit_tests`: a program of the repository."""
    path = words[0]
    if path.endswith((".py", ".rb", ".js", ".mjs", ".cjs", ".ts", ".pl", ".php", ".lua")):
        return started_by("script", words, made)
    if _is_test_binary(words):
        asked = ask(_TEST_BINARY, words)
        return replace(asked, runner=path.removeprefix("./")) if isinstance(asked, Asked) else None
    is_path = "/" in path or path.endswith((".sh", ".bash", ".bat", ".cmd", ".ps1", ".exe"))
    if not is_path or HOLE in base_name(path) or not _LISTS_ONLY.isdisjoint(words):
        return None
    if lies_in(path, made) or _SCRATCH.fullmatch(path):
        return None
    if not script_runs_tests(path):
        return asked_of_task_script(path, words[1:])
    label = path.removeprefix("./")
    operands = frozenset(word for word in words[1:] if not word.startswith("-"))
    return Asked(label, operands, spans_folders=False)


def _is_test_binary(words: Words) -> bool:
    """`/tmp/t -test.run TestA`, `./a.out --gtest_filter=*`: the flags that a test framework adds
    to each program that is built with it, so that its name says nothing."""
    is_built = words[0].startswith(HOLE) or ("/" in words[0] and not of_system(words[0]))
    return is_built and any(map(_TEST_FLAG.match, words[1:]))


_SCRATCH: Final = re.compile(r"/(?:var/)?tmp/[^/.]+")
"""A program that somebody put aside: it belongs to no repository, and its name says nothing."""
_TEST_FLAG: Final = re.compile(
    r"--?test\.[a-z]+(?:=|$)|--gtest_[a-z_]+(?:=|$)|--run_test=|--nocapture$|--test-threads(?:=|$)"
)
"""Of Go, GoogleTest, Boost.Test, and Rust."""
_LISTS_ONLY: Final = word_set(
    "--help -h --version --list --list-tests --gtest_list_tests --dry-run -test.list --test.list"
)
_TEST_BINARY: Final = program(
    "test",
    valued="""-test.run -test.skip -test.count -test.timeout -test.bench -test.benchtime -test.cpu
        -test.parallel -test.coverprofile -test.outputdir --test-threads --skip""",
    narrows="-test.run -test.skip --gtest_filter --run_test --skip --exact --ignored",
    idle="--list_content --gtest_help --list --gtest_list_tests -test.list --test.list",
)
