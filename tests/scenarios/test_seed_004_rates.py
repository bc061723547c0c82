"""Seed 004, User Story 3, told by the running service: a hundred an hour for each user.

Nobody has configured anything here: the hundred is the product's own. What counts beside the
seed's messages, and what does not, is told in `test_rates`.
"""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from tests.support.books import Books, open_books
from tests.support.people import Task, repository
from tests.support.squad import ADMIN_TOKEN, Squad, squad
from tests.support.steps import completes, runs
from tests.support.waiting import MOST_SECONDS, until

pytestmark = pytest.mark.full

A_HUNDRED = 100
CONNECTIONS = 4
ROLES: dict[str, dict[str, Any]] = {
    "pauser": {"max_tool_calls": 1, "on_limit": "pause"},
    "quick": {},
}
STAFF = dict.fromkeys(("maria", "ann", "ben"), "write")
ANOTHER_LIMIT = {"limit": "max_spawns", "amount": 1}
"""A wish that is heard and judged, and lets nobody go on: the agent is held by another limit."""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("hundred")
    places = {"octo/demo": repository(ROLES), "octo/other": repository(ROLES)}
    with squad(directory, places, database_url=database_url, people=STAFF) as team:
        yield team


@pytest.fixture
def books(team: Squad, database_url: str | None) -> Iterator[Books]:
    with open_books(team, database_url) as books:
        yield books


# --- over the API ------------------------------------------------------------------------------


def held(team: Squad, tools: int) -> Task:
    """An agent that pauses before each of its tools but the first."""
    steps = (runs(f"echo {n}") for n in range(tools))
    task = team.give("pauser", "Hold", *steps, completes("Nothing to do."))
    team.until(task, State.PAUSED, Waits.RAISE)
    return task


def message(client: httpx.Client, team: Squad, task: Task, content: Any = None) -> httpx.Response:
    """One message to the agent, as the operator sends it."""
    path = f"/api/agents/{quote(str(team.agent(task).id))}/resume"
    bearer = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    return client.post(path, json=content, headers=bearer)


def messages(team: Squad, task: Task, number: int) -> Counter[int]:
    """So many messages over several connections at once; how they were answered."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(httpx.Client(base_url=team.service.url, timeout=MOST_SECONDS))
            for _ in range(CONNECTIONS)
        ]
        pool = stack.enter_context(ThreadPoolExecutor(CONNECTIONS))
        answers = pool.map(
            lambda n: message(clients[n % CONNECTIONS], team, task, ANOTHER_LIMIT), range(number)
        )
        return Counter(answer.status_code for answer in answers)


def a_new_hour(team: Squad, task: Task, books: Books) -> None:
    """Whatever the API was told before was told an hour ago."""
    assert messages(team, task, 1).total() == 1
    books.let_an_hour_pass("elsewhere:api")


@pytest.fixture
def task(team: Squad, books: Books) -> Task:
    """A paused agent, in an hour in which nobody has told the API anything."""
    task = held(team, 4)
    a_new_hour(team, task, books)
    return task


def test_004_us3_scenario_1_of_a_hundred_messages_in_an_hour_all_succeed(
    team: Squad, task: Task
) -> None:
    """Seed 004, User Story 3, scenario 1: the first and the hundredth let the agent go on, and
    those between are all answered."""
    client = team.service.http
    assert message(client, team, task).status_code == 200
    until(lambda: is_held_again(team, task), "it pauses again", failing=team.check_alive)
    assert messages(team, task, A_HUNDRED - 2) == {409: A_HUNDRED - 2}
    assert message(client, team, task).status_code == 200
    team.until(task, State.COMPLETED)


def is_held_again(team: Squad, task: Task) -> bool:
    """Whether the agent went on, and pauses before its next tool."""
    agent = team.agent(task)
    return (agent.state, agent.segment) == (State.PAUSED, 1)


def test_004_us3_scenario_2_the_101st_message_is_rejected_with_429(team: Squad, task: Task) -> None:
    """Seed 004, User Story 3, scenario 2 and its independent test; the issue: "`Retry-After`"."""
    assert messages(team, task, A_HUNDRED) == {409: A_HUNDRED}
    before = team.agent(task)
    for _ in range(2):
        answer = message(team.service.http, team, task)
        assert answer.status_code == 429
        assert 3_500 < int(answer.headers["Retry-After"]) <= 3_600
        assert "too many" in answer.json()["detail"]
    assert team.agent(task) == before, "a message that was rejected does nothing"


def test_004_us3_scenario_3_when_the_period_has_passed_a_hundred_more_succeed(
    team: Squad, task: Task, books: Books
) -> None:
    """Seed 004, User Story 3, scenario 3: of what was rejected nothing is held against anybody."""
    for _ in range(2):
        assert messages(team, task, A_HUNDRED + 20) == {409: A_HUNDRED, 429: 20}
        books.let_an_hour_pass("elsewhere:api")
    assert message(team.service.http, team, task).status_code == 200


def test_004_edge_case_many_connections_and_processes_are_one_user(team: Squad, task: Task) -> None:
    """Seed 004, "Edge Cases" 2: "Limit is per-user, not per-connection"; the issue: nor per
    process. Each call of `messages` opens connections of its own."""
    answered = messages(team, task, 60)
    team.service.kill()
    team.service.start()
    answered += messages(team, task, 60)
    assert answered == {409: A_HUNDRED, 429: 20}


# --- on GitHub ---------------------------------------------------------------------------------


def answers(team: Squad, task: Task) -> int:
    """How many comments on the issue were answered."""
    return sum("<!-- squadron:answer:" in one["body"] for one in team.comments(task))


def writes_to(team: Squad, task: Task, by: str, times: int) -> None:
    """Somebody writes commands under an issue, each of which is answered."""
    before = answers(team, task)
    for _ in range(times):
        team.comment(task, "/squadron raise max_spawns +1", by=by)
    until(
        lambda: answers(team, task) == before + times,
        f"{times} answers to {by}",
        failing=team.check_alive,
    )


def starts(team: Squad, by: str, place: str) -> Task:
    """Somebody sets a label on an issue of maria's."""
    task = team.issue(f"For {by}", completes("Nothing to do."), repository=place).by("quick")
    team.label(task, "squadron:quick", by=by)
    return task


def test_004_us3_on_github_the_101st_gets_one_comment_and_then_silence(
    team: Squad, books: Books
) -> None:
    """Seed 004, User Story 3, all scenarios, and "Edge Cases" 2: comments and a start in two
    repositories and through two processes are a hundred of one user. The issue: "on GitHub one
    comment, then silence until the window ends". FR-004: the user is notified."""
    places = ("octo/demo", "octo/other", "octo/other")
    steps = (runs("echo 1"), runs("echo 2"), completes("Nothing to do."))
    first, *others = held = [team.give("pauser", "Hold", *steps, repository=at) for at in places]
    for each in held:
        team.until(each, State.PAUSED, Waits.RAISE)
    writes_to(team, first, "ann", 33)
    team.service.kill()
    team.service.start()
    for each in others:
        writes_to(team, each, "ann", 33)
    team.until(starts(team, "ann", "octo/demo"), State.COMPLETED)

    refused = starts(team, "ann", "octo/other")
    text = team.until_comment(refused, "@\u200bann started or steered agents")
    assert f"agents {A_HUNDRED} times within an hour, which is the limit" in text
    silent = starts(team, "ann", "octo/demo")
    told = [len(team.comments(each)) for each in held]
    for each in held:
        team.comment(each, "/squadron resume", by="ann")
    team.settle()
    team.reconciles(2)
    assert [len(team.comments(each)) for each in (refused, silent)] == [1, 0]
    assert not team.agents(refused) and not team.agents(silent)
    assert [len(team.comments(each)) for each in held] == told
    assert {team.agent(each).state for each in held} == {State.PAUSED}

    team.until(starts(team, "ben", "octo/other"), State.COMPLETED)
    books.let_an_hour_pass("ann")
    for each in (refused, silent, *held):
        team.until(each, State.COMPLETED)
