"""The pages, and the places in them that are taken from the code."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from docs.from_code import (
    commands,
    configuration,
    environment,
    github,
    http,
    limits,
    logs,
    runtimes,
    states,
    texts,
)

ROOT: Final = Path(__file__).parents[2]
_PLACE: Final = re.compile(
    r"(<!-- from the code: (?P<name>[a-z- ]+) -->\n).*?(<!-- end -->\n)", re.DOTALL
)

PLACES: Final[Mapping[str, Callable[[], Iterator[str]]]] = MappingProxyType(
    {
        "limits": limits.catalogue,
        "presets": limits.presets,
        "repository file": configuration.repository_file,
        "agent file": configuration.agent_file,
        "operator file": configuration.operator_file,
        "beside limits": configuration.beside_limits,
        "environment": environment.variables,
        "commands": commands.overview,
        "command lines": commands.command_lines,
        "comments": commands.in_comments,
        "http": http.operations,
        "states": states.meanings,
        "signals": states.signals,
        "transitions": states.transitions,
        "diagram": states.diagram,
        "permissions": github.permissions,
        "events": github.events,
        "metrics": logs.metrics,
        "log lines": logs.lines,
        "contract": runtimes.contract,
        "texts": texts.texts,
    }
)
"""The name of a place → what stands in it, line by line."""


def pages() -> list[Path]:
    """Every page of the documents, README and its neighbours included."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def renewed(page: str) -> str:
    """The text of a page with all its places as the code has them. Raises `KeyError` if it has a
    place that nothing is known for."""
    return _PLACE.sub(lambda found: f"{found[1]}{_content(found['name'])}{found[3]}", page)


@cache
def _content(name: str) -> str:
    return "".join(f"{line}\n" for line in PLACES[name]())
