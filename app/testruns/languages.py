"""Programs that run a program given to them, one row each: what their options mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from app.testruns.rows import HELP_FLAGS
from app.testruns.wordset import word_set


@dataclass(frozen=True, slots=True)
class Interpreter:
    valued: frozenset[str]
    """Options whose value is the next word."""
    module: frozenset[str]
    """Options whose value is an installed program: what follows are its arguments."""
    code: frozenset[str]
    """Options whose value is source text."""
    runs_tests: re.Pattern[str] | None
    """What in source text starts tests."""
    idle: frozenset[str]
    verb: str
    """A first operand that has to come before the script: `coverage run`."""
    edits: bool
    """It opens the files it is given, and runs only `code`: an editor."""
    any_script_name: bool
    """Scripts are judged as a repository's own (`sh scripts/test.sh`), not as one source file."""
    clusters: bool
    """Short flags may be written together: `sh -euo pipefail scripts/test.sh`."""


def _interpreter(
    *,
    valued: str = "",
    module: str = "",
    code: str = "",
    runs_tests: str = "",
    idle: str = "--version",
    verb: str = "",
    edits: bool = False,
    any_script_name: bool = False,
    clusters: bool = False,
) -> Interpreter:
    return Interpreter(
        word_set(valued),
        word_set(module),
        word_set(code),
        re.compile(runs_tests) if runs_tests else None,
        word_set(idle),
        verb,
        edits,
        any_script_name,
        clusters,
    )


_PYTHON_CODE: Final = (
    r"\b(?:pytest|unittest|nose2?|pytest\.console)\.(?:console_)?main\s*\((?![^)]*--(?:co|help|ver))"
    r"|\bunittest\.TextTestRunner|\bcall_command\(\s*['\"]test['\"]"
    r"|\bfrom\s+\w+\s+import\s+test\b(?s:.{0,400}?)\btest\("
    r"|\bfrom\s+pytest\s+import\s+main\b"
    r"|\b(?:__import__|import_module|run_module)\(\s*['\"](?:pytest|unittest|nose2?)['\"]\s*"
    r"(?:\)\.main\s*\(|,.{0,80}__main__)"
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
_COVERAGE: Final = replace(_PYTHON, code=frozenset(), runs_tests=None, idle=HELP_FLAGS, verb="run")
_LAUNCHER: Final = _interpreter(
    valued="--nproc_per_node --nproc-per-node --nnodes --num_processes --config_file --master_port",
    module="-m",
    verb="launch",
)
_SHELL: Final = _interpreter(
    valued="-o +o -O +O --rcfile --init-file",
    idle="-n -c --version --help",
    any_script_name=True,
    clusters=True,
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
        idle="-v -c -wc -cw --version",
        runs_tests=r"\bruntests\b|\bTest::Harness\b|\btest_harness\s*\(",
    ),
    "raku": _interpreter(valued="-I -M", code="-e", idle="-v -c --version"),
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
        edits=True,
        runs_tests=r"\bert-run-tests-batch|\bbuttercup-run|\becukes|\bert-run-tests",
    ),
    **dict.fromkeys(
        ("nvim", "vim"),
        _interpreter(
            valued="-u -Nu -i -l-file",
            code="-c +",
            edits=True,
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
    **dict.fromkeys(
        ("erl", "werl"),
        _interpreter(
            valued="-pa -pz -sname -name -config -setcookie",
            code="-eval",
            runs_tests=r"\b(?:eunit:test|ct:run_test|proper:module)\b",
        ),
    ),
    **dict.fromkeys(
        (
            "guile",
            "gosh",
            "racket",
            "csi",
            "chicken-csi",
            "tclsh",
            "wish",
            "escript",
            "nu",
            "groovy",
            "runghc",
            "runhaskell",
        ),
        _interpreter(valued="-L -l -e -I", code="-c"),
    ),
    **dict.fromkeys(("elixir", "iex"), _interpreter(valued="-r -pa -pr", module="-S", code="-e")),
    "dart-vm": _interpreter(),
}
"""By program name."""
