"""Check suites: the runs of one App on one commit, and what they come to together."""

from __future__ import annotations

from typing import Final

from app.githubbox.state import CheckRun, CheckSuite, Repository, World

_WORST_FIRST: Final = (
    *("failure", "timed_out", "cancelled", "action_required", "stale"),
    *("success", "neutral", "skipped"),
)


def add_check(world: World, repository: Repository, check: CheckRun) -> None:
    """Keep a new run, in the suite of its App."""
    suite(world, repository, check.head_sha, check.app_slug)
    repository.checks[check.id] = check


def suite(world: World, repository: Repository, sha: str, app_slug: str | None) -> CheckSuite:
    """The suite of an App, as `CheckRun.app_slug` names it, on a commit; made if there is none."""
    known = repository.suites.get((sha, app_slug))
    if known is None:
        known = CheckSuite(world.next_id(), sha, app_slug, world.now())
        repository.suites[sha, app_slug] = known
    return known


def latest_runs(repository: Repository, of: CheckSuite) -> list[CheckRun]:
    """The newest run of each name."""
    latest = {
        one.name: one
        for one in repository.checks.values()
        if (one.head_sha, one.app_slug) == (of.head_sha, of.app_slug)
    }
    return list(latest.values())


def outcome(runs: list[CheckRun]) -> tuple[str, str | None]:
    """Status and conclusion of a suite: queued until a run has begun, then the worst of all runs
    once they have completed."""
    if all(one.status == "queued" for one in runs):
        return "queued", None
    if any(one.status != "completed" for one in runs):
        return "in_progress", None
    concluded = {one.conclusion for one in runs}
    return "completed", next(each for each in _WORST_FIRST if each in concluded)
