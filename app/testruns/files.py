"""Does a file hold tests, by what it is called and where it lies?

The rules are the runners' own for finding tests: pytest (`test_*.py`, `*_test.py`), Jest and
Vitest (`*.test.ts`, `*.spec.js`, `__tests__/`), Go (`*_test.go`), RSpec (`*_spec.rb`), JUnit
(`*Test.java`, `Test*.java`, `*IT.java`), and folders that hold nothing but tests and what they
need.
"""

from __future__ import annotations

import re
from typing import Final

from app.testruns.wordset import word_set

_FOLDERS: Final = word_set("test tests spec specs __tests__ testing t e2e features")
_CODE: Final = word_set(
    """.bats .c .cc .clj .cljs .cpp .cs .cxx .dart .erl .ex .exs .feature .fs .go .groovy .hs .java
    .jl .js .jsx .kt .lua .m .ml .mjs .mts .php .pl .py .r .rb .robot .rs .scala .sh .sol .swift .t
    .ts .tsx .vue .zig"""
)
"""Of files that can hold tests; what else lies beside them are data."""
_NAMED: Final = re.compile(
    r"(?:^test[_-]|[_.-](?:tests?|spec|cy|e2e)$|(?-i:[a-z0-9](?:Tests?|Spec|IT|TestCase)$)"
    r"|(?-i:^Test[A-Z]))",
    re.IGNORECASE,
)
_HELPERS: Final = word_set("__init__ conftest setup setuptests globalsetup test_helper spec_helper")


def is_test_file(path: str) -> bool:
    """Whether tests are to be expected in it; `path` as git has it."""
    *folders, name = path.split("/")
    stem, dot, suffix = name.rpartition(".")
    if f"{dot}{suffix}".lower() not in _CODE or stem.lower() in _HELPERS:
        return False
    in_folder = any(folder.lower() in _FOLDERS for folder in folders)
    return in_folder or _NAMED.search(stem) is not None
