"""Programs that run a program given to them: `python -m pytest`, `php artisan`, `sh test.sh`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from app.testruns.languages import INTERPRETERS, Interpreter
from app.testruns.literals import outside_of_literals
from app.testruns.names import (
    CHECK_WORDS,
    base_name,
    holds_variables,
    names_tests,
    program_runs_suite,
    script_runs_tests,
    script_takes_tasks,
)
from app.testruns.products import lies_in
from app.testruns.rows import HELP_FLAGS
from app.testruns.runner import Asked, Delegated
from app.testruns.shell_line import Words
from app.testruns.wordset import word_set

_ALIASES: Final[Mapping[str, str]] = {
    "twisted.trial": "trial",
    "zope.testrunner": "zope-testrunner",
    "django": "django-admin",
    "pytest_watch": "ptw",
    "pytest_watcher": "ptw",
    "test": "regrtest",
    "test.regrtest": "regrtest",
    "xmlrunner": "unittest",
    "testtools.run": "unittest",
    "subunit.run": "unittest",
    "unittest_parallel": "unittest",
    "robot.run": "robot",
    "pabot.pabot": "pabot",
    "nose": "nosetests",
    "_jb_pytest_runner": "pytest",
    "stestr.cli": "stestr",
}
"""Python modules whose command has another name."""

_SUITE_MODULE: Final = re.compile(r"(?:.+\.)?(?:tests?|testsuite|runtests|run_tests|test_all)")


def started_by(name: str, words: Words, made: frozenset[str]) -> Asked | Delegated | None:
    """What interpreter `name` starts with the arguments `words`; `made` as in `judge`."""
    interpreter = INTERPRETERS[name]
    if interpreter.verb:
        if words[:1] != (interpreter.verb,):
            return None
        words = words[1:]
    position = 0
    while position < len(words):
        word = words[position]
        following = words[position + 1 :]
        option = word.partition("=")[0]
        flags = _flags(interpreter, option)
        if not interpreter.idle.isdisjoint(flags):
            return None
        if option in interpreter.code:
            return _judge_code(interpreter, name, words[position:])
        if option in interpreter.module:
            return _started_module(name, following)
        if word[:2] in interpreter.module:
            return _started_module(name, (word[2:], *following))
        if word == option and flags[-1] in interpreter.valued:
            position += 1
        elif not interpreter.edits and (word[:1] not in "-+" or word == "-"):
            return _started_script(interpreter, name, words[position:], made)
        position += 1
    return None


def _flags(interpreter: Interpreter, option: str) -> Sequence[str]:
    """`-euo` → `-e`, `-u`, `-o`, where short flags may be written together."""
    if interpreter.clusters and _CLUSTER.fullmatch(option):
        return [f"{option[0]}{letter}" for letter in option[1:]]
    return [option]


_CLUSTER: Final = re.compile(r"[-+][a-zA-Z]+")


def _judge_code(interpreter: Interpreter, name: str, words: Words) -> Asked | None:
    """`-e TEXT`, which may come several times."""
    if interpreter.runs_tests is None:
        return None
    for word, following in pairwise((*words, "")):
        option, is_glued, glued = word.partition("=")
        text = glued if is_glued else following
        if option in interpreter.code and outside_of_literals(interpreter.runs_tests, text):
            return Asked(name, frozenset({text}), spans_folders=False)
    return None


def _started_module(name: str, words: Words) -> Asked | Delegated | None:
    """`-m MODULE ARGS`, `-S PROGRAM ARGS`, `-File SCRIPT ARGS`."""
    if not words or name in {"pwsh", "powershell"} or words[0] in INTERPRETERS:
        return Delegated(words)
    module, arguments = words[0], words[1:]
    if module in _ALIASES:
        return Delegated((_ALIASES[module], *arguments))
    if _SUITE_MODULE.fullmatch(module):
        return _script_asked(f"{name} -m {module}", arguments)
    return Delegated((module.removesuffix(".__main__").replace("_", "-"), *arguments))


def _started_script(
    interpreter: Interpreter, name: str, words: Words, made: frozenset[str]
) -> Asked | Delegated | None:
    path, arguments = words[0], words[1:]
    if name in _SOURCING and holds_variables(path):
        return None
    is_own = lies_in(path, made)
    asked = None if is_own else asked_of_task_script(path, arguments)
    if asked is not None:
        return asked
    base = base_name(path)
    if name in _TAP_INTERPRETERS and base.endswith(".t"):
        return Asked("prove", frozenset({path.removeprefix("./")}))
    is_program = (
        base in _SCRIPTS_WITH_VERBS
        or "." not in base
        or "node_modules/" in path
        or base.endswith(".phar")
        or "/bin/" in path
    )
    if base in _WRAPPED_BUILD_TOOLS or (is_program and not interpreter.any_script_name):
        return Delegated((path, *arguments))
    judged = script_runs_tests if interpreter.any_script_name else program_runs_suite
    if is_own or not judged(path) or not HELP_FLAGS.isdisjoint(arguments):
        return None
    return _script_asked(path.removeprefix("./"), arguments)


_SOURCING: Final = frozenset({".", "source"})
_TAP_INTERPRETERS: Final = frozenset({"perl", "raku"})
"""Their files of tests have an ending of their own."""
_SCRIPTS_WITH_VERBS: Final = word_set(
    "manage.py setup.py runtests.py run-tests.php lit.py Setup.hs Setup.lhs"
)


def asked_of_task_script(path: str, arguments: Words) -> Asked | None:
    """`./build.sh test`, `python x.py test`: a repository's script that is told what to do."""
    operands = [word for word in arguments if not word.startswith("-")]
    if not operands or not script_takes_tasks(path) or not HELP_FLAGS.isdisjoint(arguments):
        return None
    task, *rest = operands
    if task in CHECK_WORDS or not names_tests(task):  # such a `check` often only compiles
        return None
    label = path.removeprefix("./")
    return _script_asked(f"{label} {task}", tuple(rest))


def _script_asked(label: str, arguments: Words) -> Asked:
    operands = frozenset(word for word in arguments if not word.startswith("-"))
    return Asked(label, operands, spans_folders=False)


_WRAPPED_BUILD_TOOLS: Final = frozenset({"gradlew", "mvnw", "millw", "sbt", "lein"})
