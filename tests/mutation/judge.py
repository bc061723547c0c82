"""Runs the tests against each mutant, and says what became of it."""

import ast
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from tests.mutation.mutants import Mutant
from tests.mutation.reach import PURE, Function, Test, seconds_allowed
from tests.mutation.session import TOOL_FAILED, Session, forked
from tests.mutation.swap import FaultyModule, Loaded, module_name


class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    """A test failed."""
    HUNG = "hung"
    """A test did not come to its end."""
    SURVIVED = "survived"
    UNREACHED = "unreached"
    """No test comes by."""
    SAME = "same"
    """The fault changes nothing: it counts for nothing."""


@dataclass(frozen=True)
class Result:
    """A mutant and its fate."""

    mutant: Mutant
    fate: Fate
    by: str = ""
    """The test that noticed it."""


class Judge:
    """Knows the tests, and plants one fault a process."""

    def __init__(
        self,
        root: Path,
        session: Session,
        tests: Mapping[str, Test],
        while_importing: Iterable[Function],
    ) -> None:
        self._root = root
        self._session = session
        self._tests = {name: test for name, test in tests.items() if test.passed}
        self._allowed = seconds_allowed(tests)
        self._while_importing = frozenset(while_importing)
        self._loaded = Loaded(root)
        self._killers: dict[Function, list[str]] = {}
        self._by_file: dict[str, set[str]] = {}
        for name, test in self._tests.items():
            for file, _ in test.reached:
                self._by_file.setdefault(file, set()).add(name)
        self._imported = {
            str(path.relative_to(root)): _imports(path)
            for folder in PURE
            for path in (root / folder).rglob("*.py")
        }
        self._importers: dict[str, set[str]] = {}
        for test_file in {_file_of(name) for name in self._tests}:
            here = {name for name in self._tests if _file_of(name) == test_file}
            for file in _imports(root / test_file):
                self._importers.setdefault(file, set()).update(here)

    def judged(self, mutants: Iterable[Mutant], workers: int, folder: Path) -> Iterator[Result]:
        """The fate of each, as it becomes known."""
        running: dict[int, tuple[Mutant, Path]] = {}
        for number, mutant in enumerate(mutants):
            order = self._order(mutant)
            if not order:
                yield Result(mutant, Fate.UNREACHED)
                continue
            if len(running) == workers:
                yield self._ended(running)
            note = folder / f"killer-{number}"
            running[forked(partial(self._try, mutant, order, note))] = mutant, note
        while running:
            yield self._ended(running)

    def _order(self, mutant: Mutant) -> list[str]:
        """The tests that come by: first those that noticed a fault there, then the quick ones.

        By what is run while a module is loaded comes whoever loads it.
        """
        function = (mutant.file, mutant.function)
        if mutant.in_function and function not in self._while_importing:
            names = {name for name, test in self._tests.items() if function in test.reached}
        else:
            names = self._of_file(mutant.file) | self._importers.get(mutant.file, set())
        killers = [name for name in self._killers.get(function, []) if name in names]
        others = sorted(names - set(killers), key=lambda name: (self._tests[name].seconds, name))
        return [*killers, *others]

    def _of_file(self, file: str) -> set[str]:
        """The tests that reach any function of a file; of one without functions, those that reach
        the files that import it."""
        seen, pending = {file}, [file]
        while pending:
            names = {name for each in pending for name in self._by_file.get(each, ())}
            if names:
                return names
            pending = [
                each
                for each, imported in self._imported.items()
                if each not in seen and not imported.isdisjoint(pending)
            ]
            seen.update(pending)
        return set()

    def _ended(self, running: dict[int, tuple[Mutant, Path]]) -> Result:
        pid, status = os.wait()
        mutant, note = running.pop(pid)
        if os.WIFSIGNALED(status):
            hung = os.WTERMSIG(status) == signal.SIGALRM
            return Result(mutant, Fate.HUNG if hung else Fate.KILLED, note.read_text())
        match os.WEXITSTATUS(status):
            case 0:
                return Result(mutant, Fate.SURVIVED)
            case 1:
                killer = note.read_text()
                known = self._killers.setdefault((mutant.file, mutant.function), [])
                if killer not in known:
                    known.insert(0, killer)
                return Result(mutant, Fate.KILLED, killer)
            case 2:
                return Result(mutant, Fate.SAME)
            case other:
                raise RuntimeError(f"status {other} at {mutant.key}, line {mutant.line}")

    def _try(self, mutant: Mutant, order: list[str], note: Path) -> int:
        """In a process of its own: plant, and run tests until one fails."""
        is_late = (mutant.file, mutant.function) in self._while_importing
        if mutant.in_function and not is_late:
            try:
                if self._loaded.swap(mutant):
                    return until_one_fails(self._session, order, self._allowed, note)
            except ValueError:
                return 2
        return self._anew(mutant, order, note)

    def _anew(self, mutant: Mutant, order: list[str], note: Path) -> int:
        """In place of this process a new one, that loads everything once more."""
        source, names = note.with_suffix(".py"), note.with_suffix(".tests")
        if ast.dump(mutant.tree()) == ast.dump(ast.parse(mutant.source)):
            return 2
        source.write_text(ast.unparse(mutant.tree()))
        names.write_text("\n".join(f"{self._allowed[name]}\t{name}" for name in order))
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        arguments = [mutant.file, str(source), str(names), str(note)]
        os.execv(sys.executable, [sys.executable, "-m", "tests.mutation.anew", *arguments])
        raise AssertionError("this process is another one now")


def until_one_fails(
    session: Session, order: list[str], allowed: Mapping[str, float], note: Path
) -> int:
    """0: all passed; 1: one failed, and its name is in `note`."""
    note.write_text(order[0])
    following = dict(zip(order, [*order[1:], ""], strict=True))
    for test, passed in session.run(order, allowed):
        if not passed:
            note.write_text(test)
            return 1
        note.write_text(following[test])
    return 0


def anew(root: Path, file: str, source: Path, names: Path, note: Path) -> int:
    """Load everything with the faulty source in place of `file`, and run the named tests."""
    FaultyModule(module_name(file), root / file, ast.parse(source.read_text())).install()
    allowed: dict[str, float] = {}
    for line in names.read_text().splitlines():
        seconds, _, name = line.partition("\t")
        allowed[name] = float(seconds)
    session = Session()
    status = [TOOL_FAILED]

    def work() -> None:
        known = [name for name in allowed if name in session.items]
        status[0] = (
            until_one_fails(session, known, allowed, note) if len(known) == len(allowed) else 1
        )

    note.write_text("collecting the tests")
    files = sorted({_file_of(name) for name in allowed})
    return status[0] if session.collect(files, work) else 1


def _imports(path: Path) -> set[str]:
    """The files that a file's imports may mean."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for module in (node.module, *(f"{node.module}.{each.name}" for each in node.names)):
                plain = module.replace(".", "/")
                found |= {f"{plain}.py", f"{plain}/__init__.py"}
    return found


def _file_of(test: str) -> str:
    return test.partition("::")[0]
