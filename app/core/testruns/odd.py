"""Programs whose command line follows no common form; each has a reader of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

from app.core.shell_line import Words
from app.core.testruns.names import CHECK_WORDS, OTHER_WORK, names_tests
from app.core.testruns.runner import HELP_FLAGS, Asked, Delegated
from app.core.testruns.wordset import word_set

Reader = Callable[[Words], Asked | Delegated | None]

_NO_TESTS: Final = OTHER_WORK | word_set(
    """check release dev safety bandit manifest packaging coverage-report docs doc codespell
    spelling shell black flake8 twine style typing pyright linkcheck type"""
)


def _environments(words: Words, flags: frozenset[str]) -> list[str]:
    """The values of `flags`, split at commas: `-e py311,lint`, `-epy311`, `--session=tests`."""
    chosen: list[str] = []
    for i, word in enumerate(words):
        name, has_value, value = word.partition("=")
        if name in flags and not has_value:
            following = words[i + 1 :]
            chosen += [w for w in following[: _until_option(following)] if w]
        elif name in flags:
            chosen.append(value)
        elif word[:2] in flags and len(word) > 2 and word[1] != "-":
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


def _tox(words: Words) -> Asked | None:
    own = _before_dashes(words[1:])
    idle = {
        "-l",
        "--listenvs",
        "-a",
        "--listenvs-all",
        "--notest",
        "-n",
        "--showconfig",
        "--hi",
        "--help-ini",
        "--devenv",
        "list",
        "l",
        "config",
        "c",
        "depends",
        "de",
        "devenv",
        "d",
        "exec",
        "e",
        "quickstart",
        "q",
        "schema",
        "legacy-list",
        "--version",
    }
    flags = _without_values(own)
    lists = any(re.fullmatch(r"-[vq]*[al][alvq]*", flag) for flag in flags)
    if lists or not idle.isdisjoint(flags) or not HELP_FLAGS.isdisjoint(own):
        return None
    names = _environments(own, frozenset({"-e", "-f", "--env"}))
    if names and all(_is_other_work(name) for name in names):
        return None
    return Asked("tox", frozenset(names) - {"ALL"} | _after_dashes(words))


def _without_values(words: Words) -> list[str]:
    valued = {"-e", "-f", "-c", "--conf", "--workdir", "-x", "--env", "-p"}
    return [w for before, w in zip(("", *words), words, strict=False) if before not in valued]


def _nox(words: Words) -> Asked | None:
    own = _before_dashes(words[1:])
    idle = HELP_FLAGS | {"-l", "--list", "--list-sessions", "--install-only"}
    if not idle.isdisjoint(own):
        return None
    names = _environments(own, frozenset({"-s", "--session", "--sessions", "-e"}))
    names += _environments(own, frozenset({"-k", "--keywords", "-t", "--tags"}))
    tests = [n for n in names if names_tests(n.split("(")[0]) or re.match(r"py\d|django", n)]
    tests += [n for n in names if re.match(r"[\w]*test\w*[-(]", n) and not _is_other_work(n)]
    if names and not tests:
        return None
    return Asked("nox", frozenset(names) | _after_dashes(words))


_SBT_TEST: Final = re.compile(
    r"(?:.*[/:])?(?:test|testOnly|testQuick|testFull|scripted|fullTest|testAll|unitTest|"
    r"integrationTest|itTest|testJVM|testJS|testNative|munitTest|weaverTest)(?:\s.*)?"
)


def _sbt(words: Words) -> Asked | None:
    """Each word is a command; `;` separates further ones, `+`, `++VERSION` and `~` repeat it."""
    parts = [re.sub(r"\+\+\S+\s", "", part) for word in words[1:] for part in word.split(";")]
    commands = [re.sub(r"\s*/\s*", "/", part).strip().lstrip("+~ ") for part in parts]
    tests = [command for command in commands if _SBT_TEST.fullmatch(command)]
    if not tests or not HELP_FLAGS.isdisjoint(words):
        return None
    narrow = frozenset(command for command in tests if command not in {"test", "Test/test"})
    return Asked("sbt test", narrow if len(narrow) == len(tests) else frozenset())


_CLOJURE_ALIASES: Final = re.compile(r"-[XMTA]((?::[\w./+-]+)+)")


def _clojure(words: Words) -> Asked | None:
    if "-P" in words:  # only fetches dependencies
        return None
    for i, word in enumerate(words[1:], 1):
        found = _CLOJURE_ALIASES.fullmatch(word)
        if found and word[1] != "A":
            aliases = found[1].strip(":").split(":")
            if any(names_tests(alias) or alias in _CLOJURE_RUNNERS for alias in aliases):
                return Asked("clojure test", frozenset(w for w in words[i + 1 :]))
            if word[1] in "XT" and words[i + 1 : i + 2] and names_tests(words[i + 1]):
                return Asked("clojure test", frozenset(words[i + 2 :]))
        if word == "-m" and words[i + 1 : i + 2] and words[i + 1] in _CLOJURE_MAINS:
            return Asked("clojure test", frozenset(words[i + 2 :]))
    return None


_CLOJURE_RUNNERS: Final = frozenset(
    {"kaocha", "midje", "eftest", "runner", "cloverage", "poly-test"}
)
_CLOJURE_MAINS: Final = frozenset(
    {
        "kaocha.runner",
        "cognitect.test-runner",
        "eftest.runner",
        "cloverage.coverage",
        "cljs-test-runner.main",
    }
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
_JAVA_VALUED: Final = frozenset(
    {
        "-cp",
        "-classpath",
        "--class-path",
        "-p",
        "--module-path",
        "--add-opens",
        "--add-modules",
        "--add-exports",
        "-m",
    }
)


def _java(words: Words) -> Asked | None:
    position = 1
    while position < len(words):
        word = words[position]
        if word == "-jar":
            jar = words[position + 1] if position + 1 < len(words) else ""
            return _junit(words[position + 2 :]) if _JUNIT_JAR.fullmatch(jar) else None
        if not word.startswith("-"):
            return _junit(words[position + 1 :]) if _JUNIT_MAINS.fullmatch(word) else None
        position += 2 if word in _JAVA_VALUED else 1
    return None


def _junit(arguments: Words) -> Asked | None:
    if not {"--help", "-h", "--version", "discover", "engines", "--list-tests"}.isdisjoint(
        arguments
    ):
        return None
    return Asked(
        "junit", frozenset(a for a in arguments if a not in {"execute", "--scan-classpath"})
    )


def _mix(words: Words) -> Delegated | None:
    """`mix do deps.get, test`: tasks separated by commas or `+`."""
    if words[1:2] != ("do",):
        return None
    for task in " ".join(words[2:]).replace("+", ",").split(","):
        name = task.split()[:1]
        if name and name[0].split(".")[0] in {"test", "coveralls", "espec"}:
            return Delegated(("mix", *task.split()))
    return None


def _go(words: Words) -> Delegated | None:
    """`go run gotest.tools/gotestsum@latest ./...`, `go tool gotestsum` start that program."""
    operands = [i for i, word in enumerate(words) if i and not word.startswith("-")]
    if len(operands) < 2 or words[operands[0]] not in {"run", "tool"}:
        return None
    path = words[operands[1]].split("@")[0].rstrip("/")
    program = re.sub(r"/v\d+$", "", path).rsplit("/", 1)[-1]
    return Delegated((program, *words[operands[1] + 1 :]))


def _cargo(words: Words) -> Delegated | None:
    """`cargo +nightly test`, and `cargo watch -x test`, whose value is a cargo command."""
    if words[1:2] and words[1].startswith("+"):
        return Delegated((words[0], *words[2:]))
    if words[1:2] != ("watch",):
        return None
    for option, value in pairwise(words[2:]):
        task = value.split()
        runs_tests = task and task[0] not in CHECK_WORDS and names_tests(task[0])
        if option in {"-x", "--exec"} and runs_tests:
            return Delegated((words[0], *task))
    return None


def _compose(words: Words) -> Asked | None:
    """`docker compose run --rm tests`: a service that is there to run the tests."""
    operands = [word for word in words[1:] if not word.startswith("-")]
    if "run" not in operands or (words[0].endswith("docker") and "compose" not in operands):
        return None
    service = operands[operands.index("run") + 1 :]
    if len(service) != 1 or words[-1] != service[0] or not names_tests(service[0]):
        return None
    return Asked(f"compose run {service[0]}", frozenset())


def _deno(words: Words) -> Delegated | None:
    """`deno run -A npm:vitest run` starts an installed program."""
    for position, word in enumerate(words):
        if word.startswith("npm:"):
            return Delegated((word.removeprefix("npm:"), *words[position + 1 :]))
    return None


def _ruby(words: Words) -> Asked | None:
    """`ruby -Itest a_test.rb`: with the tests' folder on the load path a file of tests is run."""
    loads_tests = any(re.search(r"\b(?:test|spec)\b", path) for path in _load_path(words))
    files = [word for word in words[1:] if re.search(r"(?:_test|_spec|/test_\w+)\.rb", word)]
    return Asked("ruby test", frozenset(files)) if loads_tests and files else None


def _load_path(words: Words) -> list[str]:
    return [
        word[2:] or "".join(words[i + 1 : i + 2])
        for i, word in enumerate(words)
        if word.startswith("-I")
    ]


_MAVEN_PLUGIN: Final = re.compile(
    r"[\w.]+:(?:maven-)?(\w+?)(?:-maven)?-plugin:(?:[\d.\w-]+:)?([\w-]+)"
)


def _maven(words: Words) -> Delegated | None:
    """A plugin's goal in full, `group:maven-surefire-plugin:3.2.5:test`, is `surefire:test`."""
    short = tuple(_MAVEN_PLUGIN.sub(r"\1:\2", word) for word in words[1:])
    return Delegated((words[0], *short)) if short != words[1:] else None


def _gradle(words: Words) -> Delegated | None:
    """`-x test` takes a task out; `check` without its tests runs none."""
    kept: list[str] = []
    excluded: set[str] = set()
    position = 0
    while position < len(words):
        if words[position] in {"-x", "--exclude-task"}:
            excluded.update(words[position + 1 : position + 2])
            position += 1
        else:
            kept.append(words[position])
        position += 1
    if not excluded:
        return None
    without = excluded | ({"check"} if any(name.endswith("test") for name in excluded) else set())
    return Delegated(tuple(word for word in kept if word not in without))


ODD: Final[Mapping[str, Reader]] = {
    "tox": _tox,
    "nox": _nox,
    "sbt": _sbt,
    "sbtn": _sbt,
    "sbtx": _sbt,
    **dict.fromkeys(("clojure", "clj"), _clojure),
    "java": _java,
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
