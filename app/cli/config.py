"""`squadron config`: what the service makes of configuration files, and what may be in them."""

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, Literal, NotRequired, TypedDict

import typer
from rich.console import Console
from rich.table import Table

from app.cli.directories import USAGE_ERROR, operator_of, reading_of, settings_of
from app.cli.failing import fail
from app.cli.runtimes import lacks
from app.cli.terminal import cell, say
from app.config.jsonschema import FileKind, json_schema
from app.config.wording import did_you_mean
from app.core.limits import Action, LimitName
from app.core.rules.plan import ConfigProblem, RolePlan

config = typer.Typer(no_args_is_help=True, help="Check and describe configuration files.")

_SHOWN: Final = (
    *LimitName,
    "warning_threshold",
    "summary_wait",
    "running_tool_wait",
    "max_review_wait",
)


class LimitJson(TypedDict):
    """One limit in `--json`."""

    value: int | float | None
    layer: str
    capped_by: str | None
    on_limit: NotRequired[str]
    """Only if it is not to escalate, which it always is at a ceiling."""
    shadow: NotRequired[Literal[True]]


@config.command()
def check(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A repository, or its .squadron directory.")
    ] = Path(),
    role: Annotated[str | None, typer.Option(help="Show this role only.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check .squadron/ and show each role's effective limits and where they come from.

    Mistakes go to stderr as file:line:column: message, with exit code 1; so do limits on money and
    tokens that are too small for one tool call and a return.
    The operator's file is honoured if SQUADRON_CONFIG names one.
    """
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
        say(json.dumps(_as_json(roles, problems), indent=2))
    else:
        _print_tables(roles)
    if problems:
        raise typer.Exit(1)


@config.command()
def schema(
    file: Annotated[
        FileKind,
        typer.Option(
            help="config: .squadron/config.yaml; agent: the frontmatter of .squadron/agents/*.md;"
            " operator: the file that SQUADRON_CONFIG names."
        ),
    ] = "config",
) -> None:
    """Print a JSON Schema with which editors complete and check one kind of file."""
    say(json.dumps(json_schema(file), indent=2))


def _lacking(runtimes: Set[str]) -> Iterator[str]:
    """What this machine lacks for these runtimes; the service's may have it."""
    found = lacks(settings_of().copilot_cli)
    yield from (words for name, words in found.items() if name in runtimes and words)


def _shown_limits(plan: RolePlan) -> dict[str, LimitJson]:
    return {str(name): _shown_limit(plan, name) for name in _SHOWN}


def _shown_limit(plan: RolePlan, name: str) -> LimitJson:
    origin = plan.origins[name]
    shown: LimitJson = {
        "value": getattr(plan.limits, name),
        "layer": origin.layer.value,
        "capped_by": origin.capped_by,
    }
    if isinstance(name, LimitName) and not plan.limits.is_at_ceiling(name):
        action = plan.limits.action(name)
        if action is not Action.ESCALATE:
            shown["on_limit"] = action.value
        if name in plan.limits.shadow:
            shown["shadow"] = True
    return shown


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
        table = Table("limit", "value", "from", title=cell(f"{name} ({_about(plan)})"))
        for limit, shown in _shown_limits(plan).items():
            value = "off" if shown["value"] is None else str(shown["value"])
            table.add_row(cell(limit), cell(value), cell(_whence(shown)))
        console.print(table)


def _about(plan: RolePlan) -> str:
    """What a role is, besides its limits."""
    model = plan.model or "the operator's default"
    parts = [plan.runtime, f"model: {model}"]
    if plan.planning_model:
        parts.append(f"planning: {plan.planning_model}")
    if plan.preset:
        parts.append(f"preset: {plan.preset}")
    return ", ".join(parts)


def _whence(shown: LimitJson) -> str:
    """Where a value came from, and what happens there if it is not to escalate."""
    parts = [shown["layer"]]
    if shown["capped_by"]:
        parts.append(f"capped by the operator's {shown['capped_by']}")
    if "on_limit" in shown:
        parts.append(f"on limit: {shown['on_limit']}")
    if "shadow" in shown:
        parts.append("shadow: never acted on")
    return ", ".join(parts)
