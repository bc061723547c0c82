"""What people read when an agent does not start, or may not go on."""

from app.core.agents.events import Braked
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Insufficient
from app.core.rules.brakes import Brake, Place, Scope
from app.core.rules.trust import Permission, Sender, TrustRules
from app.core.words.refusals import (
    brake_words,
    budget_words,
    distrust_words,
    held_words,
    paused_words,
    place_words,
    rate_words,
    text_changed,
)
from tests.core.strategies import START

HUMAN = Sender("mallory", is_bot=False)
"""Somebody without permission."""


def brake(scope: Scope, name: str = "octo/demo", reason: str = "") -> Brake:
    return Brake(Place(scope, name), by="mona", reason=reason, since=START)


def test_a_changed_text_names_both_and_calls_neither() -> None:
    words = text_changed("bug-fix", "mona", "mallory")
    assert words == (
        "[squadron:bug-fix] The agent has not started: @\u200bmallory, who may not start agents,"
        " has changed this issue after @\u200bmona asked for one. Read the issue again. To start an"
        " agent on the text as it is now, take the label off and set it again."
    )


def test_distrust_says_what_is_needed() -> None:
    rules = TrustRules(start=Permission.WRITE)
    assert distrust_words(rules, HUMAN, Permission.READ) == (
        "mallory has the permission read, and write is needed"
    )
    bot = Sender("helper[bot]", is_bot=True)
    words = distrust_words(rules, bot, None)
    assert words == "helper[bot] is a bot that `trust.bots` does not list"


def test_each_place_of_a_brake_has_its_words() -> None:
    assert place_words(Place(Scope.ALL, "")) == "all agents"
    assert place_words(Place(Scope.INSTALLATION, "7")) == "all agents of installation 7"
    assert place_words(Place(Scope.REPOSITORY, "octo/demo")) == "all agents of octo/demo"
    assert place_words(Place(Scope.CONFIGURATION, "octo/demo")) == (
        "all agents of octo/demo, which switches itself off"
    )


def test_a_brake_says_who_when_and_why() -> None:
    plain, reasoned = brake(Scope.REPOSITORY), brake(Scope.REPOSITORY, reason="the\nweekend")
    assert brake_words(plain) == "mona paused all agents of octo/demo at 2026-03-01 09:00 UTC"
    assert brake_words(reasoned).endswith("09:00 UTC (the weekend)")
    switched_off = "the repository's configuration says `enabled: false`"
    assert brake_words(brake(Scope.CONFIGURATION)) == switched_off


def test_what_is_held_goes_on_by_itself() -> None:
    braked = Braked(at=START, why="mona paused\nall agents", scope="all", since=START)
    held = held_words(braked)
    assert held == (
        "The agent is held: mona paused all agents. Squadron keeps its work, and the agent goes on"
        " by itself when that is over."
    )
    asked = paused_words("bug-fix", brake(Scope.ALL))
    assert asked.startswith(
        "[squadron:bug-fix] The agent has not started yet: mona paused all agents at "
    )
    assert asked.endswith(
        " It starts by itself when that is over, unless somebody takes the label or the assignment"
        " away that asked for it."
    )


def test_a_budget_says_what_is_left_and_that_the_start_waits() -> None:
    account = Account("role:octo/demo:docs", Window.DAY, START, 20_000_000_000)
    short = Insufficient(account, asked_nanousd=5_000_000_000, left_nanousd=1_500_000_000)
    assert budget_words(short) == (
        "the budget `role:octo/demo:docs` ($20.00 a day) has $1.50 left, and up to $5.00 may be"
        " needed"
    )


def test_a_rate_ends_at_an_instant() -> None:
    assert rate_words("mona", START) == (
        "mona has started or steered as much as is allowed in an hour, until 2026-03-01 09:00 UTC"
    )
