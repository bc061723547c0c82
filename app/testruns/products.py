"""Programs that a command line builds before it runs them: what their names say counts for nothing.

`go build -o /tmp/load-test . && /tmp/load-test` starts a program that happens to be called so. A
build of tests (`rustc --test`, a C file of tests, a test framework that is linked in) makes a test
program, and so do build tools (`make`, `cmake`), which follow the project's own rules.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from app.testruns.files import is_test_file
from app.testruns.names import base_name
from app.testruns.shell_line import Words
from app.testruns.wordset import word_set

_COMPILERS: Final = word_set(
    """cc gcc g++ c++ clang clang++ tcc nvcc gfortran rustc swiftc ghc ocamlc ocamlopt ocamlfind dmd
    ldc2 gdc nim fpc valac kotlinc-native odin"""
)
"""Programs that compile whatever they are told."""
_BUILDING: Final = {
    "go": "build",
    "cargo": "build",
    "swift": "build",
    "deno": "compile",
    "bun": "build",
    "crystal": "build",
    "zig": "build-exe",
}
"""Tools that do so by a verb."""
_FOLDERS: Final = {"cargo": "target", "swift": ".build"}
"""Where a tool puts what it builds: `target/debug/x`, but tests lie in `target/debug/deps`."""
_PROFILES: Final = ("debug", "release")
_VERSION: Final = re.compile(r"-\d[\d.]*$")
_OUTPUT: Final = re.compile(r"(?:-of=|(?:-o|--output|--outfile)[=:]?)(?P<path>.*)")
_BUILDS_TESTS: Final = re.compile(
    r"--?tests?|--all-targets|--build-tests|-unittest|-l(?:gtest|gmock|check|cunit|cmocka|cppunit|"
    r"criterion|unity|Catch2|doctest|boost_unit_test)\w*"
)
_SCRATCH: Final = "/tmp/"


def products_of(words: Words, made: Collection[str]) -> frozenset[str]:
    """Paths of the programs that `words` builds and that are no tests; with a `/` at its end, a
    folder of them. `made` are the files that the line has made before: no tests of the project.
    """
    name = _VERSION.sub("", base_name(words[0]))
    verb = _BUILDING.get(name)
    if (name not in _COMPILERS and words[1:2] != (verb,)) or _is_build_of_tests(words, made):
        return frozenset()
    if name in _FOLDERS:
        return frozenset(f"{_FOLDERS[name]}/{profile}/" for profile in _PROFILES)
    for position, word in enumerate(words):
        output = _OUTPUT.fullmatch(word)
        if output is not None:
            path = output["path"] or "".join(words[position + 1 : position + 2])
            return frozenset({path.removeprefix("./")}) if path else frozenset()
    if verb is None:
        return frozenset()
    program = base_name(words[-1])
    return frozenset({program if name == "go" else program.partition(".")[0]})


def _is_build_of_tests(words: Words, made: Collection[str]) -> bool:
    if any(map(_BUILDS_TESTS.fullmatch, words)):
        return True
    sources = [word.removeprefix("./") for word in words[1:] if not word.startswith("-")]
    return any(
        is_test_file(source) and not source.startswith(_SCRATCH) and not lies_in(source, made)
        for source in sources
    )


def lies_in(path: str, made: Collection[str]) -> bool:
    """Whether `path` is one of the files `made`, each as the line writes it: it may use `cd`, so
    one may end as the other does."""
    path = f"/{path.removeprefix('./')}"
    folder = f"{path.rpartition('/')[0]}/"
    return any(
        folder.endswith(f"/{one}")
        if one.endswith("/")
        else f"/{one}".endswith(path) or path.endswith(f"/{one}")
        for one in made
    )
