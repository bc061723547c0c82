"""Does the name of a script or a target say that it runs tests?

Names are free text that people chose: `test:unit`, `integrationTest`, `run_tests.sh`. They are
split into words, and the words are judged by the tables below.
"""

from __future__ import annotations

import re
from typing import Final

from app.testruns.wordset import word_set

_WORD: Final = re.compile(r"([A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z]))([^A-Za-z0-9]*)")
"""A word of a name, and what separates it from the next one."""
_SUITE: Final = re.compile(
    r"(?:run|all|unit|self|ui|py|go|js|c|p|x|quick|full|fast|smoke|integration|functional|api)?"
    r"(?:all|unit)?tests?"
    r"(?:all|unit|suites?|acc|race|s|cov|ci|e2e|only|quick|\d+)?"
)
"""Words that are tests in themselves: `test`, `runtests`, `unittest`, `testacc`, `test2`."""

SUITE_WORDS: Final = word_set(
    """e2e distcheck installcheck doctest doctests tst regress vitest jest mocha rspec phpunit
    ctest cypress cy playwright behat behave karma junit nextest bats busted xctest pest tox nox
    eunit testthat pitest tdd"""
)
KIND_WORDS: Final = word_set(
    "unit integration acceptance functional smoke coverage cov cover e2e system regression"
)
"""Kinds of tests. A name of nothing else (`npm run integration`) runs tests of that kind."""

OTHER_WORK: Final = word_set(
    """build builds rebuild compile compilation lint linter linting format fmt fix autofix install
    uninstall deps dependencies setup teardown clean cleanup prepare init generate gen regen
    create publish report reports types typecheck typing tsc eslint prettier ruff mypy flake8
    black isort pylint list ls help upload download bootstrap provision up down stop kill logs
    show view delete remove rm assemble classes resources jar sources scaffold style stylelint
    syntax shellcheck analyze analyse sonar codegen transpile reset purge drop stats summary
    checkstyle spotbugs pmd ktlint detekt badge changelog license licenses spelling spell"""
)
"""Words that say, before or after it, what is done to the tests: `build:test-utils`."""

OTHER_WORK_BEFORE: Final = word_set(
    """make print deploy release docs doc start serve server seed migrate push pull open new add
    edit copy sync merge rename update upgrade tag package pack bundle bundles zip archive audit
    fetch dump load restore launch post pre console status schema link links log shell bump
    stage vet tidy watch-build db"""
)
"""Words that do so only in front: `start-test-server`, but `test:server` tests the server."""

NAMESPACES: Final = word_set("server docs doc shell schema")
"""Of those, the ones that name a part of the project before a colon: `server:test`."""

NOUNS_OF_TESTS: Final = word_set(
    """util utils helper helpers fixture fixtures data dataset server servers env environment image
    images container containers db database config configs certs cert keys key result results
    output outputs file files bin binary binaries cluster vm vms network infra services service
    pypi user users account token page stub stubs mock mocks harness framework support deps lib
    libs dir dirs tool tools template templates artifacts artifact
    coverage-report requirements reqs plan"""
)
"""After `test-` these name a thing (`test-image`); after `test:` a part under test."""

CHECK_WORDS: Final = frozenset({"check", "checks"})
SPEC_WORDS: Final = frozenset({"spec", "specs"})
QUALIFIERS: Final = word_set(
    """unit integration acceptance functional smoke all world local full quick fast slow regress
    run ci only parallel tests test system e2e core connected device
    valgrind asan msan tsan ubsan local recursive"""
)
"""What may stand beside `check` or before `spec` without giving it another meaning."""

WHOLE_SUITE: Final = frozenset({"test", "tests", "t", "tst", "check", "spec", "specs"})
"""Names that by custom mean all tests of a project."""

_SCRIPT_SUFFIX: Final = re.compile(
    r"\.(?:sh|bash|zsh|fish|ksh|py|pl|rb|js|mjs|cjs|ts|mts|php|lua|ps1|bat|cmd|exe|out|run|bin|jl|[rR]"
    r"|exs|tcl|scm|el|hs|swift|nim)$"
)
_RUNS_ALL: Final = frozenset({"run", "runall", "runner", "all", "main", "go", "ci"})
_TASK_SCRIPTS: Final = word_set(
    "x mach dev do run go make build ci task tasks project devtool tool cli bake please"
)
_WHOLE_AT_END: Final = word_set(
    "all suite runner testsuite testsuites unittests testthat testall alltests"
)
"""Last words of the name of a suite: `test_all.py`; but `test_all_forms.py` holds one test, and
`test2.js` may hold none."""
_SUITE_FOLDERS: Final = frozenset({"test", "tests", "spec", "t", "testing", "testsuite"})
_CONJUNCTIONS: Final = frozenset({"and", "then", "n"})


_Clause = list[tuple[str, str]]
"""Words, each with what stands behind it."""


def names_tests(name: str) -> bool:
    """True for the name of a script, task or target that runs tests: `test:unit`, `check`.

    `build-and-test` does both.
    """
    clauses: list[_Clause] = [[]]
    for word, behind in _WORD.findall(name):
        if word.lower() in _CONJUNCTIONS:
            clauses.append([])
        else:
            clauses[-1].append((word.lower(), behind))
    return any(map(_clause_names_tests, clauses))


def _words(name: str) -> list[str]:
    return [word.lower() for word, _ in _WORD.findall(name)]


def _clause_names_tests(clause: _Clause) -> bool:
    words = [word for word, _ in clause]
    if not OTHER_WORK.isdisjoint(words):
        return False
    if all(word in KIND_WORDS or word in QUALIFIERS for word in words):
        return any(word in KIND_WORDS or _is_suite(word) for word in words)
    if not CHECK_WORDS.isdisjoint(words):
        return all(w in CHECK_WORDS or w in QUALIFIERS or _is_suite(w) for w in words)
    if not SPEC_WORDS.isdisjoint(words):
        leading = next(i for i, word in enumerate(words) if word in SPEC_WORDS)
        return all(word in QUALIFIERS for word in words[:leading])
    for i, (word, behind) in enumerate(clause):
        if word in OTHER_WORK_BEFORE and not (word in NAMESPACES and behind == ":"):
            return False
        if _is_suite(word):
            names_part = not _BEFORE_PARTS.isdisjoint(behind)
            return names_part or NOUNS_OF_TESTS.isdisjoint(words[i + 1 : i + 2])
    return False


_BEFORE_PARTS: Final = frozenset(":/")
"""Between tests and the part under test: `test:server`."""


def _is_suite(word: str) -> bool:
    return word in SUITE_WORDS or _SUITE.fullmatch(word) is not None


_BUILT_FILE: Final = re.compile(
    r"\.(?:o|a|so|d|c|cc|cpp|h|obj|lib|dll|class|jar|exe|txt|xml|json|log)$"
)


def target_runs_tests(target: str) -> bool:
    """`names_tests` for the target of a build tool, which may also be a file to build."""
    return "=" not in target and not _BUILT_FILE.search(target) and names_tests(target)


def base_name(path: str) -> str:
    """`/usr/bin/x` and `C:\\x` → `x`."""
    return path.replace("\\", "/").rpartition("/")[2]


def script_runs_tests(path: str) -> bool:
    """Is this the path of a repository's script or test binary: `script/test`, `./run_tests.sh`?

    Neither is a file of variables (`.env.test`), nor a program of the system (`/usr/bin/test`).
    """
    if of_system(path) or not _OF_VARIABLES.isdisjoint(base_name(path).split(".")):
        return False
    if names_tests(_stem(path)):
        return True
    return _is_in_suite(path) and (_plain(path) in _RUNS_ALL or _is_one_test(path))


def of_system(path: str) -> bool:
    """Is this a program that came with the system, and none of the repository?"""
    return _SYSTEM_FOLDER.match(path) is not None


def holds_variables(path: str) -> bool:
    """Is this file, which a shell sources, there for its variables: `env/test`, `.env.test`?"""
    *folders, name = path.split("/")
    return not _OF_VARIABLES.isdisjoint([*folders, *name.split(".")])


_SYSTEM_FOLDER: Final = re.compile(r"(?:/usr)?/s?bin/")
_OF_VARIABLES: Final = frozenset({"env", "envs", ".env", "envrc", "environments"})
"""Pieces of the names of files, and folders of files, that only set variables."""


def _is_one_test(path: str) -> bool:
    """`test_install`, among other tests; `test_helpers` is no test there either."""
    words = _words(_stem(path))
    return words[:1] == ["test"] and NOUNS_OF_TESTS.isdisjoint(words)


def script_takes_tasks(path: str) -> bool:
    """Is this a repository's script that is told what to do: `./build.sh test`, `./x.py test`?"""
    return _plain(path) in _TASK_SCRIPTS


def program_runs_suite(path: str) -> bool:
    """Is this source file, given to an interpreter, the runner of a suite: `runtests.py`?

    Stricter than `script_runs_tests`: `python test_a.py` may be one test, or none; the project
    says so in its configuration.
    """
    words = _words(_stem(path))
    if not names_tests(_stem(path)):
        return _plain(path) in _RUNS_ALL and _is_in_suite(path)
    first, last = words[0], words[-1]
    runs = first == "run" or (first.startswith("run") and _is_suite(first))
    return runs or first == "all" or last in _WHOLE_AT_END


def _is_in_suite(path: str) -> bool:
    return not _SUITE_FOLDERS.isdisjoint(path.replace("\\", "/").split("/")[:-1])


def _plain(path: str) -> str:
    return _stem(path).replace("_", "").replace("-", "").lower()


def _stem(path: str) -> str:
    return _SCRIPT_SUFFIX.sub("", base_name(path))
