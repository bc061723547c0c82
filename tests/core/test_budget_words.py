"""Each budget that can keep an agent from starting, in the words of the one comment about it."""

from datetime import UTC, datetime

import pytest

from app.core.budgets.budgets import Budget, Scope, Started, Window, accounts
from app.core.budgets.ledger import Insufficient
from app.core.money import nanousd
from app.core.words.refusals import budget_refused

THURSDAY = datetime(2026, 5, 7, 12, tzinfo=UTC)
STARTED = Started("octo/demo", 12, "feat-dev", "ada", ("octo/leads",))
WINDOWS = {
    Window.DAY: ("($20.00 a day)", "The budget renews at 2026-05-08 00:00 UTC."),
    Window.WEEK: ("($20.00 a week)", "The budget renews at 2026-05-11 00:00 UTC."),
    Window.MONTH: ("($20.00 a month)", "The budget renews at 2026-06-01 00:00 UTC."),
    Window.TOTAL: ("($20.00 in all)", "The budget never renews."),
}
SCOPES = {
    Scope.INSTALLATION: (None, "installation"),
    Scope.REPOSITORY: (None, "repository:octo/demo"),
    Scope.TEAM: ("octo/leads", "team:octo/leads"),
    Scope.ROLE: ("feat-dev", "role:feat-dev"),
    Scope.ISSUE: ("octo/demo#12", "issue:octo/demo#12"),
    Scope.USER: ("ada", "user:ada"),
}


@pytest.mark.parametrize("window", Window)
@pytest.mark.parametrize("scope", Scope)
def test_a_refusal_names_its_budget_what_is_left_and_when_it_renews(
    scope: Scope, window: Window
) -> None:
    """Issue, "Budgets": "which budget, how much is left and when it renews"."""
    name, key = SCOPES[scope]
    budget = Budget(scope, window, nanousd(20), name)
    [account] = accounts([budget], STARTED, THURSDAY)
    words, renewal = WINDOWS[window]
    text = budget_refused("feat-dev", Insufficient(account, nanousd(8), nanousd(12)))
    assert text.startswith(
        f"[squadron:feat-dev] The agent has not started yet: the budget `{key}` {words} has $8.00"
        f" left, and the agent may need up to $12.00. {renewal}\n"
    )


def test_all_scopes_at_once_are_six_accounts() -> None:
    budgets = [Budget(scope, Window.DAY, nanousd(20), name) for scope, (name, _) in SCOPES.items()]
    found = accounts(budgets, STARTED, THURSDAY)
    assert [account.key for account in found] == [key for _, key in SCOPES.values()]
