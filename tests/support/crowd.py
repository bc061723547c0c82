"""A service with many repositories whose agents all wait for people, as on any day of a large
organization.

In each tenth repository all wait for a review, and another tenth has an escalation that nobody has
decided about yet; all others wait for an answer.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from app.core.agents.agent import Agent, AgentId, EffectName
from app.core.agents.events import Waits
from app.core.effects.wanted import NEEDS_HUMAN, escalation_marker, marker
from tests.support.github import GitHub, git
from tests.support.squad import Squad, squad
from tests.support.standing import standing
from tests.support.waiting import until

ROLE: Final = "feat-dev"
LABEL: Final = f"squadron:{ROLE}"
STOPPED: Final = "bug-fix"
"""The role of the agents that were stopped."""
CONFIGURATION: Final = "/contents/.squadron"
MOST_PASS_SECONDS: Final = 600.0
LONG_AGO: Final = timedelta(hours=30)
"""When they began to wait: what was to be told of that is taken as told."""


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

    def one_pass(self) -> dict[str, Any]:
        """Start the service, which makes one pass at once; what it says of that."""
        before = len(self.passes())
        self.team.service.start()
        return self.next_pass(before)

    def next_pass(self, before: int) -> dict[str, Any]:
        """What the service says of the pass after so many."""
        until(
            lambda: len(self.passes()) > before,
            "a pass",
            within_seconds=MOST_PASS_SECONDS,
            failing=self.team.check_alive,
        )
        return self.passes()[before]

    def falls_asleep(self, agents: int) -> None:
        """So many agents in each repository begin to wait; the service does not run."""
        github = self.team.github
        for name in self.names:
            for number in range(agents):
                issue = {"title": f"Task {number}", "body": "", "labels": [LABEL]}
                github.silently("maria", "POST", f"/repos/{name}/issues", issue)
        pulls = {name: _opens_a_pull_request(github, name) for name in self.names[1::10]}
        with standing(self.team, datetime.now(UTC) - LONG_AGO) as registry:
            for name in self.names:
                waits_for = Waits.REVIEW if name in pulls else Waits.ANSWER
                for number in range(1, agents + 1):
                    registry.asleep(name, number, ROLE, waits_for, pull_request=pulls.get(name))
            for name in self.names[2::10]:
                registry.stopped(name, 1, STOPPED, _opens_an_escalation(github, name))


@contextmanager
def crowd(directory: Path, repositories: int) -> Iterator[Crowd]:
    """Of repositories in which nobody waits yet; its service has made a pass, and is stopped."""
    names = [f"octo/many-{number}" for number in range(repositories)]
    files = {name: {"README.md": "# Many\n"} for name in names}
    with squad(directory, files, reconciliation_seconds=3600) as team:
        found = Crowd(team, names)
        until(
            found.passes,
            "the first pass",
            within_seconds=MOST_PASS_SECONDS,
            failing=team.check_alive,
        )
        team.service.stop()
        yield found
        team.service.start()


def _is_counted(exchange: dict[str, Any]) -> bool:
    if "webhook" in exchange or exchange["path"].endswith("/access_tokens"):
        return False
    return not exchange["path"].startswith("/app/hook/deliveries")


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
