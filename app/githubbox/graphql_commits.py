"""Commits in GraphQL, and what checks and statuses say of them."""

from __future__ import annotations

from collections.abc import Callable

from app.githubbox.git import Commit, Signature
from app.githubbox.graphql_accounts import account
from app.githubbox.graphql_pages import Info, Node, page
from app.githubbox.render import instant, optional_instant
from app.githubbox.render_git import GitRender, utc
from app.githubbox.state import CheckRun, CheckSuite, Repository, Status
from app.githubbox.suites import latest_runs, outcome

_FAILED = {"FAILURE", "TIMED_OUT", "CANCELLED", "ACTION_REQUIRED", "ERROR", "STALE"}


class Commits:
    """Commits as everybody sees them who sees their repository."""

    def __init__(self, git: GitRender) -> None:
        self._git, self._render = git, git.plain

    def of_pull(self, repository: Repository, commit: Commit) -> Node:
        return {"id": f"PRC_{commit.sha}", "commit": self.commit(repository, commit)}

    def commit(self, repository: Repository, commit: Commit) -> Node:
        headline, _, rest = commit.message.partition("\n")
        return {
            "__typename": "Commit",
            "id": f"C_{commit.sha}",
            "oid": commit.sha,
            "authoredDate": _date(commit.author),
            "committedDate": _date(commit.committer),
            "authors": lambda info, **asked: page(info, [commit.author], asked, self._author),
            "messageHeadline": headline,
            "messageBody": rest.strip(),
            "url": self._render.page_url(repository, f"/commit/{commit.sha}"),
            "statusCheckRollup": lambda _: self.rollup(repository, commit.sha),
        }

    def _author(self, signature: Signature) -> Node:
        user = self._git.account(signature)
        known = user if user and user.kind == "User" else None
        return {
            "name": signature.name,
            "email": signature.email,
            "date": _date(signature),
            "user": account(self._render, known) if known else None,
        }

    def rollup(self, repository: Repository, sha: str) -> Node | None:
        """All checks and statuses of a commit, and what they come to; None where there are none."""
        contexts = [
            self._check(repository, suite, run)
            for suite in repository.suites.values()
            if suite.head_sha == sha
            for run in latest_runs(repository, suite)
        ]
        latest = {one.context: one for one in repository.statuses if one.sha == sha}
        contexts += [_status(repository, one) for one in latest.values()]
        if not contexts:
            return None
        states = {str(one.get("conclusion") or one.get("state") or "PENDING") for one in contexts}
        state = "SUCCESS"
        if "PENDING" in states:
            state = "PENDING"
        if states & _FAILED:
            state = "FAILURE"
        return {
            "id": f"SCR_{sha}",
            "state": state,
            "contexts": lambda info, **asked: page(info, contexts, asked, lambda one: one),
        }

    def _check(self, repository: Repository, suite: CheckSuite, run: CheckRun) -> Node:
        render = self._render
        shown = render.check_run(repository, run, [])
        app = render.app_named(suite.app_slug)
        status, conclusion = outcome(latest_runs(repository, suite))
        return {
            "__typename": "CheckRun",
            "id": shown["node_id"],
            "databaseId": run.id,
            "name": run.name,
            "isRequired": _is_required(repository, run.name),
            "status": run.status.upper(),
            "conclusion": run.conclusion.upper() if run.conclusion else None,
            "startedAt": instant(run.started_at),
            "completedAt": optional_instant(run.completed_at),
            "detailsUrl": shown["details_url"],
            "url": shown["html_url"],
            "title": run.title,
            "summary": run.summary,
            "checkSuite": {
                "id": f"CS_{suite.id}",
                "databaseId": suite.id,
                "status": status.upper(),
                "conclusion": conclusion.upper() if conclusion else None,
                "app": {"id": app["node_id"], "name": app["name"], "slug": app["slug"]},
                "workflowRun": None,
            },
        }


def _is_required(repository: Repository, name: str) -> Callable[..., bool]:
    """Whether a pull request is not merged without the check of that name."""

    def answer(
        _: Info, pullRequestId: str | None = None, pullRequestNumber: int | None = None
    ) -> bool:
        return any(
            name in repository.required.get(pull.base, ())
            for issue, pull in repository.pulls()
            if pullRequestId == issue.node_id or pullRequestNumber == issue.number
        )

    return answer


def _date(signature: Signature) -> str:
    return instant(utc(signature))


def _status(repository: Repository, status: Status) -> Node:
    return {
        "__typename": "StatusContext",
        "id": f"SC_{status.id}",
        "context": status.context,
        "state": status.state.upper(),
        "isRequired": _is_required(repository, status.context),
        "description": status.description,
        "targetUrl": status.target_url,
        "createdAt": instant(status.created_at),
    }
