"""Limits that do not pay for the first steps of an agent are named, with the least amount, where
they are set."""

from collections.abc import Mapping
from decimal import Decimal

import pytest

from app.config.operator import OperatorConfig, read_operator
from app.config.repository import RepositoryReading, read_repository
from app.core.breaker.answers import LEAST_ANSWER_TOKENS
from app.core.breaker.least import FIRST_REQUEST_TOKENS, least_amounts, too_little
from app.core.limits import Action, LimitName, Limits
from app.core.limits.presets import PRESETS
from app.core.money import Price
from tests.core.strategies import only
from tests.core.test_presets import SEED_000, SEED_003

CHEAP = Price(Decimal("0.15"), Decimal("0.60"))
DEAR = Price(Decimal(15), Decimal(75))
MODELS: Mapping[str | None, Price] = {None: CHEAP, "openai:cheap": CHEAP, "openai:dear": DEAR}
ROLE = "roles:\n  leaf: {agent: agents/docs.md, model: 'openai:dear'}\n"


def read(
    config: str, agent: str = "Do it.", operator: OperatorConfig | None = None
) -> RepositoryReading:
    files = {"config.yaml": ROLE + config, "agents/docs.md": agent}
    return read_repository(files, operator or OperatorConfig(), price_of=MODELS.get)


def test_the_least_is_one_tool_call_and_a_return() -> None:
    """2,500 and 3,012 tokens of input, 512 of output each time: $0.0375 + $0.04518 + $0.0768."""
    least = least_amounts("embedded", DEAR, None, plans=False)
    assert FIRST_REQUEST_TOKENS["embedded"] == 2_500 and LEAST_ANSWER_TOKENS == 512
    assert least == {
        LimitName.MAX_TOKENS: 3_013,
        LimitName.MAX_COST_USD: 0.16,
        LimitName.MAX_EXECUTION_COST_USD: 0.16,
    }


def test_another_model_that_plans_is_asked_first() -> None:
    least = least_amounts("embedded", CHEAP, DEAR, plans=True)
    assert least[LimitName.MAX_PLANNING_COST_USD] == 0.08
    assert least[LimitName.MAX_EXECUTION_COST_USD] == 0.01
    assert least[LimitName.MAX_COST_USD] == 0.08
    unknown = least_amounts("embedded", CHEAP, None, plans=True)
    assert LimitName.MAX_COST_USD not in unknown
    assert unknown[LimitName.MAX_EXECUTION_COST_USD] == 0.01


def test_exactly_the_least_is_enough() -> None:
    least = least_amounts("embedded", DEAR, None, plans=False)
    assert not too_little(Limits(max_cost_usd=0.16, max_tokens=3_013), least)
    short = Limits(max_cost_usd=0.15, max_tokens=3_012)
    assert too_little(short, least) == {LimitName.MAX_TOKENS: 3_012, LimitName.MAX_COST_USD: 0.15}


def test_what_stops_nobody_is_never_too_little() -> None:
    least = least_amounts("embedded", DEAR, None, plans=False)
    warns = Limits(max_cost_usd=0.05, actions={LimitName.MAX_COST_USD: Action.WARN})
    assert not too_little(warns, least)
    assert not too_little(
        Limits(max_cost_usd=0.05, shadow=frozenset({LimitName.MAX_COST_USD})), least
    )
    capped = Limits(
        max_cost_usd=0.05,
        shadow=frozenset({LimitName.MAX_COST_USD}),
        ceilings={LimitName.MAX_COST_USD: 0.1},
    )
    assert too_little(capped, least) == {LimitName.MAX_COST_USD: 0.1}


@pytest.mark.parametrize("name", [*SEED_000, *SEED_003])
def test_every_preset_can_work_on_a_cheap_model(name: str) -> None:
    preset = PRESETS[name]
    limits = only(**{key.value: value for key, value in preset.limits.items()})
    assert not too_little(limits, least_amounts("embedded", CHEAP, None, plans=False))


def test_a_preset_is_named_where_it_is_chosen() -> None:
    reading = read("circuit_breakers:\n  roles:\n    leaf: {preset: execution-leaf}\n")
    assert reading.plan is not None and "leaf" in reading.plan.roles, "the role may start"
    assert [str(each) for each in reading.too_small] == [
        ".squadron/config.yaml:5:20: circuit_breakers.roles.leaf.preset: execution-leaf sets"
        " max_cost_usd: $0.05 is too little: one tool call and a return of openai:dear take at"
        " least $0.16"
    ]


def test_a_limit_is_named_where_it_is_set() -> None:
    reading = read("", "---\nmax_tokens: 900\n---\nDo it.")
    [problem] = reading.too_small
    assert (problem.file, problem.line, problem.column) == (".squadron/agents/docs.md", 2, 13)
    assert "900 tokens is too little" in problem.message and "3013 tokens" in problem.message


def test_a_ceiling_is_named_where_the_role_is() -> None:
    operated = read_operator("ceilings: {max_cost_usd: 0.05}\n", "operator.yaml").config
    assert operated is not None
    mine = [each for each in read("", operator=operated).too_small if "leaf" in each.message]
    assert [(each.line, each.column) for each in mine] == [(2, 3)]
    assert "the operator's ceiling on max_cost_usd of the role leaf: $0.05" in mine[0].message


def test_a_price_that_nobody_knows_says_nothing() -> None:
    config = ROLE + "circuit_breakers:\n  roles:\n    leaf: {max_cost_usd: 0.01}\n"
    files = {"config.yaml": config, "agents/docs.md": "Do it."}
    assert not read_repository(files, OperatorConfig()).too_small
