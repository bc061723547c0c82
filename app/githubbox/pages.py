"""What a person sees in a browser: repositories, issues, pull requests, checks and diffs.

Whoever sits at the machine may see everything; the pages load nothing, and change nothing:
what their forms ask for `registration.py` and `talk.py` do.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote

import jinja2
from starlette.requests import Request
from starlette.responses import Response

from app.githubbox.git import EMPTY_TREE
from app.githubbox.markdown import to_html
from app.githubbox.moves import closes
from app.githubbox.render import Render
from app.githubbox.render_git import pull_changes
from app.githubbox.state import CheckRun, Label, Repository, Role, User, World

MAX_SHOWN_BYTES = 200_000
_RESERVED = {"repos", "app", "installation", "users", "rate_limit", "app-manifests", "_box"}
_ICONS = {
    "success": "✓",
    "failure": "✗",
    "timed_out": "✗",
    "cancelled": "⊘",
    "action_required": "!",
    "neutral": "▪",
    "skipped": "▪",
    "stale": "▪",
}


@dataclass(frozen=True, slots=True)
class View:
    """One request for a page of one repository."""

    repository: Repository
    rest: Mapping[str, str]


class Pages:
    def __init__(self, world: World, render: Render) -> None:
        self._world, self._render = world, render
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("app.githubbox"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        self._templates.filters |= {"ago": self._ago, "ink": ink, "diff": diff_lines}
        self._templates.globals |= {"icon": icon, "avatar": self._avatar}
        repository = r"/(?P<owner>[^/]+)/(?P<repo>[^/]+)"
        self._views: list[tuple[re.Pattern[str], Callable[[View], Awaitable[str | None]]]] = [
            (re.compile(repository + rest), view)
            for rest, view in (
                (r"(?:/issues|/pulls|/tree/.*)?/?", self._repository),
                (r"/(?:issues|pull)/(?P<number>\d+)", self._thread),
                (r"/runs/(?P<number>\d+)", self._run),
                (r"/commit/(?P<sha>[0-9a-f]{7,40})", self._commit),
                (r"/compare/(?P<base>.+?)\.\.\.(?P<head>.+)", self._compare),
                (r"/blob/(?P<ref>[^/]+)/(?P<path>.+)", self._blob),
            )
        ]

    async def answer(self, request: Request, raw_path: str) -> Response | None:
        """The page at that path; None when no page has it."""
        live = request.query_params.get("live") == "1"
        if raw_path == "/":
            return self._page(await self._index(), live)
        path = unquote(raw_path)
        person = self._world.user(path.strip("/"))
        if person:
            return self._page(
                self._templates.get_template("person.html").render(
                    person=person, repositories=self._world.repositories.values()
                ),
                live,
            )
        for pattern, view in self._views:
            match = pattern.fullmatch(path)
            if match is None or match["owner"] in _RESERVED:
                continue
            repository = self._world.repository(f"{match['owner']}/{match['repo']}")
            shown = await view(View(repository, match.groupdict())) if repository else None
            return None if shown is None else self._page(shown, live)
        return None

    def page(self, template: str, status: int = 200, **values: object) -> Response:
        """A page that belongs to no repository."""
        text = self._templates.get_template(template).render(**values)
        return self._page(text, live=False, status=status)

    @staticmethod
    def _page(text: str, live: bool, status: int = 200) -> Response:
        headers = {
            "Content-Security-Policy": (
                "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"
            )
        }
        if live:
            headers["Refresh"] = "2"
        return Response(text, status, headers, "text/html")

    async def _index(self) -> str:
        return self._templates.get_template("index.html").render(
            repositories=self._world.repositories.values(),
            people=self._world.users.values(),
            url=self._render.url,
        )

    async def _repository(self, view: View) -> str:
        repository = view.repository
        refs = await repository.git.refs()
        branches = [
            (ref.removeprefix("refs/heads/"), await repository.git.commit(sha))
            for ref, sha in refs.items()
            if ref.startswith("refs/heads/")
        ]
        newest = sorted(repository.issues.values(), key=lambda one: -one.number)
        return self._show(
            repository,
            "repository.html",
            issues=newest,
            branches=branches,
            checks=_latest_checks(repository),
        )

    async def _thread(self, view: View) -> str | None:
        """An issue or a pull request: one page, as they are one thing to GitHub."""
        repository = view.repository
        issue = repository.issues.get(int(view.rest["number"]))
        if issue is None:
            return None
        changes, head, pull = None, None, issue.pull
        if pull:
            changes = await pull_changes(repository, issue, pull)
            linked = closes(repository, issue.body or "")
            head = pull.last_head_sha
        else:
            linked = [
                other
                for other in repository.issues.values()
                if other.pull and issue in closes(repository, other.body or "")
            ]
        mention = re.compile(rf"#{issue.number}\b")
        mentions = [
            other
            for other in repository.issues.values()
            if other is not issue
            and other not in linked
            and mention.search(f"{other.title}\n{other.body or ''}")
        ]
        # As on GitHub, an issue shows no checks: they stand on its pull request.
        checks = [one for one in _latest_checks(repository) if one.head_sha == head]
        return self._show(
            repository,
            "thread.html",
            issue=issue,
            pull=pull,
            changes=changes,
            linked=linked,
            mentions=mentions,
            checks=checks,
            people=self._people(repository),
        )

    async def _run(self, view: View) -> str | None:
        check = view.repository.checks.get(int(view.rest["number"]))
        if check is None:
            return None
        return self._show(view.repository, "run.html", check=check)

    async def _commit(self, view: View) -> str | None:
        git = view.repository.git
        sha = await git.resolve(view.rest["sha"])
        if sha is None:
            return None
        commit = await git.commit(sha)
        files = await git.changes(commit.parents[0] if commit.parents else EMPTY_TREE, sha)
        return self._show(
            view.repository,
            "commit.html",
            commits=[commit],
            files=files,
            title=commit.message.partition("\n")[0],
        )

    async def _compare(self, view: View) -> str | None:
        git = view.repository.git
        base, head = [await git.resolve(view.rest[name]) for name in ("base", "head")]
        if base is None or head is None:
            return None
        changes = await git.compare(base, head)
        return self._show(
            view.repository,
            "commit.html",
            commits=changes.commits,
            files=changes.files,
            title=f"{view.rest['base']}...{view.rest['head']}",
        )

    async def _blob(self, view: View) -> str | None:
        git = view.repository.git
        sha = await git.resolve(view.rest["ref"])
        entries = await git.entries(sha, view.rest["path"]) if sha else []
        if len(entries) != 1 or entries[0].kind != "blob":
            return None
        content = (await git.blob(entries[0].sha))[:MAX_SHOWN_BYTES]
        return self._show(
            view.repository,
            "blob.html",
            path=view.rest["path"],
            text=content.decode(errors="replace"),
        )

    def _show(self, repository: Repository, template: str, **values: object) -> str:
        base = f"/{repository.full_name}"
        return self._templates.get_template(template).render(
            repository=repository, base=base, markdown=lambda text: to_html(text, base), **values
        )

    def _people(self, repository: Repository) -> list[User]:
        """Who may be spoken as, first those that agents listen to."""
        found = [one for one in self._world.users.values() if one.kind == "User"]
        return sorted(found, key=lambda one: repository.role(one) < Role.WRITE)

    @staticmethod
    def _avatar(user_id: int) -> str:
        return f"/_box/avatar/{user_id}"

    def _ago(self, moment: datetime) -> str:
        """How long ago that was, in the largest fitting unit."""
        seconds = max(0, int((self._world.now() - moment).total_seconds()))
        for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
            if seconds >= length:
                amount = seconds // length
                return f"{amount} {unit}{'s' if amount > 1 else ''} ago"
        return "just now" if seconds < 5 else f"{seconds} seconds ago"


def _latest_checks(repository: Repository) -> list[CheckRun]:
    """The latest check run of each name and commit, newest first."""
    latest = {(one.head_sha, one.name): one for one in repository.checks.values()}
    return sorted(latest.values(), key=lambda one: -one.id)


def icon(check: CheckRun) -> str:
    return _ICONS.get(check.conclusion or "", "●")


def ink(label: Label) -> str:
    """Black or white, whichever can be read on the label's colour."""
    red, green, blue = (int(label.color[at : at + 2], 16) for at in (0, 2, 4))
    return "#1f2328" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def diff_lines(patch: str | None) -> list[tuple[str, str]]:
    """The lines of a patch, each with the name of its kind."""
    kinds = {"+": "added", "-": "removed", "@": "hunk", "\\": "note"}
    return [(kinds.get(line[:1], "same"), line) for line in (patch or "").split("\n") if line]
