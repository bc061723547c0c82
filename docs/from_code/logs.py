"""Figures for Prometheus, and the lines of the log, as the source of `app` writes them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from prometheus_client import REGISTRY

from app.adapters import alarms
from app.adapters import metrics as of_limits
from docs.from_code.markdown import table

_OURS: Final = "squadron_"
_APP: Final = Path(of_limits.__file__).parents[1]
_LOGGERS: Final = ("log", "_log")
_PLACEHOLDER: Final = re.compile("%[sd]")
_LEVELS: Final = {"exception": "error"}
"""Method of a logger → level, where they differ."""


def metrics() -> Iterator[str]:
    """Every figure of Squadron's own, by name: they are registered in whatever order modules are
    imported."""
    known = {of_limits.LIMIT_EVENTS, alarms.ALERTS}
    assert known, "importing the modules is what registers their figures"
    found = (each for each in REGISTRY.collect() if each.name.startswith(_OURS))
    by_name = sorted(found, key=lambda each: each.name)
    rows = (
        (
            f"`{each.name}{'_total' if each.type == 'counter' else ''}`",
            each.type,
            each.documentation,
        )
        for each in by_name
    )
    return table(("figure", "kind", "what it says"), rows)


def lines() -> Iterator[str]:
    """Every line whose words stand in the source, by logger."""
    found = {row for file in sorted(_APP.rglob("*.py")) for row in _lines(file)}
    return table(("logger", "level", "message", "fields"), sorted(found))


def _lines(file: Path) -> Iterator[tuple[str, str, str, str]]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    logger = next(_loggers(tree), None)
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr=method),
                args=[ast.Constant(value=str(words)), *_],
            ) if name in _LOGGERS and logger is not None:
                level = _LEVELS.get(method, method)
                yield f"`{logger}`", level, f"`{_PLACEHOLDER.sub('…', words)}`", _fields(node)
            case _:
                pass


def _loggers(tree: ast.Module) -> Iterator[str]:
    """The name of the module's logger."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="getLogger"), args=[ast.Constant(value=str(name))]
            ):
                yield name
            case _:
                pass


def _fields(call: ast.Call) -> str:
    """The keys that stand in `extra`."""
    given = [each.value for each in call.keywords if each.arg == "extra"]
    keys = (
        key.value
        for value in given
        for inner in ast.walk(value)
        if isinstance(inner, ast.Dict)
        for key in inner.keys
        if isinstance(key, ast.Constant)
    )
    return ", ".join(f"`{key!s}`" for key in keys)
