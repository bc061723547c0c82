"""How often one person may start and steer agents: counted once, refused once, then silence.

Issue, "Rate": "starts, commands and comments that reach an agent, per user per hour, counted per
user across repositories, connections and processes". Here three are too many for an hour; seed
004's hundred (User Story 3) is counted in `test_seed_004_rates`.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from tests.support.books import Books, open_books
from tests.support.deliveries import deliver
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes, is_blocked, runs, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.full

MOST = 3
STAFF = {
    "maria": "write",
    **dict.fromkeys(
        (
            *("ann", "ben", "cleo", "dora", "eve", "finn", "gus", "hal", "ida", "jan", "api"),
            *("kim", "lea", "lou", "mia", "nat", "ole", "pia", "tess"),
        ),
        "write",
    ),
    "rita": "read",
}
ROLES = {
    "quick": {},
    "other": {},
    "pauser": {"max_tool_calls": 1, "on_limit": "pause"},
    "poor": {"max_cost_usd": 0.6},
    "frugal": {},
    "broken": {"max_tool_cals": 3},
}
DEMO = {
    "budgets": [
        {"scope": "role", "name": "poor", "window": "total", "max_cost_usd": 1},
        {"scope": "role", "name": "frugal", "window": "total", "max_cost_usd": 20},
    ],
    "triggers": {"labels": {"fast": "quick"}},
}
OPERATOR = {
    "rate": {"starts_per_user_per_hour": MOST},
    "pricing": {"scripted": {"input": 1, "output": 1}},
    "ceilings": {"max_cost_usd": 25},
}
NOTHING = completes("Nothing to do.")


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("rates")
    places = {"octo/demo": repository(ROLES, DEMO), "octo/other": repository(ROLES)}
    with squad(
        directory, places, database_url=database_url, operator=OPERATOR, people=STAFF
    ) as team:
        yield team


@pytest.fixture
def books(team: Squad, database_url: str | None) -> Iterator[Books]:
    with open_books(team, database_url) as books:
        yield books


def starts(team: Squad, by: str, place: str = "octo/demo", role: str = "quick") -> Task:
    """Somebody wants an agent for an issue of maria's."""
    task = team.issue(f"For {by}", NOTHING, repository=place).by(role)
    team.label(task, f"squadron:{role}", by=by)
    return task


def works(team: Squad, by: str, times: int, place: str = "octo/demo") -> None:
    """Somebody starts so many agents, and all of them work."""
    for _ in range(times):
        team.until(starts(team, by, place), State.COMPLETED)


def is_refused(team: Squad, by: str, place: str = "octo/demo") -> str:
    """One more start, which is refused with the one comment of the hour."""
    task = starts(team, by, place)
    text = team.until_comment(task, f"@\u200b{by} started or steered agents")
    assert team.agents(task) == []
    return text


def is_asked_again(team: Squad, task: Task) -> bool:
    """Whether the agent was woken, and sleeps over its next question."""
    agent = team.agent(task)
    return (agent.state, agent.segment) == (State.SLEEPING, 1)


def comments_told(team: Squad, by: str) -> list[Any]:
    """What GitHub has to tell of somebody's comments, whether it came or not."""
    told = (one for one in team.github.exchanges() if one.get("webhook") == "issue_comment")
    return [one["payload"] for one in told if one["payload"]["sender"]["login"] == by]


@pytest.mark.both_databases
def test_the_fourth_start_of_an_hour_is_refused_once_and_then_nothing_is_said(team: Squad) -> None:
    """Counted across repositories, and across the death of the process."""
    began = datetime.now(UTC).replace(second=0, microsecond=0)
    works(team, "ann", 1)
    works(team, "ann", 1, "octo/other")
    team.service.kill()
    team.service.start()
    works(team, "ann", 1)
    text = is_refused(team, "ann", "octo/other")
    assert f"started or steered agents {MOST} times within an hour, which is the limit" in text
    said = re.search(r"until (\d{4}-\d\d-\d\d) (\d\d:\d\d)", text)
    assert said is not None
    until_when = datetime.fromisoformat(f"{said[1]}T{said[2]}+00:00")
    assert began + timedelta(hours=1) <= until_when <= datetime.now(UTC) + timedelta(hours=1)

    fifth = starts(team, "ann")
    sixth = starts(team, "ann", "octo/other")
    team.settle()
    team.reconciles(2)
    for task in (fifth, sixth):
        assert team.comments(task) == [] and team.agents(task) == []
    works(team, "ben", 1, "octo/other")
    team.label(fifth, "squadron:pauser", by="ben")
    team.until(fifth.by("pauser"), State.COMPLETED)


def test_what_is_told_twice_or_changes_nothing_does_not_count(team: Squad) -> None:
    """Doubled webhooks, labels on an issue that is worked on, mistakes, and every pass."""
    with team.github.trouble(kind="doubled", event="issues"):
        task = team.issue("Once", waits_for(team.signal("once")), NOTHING).by("quick")
        team.label(task, "squadron:quick", by="cleo")
        team.until(task, State.ACTIVE)
        team.label(task, "fast", by="cleo")  # it keeps the agent at work while the other is off
        for _ in range(2):
            team.github.does("cleo", "DELETE", f"{task.path}/labels/squadron%3Aquick")
            team.label(task, "squadron:quick", by="cleo")
        broken = starts(team, "cleo", role="broken")
        team.until_comment(broken, "max_tool_cals")
        team.settle()
    team.reconciles(2)
    team.go("once")
    team.until(task, State.COMPLETED)
    works(team, "cleo", MOST - 1)
    is_refused(team, "cleo")


def test_a_start_that_waits_for_money_counts_once_when_it_is_made(team: Squad) -> None:
    """However many passes have looked for the money meanwhile."""
    first = team.issue("First", waits_for(team.signal("poor")), NOTHING).by("poor")
    team.label(first, "squadron:poor", by="finn")
    team.until(first, State.ACTIVE)
    second = starts(team, "finn", role="poor")
    team.until_comment(second, "not started yet")
    team.reconciles(4)
    works(team, "finn", 1)
    team.go("poor")
    team.until(second, State.COMPLETED)
    is_refused(team, "finn")


def test_a_ceiling_above_the_budget_keeps_nobody_from_starting(team: Squad) -> None:
    """A role that says nothing of money gets a dollar of a budget, not all that is allowed."""
    task = starts(team, "maria", role="frugal")
    agent = team.until(task, State.COMPLETED)
    assert agent.assignment.limits.max_cost_usd == 1.0


def test_answers_and_commands_that_reach_an_agent_count_and_chatter_does_not(
    team: Squad,
) -> None:
    asks = team.issue("Ask", is_blocked("Which colour?"), NOTHING).by("quick")
    held = team.issue("Hold", runs("echo 1"), runs("echo 2"), NOTHING).by("pauser")
    for task in (asks, held):
        team.label(task, f"squadron:{task.role}")
    team.until(asks, State.SLEEPING, Waits.ANSWER)
    team.until(held, State.PAUSED)
    bystander = team.issue("Chat")
    for number in range(MOST + 1):
        team.comment(bystander, f"Hm {number}.", by="dora")
        team.comment(held, f"Hm {number}.", by="dora")
    team.comment(asks, "Blue.", by="dora")
    team.until(asks, State.COMPLETED)
    team.comment(held, "/squadron resume", by="dora")
    team.until(held, State.COMPLETED)
    writing = (
        writes("a.txt", "a\n"),
        completes("Done."),
        writes("a.txt", "b\n"),
        completes("Done."),
    )
    task = team.issue("Write", *writing).by("quick")
    team.label(task, "squadron:quick", by="jan")
    asleep = team.until_handed_over(task)
    review = {"event": "REQUEST_CHANGES", "body": "Longer, please."}
    path = f"/repos/octo/demo/pulls/{asleep.pull_request}/reviews"
    team.github.does("dora", "POST", path, review)
    until(
        lambda: team.agent(task).segment > asleep.segment,
        "the review wakes it",
        failing=team.check_alive,
    )
    team.until_handed_over(task)
    is_refused(team, "dora")


def test_who_has_used_up_the_hour_wakes_and_steers_nobody_and_others_do(team: Squad) -> None:
    asks = team.issue("Ask", is_blocked("Which colour?"), NOTHING).by("quick")
    held = team.issue("Hold", runs("echo 1"), runs("echo 2"), NOTHING).by("pauser")
    for task in (asks, held):
        team.label(task, f"squadron:{task.role}", by="hal")
    team.until(asks, State.SLEEPING, Waits.ANSWER)
    paused = team.until(held, State.PAUSED)
    works(team, "eve", MOST)
    team.comment(held, "/squadron resume", by="eve")
    team.until_comment(held, "@\u200beve started or steered agents")
    team.comment(asks, "Green.", by="eve")
    team.comment(held, "/squadron raise max_tool_calls +5", by="eve")
    team.comment(asks, "/squadron resume", by="eve")
    team.settle()
    team.reconciles(2)
    assert team.agent(asks).state is State.SLEEPING
    assert team.agent(held) == paused
    assert len(team.comments(asks)) == 1, "silence: only the progress"
    assert len(team.comments(held)) == 2, "the progress, and that it was too much"
    team.comment(asks, "Blue.", by="gus")
    team.until(asks, State.COMPLETED)
    team.comment(held, "/squadron resume", by="gus")
    team.until(held, State.COMPLETED)


def test_who_has_used_up_the_hour_can_still_stop(team: Squad) -> None:
    """And of what is told with it, nothing else is done."""
    task = team.issue("Runs away", waits_for(team.signal("never"))).by("quick")
    team.label(task, "squadron:quick", by="tess")
    team.until(task, State.ACTIVE)
    works(team, "tess", MOST - 1)
    is_refused(team, "tess")
    team.comment(task, "/squadron help\n/squadron stop", by="tess")
    team.until(task, State.CANCELLED)
    team.settle()
    assert not [one for one in team.comments(task) if "/squadron raise" in one["body"]]


def test_words_that_a_webhook_and_reconciliation_hear_count_and_wake_once(team: Squad) -> None:
    """GitHub's webhooks come late, and reconciliation has been there before; and one comment
    answers two agents, of which reconciliation wakes one after the other."""
    steps = (is_blocked("Which colour?"), is_blocked("Which size?"), NOTHING)
    first = team.issue("Ask", *steps).by("quick")
    agents = (first, first.by("other"))
    held = team.issue("Hold", runs("echo 1"), runs("echo 2"), NOTHING).by("pauser")
    for task in (*agents, held):
        team.label(task, f"squadron:{task.role}", by="ole")
    for task in agents:
        team.until(task, State.SLEEPING, Waits.ANSWER)
    team.until(held, State.PAUSED)
    with team.github.trouble(kind="lost", event="issue_comment"):
        team.comment(first, "Blue.", by="kim")
        team.comment(held, "/squadron resume", by="kim")
        for task in agents:
            until(partial(is_asked_again, team, task), "it asks again", failing=team.check_alive)
        team.until(held, State.COMPLETED)
    before = [team.agent(task) for task in (*agents, held)]
    for number, payload in enumerate(comments_told(team, by="kim")):
        assert deliver(team, "issue_comment", payload, f"late-{number}").status_code == 202
    team.settle()
    team.reconciles(2)
    assert [team.agent(task) for task in (*agents, held)] == before, "heard before"
    team.comment(first, "Big.", by="lea")
    for task in agents:
        team.until(task, State.COMPLETED)
    works(team, "kim", 1)  # after the answer and the command
    is_refused(team, "kim")
    works(team, "lea", MOST - 1)
    is_refused(team, "lea")


def test_a_command_whose_answer_github_did_not_take_counts_once(team: Squad) -> None:
    held = team.issue("Hold", runs("echo 1"), runs("echo 2"), NOTHING).by("pauser")
    team.label(held, "squadron:pauser", by="pia")
    team.until(held, State.PAUSED)
    team.service.kill()
    team.comment(held, "/squadron raise everything", by="mia")
    with team.github.trouble(kind="error", method="POST", path=r"/comments$", count=MOST):
        team.service.start()
        team.until_comment(held, "Nothing was changed.")
        assert team.github.fired() == MOST
    works(team, "mia", MOST - 1)
    is_refused(team, "mia")
    team.close(held)


def test_the_one_comment_comes_although_github_was_away_and_silence_ends_with_the_hour(
    team: Squad, books: Books
) -> None:
    """What was refused is done by itself in the next hour, as far as that goes."""
    works(team, "lou", MOST)
    asks = team.issue("Ask", is_blocked("Which colour?"), NOTHING).by("quick")
    team.label(asks, "squadron:quick", by="nat")
    team.until(asks, State.SLEEPING, Waits.ANSWER)
    with team.github.trouble(kind="error", method="POST", path=r"/comments$", count=2):
        fourth = starts(team, "lou")
        text = team.until_comment(fourth, "@\u200blou started or steered agents")
    fifth = starts(team, "lou", "octo/other")
    team.comment(asks, "Blue.", by="lou")
    team.settle()
    team.reconciles(2)
    assert (len(team.comments(fourth)), team.comments(fifth)) == (1, [])
    assert team.agent(asks).state is State.SLEEPING

    books.let_an_hour_pass("lou")
    for task in (fourth, fifth, asks):
        team.until(task, State.COMPLETED)
    again = is_refused(team, "lou")
    assert again != text, "it names the end of the new hour"
    seventh = starts(team, "lou")
    team.settle()
    team.reconciles(2)
    assert team.comments(seventh) == []


def test_the_api_answers_429_and_says_when_to_come_back(team: Squad) -> None:
    """The issue: "The API answers 429 with `Retry-After`"."""
    task = team.issue("Hold", *(runs(f"echo {n}") for n in range(8)), NOTHING).by("pauser")
    team.label(task, "squadron:pauser", by="ida")
    path = ""

    def paused(segment: int) -> bool:
        agent = team.agent(task)
        return agent.state is State.PAUSED and agent.segment >= segment

    for number in range(MOST):
        until(partial(paused, number), "it pauses again", failing=team.check_alive)
        path = f"/api/agents/{quote(str(team.agent(task).id))}"
        assert team.asks_api("POST", f"{path}/resume").status_code == 200
    until(partial(paused, MOST), "it pauses again", failing=team.check_alive)
    answer = team.asks_api("POST", f"{path}/resume")
    assert answer.status_code == 429
    assert 3_500 < int(answer.headers["Retry-After"]) <= 3_600
    assert "too many" in answer.json()["detail"]
    assert team.asks_api("GET", path).status_code == 200, "looking is free"
    works(team, "api", 1)  # a person of that name is somebody else
    team.comment(task, "/squadron raise max_tool_calls +10", by="ida")
    team.until(task, State.COMPLETED)
