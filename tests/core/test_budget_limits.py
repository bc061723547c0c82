"""What a budget makes of an agent's limits: what it reserves stops it, whatever its role says."""

import pytest

from app.config.operator import read_operator
from app.core.budgets.budgets import Started, counts_every_start, keys, within_budget
from app.core.limits import Action, LimitName, Limits

COST = LimitName.MAX_COST_USD


@pytest.mark.parametrize(
    ("most", "is_unbounded", "expected"),
    [
        (None, False, 1.0),
        (25.0, True, 1.0),  # of the operator's ceiling
        (0.5, True, 0.5),
        (25.0, False, 25.0),
        (0.5, False, 0.5),
    ],
)
def test_an_agent_in_a_budget_is_bounded(
    most: float | None, is_unbounded: bool, expected: float
) -> None:
    """The issue, `max_cost_usd`: "none; 1.0 where a money budget applies"."""
    limits = within_budget(Limits(max_cost_usd=most), is_unbounded=is_unbounded)
    assert limits.max_cost_usd == expected


@pytest.mark.parametrize(
    "lax",
    [
        Limits(max_cost_usd=5.0, shadow=frozenset({COST})),
        Limits(max_cost_usd=5.0, actions={COST: Action.WARN}),
        Limits(max_cost_usd=5.0, default_action=Action.WARN),
    ],
)
def test_a_bound_that_would_only_warn_stops(lax: Limits) -> None:
    limits = within_budget(lax, is_unbounded=False)
    assert limits.action(COST) is Action.ESCALATE
    assert COST not in limits.shadow


def test_other_limits_and_a_hold_stay_as_they_are() -> None:
    kind = Limits(
        max_cost_usd=5.0,
        shadow=frozenset({LimitName.MAX_TURNS}),
        actions={COST: Action.REQUEST_INCREASE, LimitName.MAX_TURNS: Action.WARN},
    )
    assert within_budget(kind, is_unbounded=False) == kind


BUDGETS = {
    "scope: installation": True,
    "scope: installation, name: octo": False,
    "scope: repository": True,
    "scope: repository, name: octo/demo": False,
    "scope: team, name: octo/leads": False,
    "scope: role": True,
    "scope: role, name: bug-fix": True,
    "scope: role, name: pm": False,
    "scope: issue": True,
    "scope: issue, name: octo/demo#12": False,
    "scope: user": True,
    "scope: user, name: ada": False,
}


@pytest.mark.parametrize(("budget", "counts"), BUDGETS.items())
def test_what_every_agent_of_a_role_counts_in_can_be_told_before_it_starts(
    budget: str, counts: bool
) -> None:
    """The same as its accounts say for two starts that have nothing but the role in common."""
    config = read_operator(f"budgets: [{{{budget}, window: day, max_cost_usd: 1}}]", "op").config
    assert config is not None
    [read] = config.budgets
    assert counts_every_start(read, "bug-fix") is counts
    starts = [
        Started("octo/demo", 12, "bug-fix", "ada", ("octo/leads",)),
        Started("other/thing", 1, "bug-fix", "bob"),
    ]
    assert all(keys(read, start) for start in starts) is counts
