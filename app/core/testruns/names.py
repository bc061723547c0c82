"""Does the name of a script or a target say that it runs tests?

Names are free text that people chose: `test:unit`, `integrationTest`, `run_tests.sh`. They are
split into words, and the words are judged by the tables below.
"""

from __future__ import annotations

import re
from typing import Final

from app.core.testruns.wordset import word_set

_PIECES: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])|[^A-Za-z0-9]+")
_SUITE: Final = re.compile(
    r"(?:run|all|unit|self|ui|py|go|js|c|p|x|quick|full|fast|smoke|integration|functional|api)?"
    r"(?:all|unit)?tests?"
    r"(?:all|unit|suites?|acc|race|s|cov|ci|e2e|only|quick|\d+)?"
)
"""Words that are tests in themselves: `test`, `runtests`, `unittest`, `testacc`, `test2`."""

SUITE_WORDS: Final = word_set(
    """e2e distcheck installcheck doctest doctests tst regress vitest jest mocha rspec phpunit
    ctest cypress cy playwright behat behave karma junit nextest bats busted xctest pest tox nox
    eunit testthat pitest"""
)
KIND_WORDS: Final = word_set("unit integration acceptance functional smoke coverage cov e2e system")
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

NOUNS_OF_TESTS: Final = word_set(
    """util utils helper helpers fixture fixtures data dataset server servers env environment image
    images container containers db database config configs certs cert keys key result results
    output outputs file files bin binary binaries cluster vm vms network infra services service
    pypi user users account token page stub stubs mock mocks harness framework support deps lib
    libs dir dirs tool tools template templates artifacts artifact coverage-report"""
)
"""After `test-` these name a thing (`make test-image`); after `test:` a part under test."""

CHECK_WORDS: Final = frozenset({"check", "checks"})
SPEC_WORDS: Final = frozenset({"spec", "specs"})
QUALIFIERS: Final = word_set(
    """unit integration acceptance functional smoke all world local full quick fast slow regress
    run ci only parallel tests test system e2e core"""
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
_SUITE_FOLDERS: Final = frozenset({"test", "tests", "spec", "t", "testing", "testsuite"})
_CONJUNCTIONS: Final = frozenset({"and", "then", "n"})


def names_tests(name: str) -> bool:
    """True for the name of a script, task or target that runs tests: `test:unit`, `check`."""
    words: list[str] = []
    separators: list[str] = []  # separators[i] stands before words[i]
    before = ""
    for piece in _PIECES.findall(name[:200]):
        if not piece[0].isalnum():
            before = piece
            continue
        words.append(piece.lower())
        separators.append(before)
        before = ""
    if any(word in _CONJUNCTIONS for word in words):
        return _some_clause_names_tests(words, separators)
    return _words_name_tests(words, separators)


def _some_clause_names_tests(words: list[str], separators: list[str]) -> bool:
    """`build-and-test` does both."""
    start = 0
    for end in [i for i, word in enumerate(words) if word in _CONJUNCTIONS] + [len(words)]:
        if _words_name_tests(words[start:end], separators[start:end]):
            return True
        start = end + 1
    return False


def _words_name_tests(words: list[str], separators: list[str]) -> bool:
    if not words or not OTHER_WORK.isdisjoint(words):
        return False
    if all(word in KIND_WORDS or word in QUALIFIERS for word in words):
        return not KIND_WORDS.isdisjoint(words) or _has_suite(words)
    if not CHECK_WORDS.isdisjoint(words):
        return all(w in CHECK_WORDS or w in QUALIFIERS or _is_suite(w) for w in words)
    if not SPEC_WORDS.isdisjoint(words):
        leading = next(i for i, word in enumerate(words) if word in SPEC_WORDS)
        return all(word in QUALIFIERS for word in words[:leading])
    for i, word in enumerate(words):
        if word in OTHER_WORK_BEFORE:
            return False
        if _is_suite(word):
            following = words[i + 1] if i + 1 < len(words) else ""
            joined = separators[i + 1] if following else ""
            return ":" in joined or "/" in joined or following not in NOUNS_OF_TESTS
    return False


def _has_suite(words: list[str]) -> bool:
    return any(_is_suite(word) for word in words)


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
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def script_runs_tests(path: str) -> bool:
    """Is this the path of a repository's script or test binary: `script/test`, `./run_tests.sh`?"""
    folders, stem = _folders_and_stem(path)
    if names_tests(stem):
        return True
    return _plain(stem) in _RUNS_ALL and any(folder in _SUITE_FOLDERS for folder in folders)


def script_takes_tasks(path: str) -> bool:
    """Is this a repository's script that is told what to do: `./build.sh test`, `./x.py test`?"""
    return _plain(_folders_and_stem(path)[1]) in _TASK_SCRIPTS


def program_runs_suite(path: str) -> bool:
    """Is this source file, given to an interpreter, the runner of a suite: `runtests.py`?

    Stricter than `script_runs_tests`: `python test_a.py` may be one test, or none; the project
    says so in its configuration.
    """
    folders, stem = _folders_and_stem(path)
    words = [piece.lower() for piece in _PIECES.findall(stem) if piece[0].isalnum()]
    if not names_tests(stem):
        return _plain(stem) in _RUNS_ALL and any(folder in _SUITE_FOLDERS for folder in folders)
    whole = {"run", "all", "suite", "runner"} & set(words)
    return bool(whole) or (len(words) == 1 and words[0] not in {"test", "tests", "check", "spec"})


def _plain(stem: str) -> str:
    return stem.replace("_", "").replace("-", "").lower()


def _folders_and_stem(path: str) -> tuple[list[str], str]:
    *folders, base = path.replace("\\", "/").split("/")
    return folders, _SCRIPT_SUFFIX.sub("", base)
