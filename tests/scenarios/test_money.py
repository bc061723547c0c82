"""Money, from the first estimate to the last account: who may spend what, and who has.

Issue, "Money"; seed 000, "Cost Tracking Implementation"; seed 003, "Budget Ledger".
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.core.agents.agent import AgentId
from app.core.agents.agent import Task as Issue
from app.core.agents.events import Finished, ModelAsked, ModelCalled, Phase, SegmentEnded
from app.core.agents.lifecycle import State
from app.core.breaker.verdict import money
from app.core.budgets.budgets import Budget, Scope, Started, Window, accounts
from app.core.money import nanousd, usd
from app.core.rules.trust import Sender
from app.core.steering.ownership import RETRY_TRIGGER
from app.ports import Order, Repository, WaitingStart
from app.scripted.script import Answer, Call, Conversation, Speaker
from tests.support.books import Books, billed, open_books
from tests.support.funding import notes, refused, until_runs
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes, runs, says, waits_for
from tests.support.waiting import until

pytestmark = pytest.mark.full

PRICES = {"scripted": (1, 0), "exact": (30, 600), "planner": (200, 1_000), "mute": (20, 100)}
"""USD per million tokens, in and out: whole nano-USD a token."""

EXACT = {"model": "openai:exact", "max_output_tokens_per_call": 1_000}
DEMO: dict[str, dict[str, Any]] = {
    "exact": {**EXACT},
    "tight": {**EXACT, "max_cost_usd": 1.0},
    "mystery": {"model": "openai:mystery", "max_cost_usd": 1.0},
    "mute": {
        "model": "openai:mute",
        "max_output_tokens_per_call": 1_000,
        "max_cost_usd": 0.5,
    },
    "thinker": {
        **EXACT,
        "planning_model": "openai:planner",
        "max_planning_cost_usd": 20.0,
        "max_execution_cost_usd": 30.0,
    },
    "plotter": {
        **EXACT,
        "planning_model": "openai:planner",
        "max_planning_cost_usd": 3.2,
    },
}
SHOP: dict[str, dict[str, Any]] = {
    "feat-dev": {"max_cost_usd": 12},
    "small": {"max_cost_usd": 1},
    "lazy": {},
    "whale": {"max_cost_usd": 60},
    "odd": {"model": "openai:mystery"},
    "holder": {
        **EXACT,
        "max_cost_usd": 1.0,
        "on_limit": "request_increase",
    },
    "cacher": {
        "model": "openai:cached",
        "max_cost_usd": 1.0,
        "on_limit": {"max_cost_usd": "request_increase"},
    },
    "sneaky": {
        **EXACT,
        "max_cost_usd": 0.6,
        "shadow": ["max_cost_usd"],
        "on_limit": {"max_cost_usd": "warn"},
    },
}


def per_role(role: str, most: float, window: str = "day") -> dict[str, Any]:
    return {"scope": "role", "name": role, "window": window, "max_cost_usd": most}


SHOP_BUDGETS = [
    per_role("feat-dev", 20),
    per_role("lazy", 1.5, "week"),
    per_role("whale", 50, "total"),
    per_role("odd", 5),
    per_role("holder", 2, "month"),
    per_role("cacher", 1.5, "total"),
    per_role("sneaky", 5),
]
PLACES = {
    "octo/demo": repository(DEMO),
    "octo/shop": repository(SHOP, {"budgets": SHOP_BUDGETS}),
}
OPERATOR = {
    "pricing": {
        **{model: {"input": into, "output": out} for model, (into, out) in PRICES.items()},
        "cached": {"input": 1, "output": 0, "cache_read": 1_000},
    },
    "alerts": {"cost_usd_per_hour": 1_000, "trips_per_hour": 1_000},
}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("money")
    with squad(directory, PLACES, database_url=database_url, operator=OPERATOR) as team:
        yield team


@pytest.fixture
def books(team: Squad, database_url: str | None) -> Iterator[Books]:
    with open_books(team, database_url) as books:
        yield books


# --- words of the stories --------------------------------------------------------------------


def cost_of(team: Squad, task: Task, *answers: Answer) -> int:
    """What the requests of a story have cost by hand, in nano-USD."""
    return sum(
        read * PRICES[model][0] * 1_000 + said * PRICES[model][1] * 1_000
        for model, read, said in billed(team, task, *answers)
    )


def in_json(team: Squad, agent: AgentId) -> dict[str, Any]:
    """AGENT."""
    answer = team.asks_api("GET", f"/api/agents/{str(agent).replace('#', '%23')}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def tells(team: Squad, task: Task, body: str) -> str:
    """Maria comments; the path of the comment."""
    said = team.github.does("maria", "POST", f"{task.path}/comments", {"body": body})
    return f"/repos/{task.repository}/issues/comments/{said['id']}"


def role_budget(role: str, most: float, window: Window = Window.DAY) -> tuple[Budget, Started]:
    """A budget of octo/shop, and a start that it counts."""
    budget = Budget(Scope.ROLE, window, nanousd(most), role, "octo/shop")
    return budget, Started("octo/shop", 1, role, "maria")


# --- what one agent may spend ----------------------------------------------------------------


def test_an_agent_is_stopped_before_the_call_that_would_exceed_its_money(
    team: Squad, books: Books
) -> None:
    """Seed 000: `if (accumulated_cost + next_call_cost > max_cost_usd) -> timeout_action`."""
    steps = [runs(f"echo {number}", say="Go on. " * 20) for number in range(20)]
    task = team.give("tight", "Spend", *steps)
    agent = team.until_escalated(task)
    trip, log = agent.trip, team.registry.log(agent.id)
    assert trip is not None and trip.limit == "max_cost_usd"
    answered = sum(isinstance(event, ModelCalled) for event in log)
    assert 0 < answered < len(steps)
    total = before = cost_of(team, task, *steps[:answered])
    assert trip.observed == usd(before) < 1.0
    assert in_json(team, agent.id)["cost_usd"] == usd(before), "not even for the summary is it more"
    spent = 0
    for event in log:
        if isinstance(event, ModelCalled):
            spent += event.cost_nanousd or 0
        if isinstance(event, ModelAsked) and event.estimate_nanousd is not None:
            assert spent + event.estimate_nanousd <= nanousd(1), "no call could have exceeded it"
    assert trip.reason.startswith(
        f"max_cost_usd reached: {money(usd(before))} of $1.00 spent, and the next model call may"
        " cost $0."
    )

    shown = in_json(team, agent.id)
    assert shown["cost_usd"] == usd(total)
    assert shown["limits"]["max_cost_usd"] == {"observed": usd(before), "maximum": 1}
    [comment] = [one["body"] for one in team.comments(task)]
    assert f"| `max_cost_usd` | {money(usd(before))} | $1.00 | USD |" in comment
    for by, key in (("role", "tight"), ("issue", f"octo/demo#{task.number}")):
        row = books.costs_by(by)[key]
        assert (row["cost_usd"], row["unknown_calls"], row["agents"]) == (usd(total), 0, 1)


@pytest.mark.both_databases
def test_costs_are_exact_and_put_down_to_issue_role_user_and_model(
    team: Squad, books: Books
) -> None:
    before = {by: books.costs_by(by) for by in ("user", "model")}
    steps = (runs("echo 1"), completes("Nothing to do."))
    task = team.issue("Count", *steps, by="ada").by("exact")
    team.label(task, "squadron:exact", by="ada")
    agent = team.until(task, State.COMPLETED)
    total = cost_of(team, task, *steps)
    assert total > 0
    assert in_json(team, agent.id)["cost_usd"] == usd(total)

    def grown(by: str, key: str) -> float:
        now, then = books.costs_by(by)[key], before.get(by, {}).get(key, {"cost_usd": 0.0})
        return round(float(now["cost_usd"]) - float(then["cost_usd"]), 9)

    assert {
        grown("issue", f"octo/demo#{task.number}"),
        grown("role", "exact"),
        grown("user", "ada"),
        grown("model", "openai:exact"),
        grown("agent", str(agent.id)),
    } == {usd(total)}
    row = books.costs_by("role")["exact"]
    bills = billed(team, task, *steps)
    assert row["input_tokens"] == sum(read for _, read, _ in bills)
    assert row["output_tokens"] == sum(said for *_, said in bills)
    [line] = [
        line for line in books.costs("--by", "issue").splitlines() if f"#{task.number} " in line
    ]
    assert money(usd(total)) in line


def test_a_model_without_a_price_costs_nobody_knows_what_and_never_nothing(
    team: Squad, books: Books
) -> None:
    """The issue: "cost is unknown, never 0; `on_unmeasurable` decides, said once"."""
    task = team.give("mystery", "Riddle", runs("true"), runs("true"), completes("Nothing to do."))
    agent = team.until(task, State.COMPLETED)
    shown = in_json(team, agent.id)
    assert shown["cost_usd"] is None and shown["tokens"] > 0
    said = [line for line in team.service.lines() if "mystery" in line["message"]]
    assert [line["message"] for line in said] == ["cost unknown: openai:mystery has no price"]
    assert (said[0]["level"], said[0]["agent"]) == ("WARNING", str(agent.id))
    row = books.costs_by("model")["openai:mystery"]
    assert (row["cost_usd"], row["known_cost_usd"], row["unknown_calls"]) == (None, 0, 3)
    total = json.loads(books.costs("--json"))["total"]
    assert total["cost_usd"] is None and total["known_cost_usd"] >= 0
    [line] = [line for line in books.costs("--by", "model").splitlines() if "mystery" in line]
    assert "unknown" in line and "$0.00" not in line


def test_an_endpoint_that_reports_no_usage_is_paid_by_estimate(team: Squad, books: Books) -> None:
    """0 tokens in, 0 tokens out: an agent with a price and a limit is stopped all the same."""
    steps = [replace(runs(f"echo {n}", say="Go on. " * 20), reports_usage=False) for n in range(60)]
    task = team.give("mute", "Say nothing of it", *steps)
    agent = team.until_escalated(task)
    assert agent.trip is not None and agent.trip.limit == "max_cost_usd"
    called = [e for e in team.registry.log(agent.id) if isinstance(e, ModelCalled)]
    assert 3 < len(called) < 60
    assert all(e.is_estimate and e.cost_nanousd and e.output_tokens > 30 for e in called)
    spent = usd(sum(event.cost_nanousd or 0 for event in called))
    shown = in_json(team, agent.id)
    assert (shown["cost_usd"], shown["cost_estimated"]) == (spent, True)
    words = f"did not report what {len(called)} of {len(called)} model calls used."
    team.until_comment(task, words)
    assert words in team.service.commands("explain", str(agent.id)).stdout
    [warned, *_] = [one for one in team.service.lines() if "usage estimated" in one["message"]]
    assert (warned["level"], warned["agent"]) == ("WARNING", str(agent.id))
    row = books.costs_by("model")["openai:mute"]
    assert (row["cost_usd"], row["estimated_calls"], row["unknown_calls"]) == (
        spent,
        len(called),
        0,
    )
    [line] = [line for line in books.costs("--by", "role").splitlines() if "mute" in line]
    assert f"{money(spent)}, {len(called)} calls estimated" in line


def test_a_planning_model_is_billed_apart(team: Squad, books: Books) -> None:
    """Seed 000, "Dual LLM Cost Tracking": the first turn plans on one model, the rest works."""
    steps = (runs("ls", say="Look first."), says("This is the plan."), completes("Nothing."))
    task = team.give("thinker", "Plan", *steps)
    agent = team.until(task, State.COMPLETED)
    bills = billed(team, task, *steps)
    assert [model for model, *_ in bills] == ["planner", "planner", "exact"]
    costs = [read * PRICES[model][0] + said * PRICES[model][1] for model, read, said in bills]
    planning, execution = sum(costs[:2]) * 1_000, costs[2] * 1_000
    shown = in_json(team, agent.id)
    assert shown["limits"]["max_planning_cost_usd"] == {"observed": usd(planning), "maximum": 20}
    assert shown["limits"]["max_execution_cost_usd"] == {"observed": usd(execution), "maximum": 30}
    assert shown["cost_usd"] == usd(planning + execution)
    assert books.costs_by("model")["openai:planner"]["cost_usd"] >= usd(planning)


def test_planning_that_is_too_dear_ends_before_it_is_paid_for(team: Squad) -> None:
    task = team.give("plotter", "Plan much", *(runs(f"echo {n}") for n in range(60)))
    agent = team.until_escalated(task)
    assert agent.trip is not None and agent.trip.limit == "max_planning_cost_usd"
    called = [e for e in team.registry.log(agent.id) if isinstance(e, ModelCalled)]
    spent = sum(event.cost_nanousd or 0 for event in called)
    assert {event.phase for event in called} == {Phase.PLANNING}
    assert agent.trip.observed == usd(spent) < 3.2


# --- budgets: what all agents may spend ------------------------------------------------------


@pytest.mark.both_databases
def test_a_second_agent_waits_until_the_first_has_returned_what_it_did_not_need(
    team: Squad, books: Books
) -> None:
    """The issue: "the agent does not start, one comment says which budget, how much is left and
    when it renews; it starts by itself then". The example of `budgets:` in EXAMPLES."""
    first = team.give(
        "feat-dev",
        "First",
        waits_for(team.signal("shop")),
        completes("Nothing to do."),
        repository="octo/shop",
    )
    running = until_runs(team, first)
    second = team.give("feat-dev", "Second", completes("Nothing."), repository="octo/shop")
    text = refused(team, second, "not started yet")
    midnight = running.created_at.astimezone(UTC) + timedelta(days=1)
    assert "the budget `role:octo/shop:feat-dev` ($20.00 a day) has $8.00 left" in text
    assert f"may need up to $12.00. The budget renews at {midnight:%Y-%m-%d} 00:00 UTC" in text
    other = team.give("small", "Other role", completes("Nothing."), repository="octo/shop")
    team.until(other, State.COMPLETED)
    team.label(second, "squadron:feat-dev")  # again; and then several passes go by
    team.reconciles(3)
    assert (notes(team, second), team.agents(second)) == (1, [])
    balance = books.balance(*role_budget("feat-dev", 20), running)
    assert (balance.held_nanousd, balance.left_nanousd) == (nanousd(12), nanousd(8))

    team.go("shop")
    team.until(first, State.COMPLETED)
    done = team.until(second, State.COMPLETED)
    until(lambda: notes(team, second) == 0, "the agent has made that comment its own")
    until(lambda: done.id not in books.open_reservations(), "the second one has let go as well")
    balance = books.balance(*role_budget("feat-dev", 20), running)
    spent = sum(team.registry.counters(one.id).cost_nanousd for one in (running, done))
    assert balance.held_nanousd == balance.actual_nanousd == spent > 0


@pytest.mark.both_databases
def test_two_labels_at_the_same_instant_never_share_the_same_money(
    team: Squad, books: Books
) -> None:
    """Over-commit is impossible: each needs 12 of 20 dollars, so they take turns."""
    tasks = [
        team.issue(
            f"Racer {number}",
            waits_for(team.signal(f"race-{number}")),
            completes("Nothing."),
            labels=("squadron:feat-dev",),
            repository="octo/shop",
        ).by("feat-dev")
        for number in range(2)
    ]
    started = until(
        lambda: [task for task in tasks if team.agents(task)],
        "one of them",
        failing=team.check_alive,
    )
    late = next(task for task in tasks if task != started[0])
    until_runs(team, started[0])
    refused(team, late, "has $")
    for number in range(2):
        team.go(f"race-{number}")
    for task in tasks:
        agent = team.until(task, State.COMPLETED)
        assert books.balance(*role_budget("feat-dev", 20), agent).held_nanousd <= nanousd(20)
    until(lambda: notes(team, late) == 0, "the agent has made that comment its own")
    assert notes(team, started[0]) == 0


def test_a_role_without_a_limit_of_its_own_gets_a_dollar_of_a_budget(team: Squad) -> None:
    """The issue, `max_cost_usd`: "1.0 where a money budget applies"."""
    task = team.give(
        "lazy", "Idle", waits_for(team.signal("lazy")), completes("No."), repository="octo/shop"
    )
    agent = until_runs(team, task)
    assert in_json(team, agent.id)["limits"]["max_cost_usd"]["maximum"] == 1
    second = team.give("lazy", "More", completes("Nothing."), repository="octo/shop")
    text = refused(team, second, "not started yet")
    assert "`role:octo/shop:lazy` ($1.50 a week) has $0.50 left" in text
    team.go("lazy")
    team.until(second, State.COMPLETED)


def test_an_agent_that_needs_more_than_the_whole_budget_is_told_so(team: Squad) -> None:
    task = team.give("whale", "Swim", completes("Never."), repository="octo/shop")
    text = refused(team, task, "not started yet")
    assert "($50.00 in all) has $50.00 left, and the agent may need up to $60.00" in text
    assert "That is more than all of it: lower the role's `max_cost_usd`" in text
    team.reconciles(2)
    assert notes(team, task) == 1


def test_who_takes_the_label_away_or_closes_the_issue_wants_no_start_any_more(
    team: Squad,
) -> None:
    first = team.give(
        "feat-dev",
        "Long",
        waits_for(team.signal("long")),
        completes("Nothing."),
        repository="octo/shop",
    )
    until_runs(team, first)
    unlabelled, closed, wanted = (
        team.give("feat-dev", title, completes("Nothing."), repository="octo/shop")
        for title in ("Unlabelled", "Closed", "Wanted")
    )
    for task in (unlabelled, closed, wanted):
        refused(team, task, "not started yet")
    team.github.does("maria", "DELETE", f"{unlabelled.path}/labels/squadron%3Afeat-dev")
    team.close(closed)
    team.go("long")
    team.until(wanted, State.COMPLETED)
    team.reconciles()
    assert team.agents(unlabelled) == team.agents(closed) == []


def put_off(team: Squad, task: Task, asked_at: datetime, budget: str) -> WaitingStart:
    """A start that was asked for then and found that budget too empty."""
    order = Order(
        repository=Repository(task.repository, team.github.about["installation_id"]),
        issue=task.number,
        role=task.role,
        by=Sender("maria", is_bot=False),
        trigger=RETRY_TRIGGER,
        task=Issue("Put off", team.github.sees(task.path)["body"]),
    )
    return WaitingStart.of(order, asked_at, asked_at, budget)


def test_what_waited_for_money_starts_when_the_budget_has_renewed(
    team: Squad, books: Books
) -> None:
    """Yesterday everything was spent; today is another day, and nobody has to ask again."""
    task, late = (
        team.issue(title, completes("Nothing."), repository="octo/shop").by("feat-dev")
        for title in ("Of yesterday", "Of last year")
    )
    yesterday = datetime.now(UTC) - timedelta(days=1)
    budget, started = role_budget("feat-dev", 20)
    [account] = accounts([budget], started, yesterday)
    books.spend_all(account, AgentId("octo/shop", 9_999, "feat-dev", 1))
    books.wait(put_off(team, late, yesterday - timedelta(days=100), account.id))
    books.wait(put_off(team, task, yesterday, account.id))
    done = team.until(task, State.COMPLETED)
    assert done.started_by == "maria"
    assert books.balance_of(account).actual_nanousd == nanousd(20)
    spent = team.registry.counters(done.id).cost_nanousd
    assert spent > 0
    until(
        lambda: books.balance(budget, started, done).actual_nanousd >= spent,
        "the ledger is told",
        failing=team.check_alive,
    )
    asked = {task.number, late.number}
    until(
        lambda: not asked & {one.order.issue for one in books.waiting()},
        "nobody waits any more",
        failing=team.check_alive,
    )
    assert team.agents(late) == [], "who waits for more than 100 days is forgotten"


def test_no_agent_of_a_model_without_a_price_starts_in_a_budget(team: Squad) -> None:
    """EXAMPLES: "under a money budget or ceiling: stop"."""
    task = team.give("odd", "Riddle", completes("Never."), repository="octo/shop")
    text = refused(team, task, "nobody knows the price of openai:mystery")
    assert "a money budget applies. The operator can set it under `pricing`" in text
    team.reconciles(2)
    refused(team, task, "nobody knows the price")


def test_what_is_reserved_in_a_budget_stops_whatever_the_role_says(team: Squad) -> None:
    """A repository cannot get round its operator's budget by `shadow` or `on_limit: warn`."""
    steps = (runs(f"echo {n}") for n in range(20))
    task = team.give("sneaky", "Sneak", *steps, repository="octo/shop")
    agent = team.until_escalated(task)
    assert agent.trip is not None and agent.trip.limit == "max_cost_usd"
    assert agent.trip.maximum == 0.6 and (agent.trip.observed or 0) < 0.6


# --- more money for one is less for all ------------------------------------------------------


def test_a_raise_takes_its_money_out_of_the_budget(team: Squad, books: Books) -> None:
    """A raise of `max_cost_usd` reserves more; what the budget has not, is not granted."""
    go = team.signal("raised")

    def spends(conversation: Conversation) -> Answer:
        """Until it is stopped; and goes on more quietly when it was raised."""
        if not any("raised `max_cost_usd`" in each for each in conversation.said_by(Speaker.USER)):
            return runs(f"echo {len(conversation.messages)}", say="Go on. " * 20)
        return completes("Enough.") if go.exists() else waits_for(go)

    task = team.give("holder", "Hold", *[spends] * 40, repository="octo/shop")
    agent = team.until(task, State.PAUSED)
    budget = role_budget("holder", 2, Window.MONTH)
    spent = team.registry.counters(agent.id).cost_nanousd
    until(
        lambda: books.balance(*budget, agent).held_nanousd == spent, "who is paused holds no money"
    )
    said = tells(team, task, "/squadron raise max_cost_usd +1.5")
    answer = team.until_comment(task, f"squadron:answer:{said.rpartition('/')[2]} ")
    left, takes = money(2 - usd(spent)), money(1 + 1.5 - usd(spent))
    assert f"The budget `role:octo/shop:holder` has {left} left, and this takes {takes}." in answer
    assert team.agent(task) == agent
    assert books.balance(*budget, agent).held_nanousd == spent

    tells(team, task, "/squadron raise max_cost_usd +1")
    until_runs(team, task)
    assert books.balance(*budget, agent).held_nanousd == nanousd(2)
    second = team.give("holder", "Left out", completes("Nothing."), repository="octo/shop")
    refused(team, second, "($2.00 a month) has $0.00 left")
    team.go("raised")
    team.until(task, State.COMPLETED)
    team.until(second, State.COMPLETED)


def test_what_was_spent_beyond_the_reservation_is_recorded_and_told(
    team: Squad, books: Books
) -> None:
    """Two dollars of cached tokens that no estimate could know of, in a budget of 1.50."""
    dear = Answer("", (Call("bash", {"command": "true"}),), cache_read_tokens=2_000)
    task = team.give("cacher", "Surprise", dear, runs("true"), repository="octo/shop")
    agent = team.until(task, State.PAUSED)
    spent = team.registry.counters(agent.id).cost_nanousd
    assert spent > nanousd(2)
    budget = role_budget("cacher", 1.5, Window.TOTAL)
    until(
        lambda: books.balance(*budget, agent).actual_nanousd == spent,
        "the ledger is told",
        failing=team.check_alive,
    )
    assert books.balance(*budget, agent).left_nanousd == 0
    alert = team.until_logged(
        f"ALERT: {agent.id} spent {money(usd(spent - nanousd(1)))} more than it had reserved.",
        kind="overspent",
    )
    assert alert["level"] == "WARNING"
    team.until_logged(
        f"ALERT: {money(usd(spent))} of the budget `role:octo/shop:cacher` ($1.50 in all)"
        " is spent.",
        kind="budget",
        bound=1.5,
    )
    said = tells(team, task, "/squadron raise max_cost_usd +5")
    answer = team.until_comment(task, f"squadron:answer:{said.rpartition('/')[2]} ")
    assert "The budget `role:octo/shop:cacher` has $0.00 left" in answer
    second = team.give("cacher", "Nothing left", completes("Never."), repository="octo/shop")
    refused(team, second, "The budget never renews.")
    team.close(task)
    team.until(task, State.CANCELLED)
    team.reconciles()
    refused(team, second, "has $0.00 left")


# --- kill -9 ---------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_kill_9_before_the_ledger_was_told_holds_nobodys_money_for_long(
    team: Squad, books: Books
) -> None:
    """The row is final, the ledger does not know: reconciliation lets go, the next one starts."""
    first = team.give(
        "feat-dev",
        "Killed",
        waits_for(team.signal("killed")),
        completes("Nothing."),
        repository="octo/shop",
    )
    agent = until_runs(team, first)
    second = team.give("feat-dev", "Heir", completes("Nothing."), repository="octo/shop")
    refused(team, second, "has $")
    team.service.kill()
    now = datetime.now(UTC)
    ended = SegmentEnded(at=now, why="cancelled")
    books.end_untold(agent.id, [ended, Finished(at=now, why="by hand")])
    assert agent.id in books.open_reservations()
    team.service.start()
    team.until(second, State.COMPLETED)
    assert agent.id not in books.open_reservations()
    balance = books.balance(*role_budget("feat-dev", 20), agent)
    spent = team.registry.counters(agent.id).cost_nanousd
    assert balance.actual_nanousd >= spent > 0
