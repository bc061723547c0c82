"""Suggested limits in words: tables for a terminal, effects on agents of the past, YAML."""

import pytest

from app.core.history.advice import role_lines, suggestion_words, table_lines, yaml_block
from app.core.history.precision import Precision
from app.core.history.suggest import Changed, LimitHistory, RoleHistory, Suggestion, Used
from app.core.limits import LimitName

NOBODY = Changed((), (), ())


def limit(
    name: LimitName = LimitName.MAX_TOOL_CALLS,
    *,
    present: float | None = 200,
    used: float | None = 20,
    trips: int = 0,
    holds: int = 0,
    warnings: int = 0,
    suggestion: Suggestion | None = None,
) -> LimitHistory:
    finished = None if used is None else Used(used, used, used)
    return LimitHistory(
        name, present, finished, None, trips, holds, warnings, 0, Precision(), suggestion
    )


def role(*limits: LimitHistory, finished: int = 10) -> RoleHistory:
    return RoleHistory("docs", ("octo/demo",), finished, 0, limits)


def suggests(value: float, changed: Changed = NOBODY, *, capped: bool = False) -> Suggestion:
    return Suggestion(value, capped, changed)


@pytest.mark.parametrize(("finished", "words"), [(1, "1 agent"), (2, "2 agents")])
def test_a_role_is_told_with_its_agents(finished: int, words: str) -> None:
    head = next(iter(role_lines(role(finished=finished))))
    assert head == f"docs: {words} finished, 0 stopped by a limit (octo/demo)"


def test_a_role_whose_limits_fit_is_told_so() -> None:
    fits = "  Its limits fit: no other value is suggested."
    assert list(role_lines(role(limit())))[-1] == fits
    assert fits not in list(role_lines(role(limit(suggestion=suggests(25)))))


@pytest.mark.parametrize(
    ("one", "is_shown"),
    [
        (limit(used=None, trips=1), False),
        (limit(used=0), False),
        (limit(used=1), True),
        (limit(used=0, trips=1), True),
        (limit(used=0, holds=1), True),
        (limit(used=0, warnings=1), True),
    ],
)
def test_a_limit_is_shown_that_was_used_or_that_spoke(one: LimitHistory, is_shown: bool) -> None:
    assert len(list(table_lines(role(one)))) == 1 + is_shown


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (NOBODY, "would have stopped none that finished"),
        (Changed(("a", "b", "c"), (), ()), "would have stopped 3 (a, b, c) that finished"),
        (Changed(("a", "b", "c", "d"), (), ()), "would have stopped 4 that finished"),
        (
            Changed((), ("a",), ("b",)),
            "would have stopped none that finished, would have let 1 (a) go on, would have"
            " stopped 1 (b) earlier",
        ),
    ],
)
def test_what_a_value_would_have_changed_names_agents_while_they_are_few(
    changed: Changed, words: str
) -> None:
    suggestion = suggests(25, changed)
    assert suggestion_words(limit(suggestion=suggestion), suggestion) == f"200 -> 25: {words}"


def test_a_value_at_the_operators_ceiling_says_so() -> None:
    capped = suggests(25, capped=True)
    assert suggestion_words(limit(suggestion=capped), capped).startswith(
        "200 -> 25 (the operator's ceiling): would"
    )


def test_money_is_written_with_its_cents() -> None:
    money = limit(LimitName.MAX_COST_USD, present=1.0, used=0.25, suggestion=suggests(0.5))
    assert yaml_block([role(money, limit(suggestion=suggests(25)), limit())]) == (
        "circuit_breakers:\n"
        "  roles:\n"
        "    docs:\n"
        "      max_cost_usd: 0.50  # was 1.00; 95 % of 10 finished agents used at most $0.25\n"
        "      max_tool_calls: 25  # was 200; 95 % of 10 finished agents used at most 20\n"
    )
