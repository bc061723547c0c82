"""What `triggers.events` starts is found from state alone, each once, where no webhook told of it.

docs/design.md, promise 10; issue 4, "What the webhooks did not say".
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from app.core.agents.lifecycle import State
from app.scripted.script import Answer, Conversation
from tests.scenarios.test_review_roles import posted, proposes, pushes, reviews
from tests.support.people import REPOSITORY, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes
from tests.support.waiting import until

pytestmark = pytest.mark.full

ISSUE_EVENTS = ("issues.opened", "issues.reopened")
PULL_REQUEST_EVENTS = tuple(f"pull_request.{e}" for e in ("opened", "reopened", "synchronize"))
CONFIG = {
    "triggers": {
        "events": {
            **dict.fromkeys(ISSUE_EVENTS, "docs"),
            **dict.fromkeys(PULL_REQUEST_EVENTS, "security-review"),
        }
    }
}
LONG = timedelta(hours=1)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    repositories = {REPOSITORY: repository({"docs": {}}, CONFIG)}
    with squad(tmp_path_factory.mktemp("untold"), repositories) as team:
        team.reconciles(1)
        yield team


def until_so_many(team: Squad, look: Callable[[], Sequence[object]], count: int) -> None:
    until(lambda: len(look()) == count, f"{count} of them", failing=team.check_alive)


def test_an_issue_that_was_opened_before_the_last_look_is_found(team: Squad) -> None:
    with team.github.trouble(kind="lost", event=r"issues\..*"):
        team.service.kill()
        task = team.issue("Unheard", completes("Nothing to do.")).by("docs")
        stranger = team.issue("Please", completes("Nothing to do."), by="rita").by("docs")
        team.registry.saw_further(LONG)
        team.service.start()
        team.until(task, State.COMPLETED)
        assert team.agent(task).started_by == "maria"
        team.reconciles(2)
        assert (len(team.agents(task)), team.agents(stranger)) == (1, [])

        for state in ("closed", "open"):
            team.github.silently("maria", "PATCH", task.path, {"state": state})
        until_so_many(team, lambda: team.agents(task), 2)
        team.until(task, State.COMPLETED)
        team.reconciles(2)
        assert len(team.agents(task)) == 2


def test_a_pull_request_is_reviewed_when_it_is_opened_pushed_to_and_opened_again(
    team: Squad,
) -> None:
    with team.github.trouble(kind="lost", event=r"pull_request\..*"):
        change = proposes(team, "unheard", "security-review", reviews("Safe."))
        until_so_many(team, lambda: posted(team, change), 1)
        second = pushes(team, "unheard", "43\n")
        until_so_many(team, lambda: posted(team, change), 2)
        assert [one["commit_id"] for one in posted(team, change)] == [change.head, second]
        # GitHub tells whole seconds: within that of its end it would be opened before.
        then = team.until(change.task, State.COMPLETED).updated_at + timedelta(seconds=1)
        until(lambda: datetime.now(UTC) > then, "a second is over")
        for state in ("closed", "open"):
            path = f"/repos/{REPOSITORY}/pulls/{change.number}"
            team.github.silently("maria", "PATCH", path, {"state": state})
        until_so_many(team, lambda: posted(team, change), 3)
        team.until(change.task, State.COMPLETED)
        team.reconciles(2)
        assert len(team.agents(change.task)) == len(posted(team, change)) == 3


def test_a_push_under_review_is_reviewed_afterwards(team: Squad) -> None:
    heads: list[str] = []

    def moves_once(conversation: Conversation) -> Answer:
        if not heads:
            heads.append(pushes(team, "moving", "44\n"))
            team.reconciles(1)
        return reviews("As it was.")

    change = proposes(team, "moving", "security-review", moves_once)
    until_so_many(team, lambda: posted(team, change), 2)
    team.until(change.task, State.COMPLETED)
    assert [one["commit_id"] for one in posted(team, change)] == [change.head, *heads]
    team.reconciles(2)
    assert len(team.agents(change.task)) == 2
