"""`squadron config`: looks at a repository's configuration the way the service will."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, TypedDict

import typer
from rich.console import Console
from rich.table import Table

from app.cli.failing import fail
from app.config.directory import UnreadableDirectory, read_directory
from app.config.operator import OperatorConfig, load_operator
from app.config.repository import RepositoryReading, read_repository
from app.config.settings import SettingsError, load_local_settings
from app.config.wording import did_you_mean
from app.core.limits import LimitName
from app.core.plan import ConfigProblem, RolePlan

config = typer.Typer(no_args_is_help=True, help="Check configuration files.")

USAGE_ERROR: Final = 2

_SHOWN: Final = (*LimitName, "warning_threshold", "summary_wait", "max_review_wait")


@config.callback()
def _group() -> None:
    """A group although it has one command: `squadron config check`."""


class LimitJson(TypedDict):
    """One limit in `--json`."""

    value: int | float | None
    layer: str
    capped_by: str | None


@config.command()
def check(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A repository, or its .squadron directory.")
    ] = Path(),
    role: Annotated[str | None, typer.Option(help="Show this role only.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check .squadron/ and show each role's effective limits and where they come from.

    Mistakes go to stderr as file:line:column: message, with exit code 1.
    The operator's file is honoured if SQUADRON_CONFIG names one.
    """
    reading = _reading(directory)
    roles = reading.plan.roles if reading.plan else {}
    if role is not None and reading.plan is not None:
        if role not in roles and role not in reading.plan.broken:
            fail(f"there is no role {role}{did_you_mean(role, roles)}", USAGE_ERROR)
        roles = {name: plan for name, plan in roles.items() if name == role}
    for problem in reading.problems:
        print(problem, file=sys.stderr)
    if as_json:
        print(json.dumps(_as_json(roles, reading.problems), indent=2))
    else:
        _print_tables(roles)
    if reading.problems:
        raise typer.Exit(1)


def _reading(directory: Path) -> RepositoryReading:
    """What the directory and the operator's file come to together."""
    inner = directory / ".squadron"
    here = inner if inner.is_dir() else directory
    if not here.is_dir():
        message = f"{directory} is not a directory: name .squadron or the repository that holds it"
        fail(message, USAGE_ERROR)
    try:
        settings = load_local_settings(os.environ)
    except SettingsError as error:
        fail(str(error), USAGE_ERROR)
    operator = load_operator(settings.config)
    try:
        files = read_directory(here)
    except UnreadableDirectory as unreadable:
        return RepositoryReading(None, (*operator.problems, *unreadable.problems))
    reading = read_repository(files, operator.config or OperatorConfig(), root=str(here))
    if operator.config is None:
        return RepositoryReading(None, (*operator.problems, *reading.problems))
    return reading


def _shown_limits(plan: RolePlan) -> dict[str, LimitJson]:
    return {
        name: {
            "value": getattr(plan.limits, name),
            "layer": plan.origins[name].layer.value,
            "capped_by": plan.origins[name].capped_by,
        }
        for name in _SHOWN
    }


def _as_json(roles: Mapping[str, RolePlan], problems: Sequence[ConfigProblem]) -> object:
    """EXAMPLES' shape of `config check --json`."""
    return {
        "valid": not problems,
        "errors": [asdict(problem) for problem in problems],
        "roles": {
            name: {"runtime": plan.runtime, "model": plan.model, "limits": _shown_limits(plan)}
            for name, plan in roles.items()
        },
    }


def _print_tables(roles: Mapping[str, RolePlan]) -> None:
    console = Console()
    for name, plan in roles.items():
        model = plan.model or "the operator's default"
        table = Table("limit", "value", "from", title=f"{name} ({plan.runtime}, model: {model})")
        for limit, shown in _shown_limits(plan).items():
            value = "off" if shown["value"] is None else str(shown["value"])
            capped = f", capped by the operator's {shown['capped_by']}" * bool(shown["capped_by"])
            table.add_row(str(limit), value, f"{shown['layer']}{capped}")
        console.print(table)
