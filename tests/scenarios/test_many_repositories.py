"""Many repositories and agents: what one pass of reconciliation costs, and that it misses nothing.

`SQUADRON_TEST_MANY=200x25` plays it with 200 repositories of 25 agents each. Most agents wait for
an answer; in each tenth repository all wait for a review, and another tenth has an escalation that
nobody has decided about yet. The figures are in the service's log.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from app.core.agents.agent import Agent, AgentId, EffectName
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.effects.wanted import NEEDS_HUMAN, escalation_marker, marker
from app.services.configuration.plans import KEPT_FOR
from tests.support.github import GitHub, git
from tests.support.squad import Squad, squad
from tests.support.standing import standing
from tests.support.waiting import MOST_SECONDS, NeverCame, until

pytestmark = pytest.mark.full

REPOSITORIES, AGENTS = map(int, os.environ.get("SQUADRON_TEST_MANY", "36x2").split("x"))
ROLE: Final = "feat-dev"
LABEL: Final = f"squadron:{ROLE}"
STOPPED: Final = "bug-fix"
"""The role of the agents that were stopped."""
MOST_REQUESTS: Final = 999
BESIDE: Final = 1
"""Requests of what goes on beside a pass: who we are, asked once in the life of a process."""
MOST_PASS_SECONDS: Final = MOST_SECONDS + REPOSITORIES * AGENTS / 10
QUICKLY_SECONDS: Final = 10
"""From pass to pass, where a test waits for many of them."""
LONG: Final = 2 * KEPT_FOR + timedelta(seconds=QUICKLY_SECONDS)
"""Within which each configuration would be read again."""
CONFIGURATION: Final = "/contents/.squadron"
MOST_PASSES: Final = 8
"""Within which all that has changed was found, and all that was to be written is written."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """A service whose agents all wait for people."""

    team: Squad
    names: Sequence[str]

    def agents(self, name: str) -> Sequence[Agent]:
        """Of one repository, oldest first."""
        return self.team.registry.agents(name)

    def passes(self) -> list[dict[str, Any]]:
        """What the log says of each pass."""
        return [one for one in self.team.service.lines() if one["message"] == "reconciled"]

    def reconciles_every(self, seconds: int) -> None:
        """Once it is started again."""
        file = self.team.directory / "operator.yaml"
        rules = json.loads(file.read_text())
        file.write_text(json.dumps(rules | {"reconciliation_interval": seconds}))

    def configurations_read(self) -> Counter[str]:
        """How often GitHub was asked for the `.squadron/` of each repository."""
        paths = Counter(one.get("path") for one in self.team.github.exchanges())
        return Counter({name: paths[f"/repos/{name}{CONFIGURATION}"] for name in self.names})

    def requests(self) -> int:
        """What the box was asked for in our App's name, by the pass alone: token requests and
        failed deliveries are looked at beside it."""
        return sum(_is_counted(one) for one in self.team.github.exchanges())


def _is_counted(exchange: dict[str, Any]) -> bool:
    if "webhook" in exchange or exchange["path"].endswith("/access_tokens"):
        return False
    return not exchange["path"].startswith("/app/hook/deliveries")


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    names = [f"octo/many-{number}" for number in range(REPOSITORIES)]
    files = {name: {"README.md": "# Many\n"} for name in names}
    directory = tmp_path_factory.mktemp("many")
    with squad(directory, files, reconciliation_seconds=3600) as team:
        crowd = Crowd(team, names)
        until(crowd.passes, "the first pass", failing=team.check_alive)
        team.service.stop()
        for name in names:
            for number in range(AGENTS):
                issue = {"title": f"Task {number}", "body": "", "labels": [LABEL]}
                team.github.silently("maria", "POST", f"/repos/{name}/issues", issue)
        pulls = {name: _opens_a_pull_request(team.github, name) for name in names[1::10]}
        with standing(team) as registry:
            for name in names:
                waits_for = Waits.REVIEW if name in pulls else Waits.ANSWER
                for number in range(1, AGENTS + 1):
                    registry.asleep(name, number, ROLE, waits_for, pull_request=pulls.get(name))
            for name in names[2::10]:
                registry.stopped(name, 1, STOPPED, _opens_an_escalation(team.github, name))
        yield crowd
        team.service.start()


def _opens_a_pull_request(github: GitHub, name: str) -> int:
    """One that stays open; its number."""
    clone = github.clone(name)
    git("switch", "--quiet", "--create", "work", cwd=clone)
    git("commit", "--quiet", "--allow-empty", "--message", "Work", cwd=clone)
    git("push", "--quiet", "origin", "work", cwd=clone)
    pull = {"title": "Work", "head": "work", "base": "main"}
    github.silently("maria", "POST", f"/repos/{name}/pulls", pull)
    (opened,) = github.lists(f"/repos/{name}/pulls")
    return int(opened["number"])


def _opens_an_escalation(github: GitHub, name: str) -> int:
    """The issue that an agent on the first issue has left to people; its number."""
    sign = escalation_marker(github.sees(f"/repos/{name}")["id"], 1)
    body = sign + marker(AgentId(name, 1, STOPPED, 1), EffectName.ISSUE)
    issue = {"title": "Stopped", "body": body, "labels": [NEEDS_HUMAN]}
    order = {"method": "POST", "path": f"/repos/{name}/issues", "body": issue}
    answer = github.orders("silently", order)  # in our App's name
    return int(answer["body"]["number"])


def one_pass(crowd: Crowd) -> dict[str, Any]:
    """Start the service, which makes one pass at once, and stop it."""
    before = len(crowd.passes())
    crowd.team.service.start()
    until(
        lambda: len(crowd.passes()) > before,
        "a pass",
        within_seconds=MOST_PASS_SECONDS,
        failing=crowd.team.check_alive,
    )
    crowd.team.service.stop()
    return crowd.passes()[before]


def passes(crowd: Crowd, is_enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The pass after which it is enough; each of them has its bound, and tells its cost."""
    for _ in range(MOST_PASSES):
        before = crowd.requests()
        done = one_pass(crowd)
        asked = crowd.requests() - before
        assert done["requests"] <= MOST_REQUESTS, done
        assert abs(done["requests"] - asked) <= BESIDE or done["repairs"], (asked, done)
        assert done["repositories"] + done["put_off"].get("looks", 0) == REPOSITORIES, done
        if is_enough(done):
            return done
    raise AssertionError(f"{MOST_PASSES} passes were not enough: {done}")


def test_a_pass_costs_a_few_requests_for_each_repository_and_says_so(crowd: Crowd) -> None:
    """200 repositories with 5,000 agents cost less than 1,000 requests, whatever they wait for."""
    done = passes(crowd, lambda done: done["repairs"] == 0)
    assert done["agents"] == REPOSITORIES * AGENTS, done
    assert REPOSITORIES > done["looked_at_fully"] > 0, done


def test_what_has_changed_in_any_of_them_is_found(crowd: Crowd) -> None:
    """Whether it is looked at fully or only for what is new."""
    github, labels = crowd.team.github, f"labels/{LABEL}"
    for number, name in enumerate(crowd.names):
        issue = f"/repos/{name}/issues/1"
        match number % 3:
            case 0:
                github.silently("maria", "PATCH", issue, {"state": "closed"})
            case 1:
                github.silently("maria", "DELETE", f"{issue}/{labels}")
            case _:
                body = {"body": "/squadron stop"}
                github.silently("maria", "POST", f"{issue}/comments", body)

    def firsts() -> list[State]:
        return [crowd.agents(name)[0].state for name in crowd.names]

    done = passes(crowd, lambda _: {*firsts()} == {State.CANCELLED})
    assert 0 < done["looked_at_fully"] < REPOSITORIES, done
    others = [agent for name in crowd.names for agent in crowd.agents(name)[1:]]
    states = {agent.state for agent in others if agent.id.role != STOPPED}
    assert states == {State.SLEEPING}


def test_who_has_not_pushed_need_not_be_asked_for_the_configuration(crowd: Crowd) -> None:
    """Nor does a push escape that no webhook told of."""
    team, name = crowd.team, crowd.names[0]
    crowd.reconciles_every(QUICKLY_SECONDS)
    seen = len(crowd.passes())
    team.service.start()
    read = dict[datetime, Counter[str]]()
    """What had been read at the end of each pass that looked at all of them."""

    def asked_for_of_late() -> list[str]:
        """Whose configuration was read within `LONG`; all of them before so much has passed."""
        done = crowd.passes()
        if len(done) == seen or done[-1]["repositories"] < REPOSITORIES:
            return [*crowd.names]
        last = datetime.fromisoformat(done[-1]["at"])
        if last not in read:
            read[last] = crowd.configurations_read()
        before = max((at for at in read if last - at > LONG), default=None)
        return [*crowd.names] if before is None else [*(read[last] - read[before])]

    # Whatever else happens in a repository may ask for its configuration as well.
    try:
        until(
            lambda: len(asked_for_of_late()) <= REPOSITORIES / 10,
            "configurations are not read for a while",
            within_seconds=MOST_PASS_SECONDS + LONG.total_seconds(),
            failing=team.check_alive,
        )
    except NeverCame as never:
        never.add_note(f"read of late: {asked_for_of_late()}; passes: {crowd.passes()[seen:]}")
        raise
    for done in crowd.passes()[seen:]:
        assert done["requests"] <= MOST_REQUESTS, done
    _switches_off(team.github, name)
    until(
        lambda: [
            line
            for line in team.service.lines()
            if line["message"].startswith("switched off") and line["repository"] == name
        ],
        "the push is found",
        within_seconds=MOST_PASS_SECONDS,
        failing=team.check_alive,
    )
    team.service.stop()


def _switches_off(github: GitHub, name: str) -> None:
    """By a push to the default branch that nobody tells of."""
    clone = github.clone(name)
    (clone / ".squadron").mkdir()
    (clone / ".squadron/config.yaml").write_text("enabled: false\n")
    git("switch", "--quiet", "--create", "off", cwd=clone)
    git("add", ".", cwd=clone)
    git("commit", "--quiet", "--message", "Off", cwd=clone)
    git("push", "--quiet", "origin", "off", cwd=clone)
    sha = git("rev-parse", "HEAD", cwd=clone).strip()
    github.silently("maria", "PATCH", f"/repos/{name}/git/refs/heads/main", {"sha": sha})
