"""Budgets of every scope: whom each counts, whom it leaves alone, and what ends the waiting.

Issue, "Budgets": "per installation, repository, team, role, issue and the user who started the
agent"; budgets of a role are in `test_money`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import State
from app.core.budgets.budgets import Account, Budget, Scope, Started, Window, accounts
from app.core.money import nanousd
from tests.support.books import Books, open_books
from tests.support.funding import notes, refused, until_runs
from tests.support.github import git
from tests.support.people import PEOPLE, Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes, waits_for
from tests.support.waiting import until

pytestmark = pytest.mark.full

HALF = {"one": {"max_cost_usd": 0.6}, "two": {"max_cost_usd": 0.6}}
"""Of a budget of one dollar only one of them can start."""


def a_dollar(scope: str, window: str, **named: str) -> dict[str, Any]:
    return {"scope": scope, "window": window, "max_cost_usd": 1, **named}


PAIR = [a_dollar("user", "day"), a_dollar("issue", "total")]
"""Two budgets that count the same start, each in a window of its own."""

PLACES = {
    "octo/scopes": repository(
        HALF,
        {
            "budgets": [
                a_dollar("user", "week", name="ada"),
                a_dollar("issue", "total"),
                a_dollar("team", "month", name="core"),
            ]
        },
    ),
    "octo/teams": repository(HALF, {"budgets": [a_dollar("team", "month", name="core")]}),
    "octo/pair": repository(HALF, {"budgets": PAIR}),
    "octo/whole": repository(HALF, {"budgets": [a_dollar("repository", "day")]}),
    "acme/one": repository(HALF),
}
STAFF = {**PEOPLE, "carl": "write"}
OPERATOR = {
    "pricing": {"scripted": {"input": 1, "output": 0}},
    "budgets": [a_dollar("installation", "month", name="acme")],
}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("budgets")
    with squad(
        directory, PLACES, database_url=database_url, operator=OPERATOR, people=STAFF
    ) as team:
        team.github.orders("teams", {"org": "octo", "team": "core", "members": ["carl"]})
        yield team


@pytest.fixture
def books(team: Squad, database_url: str | None) -> Iterator[Books]:
    with open_books(team, database_url) as books:
        yield books


SCOPES: dict[str, tuple[str, str, str]] = {
    "user": ("ada", "user:octo/scopes:ada", "a week"),
    "issue": ("maria", "issue:octo/scopes#", "in all"),
    "team": ("carl", "team:octo/scopes:octo/core", "a month"),
    "repository": ("maria", "repository:octo/whole", "a day"),
    "installation": ("maria", "installation:acme", "a month"),
}
PLACE_OF = {"repository": "octo/whole", "installation": "acme/one"}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_budget_bounds_what_it_is_about_and_nothing_else(team: Squad, scope: str) -> None:
    """Each needs 0.60 of a dollar, so of those that a budget counts one works at a time."""
    by, key, window = SCOPES[scope]
    place = PLACE_OF.get(scope, "octo/scopes")
    steps = (waits_for(team.signal(scope)), completes("Nothing."))

    def a_start(title: str, by: str, place: str = place) -> Task:
        task = team.issue(title, *steps, by=by, repository=place).by("one")
        team.label(task, "squadron:one", by=by)
        return task

    first = a_start("First", by)
    until_runs(team, first)
    if scope == "issue":
        second = first.by("two")
        team.label(second, "squadron:two")
        said = team.until_comment(first, "[squadron:two] The agent has not started yet")
        assert team.agents(second) == []
    else:
        second = a_start("Second", by)
        said = refused(team, second, "not started yet")
    assert f"the budget `{key}" in said
    assert f"($1.00 {window}) has $0.40 left" in said
    until_runs(team, a_start("Another", "maria", "octo/scopes"))
    team.go(scope)
    for task in (first, second):
        team.until(task, State.COMPLETED)


def test_a_team_that_github_does_not_tell_of_is_no_way_round_its_budget(team: Squad) -> None:
    """The App may not see members: nothing starts on a guess, and somebody is told."""
    with team.github.trouble(kind="error", status=403, path="/orgs/octo/teams/"):
        task = team.give("one", "Blind", completes("Nothing."), repository="octo/scopes")
        text = refused(team, task, "there is a budget of the team octo/core")
        assert "Grant the App the organization permission `members: read`" in text
    team.until(task, State.COMPLETED)


def account_of(budget: Budget, by: str, issue: int, *teams: str) -> Account:
    """What a start of the role `one` is counted under just now."""
    assert budget.repository is not None
    started = Started(budget.repository, issue, "one", by, teams)
    [account] = accounts([budget], started, datetime.now(UTC))
    return account


def test_a_members_start_waits_for_the_budget_of_the_team_and_goes_on_when_it_renews(
    team: Squad, books: Books
) -> None:
    """Who is in a team is GitHub's word; the next month begins, and nobody has to ask again."""
    task = team.issue("For the team", completes("Nothing."), repository="octo/teams").by("one")
    budget = Budget(Scope.TEAM, Window.MONTH, nanousd(1), "core", "octo/teams")
    account = account_of(budget, "carl", task.number, "octo/core")
    books.spend_all(account, AgentId("octo/teams", 9_999, "one", 1))
    team.label(task, "squadron:one", by="carl")
    text = refused(team, task, "not started yet")
    assert account.renews_at is not None
    assert "the budget `team:octo/teams:octo/core` ($1.00 a month) has $0.00 left" in text
    assert f"may need up to $0.60. The budget renews at {account.renews_at:%Y-%m-%d %H:%M}" in text
    stranger = team.give("one", "Of nobody's team", completes("No."), repository="octo/teams")
    team.until(stranger, State.COMPLETED)
    team.reconciles(2)
    assert (notes(team, task), team.agents(task)) == (1, [])

    books.renew(account)
    done = team.until(task, State.COMPLETED)
    assert done.started_by == "carl"
    until(lambda: notes(team, task) == 0, "the agent has made that comment its own")
    spent = team.registry.counters(done.id).cost_nanousd
    until(lambda: done.id not in books.open_reservations(), "it has let go")
    assert books.balance_of(account).actual_nanousd == spent > 0


def test_a_start_that_two_budgets_count_waits_until_both_have_enough(
    team: Squad, books: Books
) -> None:
    """One of them renews, the other one never does: a person raises it in the file."""
    task = team.issue("Twice counted", completes("Nothing."), repository="octo/pair").by("one")
    per_day = Budget(Scope.USER, Window.DAY, nanousd(1), None, "octo/pair")
    in_all = Budget(Scope.ISSUE, Window.TOTAL, nanousd(1), None, "octo/pair")
    for budget in (per_day, in_all):
        account = account_of(budget, "maria", task.number)
        books.spend_all(account, AgentId("octo/pair", 9_999, account.key[:4], 1))
    team.label(task, "squadron:one")
    text = refused(team, task, "not started yet")
    assert f"the budget `issue:octo/pair#{task.number}` ($1.00 in all) has $0.00 left" in text
    assert "The budget never renews." in text, "of two that are empty the last to renew is named"

    day = account_of(per_day, "maria", task.number)
    if books.balance_of(day).actual_nanousd:  # unless midnight has just gone by
        books.renew(day)
    team.reconciles(2)
    assert (notes(team, task), team.agents(task)) == (1, []), "the other one is empty still"

    raised = [PAIR[0], {**PAIR[1], "max_cost_usd": 2}]
    files = repository(HALF, {"budgets": raised})
    pushes(team, "octo/pair", ".squadron/config.yaml", files[".squadron/config.yaml"])
    done = team.until(task, State.COMPLETED)
    assert done.started_by == "maria"
    until(lambda: notes(team, task) == 0, "the agent has made that comment its own")


def test_peers_16_a_successor_gets_no_fresh_money_where_the_budget_is_spent(
    team: Squad, books: Books
) -> None:
    """Peers, scenario 16: removed and set again after a final state, by who may."""
    task = team.issue("Again", completes("Nothing."), repository="octo/scopes").by("one")
    team.label(task, "squadron:one")
    first = team.until(task, State.COMPLETED)
    until(lambda: first.id not in books.open_reservations(), "it has let go")
    in_all = Budget(Scope.ISSUE, Window.TOTAL, nanousd(1), None, "octo/scopes")
    spent = account_of(in_all, "maria", task.number)
    left = spent.max_nanousd - books.balance_of(spent).actual_nanousd
    books.spend(spent, AgentId("octo/scopes", 9_999, "one", 1), left)
    for by in ("maria", "ada"):
        team.github.does("maria", "DELETE", f"{task.path}/labels/squadron:one")
        team.label(task, "squadron:one", by=by)
        said = team.until_comment(task, "[squadron:one] The agent has not started yet")
        assert f"the budget `issue:octo/scopes#{task.number}` ($1.00 in all) has $0.00 left" in said
        team.settle()
    assert team.agents(task) == [first]


def pushes(team: Squad, place: str, path: str, text: str) -> None:
    """Maria changes a file on the default branch."""
    clone = team.github.clone(place)
    (clone / path).write_text(text)
    git("commit", "--all", "--quiet", "--message", f"Change {path}", cwd=clone)
    git("push", "--quiet", cwd=clone)
