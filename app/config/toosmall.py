"""Limits on money and tokens that would stop every agent of a role at its first steps.

What these steps take is a guess: the role may start all the same, and whoever checks a
configuration is told.
"""

from collections.abc import Callable, Sequence

from app.config.layers import Said, last_word
from app.config.operator import OperatorConfig
from app.config.roleplan import CONFIG_FILE, Repository, mentioned_at, said_about
from app.core.breaker.least import least_amounts, too_little
from app.core.breaker.verdict import figure, money
from app.core.limits import CATALOGUE, LimitName
from app.core.money import Price
from app.core.rules.plan import ConfigProblem, Layer, RolePlan

RolePrice = Callable[[str | None], Price | None]
"""What a role's model costs, where the role names none the operator's default; None: nobody
knows."""


def too_small(
    repository: Repository, plan: RolePlan, operator: OperatorConfig, price_of: RolePrice
) -> tuple[ConfigProblem, ...]:
    """The limits of a role that are too small, each with the least amount, at its place."""
    price = price_of(plan.model)
    planning = price_of(plan.planning_model) if plan.planning_model else None
    least = least_amounts(plan.runtime, price, planning, plans=plan.planning_model is not None)
    said = said_about(repository, plan.role, operator)
    model = plan.model or "the operator's model"
    return tuple(
        _at_its_place(
            repository,
            said,
            plan,
            name,
            f"{_amount(name, bound)} is too little: one tool call and a return of {model} take at"
            f" least {_amount(name, least[name])}",
        )
        for name, bound in too_little(plan.limits, least).items()
    )


def _at_its_place(
    repository: Repository, said: Sequence[Said], plan: RolePlan, name: LimitName, message: str
) -> ConfigProblem:
    """A problem with the value of a limit, where whoever has set it says so."""
    if plan.origins[name].capped_by is not None:
        at = mentioned_at(repository.config, plan.role)
        place = repository.document.place(at, of_key=True)
        words = f"the operator's ceiling on {name} of the role {plan.role}: {message}"
        return ConfigProblem(repository.named(CONFIG_FILE), place.line, place.column, words)
    setting = next(section for section in reversed(said) if name in section.keys)
    if setting.layer is not Layer.PRESET:
        return setting.problem(name, message)
    _, naming = last_word(said, "preset", None)
    assert naming is not None, "a preset that nobody names is no layer"
    return naming.problem("preset", f"{plan.preset} sets {name}: {message}")


def _amount(name: LimitName, value: float) -> str:
    info = CATALOGUE[name]
    return money(value) if info.is_money else f"{figure(value)} {info.unit}"
