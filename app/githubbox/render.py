"""From the box's state to GitHub's JSON: the official example, with the state laid over it.

Of an example only the plain values are used, with its names and hosts replaced by ours; every
nested value is made from the state. So all fields of the real answer are there, and none of them
tells of an example's octocat.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from urllib.parse import quote

from app.githubbox.apps import App
from app.githubbox.data import examples
from app.githubbox.identity import Identity
from app.githubbox.state import (
    CheckRun,
    Comment,
    Issue,
    Json,
    Label,
    Reaction,
    Repository,
    Role,
    Status,
    TimelineEvent,
    User,
)

REPO = "/repos/{owner}/{repo}"
TEAM_MEMBERSHIP = "/orgs/{org}/teams/{team_slug}/memberships/{username}"
ISSUE = f"GET {REPO}/issues/{{issue_number}}"
_EXAMPLE_REPOSITORY = "octocat/Hello-World"
_URL_CHARACTERS = "/?&=#:%+~"
_UNLISTED_EVENTS = {"issue_dependencies", "sub_issues"}
"""The contract's list of an App's events inside webhooks does not know these two."""
_REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")


def instant(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def optional_instant(moment: datetime | None) -> str | None:
    return instant(moment) if moment else None


@cache
def _examples() -> Json:
    return examples()


class Render:
    """Everything that needs no git. `url` is where the box is reached, without a final slash."""

    def __init__(self, identity: Identity, url: str) -> None:
        self.identity = identity
        self.url = url
        self._examples = _examples()

    @property
    def git_url(self) -> str:
        return self.url

    def page_url(self, repository: Repository, rest: str = "") -> str:
        """Where a person looks; what is no URL character in `rest` is encoded."""
        return f"{self.url}/{repository.full_name}{quote(rest, safe=_URL_CHARACTERS)}"

    def api_url(self, repository: Repository, rest: str = "") -> str:
        return f"{self.url}/repos/{repository.full_name}{quote(rest, safe=_URL_CHARACTERS)}"

    def example(
        self,
        operation: str,
        names: Mapping[str, str] | None = None,
        *inside: str | int,
        status: str = "200",
    ) -> Json:
        """Plain values of an official answer, or of what is `inside` it, with `names` replaced."""
        found = self._examples[operation][status]
        for step in inside:
            found = found[step]
        return {
            key: self._ours(value, names or {}) if isinstance(value, str) else value
            for key, value in found.items()
            if not isinstance(value, dict | list)
        }

    def _ours(self, value: str, names: Mapping[str, str]) -> str:
        if "://" not in value and not value.startswith("git"):
            return value
        for theirs in ("https://api.github.com", "http://api.github.com", "https://github.com"):
            value = value.replace(theirs, self.url)
        for theirs, ours in names.items():
            value = value.replace(theirs, ours)
        return value

    # accounts and the App

    def user(self, user: User) -> Json:
        example = self.example(f"GET {REPO}/assignees", {"/octocat": f"/{quote(user.login)}"}, 0)
        return example | {
            "login": user.login,
            "id": user.id,
            "node_id": f"U_{user.id}",
            "avatar_url": f"{self.url}/_box/avatar/{user.id}",
            "type": user.kind,
            "site_admin": False,
        }

    def public_user(self, user: User, repositories: int) -> Json:
        """The account's own page, as GET /users/{username} shows it."""
        return (
            self.example("GET /users/{username}")
            | self.user(user)
            | {
                "name": user.login,
                "company": None,
                "blog": "",
                "location": None,
                "email": None,
                "hireable": None,
                "bio": None,
                "twitter_username": None,
                "public_repos": repositories,
                "public_gists": 0,
                "followers": 0,
                "following": 0,
                "created_at": instant(user.created_at),
                "updated_at": instant(user.created_at),
            }
        )

    def team_membership(self, org: str, slug: str, login: str) -> Json:
        """That somebody is in a team; the box knows no maintainers and no invitations."""
        url = f"{self.url}/orgs/{quote(org)}/teams/{quote(slug)}/memberships/{quote(login)}"
        return {"url": url, "role": "member", "state": "active"}

    def owner(self) -> User:
        """Whom the App is installed for: the owner of the first repository, else its own bot."""
        repositories = self.identity.world.repositories.values()
        return next((one.owner for one in repositories), self.identity.bot)

    def app(self, app: App) -> Json:
        owner = app.owner or self.owner()
        created = instant(owner.created_at)
        return self.example("GET /app") | {
            "id": app.id,
            "slug": app.slug,
            "client_id": f"Iv1.box{app.id}",
            "node_id": f"A_{app.id}",
            "owner": self.user(owner),
            "name": app.name,
            "external_url": app.url,
            "html_url": self.app_url(app),
            "created_at": created,
            "updated_at": created,
            "permissions": dict(app.permissions),
            "events": list(app.events),
        }

    def app_url(self, app: App) -> str:
        """The App's own page, on which it can be installed."""
        return f"{self.url}/apps/{app.slug}"

    def installation(self, further: int | None = None) -> Json:
        """The first one, or the further one of that number."""
        app, number = self.identity.app, further or self.identity.installation_id
        owner = self.identity.further.get(number) or self.owner()
        known = further if further in self.identity.further else None
        suspended_at = self.identity.condition(known).suspended_at
        created = instant(owner.created_at)
        return self.example("GET /app/installations/{installation_id}") | {
            "id": number,
            "account": self.user(owner),
            "access_tokens_url": f"{self.url}/app/installations/{number}/access_tokens",
            "html_url": f"{self.url}/settings/installations/{number}",
            "app_id": app.id,
            "app_slug": app.slug,
            "client_id": f"Iv1.box{app.id}",
            "target_id": owner.id,
            "target_type": "User",
            "permissions": dict(self.identity.granted(known)),
            "events": list(app.events),
            "repository_selection": "all",
            "single_file_name": None,
            "single_file_paths": [],
            "has_multiple_single_files": False,
            "created_at": created,
            "updated_at": created,
            "suspended_at": suspended_at and instant(suspended_at),
            "suspended_by": self.user(owner) if suspended_at else None,
        }

    # repositories

    def repository(self, repository: Repository, role: Role | None = None) -> Json:
        """A repository; with the caller's permissions where the caller has a role."""
        full_name = repository.full_name
        open_issues = sum(issue.state == "open" for issue in repository.issues.values())
        body = self.example(f"GET {REPO}", {_EXAMPLE_REPOSITORY: full_name}) | {
            "id": repository.id,
            "node_id": f"R_{repository.id}",
            "name": repository.name,
            "full_name": full_name,
            "owner": self.user(repository.owner),
            "private": repository.private,
            "fork": repository.parent is not None,
            "visibility": "private" if repository.private else "public",
            "description": None,
            "homepage": None,
            "language": None,
            "license": None,
            "mirror_url": None,
            "topics": [],
            "is_template": False,
            "clone_url": f"{self.git_url}/{full_name}.git",
            "git_url": f"{self.git_url}/{full_name}.git",
            "svn_url": f"{self.url}/{full_name}",
            "archived": repository.archived,
            "has_issues": repository.has_issues,
            "default_branch": repository.default_branch,
            "forks": 0,
            "forks_count": 0,
            "stargazers_count": 0,
            "watchers": 0,
            "watchers_count": 0,
            "size": 0,
            "network_count": 0,
            "subscribers_count": 0,
            "open_issues": open_issues,
            "open_issues_count": open_issues,
            "allow_rebase_merge": False,
            "created_at": instant(repository.created_at),
            "updated_at": instant(repository.created_at),
            "pushed_at": instant(repository.pushed_at),
        }
        del body["temp_clone_token"]
        if role is not None:
            body["permissions"] = {
                "admin": role >= Role.ADMIN,
                "maintain": role >= Role.MAINTAIN,
                "push": role >= Role.WRITE,
                "triage": role >= Role.TRIAGE,
                "pull": True,
            }
        return body

    def label(self, repository: Repository, label: Label) -> Json:
        return self.example(f"GET {REPO}/labels/{{name}}") | {
            "id": label.id,
            "node_id": f"LA_{label.id}",
            "url": self.api_url(repository, f"/labels/{quote(label.name, safe='')}"),
            "name": label.name,
            "description": label.description,
            "color": label.color,
            "default": False,
        }

    def timeline_event(self, repository: Repository, event: TimelineEvent) -> Json:
        """One entry of an issue's timeline."""
        about: Json = {}
        match event.about:
            case Label() as label:
                about = {"label": {"name": label.name, "color": label.color}}
            case User() as user:
                about = {"assignee": self.user(user)}
            case None:
                pass
        return about | {
            "id": event.id,
            "node_id": f"LE_{event.id}",
            "url": self.api_url(repository, f"/issues/events/{event.id}"),
            "actor": self.user(event.actor),
            "event": event.action,
            "commit_id": None,
            "commit_url": None,
            "created_at": instant(event.at),
            "performed_via_github_app": None,
        }

    # issues

    def association(self, repository: Repository, user: User) -> str:
        if user is repository.owner:
            return "OWNER"
        return "COLLABORATOR" if user.role > Role.NONE else "NONE"

    def reactions(self, url: str, reactions: list[Reaction]) -> Json:
        counts = {name: sum(one.content == name for one in reactions) for name in _REACTIONS}
        return {"url": f"{url}/reactions", "total_count": len(reactions), **counts}

    def reaction(self, reaction: Reaction) -> Json:
        return {
            "id": reaction.id,
            "node_id": f"REA_{reaction.id}",
            "user": self.user(reaction.user),
            "content": reaction.content,
            "created_at": instant(reaction.created_at),
        }

    def by_app(self, author: User) -> Json | None:
        if author is not self.identity.bot:
            return None
        app = self.identity.app
        listed = [name for name in app.events if name not in _UNLISTED_EVENTS]
        return self.app(app) | {"events": listed}

    def issue(self, repository: Repository, issue: Issue) -> Json:
        names = {_EXAMPLE_REPOSITORY: repository.full_name, "/1347": f"/{issue.number}"}
        body = self.example(ISSUE, names) | {
            "id": issue.id,
            "node_id": issue.node_id,
            "number": issue.number,
            "state": issue.state,
            "state_reason": issue.state_reason,
            "title": issue.title,
            "body": issue.body,
            "user": self.user(issue.author),
            "labels": [self.label(repository, label) for label in issue.labels],
            "assignee": self.user(issue.assignees[0]) if issue.assignees else None,
            "assignees": [self.user(user) for user in issue.assignees],
            "milestone": None,
            "locked": issue.locked,
            "active_lock_reason": None,
            "comments": len(issue.comments),
            "reactions": self.reactions(
                self.api_url(repository, f"/issues/{issue.number}"), issue.reactions
            ),
            "author_association": self.association(repository, issue.author),
            "performed_via_github_app": self.by_app(issue.author),
            "closed_by": self.user(issue.closed_by) if issue.closed_by else None,
            "created_at": instant(issue.created_at),
            "updated_at": instant(issue.updated_at),
            "closed_at": optional_instant(issue.closed_at),
        }
        body.pop("pinned_comment", None)
        if issue.pull:
            page = self.page_url(repository, f"/pull/{issue.number}")
            body |= {
                "html_url": page,
                "draft": issue.pull.draft,
                "pull_request": {
                    "url": self.api_url(repository, f"/pulls/{issue.number}"),
                    "html_url": page,
                    "diff_url": f"{page}.diff",
                    "patch_url": f"{page}.patch",
                    "merged_at": optional_instant(issue.pull.merged_at),
                },
            }
        return body

    def comment(self, repository: Repository, issue: Issue, comment: Comment) -> Json:
        kind = "pull" if issue.pull else "issues"
        url = self.api_url(repository, f"/issues/comments/{comment.id}")
        body = self.example(f"GET {REPO}/issues/comments/{{comment_id}}") | {
            "id": comment.id,
            "node_id": f"IC_{comment.id}",
            "url": url,
            "html_url": self.page_url(
                repository, f"/{kind}/{issue.number}#issuecomment-{comment.id}"
            ),
            "issue_url": self.api_url(repository, f"/issues/{issue.number}"),
            "body": comment.body,
            "user": self.user(comment.author),
            "author_association": self.association(repository, comment.author),
            "performed_via_github_app": self.by_app(comment.author),
            "reactions": self.reactions(url, comment.reactions),
            "created_at": instant(comment.created_at),
            "updated_at": instant(comment.updated_at),
        }
        body.pop("minimized", None)
        return body

    # checks and statuses

    def app_named(self, slug: str | None) -> Json:
        """The App that made a check run, as `CheckRun.app_slug` names it."""
        other = self.identity.apps.with_slug(slug) if slug else None
        return self.app(other or self.identity.app)

    def check_run(self, repository: Repository, check: CheckRun, pulls: list[Json]) -> Json:
        """A check run; `pulls` are the open pull requests of its commit, in their short form."""
        url = self.api_url(repository, f"/check-runs/{check.id}")
        page = self.page_url(repository, f"/runs/{check.id}")
        return self.example(f"GET {REPO}/check-runs/{{check_run_id}}") | {
            "id": check.id,
            "node_id": f"CR_{check.id}",
            "head_sha": check.head_sha,
            "name": check.name,
            "external_id": check.external_id,
            "url": url,
            "html_url": page,
            "details_url": check.details_url or page,
            "status": check.status,
            "conclusion": check.conclusion,
            "started_at": instant(check.started_at),
            "completed_at": optional_instant(check.completed_at),
            "output": {
                "title": check.title,
                "summary": check.summary,
                "text": check.text,
                "annotations_count": len(check.annotations),
                "annotations_url": f"{url}/annotations",
            },
            "check_suite": {"id": repository.suites[check.head_sha, check.app_slug].id},
            "app": self.app_named(check.app_slug),
            "pull_requests": pulls,
        }

    def status(self, repository: Repository, status: Status) -> Json:
        return {
            "url": self.api_url(repository, f"/statuses/{status.sha}"),
            "avatar_url": f"{self.url}/_box/avatar/{status.creator.id}",
            "id": status.id,
            "node_id": f"SC_{status.id}",
            "state": status.state,
            "description": status.description,
            "target_url": status.target_url,
            "context": status.context,
            "created_at": instant(status.created_at),
            "updated_at": instant(status.created_at),
            "creator": self.user(status.creator),
        }
