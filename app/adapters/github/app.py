"""The `GitHub` port over REST."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

from pydantic import SecretStr

from app.adapters.github import reading
from app.adapters.github.at import At
from app.adapters.github.call import Call, Query
from app.adapters.github.configuration import configuration
from app.adapters.github.connection import Connection
from app.adapters.github.tokens import Scope
from app.core.trust import Permission
from app.ports import (
    CheckText,
    Clock,
    Issue,
    Posted,
    PullRequest,
    Refused,
    Repository,
    RepositoryInfo,
    Said,
)

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport

_OLDEST_FIRST: Query = {"sort": "created", "direction": "asc"}


class GitHubApp:
    """GitHub as one App sees it. Use one instance on one event loop only.

    Every request is made once and takes at most half a minute; a list is read to its end. Tokens
    are narrowed to one repository and one purpose; git gets them by `token`.
    """

    def __init__(
        self,
        app_id: int,
        private_key: SecretStr,
        api_url: str,
        clock: Clock,
        transport: "AsyncBaseTransport | None" = None,
    ) -> None:
        """`api_url` is GitHub's, an Enterprise Server's (`https://HOST/api/v3`), or the box's.

        `transport` takes the place of the network, for a GitHub in the same process.
        """
        self._app_id = app_id
        self._host = urlsplit(api_url).hostname or ""
        self._connection = Connection(app_id, private_key, api_url, clock, transport)
        self._bot_login: str | None = None
        self._bot_email: str | None = None

    async def token(self, repository: Repository, purpose: Literal["read", "write"]) -> str:
        """A token for git on one repository; it lives for ten more minutes or longer."""
        scope = Scope(repository.installation_id, repository.full_name, purpose)
        return await self._connection.tokens.get(scope)

    # --- who and where we are ----------------------------------------------------------------

    async def bot_login(self) -> str:
        if self._bot_login is None:
            answer = await self._connection.send(Call("GET", "/app"))
            self._bot_login = f"{reading.needed_text(answer.body, 'slug')}[bot]"
        return self._bot_login

    async def bot_email(self) -> str:
        """The address holds the id of the bot's user, which is not the App's id."""
        if self._bot_email is None:
            installations = [each async for each in self._installations()]
            if not installations:
                raise Refused("The App is not installed anywhere yet: install it first", 404)
            login = await self.bot_login()
            call = Call("GET", f"/users/{quote(login, safe='')}")
            answer = await self._connection.send(call, Scope(installations[0], None, "list"))
            user_id = reading.needed_number(answer.body, "id")
            host = self._host.removeprefix("api.")
            self._bot_email = f"{user_id}+{login}@users.noreply.{host}"
        return self._bot_email

    async def repositories(self) -> Sequence[Repository]:
        return [
            Repository(reading.needed_text(each, "full_name"), installation_id)
            async for installation_id in self._installations()
            async for each in self._connection.pages(
                Call("GET", "/installation/repositories"),
                Scope(installation_id, None, "list"),
                within="repositories",
            )
        ]

    async def _installations(self) -> AsyncIterator[int]:
        """Ids of the installations that are not suspended."""
        async for each in self._connection.pages(Call("GET", "/app/installations")):
            if reading.dig(each, "suspended_at") is None:
                yield reading.needed_number(each, "id")

    # --- repositories and people -------------------------------------------------------------

    async def repository(self, repository: Repository) -> RepositoryInfo:
        return reading.repository_info(await self._at(repository).get())

    async def configuration(self, repository: Repository) -> Mapping[str, bytes]:
        here = self._at(repository)

        async def contents(path: str) -> object:
            return await here.find("contents", *path.split("/"))

        return await configuration(contents)

    async def permission(self, repository: Repository, login: str) -> Permission:
        found = await self._at(repository).find("collaborators", login, "permission")
        return reading.permission(found)

    # --- issues ------------------------------------------------------------------------------

    async def issue(self, repository: Repository, number: int) -> Issue | None:
        here = self._at(repository)
        found = await here.find("issues", number)
        if found is None or not await self._is_still_in(repository, found):
            return None
        return reading.issue(found)

    async def _is_still_in(self, repository: Repository, issue: object) -> bool:
        """GitHub redirects to wherever an issue was transferred, and after a renaming as well."""
        owner = reading.needed_text(issue, "repository_url").rpartition("/repos/")[2]
        if reading.same(owner, repository.full_name):
            return True
        present = await self._at(repository).get()
        return reading.same(owner, reading.needed_text(present, "full_name"))

    async def issues(
        self, repository: Repository, *, label: str | None = None, assignee: str | None = None
    ) -> Sequence[Issue]:
        wanted = {"labels": label, "assignee": assignee}
        query = {"state": "open", **_OLDEST_FIRST} | {
            name: value for name, value in wanted.items() if value is not None
        }
        found = self._at(repository).list("issues", query=query)
        return [issue async for each in found if not (issue := reading.issue(each)).is_pull_request]

    async def labeller(self, repository: Repository, number: int, label: str) -> str | None:
        who: str | None = None
        async for event in self._at(repository).list("issues", number, "timeline"):
            is_labelled = reading.text(event, "event") == "labeled"
            if is_labelled and reading.same(reading.text(event, "label", "name"), label):
                who = reading.text(event, "actor", "login")
        return who

    async def marked_issues(
        self, repository: Repository, label: str, marker: str
    ) -> Sequence[Posted]:
        us = await self.bot_login()
        query = {"state": "all", "labels": label, "creator": us, **_OLDEST_FIRST}
        return [
            reading.posted_issue(each)
            async for each in self._at(repository).list("issues", query=query)
            if reading.is_marked(each, us, marker) and reading.dig(each, "pull_request") is None
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
        return [
            reading.posted_comment(each)
            async for each in self._at(repository).list("issues", number, "comments")
            if reading.is_marked(each, us, marker)
        ]

    async def replies(
        self, repository: Repository, number: int, since: datetime
    ) -> Sequence[Said]:
        us, second = await self.bot_login(), since.replace(microsecond=0)
        query = {"since": second.strftime("%Y-%m-%dT%H:%M:%SZ")}
        found = self._at(repository).list("issues", number, "comments", query=query)
        comments = [reading.said(each, "created_at") async for each in found]
        return [each for each in comments if each.at >= second and each.author != us]

    async def change_requests(
        self, repository: Repository, number: int, since: datetime
    ) -> Sequence[Said]:
        second = since.replace(microsecond=0)
        return [
            review
            async for each in self._at(repository).list("pulls", number, "reviews")
            if reading.text(each, "state") == "CHANGES_REQUESTED"
            and (review := reading.said(each, "submitted_at")).at >= second
        ]

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

    # --- check runs --------------------------------------------------------------------------

    async def checks(
        self, repository: Repository, sha: str, name: str, external_id: str
    ) -> Sequence[Posted]:
        # `filter=all`: the default shows only the newest of each name, which hides doubles.
        query: Query = {"check_name": name, "app_id": self._app_id, "filter": "all"}
        found = self._at(repository).list(
            "commits", sha, "check-runs", query=query, within="check_runs"
        )
        ours = [
            reading.posted_check(each)
            async for each in found
            if reading.dig(each, "app", "id") == self._app_id
            and reading.text(each, "external_id") == external_id
        ]
        return sorted(ours, key=lambda check: check.number)

    async def create_check(self, repository: Repository, sha: str, check: CheckText) -> Posted:
        document = {"head_sha": sha, **_check_document(check)}
        return reading.posted_check(await self._at(repository).post("check-runs", body=document))

    async def update_check(self, repository: Repository, number: int, check: CheckText) -> Posted:
        here = self._at(repository)
        return reading.posted_check(
            await here.patch("check-runs", number, body=_check_document(check))
        )

    # --- pull requests -----------------------------------------------------------------------

    async def pull_request(self, repository: Repository, number: int) -> PullRequest:
        return reading.pull_request(await self._at(repository).get("pulls", number))

    async def pull_requests(self, repository: Repository, branch: str) -> Sequence[PullRequest]:
        owner = repository.full_name.partition("/")[0]
        query = {"state": "all", "head": f"{owner}:{branch}", **_OLDEST_FIRST}
        # The head names an owner only, and an owner may have a fork of its own repository.
        return [
            reading.pull_request(each)
            async for each in self._at(repository).list("pulls", query=query)
            if reading.same(repository.full_name, reading.text(each, "head", "repo", "full_name"))
        ]

    async def open_pull_request(
        self, repository: Repository, *, branch: str, base: str, title: str, body: str
    ) -> PullRequest:
        document = {"title": title, "body": body, "head": branch, "base": base}
        return reading.pull_request(await self._at(repository).post("pulls", body=document))

    def _at(self, repository: Repository) -> At:
        return At(self._connection, repository)


async def _ensure_label(here: At, label: str) -> None:
    if await here.exists("labels", label):
        return
    try:
        await here.post("labels", body={"name": label})
    except Refused as refused:
        # Somebody was faster. Another fault of the label is told when the issue is opened.
        if refused.status != 422:
            raise


def _check_document(check: CheckText) -> dict[str, object]:
    document: dict[str, object] = {
        "name": check.name,
        "external_id": check.external_id,
        "output": {"title": check.title, "summary": check.summary},
    }
    if check.conclusion is None:
        return {**document, "status": "in_progress"}
    return {**document, "status": "completed", "conclusion": check.conclusion}
