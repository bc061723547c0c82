"""Programs that run a program given to them: `python -m pytest`, `php artisan`, `sh test.sh`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from app.core.shell_line import Words
from app.core.testruns.literals import outside_of_literals
from app.core.testruns.names import (
    CHECK_WORDS,
    base_name,
    names_tests,
    program_runs_suite,
    script_runs_tests,
    script_takes_tasks,
)
from app.core.testruns.runner import HELP_FLAGS, Asked, Delegated
from app.core.testruns.wordset import word_set


@dataclass(frozen=True, slots=True)
class Interpreter:
    valued: frozenset[str] = frozenset()
    """Options whose value is the next word."""
    module: frozenset[str] = frozenset()
    """Options whose value is an installed program: what follows are its arguments."""
    code: frozenset[str] = frozenset()
    """Options whose value is source text."""
    runs_tests: re.Pattern[str] | None = None
    """What in source text starts tests."""
    idle: frozenset[str] = frozenset()
    verb: str = ""
    """A first operand that has to come before the script: `coverage run`."""
    any_script_name: bool = False
    """Scripts are judged as a repository's own (`sh scripts/test.sh`), not as one source file."""


def _interpreter(
    *,
    valued: str = "",
    module: str = "",
    code: str = "",
    runs_tests: str = "",
    idle: str = "--version",
    verb: str = "",
    any_script_name: bool = False,
) -> Interpreter:
    return Interpreter(
        word_set(valued),
        word_set(module),
        word_set(code),
        re.compile(runs_tests) if runs_tests else None,
        word_set(idle),
        verb,
        any_script_name,
    )


_PYTHON_CODE: Final = (
    r"\b(?:pytest|unittest|nose2?|pytest\.console)\.(?:console_)?main\s*\((?![^)]*--(?:co|help|ver))"
    r"|\bunittest\.TextTestRunner|\bcall_command\(\s*['\"]test['\"]"
    r"|\bfrom\s+\w+\s+import\s+test\b(?s:.{0,400}?)\btest\("
    r"|\bfrom\s+pytest\s+import\s+main\b"
    r"|\bimport\s+(?:[\w.]+\s+as\s+)?(\w+)\b(?s:.{0,400}?)\b\1\.test\("
)
_PYTHON: Final = _interpreter(
    valued="""-X -W -Q -o --outfile -s --sort --listen --connect --rcfile --source --omit --include
        --data-file --out --context --concurrency --debug --source-pkg""",
    module="-m",
    code="-c",
    runs_tests=_PYTHON_CODE,
    idle="-V --version -h --help -VV",
)
_COVERAGE: Final = Interpreter(
    _PYTHON.valued, _PYTHON.module, idle=frozenset(HELP_FLAGS), verb="run"
)
_LAUNCHER: Final = _interpreter(
    valued="--nproc_per_node --nproc-per-node --nnodes --num_processes --config_file --master_port",
    module="-m",
    verb="launch",
)
_SHELL: Final = _interpreter(
    valued="-o +o -O +O --rcfile --init-file", idle="-n -c --version --help", any_script_name=True
)
_JS_CODE: Final = r"\b(?:jest|mocha|vitest|jasmine)\b[^'\"]*\.(?:run|runCLI|execute)\s*\("
_R_CODE: Final = (
    r"\b(?:devtools|testthat|rcmdcheck|tinytest|RUnit|covr|cmdcheck|testit)::\w*"
    r"(?:test|check|coverage)\w*\s*\(|\btest(?:_dir|_file|_local|_package|_check|_all)?\s*\("
    r"|\brun_test_\w+\s*\("
)

INTERPRETERS: Final[Mapping[str, Interpreter]] = {
    **dict.fromkeys(
        (
            "python",
            "pypy",
            "py",
            "python-dbg",
            "micropython",
            "ipython",
            "pythonw",
            "script",
            "sage-python",
            "graalpy",
        ),
        _PYTHON,
    ),
    **dict.fromkeys(("memray", "coverage.py"), _COVERAGE),
    **dict.fromkeys(
        (
            "cProfile",
            "profile",
            "pdb",
            "ipdb",
            "pudb",
            "trace",
            "debugpy",
            "viztracer",
            "memory_profiler",
            "pyinstrument",
            "scalene",
            "kernprof",
            "slipcover",
            "ddtrace-run",
            "opentelemetry-instrument",
            "django-coverage",
        ),
        _PYTHON,
    ),
    "coverage": _COVERAGE,
    **dict.fromkeys(
        ("bash", "sh", "zsh", "dash", "ksh", "fish", "ash", "busybox-sh", ".", "source"), _SHELL
    ),
    **dict.fromkeys(
        ("pwsh", "powershell"),
        _interpreter(
            valued="-ExecutionPolicy -ep -WorkingDirectory -wd -OutputFormat",
            code="-c -Command -command",
            runs_tests=r"(?:^|[;&|]\s*)Invoke-Pester\b",
            module="-File -f -file",
            any_script_name=True,
        ),
    ),
    **dict.fromkeys(
        (
            "node",
            "nodejs",
            "tsx",
            "ts-node",
            "esr",
            "vite-node",
            "babel-node",
            "esno",
            "swc-node",
            "jiti",
        ),
        _interpreter(
            valued="""-r --require --loader --import --experimental-loader --env-file -C
            --conditions --max-old-space-size --tsconfig -P --project --title""",
            code="-e --eval -p --print",
            runs_tests=_JS_CODE,
            idle="-v --version -h --help -c --check",
        ),
    ),
    **dict.fromkeys(
        ("ruby", "jruby", "truffleruby"),
        _interpreter(
            valued="-I -r -C -E",
            module="-S",
            code="-e",
            idle="-v --version -c -h",
            runs_tests=r"\bRSpec::Core::Runner\.(?:run|invoke)|\bMinitest\.(?:run|autorun)"
            r"|\bDir(?:\.glob|\[).{0,80}test.{0,80}\brequire",
        ),
    ),
    "php": _interpreter(valued="-d -c -z", module="-f", code="-r", idle="-v --version -l -i -m -h"),
    "torchrun": replace(_LAUNCHER, verb=""),
    "accelerate": _LAUNCHER,
    "symfony": _interpreter(verb="php"),
    "perl": _interpreter(
        valued="-I -M -m",
        module="-S",
        code="-e -E",
        idle="-v -c --version",
        runs_tests=r"\bruntests\s*\(|\bTest::Harness\b|\btest_harness\s*\(",
    ),
    **dict.fromkeys(("lua", "luajit", "texlua"), _interpreter(valued="-l", code="-e", idle="-v")),
    **dict.fromkeys(("Rscript", "R"), _interpreter(code="-e", runs_tests=_R_CODE)),
    **dict.fromkeys(
        ("julia", "jl"),
        _interpreter(
            valued="-J -t -p -L -C -O -H --threads --procs --sysimage --load",
            code="-e --eval -E --print",
            runs_tests=r"\bPkg\.test\s*\(|\bpkg\"test|\bTestEnv\b.*include|\bincludes?\(\"test/runtests"
            r"|\bruntests\s*\(|\bReTest\.retest|\bBase\.runtests",
        ),
    ),
    **dict.fromkeys(
        ("octave", "octave-cli"),
        _interpreter(
            code="--eval", runs_tests=r"\b(?:oruntests|runtests|__run_test_suite__|test)\b"
        ),
    ),
    "matlab": _interpreter(valued="-sd", code="-batch -r", runs_tests=r"\bruntests\b|\brun\(test"),
    "emacs": _interpreter(
        valued="-l -L --load --directory -f-load",
        code="-f --funcall --eval",
        runs_tests=r"\bert-run-tests-batch|\bbuttercup-run|\becukes|\bert-run-tests",
    ),
    **dict.fromkeys(
        ("nvim", "vim"),
        _interpreter(
            valued="-u -Nu -i -l-file",
            code="-c +",
            runs_tests=r"Plenary(?:Busted)|MiniTest\.run|Vader!?|"
            r"\bthemis\b|TestSuite|\btest_directory\b",
        ),
    ),
    **dict.fromkeys(
        ("godot", "godot4"),
        _interpreter(valued="--path", code="-s --script", runs_tests=r"gut_cmd|GdUnitCmd"),
    ),
    "swipl": _interpreter(valued="-s -l", code="-g -t", runs_tests=r"\brun_tests\b"),
    "sbcl": _interpreter(
        valued="--load",
        code="--eval",
        runs_tests=r"\basdf:test-system\b|\brove:run"
        r"|\b(?:fiveam|5am):run|\bql:test",
    ),
    **dict.fromkeys(("elixir", "iex"), _interpreter(valued="-r -pa -pr", module="-S", code="-e")),
    "dart-vm": _interpreter(),
}

_ALIASES: Final[Mapping[str, str]] = {
    "twisted.trial": "trial",
    "zope.testrunner": "zope-testrunner",
    "django": "django-admin",
    "pytest_watch": "ptw",
    "pytest_watcher": "ptw",
    "test": "regrtest",
    "test.regrtest": "regrtest",
    "xmlrunner": "unittest",
    "unittest_parallel": "unittest",
    "robot.run": "robot",
    "pabot.pabot": "pabot",
    "nose": "nosetests",
    "_jb_pytest_runner": "pytest",
    "stestr.cli": "stestr",
}
"""Python modules whose command has another name."""

_SUITE_MODULE: Final = re.compile(r"(?:.+\.)?(?:tests?|testsuite|runtests|run_tests|test_all)")


def started_by(name: str, words: Words) -> Asked | Delegated | None:
    """What interpreter `name` starts with the arguments `words[1:]`."""
    interpreter = INTERPRETERS[name]
    position = 1
    verb = interpreter.verb
    while position < len(words):
        word = words[position]
        following = words[position + 1 :]
        option, _, glued = word.partition("=")
        if verb and word == verb:
            verb = ""
        elif option in interpreter.idle:
            return None
        elif option in interpreter.code:
            return _judge_code(interpreter, name, glued or (following[0] if following else ""))
        elif option in interpreter.module:
            return _started_module(name, following) if not verb else None
        elif word[:2] in interpreter.module and len(word) > 2 and word[1] != "-":
            return _started_module(name, (word[2:], *following))
        elif word in interpreter.valued:
            position += 1
        elif word[0:1] not in "-+" or word == "-":
            return _started_script(interpreter, name, words[position:]) if not verb else None
        position += 1
    return None


def _judge_code(interpreter: Interpreter, name: str, text: str) -> Asked | None:
    if interpreter.runs_tests is None or not outside_of_literals(interpreter.runs_tests, text):
        return None
    return Asked(name, frozenset({text}))


def _started_module(name: str, words: Words) -> Asked | Delegated | None:
    """`-m MODULE ARGS`, `-S PROGRAM ARGS`, `-File SCRIPT ARGS`."""
    if not words or name in {"pwsh", "powershell"}:
        return Delegated(words) if words else None
    module, arguments = words[0], words[1:]
    if module in _ALIASES:
        return Delegated((_ALIASES[module], *arguments))
    if _SUITE_MODULE.fullmatch(module):
        return Asked(f"{name} -m {module}", frozenset(a for a in arguments if a[:1] != "-"))
    return Delegated(
        (module.removesuffix(".__main__").replace("_", "-"), *arguments)
        if module not in INTERPRETERS
        else words
    )


def _started_script(interpreter: Interpreter, name: str, words: Words) -> Asked | Delegated | None:
    path, arguments = words[0], words[1:]
    asked = asked_of_task_script(path, arguments)
    if asked is not None:
        return asked
    base = base_name(path)
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
    if not judged(path) or not HELP_FLAGS.isdisjoint(arguments):
        return None
    return Asked(path.removeprefix("./"), frozenset(a for a in arguments if a[:1] != "-"))


_SCRIPTS_WITH_VERBS: Final = word_set("manage.py setup.py runtests.py run-tests.php lit.py")


def asked_of_task_script(path: str, arguments: Words) -> Asked | None:
    """`./build.sh test`, `python x.py test`: a repository's script that is told what to do."""
    operands = [word for word in arguments if not word.startswith("-")]
    if not operands or not script_takes_tasks(path) or not HELP_FLAGS.isdisjoint(arguments):
        return None
    task, *rest = operands
    if task in CHECK_WORDS or not names_tests(task):  # such a `check` often only compiles
        return None
    label = path.removeprefix("./")
    return Asked(f"{label} {task}", frozenset(rest))


_WRAPPED_BUILD_TOOLS: Final = frozenset({"gradlew", "mvnw", "millw", "sbt", "lein"})
