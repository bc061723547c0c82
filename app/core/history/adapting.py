"""Suggestions that become configuration: proposed to people, or applied in small steps. Pure.

`propose` writes them into `.squadron/config.yaml` by a pull request; `apply` moves a limit towards
its suggestion by at most a quarter of its value a week. A value that was applied holds as long as
the configuration says what it said when the first step was made: whoever changes the file has the
last word. What stands in an agent file wins over both, and is left to people.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from app.core.history.advice import suggestion_words, table_lines, yaml_number
from app.core.history.suggest import LEAST_FINISHED, RoleHistory
from app.core.limits import CATALOGUE, LimitName
from app.core.rules.plan import Layer, RepositoryPlan, RolePlan

BRANCH_PREFIX: Final = "squadron/limits-"
LARGEST_STEP: Final = 0.25
"""Of a limit's value, in a week."""


@dataclass(frozen=True, slots=True)
class Adapted:
    """A limit that was moved without a human."""

    role: str
    name: LimitName
    base: float
    """What the configuration said when the first step was made."""
    value: float
    at: datetime
    """Of the last step."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What people are asked to change in one repository."""

    histories: tuple[RoleHistory, ...]
    """Of the roles with a suggestion, and what they were read from."""
    changes: Mapping[str, Mapping[LimitName, float]]
    """By role: new values for `.squadron/config.yaml`."""
    by_hand: Mapping[str, tuple[LimitName, ...]]
    """By role: suggestions for values that stand in its agent file."""

    @property
    def branch(self) -> str:
        """The same for the same changes, so that nothing is ever proposed twice."""
        said = sorted(f"{role} {name} {value}" for role, name, value in _each(self.changes))
        digest = hashlib.sha256("\n".join(said).encode()).hexdigest()[:12]
        return f"{BRANCH_PREFIX}{digest}"


def proposal(plan: RepositoryPlan, histories: Iterable[RoleHistory]) -> Proposal | None:
    """What to propose; None: nothing that `.squadron/config.yaml` could say."""
    found, changes, by_hand = [], dict[str, Mapping[LimitName, float]](), {}
    for history in histories:
        role = plan.roles.get(history.role)
        if role is None or not history.suggestions:
            continue
        found.append(history)
        values = {name: each.value for name, each in history.suggestions.items()}
        here = {name: value for name, value in values.items() if not _is_in_agent_file(role, name)}
        if here:
            changes[history.role] = here
        elsewhere = tuple(name for name in values if name not in here)
        if elsewhere:
            by_hand[history.role] = elsewhere
    return Proposal(tuple(found), changes, by_hand) if changes else None


def steps(
    plan: RepositoryPlan,
    adapted: Sequence[Adapted],
    histories: Iterable[RoleHistory],
    at: datetime,
) -> Iterator[Adapted]:
    """This week's step of each limit that has a suggestion. `plan`: as the files have it."""
    moved = {(each.role, each.name): each for each in adapted}
    for history in histories:
        role = plan.roles.get(history.role)
        if role is None:
            continue
        for name, suggestion in history.suggestions.items():
            base = role.limits.maximum(name)
            if base is None or _is_in_agent_file(role, name):
                continue
            before = moved.get((history.role, name))
            present = before.value if before is not None and before.base == base else base
            value = step(name, present, suggestion.value)
            if value != present:
                yield Adapted(history.role, name, base, value, at)


def step(name: LimitName, present: float, wanted: float) -> float:
    """Towards `wanted`, by at most a quarter of `present`; money by whole cents, all else whole."""
    unit = 100 if CATALOGUE[name].is_money else 1
    most = math.floor(present * LARGEST_STEP * unit + 1e-6) / unit
    value = max(min(wanted, present + most), present - most)
    return round(value, 2) if unit == 100 else int(value)


def adapted_plan(plan: RepositoryPlan, adapted: Sequence[Adapted]) -> RepositoryPlan:
    """The plan with the values that hold; never above a ceiling."""
    roles = dict(plan.roles)
    for each in adapted:
        role = roles.get(each.role)
        if role is None or _is_in_agent_file(role, each.name):
            continue
        if plan.roles[each.role].limits.maximum(each.name) == each.base:
            ceiling = role.limits.ceilings.get(each.name, each.value)
            limits = role.limits.with_maximum(each.name, min(each.value, ceiling))
            roles[each.role] = replace(role, limits=limits)
    return replace(plan, roles=roles)


def proposal_title(found: Proposal) -> str:
    """Of the pull request and of its commit."""
    return f"Limits of {', '.join(found.changes)} from what their agents used"


def proposal_body(found: Proposal) -> str:
    """The suggestion with its evidence: what a person needs to say yes or no."""
    parts = [
        "These limits come from what this repository's own agents used (`squadron limits"
        f" suggest`): what 95 of 100 finished agents needed, and some headroom. A role counts from"
        f" {LEAST_FINISHED} finished agents on. Merge it if you agree; close it if not: the same"
        " is not proposed again."
    ]
    for history in found.histories:
        by_hand = found.by_hand.get(history.role, ())
        lines = [*table_lines(history), ""]
        for each in history.limits:
            if each.suggestion is not None and each.name not in by_hand:
                lines.append(f"{each.name}: {suggestion_words(each, each.suggestion)}")
        table = "\n".join(lines).rstrip()
        parts += [f"### {history.role}", f"```\n{table}\n```"]
        for name in by_hand:
            value = yaml_number(name, history.suggestions[name].value)
            parts.append(
                f"`{name}` stands in the agent file of `{history.role}`, which wins over this file."
                f" Suggested there: `{name}: {value}`."
            )
    return "\n\n".join(parts)


def _is_in_agent_file(role: RolePlan, name: LimitName) -> bool:
    origin = role.origins.get(name.value)
    return origin is not None and origin.layer is Layer.AGENT_FILE


def _each(
    changes: Mapping[str, Mapping[LimitName, float]],
) -> Iterator[tuple[str, LimitName, float]]:
    for role, values in changes.items():
        for name, value in values.items():
            yield role, name, value
