"""A repository's configuration as people and programs are shown it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final, Literal, NotRequired, TypedDict

from app.core.limits import Action, LimitName, Limits
from app.core.rules.plan import ConfigProblem, Layer, RolePlan
from app.services.views import Json

SHOWN: Final = (
    *LimitName,
    "warning_threshold",
    "summary_wait",
    "running_tool_wait",
    "max_review_wait",
)
"""The limits and what goes with them."""


class ShownLimit(TypedDict):
    """One limit of a role: its value, and which layer it came from."""

    value: int | float | None
    layer: str
    capped_by: str | None
    on_limit: NotRequired[str]
    """Only if it is not to escalate, which it always is at a ceiling."""
    shadow: NotRequired[Literal[True]]


def plans_json(roles: Mapping[str, RolePlan], problems: Sequence[ConfigProblem]) -> Json:
    """EXAMPLES' shape of `config check --json`."""
    return {
        "valid": not problems,
        "errors": [asdict(problem) for problem in problems],
        "roles": {
            name: {"runtime": plan.runtime, "model": plan.model, "limits": shown_limits(plan)}
            for name, plan in roles.items()
        },
    }


def shown_limits(plan: RolePlan, *, every: bool = True) -> dict[str, ShownLimit]:
    """By name; without `every` only those that somebody has set."""
    return {str(name): _shown_limit(plan, name) for name in SHOWN if every or _is_set(plan, name)}


def about_words(plan: RolePlan) -> str:
    """What a role is, besides its limits."""
    model = plan.model or "the operator's default"
    parts = [plan.runtime, f"model: {model}"]
    if plan.planning_model:
        parts.append(f"planning: {plan.planning_model}")
    if plan.preset:
        parts.append(f"preset: {plan.preset}")
    return ", ".join(parts)


def value_words(shown: ShownLimit) -> str:
    """A limit's value, in its own unit."""
    return "off" if shown["value"] is None else str(shown["value"])


def whence_words(shown: ShownLimit) -> str:
    """Where a value came from, and what happens there if it is not to escalate."""
    parts = [shown["layer"]]
    if shown["capped_by"]:
        parts.append(f"capped by the operator's {shown['capped_by']}")
    if "on_limit" in shown:
        parts.append(f"on limit: {shown['on_limit']}")
    if "shadow" in shown:
        parts.append("shadow: never acted on")
    return ", ".join(parts)


def _shown_limit(plan: RolePlan, name: str) -> ShownLimit:
    origin = plan.origins[name]
    shown: ShownLimit = {
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


def _is_set(plan: RolePlan, name: str) -> bool:
    """Whether somebody has set the limit, or what happens at it."""
    origin, limits = plan.origins[name], plan.limits
    if origin.layer is not Layer.BUILT_IN or origin.capped_by:
        return True
    if not isinstance(name, LimitName):
        return False
    return limits.action(name) is not Limits().action(name) or name in limits.shadow
