"""Puts a fault into modules that are loaded already, or into one that is loaded anew."""

import ast
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from tests.mutation.mutants import Mutant


class Loaded:
    """The functions of all loaded modules, by their code."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._functions: dict[CodeType, list[FunctionType]] = {}
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(str(root)):
                self._functions.setdefault(each.__code__, []).append(each)

    def swap(self, mutant: Mutant) -> bool:
        """Give the functions that the fault is in their faulty code. False: none is loaded.

        Raises `ValueError` for a fault that changes nothing.
        """
        path = str(self._root / mutant.file)
        right = list(_functions_in(compile(mutant.source, path, "exec", dont_inherit=True)))
        faulty = list(_functions_in(compile(mutant.tree(), path, "exec", dont_inherit=True)))
        changed = [(old, new) for old, new in zip(right, faulty, strict=True) if old != new]
        if not changed:
            raise ValueError(f"{mutant.key}: the same code")
        is_loaded = all(old in self._functions for old, _ in changed)
        for old, new in changed if is_loaded else []:
            for function in self._functions[old]:
                function.__code__ = new
        return is_loaded


def _functions_in(code: CodeType) -> Iterator[CodeType]:
    """The code of the outermost functions of a module, those of classes included."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & inspect.CO_OPTIMIZED:
                yield constant
            else:
                yield from _functions_in(constant)


class FaultyModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads one module from another source than its file."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self._name = name
        self._path = path
        self._code = compile(tree, str(path), "exec", dont_inherit=True)

    def install(self) -> None:
        """From now on the module is loaded with its fault. Too late if it is loaded already."""
        assert self._name not in sys.modules
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Of the one module; others are left to others."""
        if fullname != self._name:
            return None
        is_package = self._path.name == "__init__.py"
        where = [str(self._path.parent)] if is_package else None
        return importlib.util.spec_from_file_location(
            fullname, self._path, loader=self, submodule_search_locations=where
        )

    def exec_module(self, module: ModuleType) -> None:
        """Run the faulty code."""
        exec(self._code, module.__dict__)


def module_name(file: str) -> str:
    """`app/core/limits.py` → `app.core.limits`."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
