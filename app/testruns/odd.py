"""Programs whose command line follows no common form; each has a reader of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

from app.testruns.names import CHECK_WORDS, OTHER_WORK, base_name, names_tests
from app.testruns.rows import HELP_FLAGS
from app.testruns.runner import Asked, Delegated
from app.testruns.shell_line import Words
from app.testruns.wordset import word_set

Reader = Callable[[Words], Asked | Delegated | None]

_NO_TESTS: Final = OTHER_WORK | word_set(
    """check release dev safety bandit manifest packaging coverage-report docs doc codespell
    spelling shell black flake8 twine style typing pyright linkcheck type"""
)


def _environments(words: Words, flags: frozenset[str]) -> list[str]:
    """The values of `flags`, split at commas: `-e py311,lint`, `-epy311`, `--session=tests`."""
    chosen: list[str] = []
    for i, word in enumerate(words):
        name, _, value = word.partition("=")
        if word in flags:
            following = words[i + 1 :]
            chosen += following[: _until_option(following)]
        elif name in flags:
            chosen.append(value)
        elif word[:2] in flags:
            chosen.append(word[2:])
    return [name for text in chosen for name in text.split(",") if name]


def _until_option(words: Words) -> int:
    return next((i for i, word in enumerate(words) if word.startswith("-")), len(words))


def _after_dashes(words: Words) -> frozenset[str]:
    rest = words[words.index("--") + 1 :] if "--" in words else ()
    return frozenset(word for word in rest if not word.startswith("-"))


def _before_dashes(words: Words) -> Words:
    return words[: words.index("--")] if "--" in words else words


def _is_other_work(name: str) -> bool:
    return any(word in _NO_TESTS for word in re.split(r"[-_:.]", name.lower()))


_TOX_IDLE: Final = HELP_FLAGS | word_set(
    """--listenvs --listenvs-all --notest -n --showconfig --hi --help-ini --devenv
    list l config c depends de devenv d exec e quickstart q schema"""
)
_TOX_LISTS: Final = re.compile(r"-[vq]*[al][alvq]*")
"""`-l` and `-a`, also with other short flags."""
_TOX_VALUED: Final = word_set("-e -f -c --conf --workdir -x -p")


def _tox(words: Words) -> Asked | None:
    own = _before_dashes(words)
    flags = [word for before, word in pairwise(own) if before not in _TOX_VALUED]
    if not _TOX_IDLE.isdisjoint(flags) or any(map(_TOX_LISTS.fullmatch, flags)):
        return None
    names = _environments(own, frozenset({"-e", "-f"}))
    if names and all(_is_other_work(name) for name in names):
        return None
    return Asked("tox", frozenset(names) - {"ALL"} | _after_dashes(words), spans_folders=False)


_NOX_IDLE: Final = HELP_FLAGS | word_set("-l --list --list-sessions --install-only")
_NOX_CHOOSES: Final = word_set("-s --session --sessions -e -k --keywords -t --tags")


def _nox(words: Words) -> Asked | None:
    own = _before_dashes(words)
    if not _NOX_IDLE.isdisjoint(own):
        return None
    names = _environments(own, _NOX_CHOOSES)
    if names and not any(names_tests(n.split("(")[0]) or re.match(r"py\d", n) for n in names):
        return None
    return Asked("nox", frozenset(names) | _after_dashes(words), spans_folders=False)


_SBT_TEST: Final = re.compile(
    r"(?:.*[/:])?(?:test|testOnly|testQuick|testFull|scripted|fullTest|testAll|unitTest|"
    r"integrationTest|itTest|testJVM|testJS|testNative|munitTest|weaverTest)(?:\s.*)?"
)


def _sbt(words: Words) -> Asked | None:
    """Each word is a command; `;` separates further ones, `+`, `++VERSION` and `~` repeat it."""
    parts = [re.sub(r"\+\+\S+\s", "", part) for word in words[1:] for part in word.split(";")]
    commands = [re.sub(r"\s*/\s*", "/", part).strip().lstrip("+~ ") for part in parts]
    tests = frozenset(filter(_SBT_TEST.fullmatch, commands))
    if not tests or not HELP_FLAGS.isdisjoint(words):
        return None
    return Asked("sbt test", tests if tests.isdisjoint(_SBT_WHOLE) else frozenset())


_SBT_WHOLE: Final = frozenset({"test", "Test/test"})

_CLOJURE_ALIASES: Final = re.compile(r"-([XMT])((?::[\w./+-]+)+)")
"""`-A` only adds paths to a prompt."""


def _clojure(words: Words) -> Asked | None:
    if "-P" in words:  # only fetches dependencies
        return None
    for i, (word, following) in enumerate(pairwise((*words, "")), 1):
        found = _CLOJURE_ALIASES.fullmatch(word)
        if found and any(map(_is_clojure_runner, found[2].split(":"))):
            return _clojure_asked(words[i:])
        if (found and found[1] != "M" and names_tests(following)) or (
            word == "-m" and following in _CLOJURE_MAINS
        ):
            return _clojure_asked(words[i + 1 :])
    return None


def _is_clojure_runner(alias: str) -> bool:
    return names_tests(alias) or alias in _CLOJURE_RUNNERS


def _clojure_asked(rest: Words) -> Asked:
    return Asked("clojure test", frozenset(rest), spans_folders=False)


_CLOJURE_RUNNERS: Final = word_set("kaocha midje eftest runner cloverage poly-test")
_CLOJURE_MAINS: Final = word_set(
    """kaocha.runner cognitect.test-runner eftest.runner cloverage.coverage
    cljs-test-runner.main"""
)

_JUNIT_MAINS: Final = re.compile(
    r"org\.junit\.runner\.JUnitCore|junit\.textui\.TestRunner|org\.testng\.TestNG"
    r"|org\.junit\.platform\.console\.ConsoleLauncher|org\.scalatest\.tools\.Runner"
    r"|io\.cucumber\.core\.cli\.Main|cucumber\.api\.cli\.Main|com\.intuit\.karate\.Main"
    r"|org\.spockframework\.\w+|specs2\.run|munit\.\w+|com\.beust\.testng\.TestNG"
)
_JUNIT_JAR: Final = re.compile(
    r"(?:.*/)?(?:junit-platform-console-standalone|karate|testng)[\w.-]*\.jar"
)
_JAVA_VALUED: Final = word_set(
    """-cp -classpath --class-path -p --module-path --add-opens --add-modules --add-exports"""
)


def _java(words: Words) -> Asked | None:
    position = 1
    while position < len(words):
        word, behind = words[position], words[position + 1 :]
        if word == "-jar":
            return _junit(behind[1:]) if behind and _JUNIT_JAR.fullmatch(behind[0]) else None
        if not word.startswith("-"):
            return _junit(behind) if _JUNIT_MAINS.fullmatch(word) else None
        position += 2 if word in _JAVA_VALUED else 1
    return None


_JUNIT_IDLE: Final = word_set("--help -h --version discover engines --list-tests")
_JUNIT_WHOLE: Final = word_set("execute --scan-classpath")


def _junit(arguments: Words) -> Asked | None:
    if not _JUNIT_IDLE.isdisjoint(arguments):
        return None
    return Asked("junit", frozenset(arguments) - _JUNIT_WHOLE)


def _mix(words: Words) -> Delegated | None:
    """`mix do …, test`: tasks separated by commas or `+`."""
    if words[1:2] != ("do",):
        return None
    for task in map(str.split, " ".join(words[2:]).replace("+", ",").split(",")):
        if task and task[0].split(".")[0] in {"test", "coveralls", "espec"}:
            return Delegated(("mix", *task))
    return None


def _go(words: Words) -> Delegated | None:
    """`go run MODULE/gotestsum@latest`, `go tool PROGRAM` start that program."""
    operands = [i for i, word in enumerate(words) if i and not word.startswith("-")]
    if len(operands) < 2 or words[operands[0]] not in {"run", "tool"}:
        return None
    path = words[operands[1]].split("@")[0].rstrip("/")
    program = base_name(re.sub(r"/v\d+$", "", path))
    return Delegated((program, *words[operands[1] + 1 :]))


def _cargo(words: Words) -> Delegated | None:
    """`cargo +TOOLCHAIN …`, and `cargo watch -x TASK`, whose value is a cargo command."""
    program, *rest = words
    if rest and rest[0].startswith("+"):
        return Delegated((program, *rest[1:]))
    if rest[:1] != ["watch"]:
        return None
    for option, value in pairwise(rest):
        task = value.split()
        runs_tests = task and task[0] not in CHECK_WORDS and names_tests(task[0])
        if option in {"-x", "--exec"} and runs_tests:
            return Delegated((program, *task))
    return None


def _compose(words: Words) -> Asked | None:
    """`docker compose run … tests`: a service that is there to run the tests."""
    operands = [word for word in words if not word.startswith("-")]
    if "run" not in operands or not any(word.endswith("compose") for word in operands):
        return None
    service = operands[operands.index("run") + 1 :]
    if service != [words[-1]] or not names_tests(service[0]):
        return None
    return Asked(f"compose run {service[0]}", frozenset(), spans_folders=False)


def _deno(words: Words) -> Delegated | None:
    """`deno run … npm:PROGRAM` starts an installed program."""
    for position, word in enumerate(words):
        if word.startswith("npm:"):
            return Delegated((word.removeprefix("npm:"), *words[position + 1 :]))
    return None


def _ruby(words: Words) -> Asked | None:
    """`ruby -Itest a_test.rb`: with the tests' folder on the load path a file of tests is run."""
    if not _RUBY_LOADS_TESTS.search(" ".join(words)):
        return None
    files = frozenset(word for word in words if _RUBY_TESTS.search(word))
    return Asked("ruby test", files) if files else None


_RUBY_LOADS_TESTS: Final = re.compile(r" -I ?(?:\S*[^\w\s])?(?:test|spec)\b")
_RUBY_TESTS: Final = re.compile(r"(?:_test|_spec|/test_\w+)\.rb")


_MAVEN_PLUGIN: Final = re.compile(
    r"[\w.]+:(?:maven-)?(\w+?)(?:-maven)?-plugin:(?:[\d.\w-]+:)?([\w-]+)"
)


def _maven(words: Words) -> Delegated | None:
    """A plugin's goal in full, `group:maven-surefire-plugin:3.2.5:test`, is `surefire:test`."""
    short = tuple(_MAVEN_PLUGIN.sub(r"\1:\2", word) for word in words[1:])
    return Delegated((words[0], *short)) if short != words[1:] else None


_GRADLE_EXCLUDES: Final = frozenset({"-x", "--exclude-task"})


def _gradle(words: Words) -> Delegated | None:
    """`-x test` takes a task out; `check` without its tests runs none."""
    excluded = {task for option, task in pairwise(words) if option in _GRADLE_EXCLUDES}
    if not excluded:
        return None
    if any(task.endswith("test") for task in excluded):
        excluded.add("check")
    return Delegated(tuple(word for word in words if word not in excluded | _GRADLE_EXCLUDES))


ODD: Final[Mapping[str, Reader]] = {
    "tox": _tox,
    "nox": _nox,
    "sbt": _sbt,
    "sbtn": _sbt,
    "sbtx": _sbt,
    **dict.fromkeys(("clojure", "clj"), _clojure),
    **dict.fromkeys(("java", "kotlin"), _java),
    "mix": _mix,
    "go": _go,
    "cargo": _cargo,
    "deno": _deno,
    "ruby": _ruby,
    **dict.fromkeys(("docker", "docker-compose", "podman", "podman-compose"), _compose),
    **dict.fromkeys(("mvn", "mvnw", "mvnd"), _maven),
    **dict.fromkeys(("gradle", "gradlew"), _gradle),
}
"""By program name. A reader that sees no tests leaves the rest to the tables."""
