"""What people did and undid before anybody looked: the end is as if each step had been told at
once (docs/design.md, promise 10).

Of what happens in one repository nothing is ever told; of what happens in the other all is told
afterwards, the last first. Agents here wait, and never work (`serve --no-worker`).
"""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from app.core.agents.agent import AgentId, EffectName
from app.core.agents.events import Finished, Waits
from app.core.effects.wanted import NEEDS_HUMAN, escalation_marker, marker
from app.core.steering.ownership import RELABELLED_WITHIN
from tests.support.deliveries import deliver, told_of
from tests.support.github import git
from tests.support.passes import until_quiet
from tests.support.people import repository
from tests.support.squad import Squad, squad
from tests.support.standing import Standing, standing
from tests.support.waiting import until

pytestmark = pytest.mark.full

UNTOLD, REVERSED = "octo/untold", "octo/reversed"
LABEL: Final = "squadron:docs"

Step = tuple[str, str]
"""About which thread of a story, and what Maria does (Tom, where he is named)."""

OFF, ON = ("issue", "unlabel"), ("issue", "label")
CLOSED, REOPENED = ("issue", "close"), ("issue", "reopen")


@dataclass(frozen=True, slots=True)
class Story:
    """An issue with a docs agent, what people do about it, and how that ends."""

    agent: Waits | None
    """What the agent sleeps for; None: it was stopped, and a human is asked."""
    steps: Sequence[Step]
    ends: Sequence[str]
    """The states of all docs agents that the issue ever had."""
    is_heard_as_said: bool = False
    """Its steps are commands, which count in the order in which they are heard."""


STORIES: Final[Mapping[str, Story]] = {
    "a label is taken off and set again": Story(Waits.ANSWER, [OFF, ON], ["CANCELLED", "QUEUED"]),
    "a label is set again by one who may start nobody": Story(
        Waits.ANSWER, [OFF, ("issue", "label by tom")], ["CANCELLED"]
    ),
    "a label is set again on an issue that was closed meanwhile": Story(
        Waits.ANSWER, [CLOSED, REOPENED, OFF, ON], ["CANCELLED", "QUEUED"]
    ),
    "a label is set again after the pull request was merged": Story(
        Waits.REVIEW, [("pull", "merge"), OFF, ON], ["COMPLETED", "QUEUED"]
    ),
    "a label is set again before the pull request is merged": Story(
        Waits.REVIEW, [OFF, ON, ("pull", "merge")], ["CANCELLED", "QUEUED"]
    ),
    "a label is set again on a stopped agent's issue": Story(None, [OFF, ON], ["ESCALATED"]),
    "a stopped agent's issue is closed, opened, and labelled again": Story(
        None, [CLOSED, REOPENED, OFF, ON], ["ESCALATED", "QUEUED"]
    ),
    "a stopped agent's issue is labelled again, closed and opened": Story(
        None, [OFF, ON, CLOSED, REOPENED], ["ESCALATED"]
    ),
    "the only blocker is opened again": Story(
        Waits.BLOCKER, [("one", "close"), ("two", "close"), ("one", "reopen")], ["QUEUED"]
    ),
    "no time sees both blockers closed": Story(
        Waits.BLOCKER, [("one", "close"), ("one", "reopen"), ("two", "close")], ["SLEEPING"]
    ),
    "an agent is stopped and started anew by commands": Story(
        Waits.ANSWER,
        [("issue", "/squadron stop"), ("issue", "/squadron retry")],
        ["CANCELLED", "QUEUED"],
        is_heard_as_said=True,
    ),
}


@dataclass(frozen=True, slots=True)
class Played:
    """How the stories ended, by repository and name."""

    ends: Mapping[tuple[str, str], Sequence[str]]
    histories: Mapping[tuple[str, str], Sequence[Finished]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    files = repository({"docs": {"tests": "none"}})
    with squad(
        tmp_path_factory.mktemp("undone"),
        dict.fromkeys((UNTOLD, REVERSED), files),
        reconciliation_seconds=3600,
        operator={"rate": {"starts_per_user_per_hour": 1_000}},
        options=["--no-worker"],
    ) as team:
        team.service.stop()
        with standing(team) as registry:
            threads = {
                (name, story): _set_up(team, registry, name, number, STORIES[story])
                for name in (UNTOLD, REVERSED)
                for number, story in enumerate(STORIES)
            }
        team.service.start()
        team.settle()
        with team.github.trouble(kind="lost"):
            _all_happens(team, threads)
        commands = [threads[REVERSED, each]["issue"] for each, it in STORIES.items()
                    if it.is_heard_as_said]  # fmt: skip
        for event, payload in reversed(told_of(team, REVERSED)):
            if event != "push" and payload.get("issue", {}).get("number") not in commands:
                assert deliver(team, event, payload, str(uuid.uuid4())).status_code == 202
                team.settle()
        until_quiet(team, UNTOLD)
        found = {
            (name, story): [
                agent
                for agent in team.registry.agents(name, its["issue"])
                if agent.id.role == "docs"
            ]
            for (name, story), its in threads.items()
        }
        yield Played(
            {key: [agent.state.value for agent in agents] for key, agents in found.items()},
            {
                key: [
                    event
                    for agent in agents
                    for event in team.registry.log(agent.id)
                    if isinstance(event, Finished)
                ]
                for key, agents in found.items()
            },
        )


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("name", [UNTOLD, REVERSED])
def test_what_was_undone_ends_as_if_it_had_been_told_at_once(
    played: Played, name: str, story: str
) -> None:
    assert played.ends[name, story] == STORIES[story].ends
    for finished in played.histories[name, story]:
        assert finished.since is not None and finished.since < finished.at, finished


def _set_up(
    team: Squad, registry: Standing, name: str, number: int, story: Story
) -> Mapping[str, int]:
    """The numbers of its threads."""
    labelled = {"title": f"Story {number}", "labels": [LABEL]}
    its = {"issue": _opened(team, f"/repos/{name}/issues", labelled)}
    match story.agent:
        case None:
            sign = marker(AgentId(name, its["issue"], "docs", 1), EffectName.ISSUE)
            here = team.github.sees(f"/repos/{name}")["id"]
            body = escalation_marker(here, its["issue"]) + sign
            asks = {"title": "Stopped", "body": body, "labels": [NEEDS_HUMAN]}
            escalation = _opened(team, f"/repos/{name}/issues", asks, by=None)
            registry.stopped(name, its["issue"], "docs", escalation)
        case Waits.REVIEW:
            branch, clone = f"work-{number}", team.github.clone(name)
            git("switch", "--quiet", "--create", branch, cwd=clone)
            git("commit", "--quiet", "--allow-empty", "--message", branch, cwd=clone)
            git("push", "--quiet", "origin", branch, cwd=clone)
            pull = {"title": branch, "head": branch, "base": "main"}
            its["pull"] = _opened(team, f"/repos/{name}/pulls", pull)
            registry.asleep(name, its["issue"], "docs", Waits.REVIEW, pull_request=its["pull"])
        case Waits.BLOCKER:
            blockers = [key for key in ("one", "two") if any(key == of for of, _ in story.steps)]
            for key in blockers:
                its[key] = _opened(team, f"/repos/{name}/issues", {"title": key})
            numbers = tuple(its[key] for key in blockers)
            registry.asleep(name, its["issue"], "docs", Waits.BLOCKER, blocked_by=numbers)
        case waits_for:
            registry.asleep(name, its["issue"], "docs", waits_for)
    return its


def _opened(team: Squad, path: str, body: Any, by: str | None = "maria") -> int:
    """What no webhook tells of, by a person or by our App; its number."""
    order = {"method": "POST", "path": path, "body": body}
    answer = team.github.orders("silently", order if by is None else {**order, "user": by})
    return int(answer["body"]["number"])


def _all_happens(team: Squad, threads: Mapping[tuple[str, str], Mapping[str, int]]) -> None:
    """A step of each story after the other, so far apart that a label which is set again was
    not just exchanged (`RELABELLED_WITHIN`)."""
    for turn in range(max(len(story.steps) for story in STORIES.values())):
        _later()
        for (name, story), its in threads.items():
            for about, what in STORIES[story].steps[turn : turn + 1]:
                _happens(team, name, its[about], what)


def _later() -> None:
    at = int(time.time()) + 1 + RELABELLED_WITHIN.total_seconds()
    until(lambda: time.time() > at, "a while later")


def _happens(team: Squad, name: str, number: int, what: str) -> None:
    issue = f"/repos/{name}/issues/{number}"
    does = team.github.does
    match what:
        case "label":
            does("maria", "POST", f"{issue}/labels", {"labels": [LABEL]})
        case "label by tom":
            does("tom", "POST", f"{issue}/labels", {"labels": [LABEL]})
        case "unlabel":
            does("maria", "DELETE", f"{issue}/labels/{LABEL}")
        case "close":
            does("maria", "PATCH", issue, {"state": "closed"})
        case "reopen":
            does("maria", "PATCH", issue, {"state": "open"})
        case "merge":
            does("maria", "PUT", f"/repos/{name}/pulls/{number}/merge", {})
        case _:
            does("maria", "POST", f"{issue}/comments", {"body": what})
