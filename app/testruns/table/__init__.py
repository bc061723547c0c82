"""Every known runner by the base name of its program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.testruns.rows import Runner
from app.testruns.table import (
    compiled,
    infrastructure,
    javascript,
    jvm,
    python,
    scripting,
    tasks,
)

_ECOSYSTEMS: Final = (python, javascript, jvm, compiled, scripting, infrastructure, tasks)

RUNNERS: Final[Mapping[str, tuple[Runner, ...]]] = {
    name: tuple(
        runner for module in _ECOSYSTEMS for runner in module.RUNNERS if name in runner.programs
    )
    for module in _ECOSYSTEMS
    for runner in module.RUNNERS
    for name in runner.programs
}
"""A program with several rows is asked row by row; the first that sees tests answers."""
