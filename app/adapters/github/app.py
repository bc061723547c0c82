"""The `GitHub` port over REST."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

from pydantic import SecretStr

from app.adapters.github import drafts, edits, reading
from app.adapters.github.at import At
from app.adapters.github.call import OLDEST_FIRST, Call, Query, second
from app.adapters.github.checks import Checks
from app.adapters.github.configuration import DIRECTORY, KeptContents, configuration
from app.adapters.github.connection import Connection
from app.adapters.github.hook import AppHook
from app.adapters.github.own_comments import OwnComments
from app.adapters.github.pulls import PullRequests
from app.adapters.github.spending import counted
from app.adapters.github.tokens import Scope
from app.core.github.timeline import Mark
from app.core.rules.trust import Permission
from app.core.steering.feedback import Review
from app.core.text.redact import Redactor
from app.ports import (
    Clock,
    Edit,
    GitHubFailed,
    Issue,
    Listed,
    NoAccess,
    Pacing,
    Posted,
    Reaction,
    Refused,
    Repository,
    RepositoryInfo,
    Said,
    Spent,
)

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport


class GitHubApp(Checks, PullRequests):
    """GitHub as one App sees it. Use one instance on one event loop only.

    Every request is made once and takes at most half a minute; a list is read to its end. Tokens
    are narrowed to one repository and one purpose; git gets them by `token`.
    """

    def __init__(
        self,
        app_id: int,
        private_keys: Sequence[SecretStr],
        api_url: str,
        clock: Clock,
        transport: "AsyncBaseTransport | None" = None,
        pacing: Pacing | None = None,
        redact: Redactor | None = None,
    ) -> None:
        """`private_keys`: one, or two while they are rotated; GitHub has to take one of them.

        `api_url` is GitHub's, an Enterprise Server's (`https://HOST/api/v3`), or the box's.

        `transport` takes the place of the network, for a GitHub in the same process. Without
        `pacing` writes are sent as they come. What `redact` knows is in no text that is written.
        """
        redact = redact or Redactor()
        connection = Connection(app_id, private_keys, api_url, clock, transport, pacing, redact)
        redact.learn(connection.tokens.living)
        super().__init__(app_id, connection)
        self._api_url = api_url
        self._host = urlsplit(api_url).hostname or ""
        self._contents = KeptContents()
        self._own_comments = OwnComments()

    def page(self, repository: Repository) -> str:
        # github.com and ghe.com serve their API from a host of its own, other servers from a path.
        api = urlsplit(self._api_url)
        return f"{api.scheme}://{api.netloc.removeprefix('api.')}/{repository.full_name}"

    def urgently(self) -> "GitHubApp":
        """The same, for writes that must not wait behind what is routine."""
        first = copy(self)
        first._urgent = True
        return first

    @property
    def hook(self) -> AppHook:
        """The App's webhook."""
        return AppHook(self._connection)

    def counted(self) -> AbstractContextManager[Spent]:
        return counted()

    async def token(
        self,
        repository: Repository,
        purpose: Literal["read", "write"],
        refused: str | None = None,
    ) -> str:
        """A token for git on one repository; it lives for ten more minutes or longer. `refused`
        is one that GitHub no longer takes."""
        scope = Scope(repository.installation_id, repository.full_name, purpose)
        if refused is not None:
            self._connection.tokens.forget(scope, refused)
        return await self._connection.tokens.get(scope)

    # --- who and where we are ----------------------------------------------------------------

    async def bot_email(self) -> str:
        """The address holds the id of the bot's user, which is not the App's id."""
        if self._bot.email is None:
            installations = [each async for each in self._installations()]
            if not installations:
                raise Refused("The App is not installed anywhere yet: install it first", 404)
            self._bot.email = await self._noreply_email(installations[0], await self.bot_login())
        return self._bot.email

    async def noreply_email(self, repository: Repository, login: str) -> str:
        return await self._noreply_email(repository.installation_id, login)

    async def _noreply_email(self, installation_id: int, login: str) -> str:
        call = Call("GET", f"/users/{quote(login, safe='')}")
        answer = await self._connection.send(call, Scope(installation_id, None, "list"))
        user_id = reading.needed_number(answer.body, "id")
        return f"{user_id}+{login}@users.noreply.{self._host.removeprefix('api.')}"

    async def repositories(self) -> Listed:
        found, tips = dict[int, Repository](), dict[str, str]()
        archived, unlisted = set[str](), dict[int, GitHubFailed]()
        async for installation_id in self._installations():
            try:
                for each in await self._repositories_of(installation_id):
                    name = reading.needed_text(each, "full_name")
                    found[reading.needed_number(each, "id")] = Repository(name, installation_id)
                    tips[name] = reading.tip(each)
                    if reading.is_archived(each):
                        archived.add(name)
            except GitHubFailed as error:  # one account's trouble is not the others'
                unlisted[installation_id] = error
        present = {each.full_name: number for number, each in found.items()}
        self._connection.tokens.forget_moved(present)
        return Listed(found, tips, frozenset(archived), unlisted)

    async def _repositories_of(self, installation_id: int) -> list[object]:
        pages = self._connection.pages(
            Call("GET", "/installation/repositories", is_remembered=True),
            Scope(installation_id, None, "list"),
            within="repositories",
        )
        return [each async for each in pages]

    async def whereabouts(self, repository: Repository) -> tuple[int, str] | None:
        parts = ("repos", *repository.full_name.split("/"))
        call = Call("GET", "".join(f"/{quote(part, safe='')}" for part in parts))
        # A token for one repository can only be had by the name that it has now.
        scope = Scope(repository.installation_id, None, "list")
        try:
            found = (await self._connection.send(call, scope)).body
        except Refused as refused:
            if refused.status != 404:
                raise
            found = None
        name = reading.text(found, "full_name")
        if name is None or reading.same(name, repository.full_name):
            await self._at(repository).check_access()
        return None if name is None else (reading.needed_number(found, "id"), name)

    async def _installations(self) -> AsyncIterator[int]:
        """Ids of the installations that are not suspended."""
        async for each in self._connection.pages(
            Call("GET", "/app/installations", is_remembered=True)
        ):
            if reading.dig(each, "suspended_at") is None:
                yield reading.needed_number(each, "id")

    # --- repositories and people -------------------------------------------------------------

    async def repository(self, repository: Repository) -> RepositoryInfo:
        return reading.repository_info(await self._at(repository).get())

    async def configuration(
        self, repository: Repository, commit: str | None = None
    ) -> Mapping[str, bytes]:
        here = self._at(repository)
        query = {} if commit is None else {"ref": commit}

        async def contents(path: str) -> object:
            # The directory's entries name all that is below by its hash: one request says whether
            # anything has changed.
            is_top = path == DIRECTORY
            return await here.find("contents", *path.split("/"), query=query, is_remembered=is_top)

        files = await configuration(contents, self._contents)
        if not files:  # or out of reach, which GitHub answers alike
            await self._visible(here)
        return files

    async def configuration_changed_at(self, repository: Repository) -> datetime | None:
        query: Query = {"path": DIRECTORY, "per_page": 1}
        found = await self._at(repository).get("commits", query=query)
        newest = found[0] if isinstance(found, list) and found else None
        if newest is None:
            return None
        return reading.needed_instant(newest, "commit", "committer", "date")

    async def parted(self, repository: Repository, commit: str) -> str | None:
        branch = (await self.repository(repository)).default_branch
        query: Query = {"per_page": 1}  # of the commits, which do not matter
        found = await self._at(repository).find("compare", f"{branch}...{commit}", query=query)
        return None if found is None else reading.needed_text(found, "merge_base_commit", "sha")

    async def account(self, repository: Repository, login: str) -> int | None:
        call = Call("GET", f"/users/{quote(login, safe='')}")
        try:
            answer = await self._connection.send(
                call, Scope(repository.installation_id, None, "list")
            )
        except Refused as refused:
            if refused.status != 404:
                raise
            return None
        return reading.needed_number(answer.body, "id")

    async def permission(self, repository: Repository, login: str) -> Permission:
        found = await self._at(repository).find("collaborators", login, "permission")
        return reading.permission(found)

    async def is_team_member(self, repository: Repository, team: str, login: str) -> bool:
        org, _, slug = team.partition("/")
        parts = ("orgs", org, "teams", slug, "memberships", login)
        call = Call("GET", "".join(f"/{quote(part, safe='')}" for part in parts))
        scope = Scope(repository.installation_id, None, "teams")
        try:
            answer = await self._connection.send(call, scope)
        except Refused as refused:
            if refused.status != 404:
                raise
            return False
        return reading.needed_text(answer.body, "state") == "active"

    # --- issues ------------------------------------------------------------------------------

    async def issue(self, repository: Repository, number: int) -> Issue | None:
        here = self._at(repository)
        found = await here.find("issues", number)
        if found is None:
            await self._check_issues(here)
            return None
        if not await self._is_still_in(repository, found):
            return None
        return reading.issue(found)

    async def _check_issues(self, here: At) -> None:
        """Raises if an issue is out of reach, rather than gone: then nothing is known of it."""
        found = await self._visible(here)
        if reading.dig(found, "has_issues") is False:
            raise Refused("Issues are switched off in this repository", 410)

    async def _visible(self, here: At) -> object:
        """What GitHub says of the repository, None if there is none. Raises `NoAccess`."""
        found = await here.find(is_remembered=True)
        if found is None:
            await here.check_access()
        return found

    async def _is_still_in(self, repository: Repository, issue: object) -> bool:
        """GitHub redirects to wherever an issue was transferred, and after a renaming as well."""
        owner = reading.needed_text(issue, "repository_url").rpartition("/repos/")[2]
        if reading.same(owner, repository.full_name):
            return True
        present = await self._at(repository).get()
        return reading.same(owner, reading.needed_text(present, "full_name"))

    async def threads(
        self, repository: Repository, since: datetime | None = None
    ) -> Sequence[Issue]:
        query = {"state": "open"} if since is None else {"state": "all", "since": second(since)}
        found = self._at(repository).list(
            "issues", query={**query, **OLDEST_FIRST}, is_remembered=True
        )
        return [reading.issue(each) async for each in found]

    async def marks(self, repository: Repository, number: int) -> Sequence[Mark]:
        found = self._at(repository).list("issues", number, "timeline")
        return [mark async for each in found for mark in reading.marks(each)]

    async def edits(self, repository: Repository, number: int) -> Sequence[Edit]:
        scope = Scope(repository.installation_id, repository.full_name, "effects")
        question = edits.call(self._api_url, repository, number)
        return edits.read((await self._connection.send(question, scope)).body)

    async def set_draft(self, repository: Repository, number: int, *, is_draft: bool) -> None:
        pull = await self._at(repository).get("pulls", number)
        node = reading.needed_text(pull, "node_id")
        scope = Scope(repository.installation_id, repository.full_name, "effects")
        change = drafts.call(self._api_url, node, is_draft=is_draft)
        drafts.check((await self._connection.send(change, scope)).body)

    async def add_labels(self, repository: Repository, number: int, labels: Sequence[str]) -> None:
        await self._at(repository).post("issues", number, "labels", body={"labels": [*labels]})

    async def remove_label(self, repository: Repository, number: int, label: str) -> None:
        try:
            await self._at(repository).delete("issues", number, "labels", label)
        except NoAccess:
            raise
        except Refused as refused:
            if refused.status != 404:
                raise

    async def marked_issues(
        self, repository: Repository, label: str, marker: str
    ) -> Sequence[Posted]:
        us = await self.bot_login()
        query = {"state": "all", "labels": label, "creator": us, **OLDEST_FIRST}
        return [
            reading.posted_issue(each)
            async for each in self._at(repository).list("issues", query=query)
            if reading.is_marked(each, us, marker) and reading.dig(each, "pull_request") is None
        ]

    async def own_issues(self, repository: Repository, since: datetime) -> Sequence[Posted]:
        us = await self.bot_login()
        query = {
            "state": "all",
            "creator": us,
            "since": second(since),
            **OLDEST_FIRST,
        }
        return [
            reading.posted_issue(each)
            async for each in self._at(repository).list("issues", query=query)
            if reading.text(each, "user", "login") == us
            and reading.dig(each, "pull_request") is None
        ]

    async def open_issue(
        self,
        repository: Repository,
        title: str,
        body: str,
        labels: Sequence[str],
        assignees: Sequence[str],
    ) -> Posted:
        here = self._at(repository)
        for label in labels:
            await _ensure_label(here, label)
        document = {
            "title": title,
            "body": body,
            "labels": [*labels],
            "assignees": [each for each in assignees if await here.exists("assignees", each)],
        }
        return reading.posted_issue(await here.post("issues", body=document))

    async def edit_issue(
        self, repository: Repository, number: int, *, body: str | None = None, close: bool = False
    ) -> Posted:
        document: dict[str, object] = {"state": "closed"} if close else {}
        if body is not None:
            document["body"] = body
        return reading.posted_issue(
            await self._at(repository).patch("issues", number, body=document)
        )

    # --- comments ----------------------------------------------------------------------------

    async def comments(self, repository: Repository, number: int, marker: str) -> Sequence[Posted]:
        us = await self.bot_login()
        here = self._at(repository)
        found = await self._own_comments.marked(here, repository.full_name, number, us, marker)
        return [reading.posted_comment(each) for each in found]

    async def said(self, repository: Repository, since: datetime) -> Sequence[Said]:
        us, query = await self.bot_login(), {"since": second(since), **OLDEST_FIRST}
        found = self._at(repository).list("issues", "comments", query=query, is_remembered=True)
        comments = [reading.comment(each) async for each in found]
        return [each for each in comments if each.author != us]

    async def said_in_reviews(
        self, repository: Repository, number: int, since: datetime
    ) -> Sequence[Said]:
        us, here = await self.bot_login(), self._at(repository)
        first, query = since.replace(microsecond=0), {"since": second(since)}
        said = [
            reading.said_by_review(each, number)
            async for each in here.list("pulls", number, "reviews")
            if reading.is_submitted(each) and reading.needed_instant(each, "submitted_at") >= first
        ]
        said += [
            reading.said_on_lines(each, number)
            async for each in here.list("pulls", number, "comments", query=query)
        ]
        said = [each for each in said if each.author != us and each.body.strip()]
        return sorted(said, key=lambda each: each.at)

    async def reviews_by_others(
        self, repository: Repository, number: int, since: datetime
    ) -> Sequence[Review]:
        first, here = since.replace(microsecond=0), self._at(repository)
        submitted = [
            each
            async for each in here.list("pulls", number, "reviews")
            if reading.is_submitted(each) and reading.needed_instant(each, "submitted_at") >= first
        ]
        if not submitted:
            return []
        remarks = [each async for each in here.list("pulls", number, "comments")]
        return [reading.review(each, remarks) for each in submitted]

    async def comment(self, repository: Repository, number: int, body: str) -> Posted:
        here = self._at(repository)
        return reading.posted_comment(
            await here.post("issues", number, "comments", body={"body": body})
        )

    async def edit_comment(self, repository: Repository, comment: int, body: str) -> Posted:
        here = self._at(repository)
        return reading.posted_comment(
            await here.patch("issues", "comments", comment, body={"body": body})
        )

    async def delete_comment(self, repository: Repository, comment: int) -> None:
        await self._at(repository).delete("issues", "comments", comment)

    async def react(
        self,
        repository: Repository,
        comment: int,
        reaction: Reaction,
        *,
        is_on_lines: bool = False,
    ) -> None:
        here, kind = self._at(repository), "pulls" if is_on_lines else "issues"
        await here.post(kind, "comments", comment, "reactions", body={"content": reaction})


async def _ensure_label(here: At, label: str) -> None:
    if await here.exists("labels", label):
        return
    try:
        await here.post("labels", body={"name": label})
    except Refused as refused:
        # Somebody was faster. Another fault of the label is told when the issue is opened.
        if refused.status != 422:
            raise
