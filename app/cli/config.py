"""`squadron config`: what the service makes of configuration files, and what may be in them."""

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from app.cli.directories import USAGE_ERROR, operator_of, reading_of, settings_of
from app.cli.failing import fail
from app.cli.terminal import cell, say
from app.config.jsonschema import FileKind, json_schema
from app.config.wording import did_you_mean
from app.core.rules.plan import ConfigProblem, RolePlan
from app.doctor.runtimes import lacks
from app.services.plan_views import (
    about_words,
    plans_json,
    shown_limits,
    value_words,
    whence_words,
)


def check_files(directory: Path, role: str | None, *, every: bool, as_json: bool) -> None:
    """What the files of a repository come to, and their mistakes. Ends the command with 1 if there
    are any."""
    reading = reading_of(directory)
    roles = reading.plan.budgeted(operator_of().budgets).roles if reading.plan else {}
    if role is not None and reading.plan is not None:
        if role not in roles and role not in reading.plan.broken:
            fail(f"there is no role {role}{did_you_mean(role, roles)}", USAGE_ERROR)
        roles = {name: plan for name, plan in roles.items() if name == role}
    problems = (*reading.problems, *reading.too_small)
    for problem in problems:
        say(str(problem), err=True)
    for lacking in _lacking({plan.runtime for plan in roles.values()}):
        say(f"note: {lacking}", err=True)
    if as_json:
        say(json.dumps(plans_json(roles, problems), indent=2))
    else:
        _print_tables(roles, every=every)
        say(_how_many(problems))
    if problems:
        raise typer.Exit(1)


def _how_many(problems: Sequence[ConfigProblem]) -> str:
    match len(problems):
        case 0:
            return "no mistakes"
        case 1:
            return "1 mistake"
        case number:
            return f"{number} mistakes"


def print_schema(file: FileKind) -> None:
    """The JSON Schema of one kind of file."""
    say(json.dumps(json_schema(file), indent=2))


def _lacking(runtimes: Set[str]) -> Iterator[str]:
    """What this machine lacks for these runtimes; the service's may have it."""
    found = lacks(settings_of().copilot_cli)
    yield from (words for name, words in found.items() if name in runtimes and words)


def _print_tables(roles: Mapping[str, RolePlan], *, every: bool) -> None:
    console = Console()
    for name, plan in roles.items():
        about = f"{name} ({about_words(plan)})"
        limits = shown_limits(plan, every=every)
        if not limits:
            say(f"{about}: every limit is built in")
            continue
        table = Table("limit", "value", "from", title=cell(about))
        for limit, shown in limits.items():
            table.add_row(cell(limit), cell(value_words(shown)), cell(whence_words(shown)))
        console.print(table)
    if roles and not every:
        say("Limits that nobody set are left out: --all shows them.")
