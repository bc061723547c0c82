"""What the demo's person does, and what must come of it.

The verdict is computed from the registry and from what the box's REST interface answers, never
from what the service says about itself. So it fails if any enforcement layer is switched off.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx

from app.cli.demo.stage import PERSON, REPOSITORY, Stage
from app.core.agents.events import Slept, Waits, Woken
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer
from app.core.limits import LimitName
from app.core.words.report import Report
from app.scripted.demo import BLOCKED, BUG, HOPELESS, NEVER, SLEEPER, THINKER
from app.services.views import Json, report_json

REPO: Final = f"/repos/{REPOSITORY}"


@dataclass(frozen=True, slots=True)
class Seen:
    """One agent as the registry and GitHub show it."""

    report: Report
    log_kinds: Sequence[object]
    issue: Json
    pull: Json | None
    comments: Sequence[Json]
    checks: Sequence[Json]
    escalations: Sequence[Json]

    def as_json(self) -> Json:
        """AGENT with its `urls` (EXAMPLES, `squadron demo --json`)."""
        urls = {
            "issue": self.issue["html_url"],
            "pull_request": self.pull["html_url"] if self.pull else None,
            "comments": [comment["html_url"] for comment in self.comments],
            "checks": [
                {
                    "name": check["name"],
                    "conclusion": check["conclusion"],
                    "url": check["html_url"],
                }
                for check in self.checks
            ],
            "escalation_issues": [issue["html_url"] for issue in self.escalations],
        }
        return {**report_json(self.report), "urls": urls}


@dataclass(frozen=True, slots=True)
class Story:
    """One issue of the demo, and what must have become of it in the end."""

    title: str
    body: str
    label: str
    shows: str
    """What a visitor sees here."""
    wrong: Callable[[Seen], str]
    """What is not as it should be; empty when all is well."""


def _merged(seen: Seen) -> str:
    if seen.report.agent.state is not State.COMPLETED:
        return f"is {seen.report.agent.state}, not COMPLETED"
    if seen.pull is None or not seen.pull["merged"]:
        return "its pull request is not merged"
    if f"Fixes #{seen.report.agent.id.issue}" not in str(seen.pull["body"]):
        return "its pull request does not say which issue it fixes"
    conclusions = [check["conclusion"] for check in seen.checks]
    if not conclusions or set(conclusions) != {"success"}:
        return f"its check says {conclusions}"
    return ""


def _slept_and_merged(seen: Seen) -> str:
    slept = [event for event in seen.log_kinds if isinstance(event, Slept)]
    if not any(event.waits_for is Waits.BLOCKER and event.blocked_by == (1,) for event in slept):
        return "it never slept for #1"
    if not any(isinstance(event, Woken) for event in seen.log_kinds):
        return "it was never woken"
    return _merged(seen)


def _escalated(limit: LimitName, layer: Layer) -> Callable[[Seen], str]:
    def wrong(seen: Seen) -> str:
        trip = seen.report.agent.trip
        if seen.report.agent.state is not State.ESCALATED or trip is None:
            return f"is {seen.report.agent.state}, not ESCALATED"
        if (trip.limit, trip.layer) != (limit, layer):
            return f"was stopped by {trip.limit} ({trip.layer}), not {limit} ({layer})"
        conclusions = [check["conclusion"] for check in seen.checks]
        if conclusions != ["failure"]:
            return f"its check says {conclusions}, not one failure"
        if len(seen.comments) != 1:
            return f"{len(seen.comments)} comments, not one"
        if len(seen.escalations) != 1:
            return f"{len(seen.escalations)} needs-human issues, not one"
        return ""

    return wrong


STORIES: Final = (
    Story(
        BUG,
        "`area(3, 4)` gives 7. The tests know better.",
        "bug",
        "a bug is fixed, a person merges",
        _merged,
    ),
    Story(
        HOPELESS,
        "It must be exact, and it must be a float.",
        "squadron:feat-dev",
        "fix, test, fail: the pre-tool hook stops it",
        _escalated(LimitName.MAX_ITERATIONS, Layer.HOOK),
    ),
    Story(
        THINKER,
        "Take your time.",
        "squadron:architect",
        "thinks and calls nothing: the timer stops it",
        _escalated(LimitName.MAX_ACTIVE_DURATION, Layer.TIMER),
    ),
    Story(
        BLOCKED,
        "Needs #1.",
        "squadron:docs",
        "sleeps until #1 is closed, then finishes",
        _slept_and_merged,
    ),
    Story(
        SLEEPER,
        "Needs #6.",
        "squadron:release",
        "waits for what never happens: reconciliation stops it",
        _escalated(LimitName.MAX_SLEEP_DURATION, Layer.RECONCILIATION),
    ),
)


class Person:
    """Maria, at work in the box's REST interface as she would be on GitHub."""

    def __init__(self, stage: Stage) -> None:
        self._github = stage.person

    def open_issues(self) -> None:
        """Open all issues first, so that their numbers are known, then label them."""
        for story in STORIES:
            self._post(f"{REPO}/issues", {"title": story.title, "body": story.body})
        self._post(f"{REPO}/issues", {"title": NEVER, "body": "Some day."})
        for number, story in enumerate(STORIES, 1):
            self._post(f"{REPO}/issues/{number}/labels", {"labels": [story.label]})

    def merge_what_is_ready(self, reports: Mapping[int, Report]) -> None:
        """Merge each pull request that is handed over; the one of #1 once #4 waits for it."""
        sleeper = reports.get(4)
        for number, view in reports.items():
            agent = view.agent
            if agent.pull_request is None or agent.waits_for is not Waits.REVIEW:
                continue
            if number == 1 and (sleeper is None or sleeper.agent.waits_for is not Waits.BLOCKER):
                continue
            merge = self._github.put(f"{REPO}/pulls/{agent.pull_request}/merge", json={})
            if merge.status_code not in (200, 405):
                merge.raise_for_status()

    def look(self, view: Report, log_kinds: Sequence[object]) -> Seen:
        """Everything that is on GitHub about one agent."""
        agent = view.agent
        number = agent.id.issue
        bot = f"{self._slug()}[bot]"
        checks: list[Json] = []
        if agent.sha is not None:
            runs = self._get(f"{REPO}/commits/{agent.sha}/check-runs")["check_runs"]
            checks = [run for run in runs if run["name"] == f"squadron/{agent.id.role}"]
        pulls: list[Json] = []
        if agent.pull_request is not None:
            pulls = [self._get(f"{REPO}/pulls/{agent.pull_request}")]
        escalations = self._get(f"{REPO}/issues?labels=needs-human&state=open&per_page=100")
        comments = self._get(f"{REPO}/issues/{number}/comments?per_page=100")
        return Seen(
            report=view,
            log_kinds=log_kinds,
            issue=self._get(f"{REPO}/issues/{number}"),
            pull=pulls[0] if pulls else None,
            comments=[comment for comment in comments if comment["user"]["login"] == bot],
            checks=checks,
            escalations=[issue for issue in escalations if f" (#{number}, " in issue["title"]],
        )

    def _slug(self) -> str:
        return "squadron-box"

    def _get(self, path: str) -> Any:
        return self._github.get(path).raise_for_status().json()

    def _post(self, path: str, content: Json) -> httpx.Response:
        return self._github.post(path, json=content).raise_for_status()


def at_rest(reports: Mapping[int, Report]) -> bool:
    """Whether every story has an agent, and none of them will move by itself any more."""
    return len(reports) == len(STORIES) and all(view.agent.is_final for view in reports.values())


__all__ = ["PERSON", "STORIES", "Person", "Seen", "Story", "at_rest"]
