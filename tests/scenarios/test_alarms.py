"""Operators hear at once of what is unusual: in the log, in the metrics, by a webhook of theirs.

Issue, "Alerts"; seed 000, "Monitoring and Alerts".
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.core.agents.lifecycle import State
from app.core.budgets.budgets import Budget, Scope, Started, Window, accounts
from app.core.money import nanousd
from app.scripted.script import Answer, Call
from tests.support.books import Books, open_books
from tests.support.hook_receiver import Receiver, receiver
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes, runs, waits_for
from tests.support.waiting import until

pytestmark = pytest.mark.full

ROLES: dict[str, dict[str, Any]] = {
    "spender": {"max_cost_usd": 1.0, "max_output_tokens_per_call": 1},
    "limited": {"max_tool_calls": 1},
    "watched": {"max_tool_calls": 2, "shadow": ["max_tool_calls"]},
    "pauser": {"max_tool_calls": 1, "on_limit": "pause"},
    "patient": {"max_tool_calls": 1, "on_limit": "warn"},
    "beyond": {"model": "openai:cached"},
    "mystery": {"model": "openai:mystery"},
    "steady": {"model": "openai:cached", "max_cost_usd": 1.0},
}
BUDGETS = {
    "budgets": [
        {"scope": "role", "name": "spender", "window": "month", "max_cost_usd": 1},
        {"scope": "role", "name": "beyond", "window": "month", "max_cost_usd": 1},
        {"scope": "role", "name": "steady", "window": "week", "max_cost_usd": 1},
    ]
}
BOUNDS = {"cost_usd_per_hour": 0.5, "trips_per_hour": 2}
OPERATOR = {
    "pricing": {
        "scripted": {"input": 100, "output": 0},
        "cached": {"input": 1, "output": 0, "cache_read": 1_000},
    },
    "on_unmeasurable": "stop",
}


NOTHING = completes("Nothing to do.")
OVERSPENT = frozenset({("kind", "overspent")})


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with receiver(tmp_path_factory.mktemp("hook")) as hook:
        yield hook


@pytest.fixture(scope="module")
def team(
    tmp_path_factory: pytest.TempPathFactory, database_url: str | None, hook: Receiver
) -> Iterator[Squad]:
    with squad(
        tmp_path_factory.mktemp("alarms"),
        {"octo/demo": repository(ROLES, BUDGETS)},
        database_url=database_url,
        operator={**OPERATOR, "alerts": {**BOUNDS, "webhook": hook.url}},
        further_environment={"SSL_CERT_FILE": str(hook.certificate)},
    ) as team:
        yield team


@pytest.fixture
def books(team: Squad, database_url: str | None) -> Iterator[Books]:
    with open_books(team, database_url) as books:
        yield books


def told(hook: Receiver, kind: str) -> list[Any]:
    """Alerts of one kind that came by the webhook."""
    return [each for each in hook.received if each["kind"] == kind]


def until_told(team: Squad, hook: Receiver, kind: str) -> Any:
    until(lambda: told(hook, kind), f"an alert of {kind}", failing=team.check_alive)
    return told(hook, kind)[0]


def metrics(team: Squad, name: str) -> dict[frozenset[tuple[str, str]], float]:
    """What `/metrics` says under one name, by its labels."""
    answer = team.service.http.get("/metrics")
    assert answer.status_code == 200
    return {
        frozenset(sample.labels.items()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.name == name
    }


def limit_events(team: Squad, event: str, role: str) -> dict[str, float]:
    """How often which limit did that to agents of the role, and how."""
    found = metrics(team, "squadron_limit_events_total")
    wanted = {("event", event), ("role", role)}
    return {
        f"{dict(labels)['limit']} {dict(labels)['how']}": value
        for labels, value in found.items()
        if wanted <= labels
    }


def spends(team: Squad) -> Task:
    """An agent that spends nearly all of its dollar."""
    return team.give("spender", "Spend", *(runs(f"echo {n}") for n in range(20)))


def test_spending_and_a_nearly_empty_budget_are_told_once_an_hour(
    team: Squad, hook: Receiver
) -> None:
    team.until_escalated(spends(team))
    cost = until_told(team, hook, "cost_per_hour")
    assert cost.keys() == {"kind", "text", "figure", "bound", "at"}
    assert cost["bound"] == 0.5 < cost["figure"]
    assert cost["text"].endswith("spent in the last hour; the bound is $0.50.")
    at = datetime.fromisoformat(cost["at"])
    assert timedelta() <= datetime.now(UTC) - at < timedelta(minutes=5)
    budget = until_told(team, hook, "budget")
    assert (budget["bound"], budget["figure"] >= 0.8) == (1, True)
    assert "of the budget `role:octo/demo:spender` ($1.00 a month) is spent." in budget["text"]
    line = team.until_logged(f"ALERT: {cost['text']}")
    assert (line["level"], line["event"], line["kind"]) == ("WARNING", "ALERT", "cost_per_hour")

    team.reconciles(3)
    assert len(told(hook, "cost_per_hour")) == len(told(hook, "budget")) == 1
    assert metrics(team, "squadron_alerts_total")[frozenset({("kind", "cost_per_hour")})] == 1
    assert metrics(team, "squadron_cost_usd_last_hour")[frozenset()] >= cost["figure"]


def test_a_budget_is_told_of_while_its_agent_works_and_then_never_again_in_its_window(
    team: Squad, hook: Receiver, books: Books
) -> None:
    """Nobody has to wait for the end of a day's work; and nobody hears of it every hour."""
    dear = Answer("", (Call("bash", {"command": "true"}),), cache_read_tokens=850)
    steps = (dear, waits_for(team.signal("steady")), completes("Nothing to do."))
    task = team.give("steady", "Steady", *steps)

    def of_the_budget() -> list[Any]:
        return [each for each in told(hook, "budget") if "role:octo/demo:steady" in each["text"]]

    until(of_the_budget, "the budget is told of", failing=team.check_alive)
    agent = team.agent(task)
    assert agent.state is State.ACTIVE
    assert 0.85 <= of_the_budget()[0]["figure"] < 0.86
    budget = Budget(Scope.ROLE, Window.WEEK, nanousd(1), "steady", "octo/demo")
    started = Started("octo/demo", task.number, "steady", "maria")
    [account] = accounts([budget], started, agent.created_at)
    assert books.balance_of(account).actual_nanousd >= nanousd(0.85)

    until_told(team, hook, "cost_per_hour")
    costs = len(told(hook, "cost_per_hour"))
    books.let_an_hour_pass(f"alert:budget:{account.id}:{account.max_nanousd}")
    books.let_an_hour_pass("alert:cost")
    until(
        lambda: len(told(hook, "cost_per_hour")) > costs,
        "the costs of the next hour are told",
        failing=team.check_alive,
    )
    team.go("steady")
    team.until(task, State.COMPLETED)
    team.reconciles(2)
    assert len(of_the_budget()) == 1


def test_an_agent_that_comes_close_to_a_limit_is_told_once_with_that_limit(
    team: Squad, hook: Receiver
) -> None:
    """Seed 000: "early warning"; no metric has the agent, of which there are ever more."""
    task = team.give("patient", "Warn", runs("echo 1"), runs("echo 2"), NOTHING)
    agent = team.until(task, State.COMPLETED)

    def of_the_agent() -> list[Any]:
        return [each for each in hook.received if each.get("agent") == str(agent.id)]

    until(lambda: len(of_the_agent()) == 2, "both are told", failing=team.check_alive)
    team.reconciles(3)
    close, passed = sorted(of_the_agent(), key=lambda each: str(each["kind"]))
    about = {"agent": str(agent.id), "role": "patient", "limit": "max_tool_calls"}
    assert close.items() >= {**about, "kind": "limit_close", "figure": 1, "bound": 1}.items()
    assert passed.items() >= {**about, "kind": "limit_passed", "figure": 1, "bound": 1}.items()
    line = team.until_logged(f"ALERT: {close['text']}")
    assert (line["level"], line["kind"]) == ("WARNING", "limit_close")
    assert line.items() >= about.items()
    counted = metrics(team, "squadron_alerts_total")
    assert counted[frozenset({("kind", "limit_close")})] >= 1
    warned = limit_events(team, "AGENT_WARNING", "patient")
    assert warned == {"max_tool_calls close": 1, "max_tool_calls warn": 1}
    assert str(agent.id) not in team.service.http.get("/metrics").text


def test_many_trips_are_a_systemic_problem(team: Squad, hook: Receiver) -> None:
    """Seed 000: "Alert when >5 agents terminate per hour (systemic issue)"; here more than 2."""
    for number in range(3):
        task = team.give("limited", f"Trip {number}", runs("echo 1"), runs("echo 2"))
        team.until(task, State.ESCALATED)
    trips = until_told(team, hook, "trips_per_hour")
    assert trips["bound"] == 2 < trips["figure"]
    assert "agents were stopped for good in the last hour; the bound is 2." in trips["text"]
    team.reconciles(2)
    assert len(told(hook, "trips_per_hour")) == 1
    assert metrics(team, "squadron_trips_last_hour")[frozenset()] >= 3


def test_what_limits_do_is_counted_for_each_role(team: Squad) -> None:
    """The issue: "warnings per role"; seed 000: "Agents hitting limits", the distribution of
    what became of them."""
    before = limit_events(team, "AGENT_FAILED", "limited")
    tasks = [
        team.give(role, "Count", runs("echo 1"), runs("echo 2"), runs("echo 3"), completes("No."))
        for role in ("limited", "watched", "pauser")
    ]
    stopped, watched, paused = tasks
    team.until(stopped, State.ESCALATED)
    team.until(watched, State.COMPLETED)
    team.until(paused, State.PAUSED)
    after = limit_events(team, "AGENT_FAILED", "limited")
    key = "max_tool_calls hook"
    assert after == {key: before.get(key, 0) + 1}
    assert limit_events(team, "AGENT_WARNING", "watched") == {
        "max_tool_calls close": 1,
        "max_tool_calls shadow": 1,
    }
    assert limit_events(team, "AGENT_PAUSED", "pauser") == {"max_tool_calls pause": 1}
    team.close(paused)
    team.until(paused, State.CANCELLED)


def test_nothing_starts_whose_cost_would_be_unknown_where_the_operator_wants_that(
    team: Squad,
) -> None:
    """EXAMPLES: `on_unmeasurable: stop`; one comment that says what to do."""
    task = team.give("mystery", "Riddle", completes("Never."))
    text = team.until_comment(task, "nobody knows the price of openai:mystery")
    assert "(`on_unmeasurable: stop`). The operator can set it under `pricing`" in text
    team.reconciles(2)
    assert (len(team.comments(task)), team.agents(task)) == (1, [])


def test_a_webhook_that_is_dead_hurts_nobody(team: Squad, hook: Receiver) -> None:
    """What it was not told is in the log and in the metrics; the agent's end is told as ever."""
    hook.hang_up()
    before = metrics(team, "squadron_alerts_total").get(OVERSPENT, 0)
    dear = Answer("", (Call("bash", {"command": "true"}),), cache_read_tokens=2_000)
    task = team.give("beyond", "Surprise", dear, runs("true"))
    agent = team.until_escalated(task)
    [check] = team.until_check(task, "failure")
    assert check["head_sha"] == agent.sha
    line = team.until_logged("the alerts' webhook cannot be reached: ConnectError")
    assert line["level"] == "WARNING"
    assert "canary-hook-token" not in str(team.service.lines()), "its address is a secret"
    until(
        lambda: metrics(team, "squadron_alerts_total").get(OVERSPENT) == before + 1,
        "it is counted",
        failing=team.check_alive,
    )
    assert not [each for each in told(hook, "overspent") if str(agent.id) in each["text"]]
