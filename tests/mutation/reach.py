"""Which tests reach which functions, how long they take, and whether they pass."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from tests.mutation.session import Session, forked

PURE: Final = (Path("app/core"), Path("app/testruns"))
"""Where faults are planted: what computes without a server, a process and a clock."""

Function = tuple[str, str]
"""File, and qualified name of an outermost function."""

SECONDS_AT_FIRST: Final = 120.0
"""What a test may take when nobody knows yet how long it takes."""


@dataclass(frozen=True)
class Test:
    """What is known of one test from its run without a fault."""

    __test__ = False

    passed: bool
    seconds: float
    reached: frozenset[Function]


class Tracer:
    """Notes the functions of the pure folders that are called."""

    def __init__(self, root: Path) -> None:
        self.reached: set[Function] = set()
        self.while_importing: set[Function] = set()
        """Called while a module of these was run: a later swap of their code comes too late."""
        self.watches_imports = False
        self._root = f"{root}/"
        self._watched = tuple(f"{root}/{folder}/" for folder in PURE)
        self._known: dict[int, Function | None] = {}
        self._kept: list[CodeType] = []

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        """A function is called (`sys.settrace`); its lines are not looked at."""
        code = frame.f_code
        try:
            function = self._known[id(code)]
        except KeyError:
            function = self._learn(code)
        if function is not None:
            self.reached.add(function)
            if self.watches_imports and self._is_importing(frame):
                self.while_importing.add(function)

    def _learn(self, code: CodeType) -> Function | None:
        function = None
        if code.co_filename.startswith(self._watched) and code.co_name != "<module>":
            file = code.co_filename.removeprefix(self._root)
            function = (file, code.co_qualname.partition(".<locals>")[0])
        self._kept.append(code)  # as long as it lives, nothing else has its id
        self._known[id(code)] = function
        return function

    def _is_importing(self, frame: FrameType | None) -> bool:
        while frame is not None:
            code = frame.f_code
            if code.co_name == "<module>" and code.co_filename.startswith(self._watched):
                return True
            frame = frame.f_back
        return False


def explore(session: Session, tracer: Tracer, workers: int, folder: Path) -> dict[str, Test]:
    """Run every test once, in `workers` processes, and see what it reaches."""
    shares = _shares(list(session.items), workers)
    pids: dict[int, Path] = {}
    for number, share in enumerate(shares):
        target = folder / f"reach-{number}.json"
        pids[forked(partial(_explore, session, tracer, share, target))] = target
    found: dict[str, Test] = {}
    for pid, target in pids.items():
        _, status = os.waitpid(pid, 0)
        if status != 0:
            raise RuntimeError(f"the tests could not be run to their end: {_last(target)}")
        for name, (passed, seconds, reached) in json.loads(target.read_text()).items():
            functions = frozenset((file, function) for file, function in reached)
            found[name] = Test(passed, seconds, functions)
    return found


def _explore(session: Session, tracer: Tracer, share: Sequence[str], target: Path) -> int:
    tests: dict[str, tuple[bool, float, list[Function]]] = {}
    before, tracer.reached = time.perf_counter(), set()
    progress = target.with_suffix(".last")
    progress.write_text(share[0] if share else "")
    sys.settrace(tracer)
    following = dict(zip(share, [*share[1:], ""], strict=True))
    for test, passed in session.run(share, dict.fromkeys(share, SECONDS_AT_FIRST)):
        now = time.perf_counter()
        tests[test] = passed, now - before, sorted(tracer.reached)
        progress.write_text(following[test])
        before, tracer.reached = now, set()
    sys.settrace(None)
    target.write_text(json.dumps(tests))
    return 0


def _last(target: Path) -> str:
    return target.with_suffix(".last").read_text()


def _shares(tests: Sequence[str], workers: int) -> list[list[str]]:
    """Whole files, dealt out so that all have about as many tests."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(test.partition("::")[0], []).append(test)
    shares: list[list[str]] = [[] for _ in range(workers)]
    for file in sorted(files.values(), key=len, reverse=True):
        min(shares, key=len).extend(file)
    return shares


def seconds_allowed(tests: Mapping[str, Test]) -> dict[str, float]:
    """How long each test may take with a fault in the code, before it counts as hanging."""
    return {name: max(5.0, 30 * test.seconds) for name, test in tests.items()}
