"""One argument list: does this program start tests, and which?

`judge` looks a program up in the tables, or looks through an interpreter (`python -m pytest`,
`node node_modules/.bin/jest`, `sh run_tests.sh`) at the program that it starts.
"""

from __future__ import annotations

import re
from typing import Final

from app.core.shell_line import HOLE, Words
from app.core.testruns.interpreters import INTERPRETERS, asked_of_task_script, started_by
from app.core.testruns.names import base_name, script_runs_tests
from app.core.testruns.odd import ODD
from app.core.testruns.runner import Asked, Delegated, ask
from app.core.testruns.table import RUNNERS

MAX_DELEGATIONS: Final = 8

_DECORATION: Final = re.compile(r"(?<=.)(?:@[^/]*|\.(?:exe|cmd|bat|phar|[cm]?js|jar|rb))$", re.I)
_VERSION: Final = re.compile(r"(?<=[a-z])-?\d+(?:\.\d+)*$")
_NAMED_HOLE: Final = re.compile(f"{HOLE}(\\w+){HOLE}$")


_PACKAGE_MANAGERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})


def judge(words: Words) -> Asked | None:
    """What tests `words`, an argument list with its program first, asks for; None: no tests."""
    for _ in range(MAX_DELEGATIONS):
        if not words or not words[0]:
            return None
        verdict = _judge_once(words)
        if not isinstance(verdict, Delegated):
            return verdict
        words = verdict.words
    return None


def _judge_once(words: Words) -> Asked | Delegated | None:
    manager, _, script = words[0].partition(":")
    if script and manager in _PACKAGE_MANAGERS:  # `concurrently npm:test`
        return Delegated((manager, "run", script))
    name = program_name(words[0])
    verdict = ODD[name](words) if name in ODD else None
    if verdict is not None:
        return verdict
    for runner in RUNNERS.get(name, ()):
        verdict = ask(runner, words)
        if verdict is not None:
            return verdict
    if name in INTERPRETERS:
        return started_by(name, words)
    return None if name in _KNOWN else _judge_script(words)


def program_name(word: str) -> str:
    """The name under which the tables know a program.

    `/usr/bin/python3.11` → `python`, `jest@29` → `jest`, and a variable that by custom holds a
    program stands for it: `$MAKE` → `make`.
    """
    hole = _NAMED_HOLE.search(word)
    name = hole[1].lower() if hole and hole.start() == 0 else base_name(word)
    if name in _KNOWN:
        return name
    name = _DECORATION.sub("", name)
    if name in _KNOWN:
        return name
    return _VERSION.sub("", name)


_KNOWN: Final = RUNNERS.keys() | INTERPRETERS.keys() | ODD.keys()


def _judge_script(words: Words) -> Asked | Delegated | None:
    """`./run_tests.sh`, `script/test`, `build/tests/unit_tests`: a program of the repository."""
    path = words[0]
    if path.endswith((".py", ".rb", ".js", ".mjs", ".cjs", ".ts", ".pl", ".php", ".lua")):
        return started_by("script", ("script", *words))
    is_path = "/" in path or path.endswith((".sh", ".bash", ".bat", ".cmd", ".ps1", ".exe"))
    if not is_path or HOLE in base_name(path) or not _LISTS_ONLY.isdisjoint(words):
        return None
    if not script_runs_tests(path):
        return asked_of_task_script(path, words[1:])
    label = path.removeprefix("./")
    return Asked(label, frozenset(word for word in words[1:] if not word.startswith("-")))


_LISTS_ONLY: Final = frozenset(
    {"--help", "-h", "--version", "--list", "--list-tests", "--gtest_list_tests", "--dry-run"}
)
