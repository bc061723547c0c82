"""`squadron config`: what the service makes of configuration files, and what may be in them."""

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict
from pathlib import Path
from typing import Final, Literal, NotRequired, TypedDict

import typer
from rich.console import Console
from rich.table import Table

from app.cli.directories import USAGE_ERROR, operator_of, reading_of, settings_of
from app.cli.failing import fail
from app.cli.runtimes import lacks
from app.cli.terminal import cell, say
from app.config.jsonschema import FileKind, json_schema
from app.config.wording import did_you_mean
from app.core.limits import Action, LimitName, Limits
from app.core.rules.plan import ConfigProblem, Layer, RolePlan

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
        say(json.dumps(_as_json(roles, problems), indent=2))
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


def _print_tables(roles: Mapping[str, RolePlan], *, every: bool) -> None:
    console = Console()
    for name, plan in roles.items():
        about = f"{name} ({_about(plan)})"
        set_by_somebody = {str(name) for name in _SHOWN if every or _is_set(plan, name)}
        limits = {
            name: shown for name, shown in _shown_limits(plan).items() if name in set_by_somebody
        }
        if not limits:
            say(f"{about}: every limit is built in")
            continue
        table = Table("limit", "value", "from", title=cell(about))
        for limit, shown in limits.items():
            value = "off" if shown["value"] is None else str(shown["value"])
            table.add_row(cell(limit), cell(value), cell(_whence(shown)))
        console.print(table)
    if roles and not every:
        say("Limits that nobody set are left out: --all shows them.")


def _is_set(plan: RolePlan, name: str) -> bool:
    """Whether somebody has set the limit, or what happens at it."""
    origin, limits = plan.origins[name], plan.limits
    if origin.layer is not Layer.BUILT_IN or origin.capped_by:
        return True
    if not isinstance(name, LimitName):
        return False
    return limits.action(name) is not Limits().action(name) or name in limits.shadow


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
