"""The webhook payload of each thing that happens."""

from __future__ import annotations

from collections.abc import Callable

from app.githubbox.git import EMPTY_TREE, NOTHING, Commit
from app.githubbox.render import Render, instant
from app.githubbox.render_git import GitRender
from app.githubbox.state import (
    CheckRun,
    Comment,
    Issue,
    Json,
    Label,
    LineComment,
    Pull,
    Repository,
    Review,
    Status,
    User,
)

MAX_PUSH_COMMITS = 50
"""The newest commits of a push that its payload lists (GitHub: 2,048)."""
MAX_STATUS_BRANCHES = 10
"""That hold the commit and that a status names."""
_SUITE_OF_A_RUN = (
    *("id", "node_id", "head_branch", "head_sha", "status", "conclusion", "url"),
    *("before", "after", "pull_requests", "app", "created_at", "updated_at"),
)
Send = Callable[[str, Json], None]


class Events:
    """Makes payloads and hands them to `send`; each method is named after GitHub's event."""

    def __init__(self, render: Render, send: Send) -> None:
        self._render = render
        self._git = GitRender(render)
        self._send = send

    def silenced(self) -> Events:
        """The same, telling nobody: GitHub changed, and no webhook says so."""
        return Events(self._render, lambda event, payload: None)

    def _emit(self, event: str, repository: Repository | None, sender: User, payload: Json) -> None:
        further = repository.installation_id if repository else None
        if repository and not repository.installed:
            return
        number = further or self._render.identity.installation_id
        installation = {"id": number, "node_id": f"IN_{number}"}
        body = payload | {"sender": self._render.user(sender), "installation": installation}
        if repository:
            body["repository"] = self._render.repository(repository)
        self._send(event, body)

    def ping(self, hook_id: int, url: str, sender: User) -> None:
        now = instant(self._render.identity.world.now())
        app = self._render.identity.app
        hook: Json = {
            "type": "App",
            "id": hook_id,
            "name": "web",
            "active": True,
            "events": list(app.events),
            "config": {
                "content_type": "json",
                "insecure_ssl": "0",
                "secret": "********",
                "url": url,
            },
            "created_at": now,
            "updated_at": now,
            "app_id": app.id,
            "deliveries_url": f"{self._render.url}/app/hook/deliveries",
        }
        payload = {"zen": "Keep it logically awesome.", "hook_id": hook_id, "hook": hook}
        self._emit("ping", None, sender, payload)

    def installation(
        self, action: str, repositories: list[Repository], sender: User, further: int | None = None
    ) -> None:
        self._send(
            "installation",
            {
                "action": action,
                "installation": self._render.installation(further),
                "repositories": [_short(one) for one in repositories],
                "requester": None,
                "sender": self._render.user(sender),
            },
        )

    def installation_repositories(
        self, action: str, repositories: list[Repository], sender: User
    ) -> None:
        changed = [_short(one) for one in repositories]
        self._send(
            "installation_repositories",
            {
                "action": action,
                "installation": self._render.installation(),
                "repository_selection": "selected",
                "repositories_added": changed if action == "added" else [],
                "repositories_removed": changed if action == "removed" else [],
                "requester": None,
                "sender": self._render.user(sender),
            },
        )

    def issues(
        self, action: str, repository: Repository, issue: Issue, sender: User, **more: object
    ) -> None:
        payload = {"action": action, "issue": self._render.issue(repository, issue), **more}
        self._emit("issues", repository, sender, payload)

    def issue_comment(
        self,
        action: str,
        repository: Repository,
        issue: Issue,
        comment: Comment,
        sender: User,
        **more: object,
    ) -> None:
        self._emit(
            "issue_comment",
            repository,
            sender,
            {
                "action": action,
                "issue": self._render.issue(repository, issue),
                "comment": self._render.comment(repository, issue, comment),
                **more,
            },
        )

    def issue_dependencies(
        self, action: str, repository: Repository, blocked: Issue, blocking: Issue, sender: User
    ) -> None:
        self._emit(
            "issue_dependencies",
            repository,
            sender,
            {
                "action": action,
                "blocked_issue_id": blocked.id,
                "blocked_issue": self._render.issue(repository, blocked),
                "blocking_issue_id": blocking.id,
                "blocking_issue": self._render.issue(repository, blocking),
                "blocking_issue_repo": self._render.repository(repository),
                "organization": self._organization(repository),
            },
        )

    def _organization(self, repository: Repository) -> Json:
        """The owner as an organization, which GitHub's contract demands of this event alone."""
        owner = repository.owner
        url = f"{self._render.url}/orgs/{owner.login}"
        links = ("repos", "events", "hooks", "issues", "members", "public_members")
        return {
            "login": owner.login,
            "id": owner.id,
            "node_id": f"O_{owner.id}",
            "url": url,
            "avatar_url": f"{self._render.url}/_box/avatar/{owner.id}",
            "description": None,
            **{f"{name}_url": f"{url}/{name}" for name in links},
        }

    async def thread(
        self, action: str, repository: Repository, issue: Issue, sender: User, **more: object
    ) -> None:
        """`issues` or `pull_request`, whichever the number is."""
        if issue.pull:
            await self.pull_request(action, repository, issue, issue.pull, sender, **more)
        else:
            self.issues(action, repository, issue, sender, **more)

    async def pull_request(
        self,
        action: str,
        repository: Repository,
        issue: Issue,
        pull: Pull,
        sender: User,
        **more: object,
    ) -> None:
        body = await self._git.full_pull(repository, issue, pull, mergeable=None)
        self._emit(
            "pull_request",
            repository,
            sender,
            {
                "action": action,
                "number": issue.number,
                "pull_request": body,
                **more,
            },
        )

    async def pull_request_review(
        self,
        action: str,
        repository: Repository,
        issue: Issue,
        pull: Pull,
        review: Review,
        sender: User,
        **more: object,
    ) -> None:
        body = self._git.review(repository, issue, review)
        self._emit(
            "pull_request_review",
            repository,
            sender,
            {
                "action": action,
                "pull_request": await self._git.pull(repository, issue, pull),
                # webhooks write the state of a review in small letters, REST in capitals
                "review": body | {"state": review.state.lower()},
                **more,
            },
        )

    async def pull_request_review_comment(
        self,
        action: str,
        repository: Repository,
        issue: Issue,
        pull: Pull,
        line: LineComment,
        sender: User,
        **more: object,
    ) -> None:
        self._emit(
            "pull_request_review_comment",
            repository,
            sender,
            {
                "action": action,
                "pull_request": await self._git.pull(repository, issue, pull),
                "comment": self._git.line_comment(repository, issue, line),
                **more,
            },
        )

    async def check_run(
        self, action: str, repository: Repository, check: CheckRun, sender: User, **more: object
    ) -> None:
        pulls = await self._git.short_pulls(repository, check.head_sha)
        body = self._render.check_run(repository, check, pulls)
        whole = await self._git.suite(repository, repository.suites[check.head_sha, check.app_slug])
        suite = {name: whole[name] for name in _SUITE_OF_A_RUN}
        payload = {"action": action, "check_run": body | {"check_suite": suite}, **more}
        self._emit("check_run", repository, sender, payload)

    def repository(self, action: str, repository: Repository, sender: User, changes: Json) -> None:
        payload = {"action": action, "changes": changes}
        self._emit("repository", repository, sender, payload)

    async def status(self, repository: Repository, status: Status) -> None:
        commit = self._git.commit(repository, await repository.git.commit(status.sha))
        refs = (await repository.git.refs()).items()
        heads = [
            ref.removeprefix("refs/heads/")
            for ref, sha in refs
            if ref.startswith("refs/heads/") and await repository.git.contains(sha, status.sha)
        ]
        body = self._render.status(repository, status)
        kept = ("id", "target_url", "context", "description", "state", "created_at", "updated_at")
        url = self._render.api_url(repository, f"/commits/{status.sha}")
        self._emit(
            "status",
            repository,
            status.creator,
            {name: body[name] for name in kept}
            | {
                "sha": status.sha,
                "name": repository.full_name,
                "commit": commit,
                "branches": [
                    {"name": name, "commit": {"sha": status.sha, "url": url}, "protected": False}
                    for name in heads[:MAX_STATUS_BRANCHES]
                ],
            },
        )

    def label(self, action: str, repository: Repository, label: Label, sender: User) -> None:
        payload = {"action": action, "label": self._render.label(repository, label)}
        self._emit("label", repository, sender, payload)

    async def push(
        self, repository: Repository, ref: str, before: str, after: str, sender: User
    ) -> None:
        created, deleted = before == NOTHING, after == NOTHING
        forced = not created and not deleted and not await repository.git.contains(after, before)
        commits: tuple[Commit, ...] = ()
        if not deleted:
            others = [
                f"^{sha}" for name, sha in (await repository.git.refs()).items() if name != ref
            ]
            known = others if created else [f"^{before}"]
            commits = await repository.git.log(after, *known, limit=MAX_PUSH_COMMITS)
        described = [await self._pushed(repository, one) for one in reversed(commits)]
        head = (
            None if deleted else await self._pushed(repository, await repository.git.commit(after))
        )
        span = f"{before[:12]}...{after[:12]}"
        self._emit(
            "push",
            repository,
            sender,
            {
                "ref": ref,
                "before": before,
                "after": after,
                "created": created,
                "deleted": deleted,
                "forced": forced,
                "base_ref": None,
                "commits": described,
                "head_commit": head,
                "compare": self._render.page_url(repository, f"/compare/{span}"),
                "pusher": {"name": sender.login, "email": address(sender)},
            },
        )

    async def _pushed(self, repository: Repository, commit: Commit) -> Json:
        parent = commit.parents[0] if commit.parents else EMPTY_TREE
        files = await repository.git.changes(parent, commit.sha)
        return {
            "id": commit.sha,
            "tree_id": commit.tree,
            "distinct": True,
            "message": commit.message,
            "timestamp": commit.committer.date,
            "url": self._render.page_url(repository, f"/commit/{commit.sha}"),
            "author": {"name": commit.author.name, "email": commit.author.email},
            "committer": {"name": commit.committer.name, "email": commit.committer.email},
            "added": [one.path for one in files if one.status == "added"],
            "removed": [one.path for one in files if one.status == "removed"],
            "modified": [one.path for one in files if one.status not in ("added", "removed")],
        }


def _short(repository: Repository) -> Json:
    return {
        "id": repository.id,
        "node_id": f"R_{repository.id}",
        "name": repository.name,
        "full_name": repository.full_name,
        "private": repository.private,
    }


def address(user: User) -> str:
    """The no-reply address under which GitHub commits in that account's name."""
    return f"{user.id}+{user.login}@users.noreply.github.com"
