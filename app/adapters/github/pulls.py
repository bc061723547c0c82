"""Pull requests: the part of the `GitHub` port that is about them."""

from collections.abc import Mapping, Sequence
from typing import Final

from app.adapters.github import reading
from app.adapters.github.call import OLDEST_FIRST, Query
from app.adapters.github.part import Part
from app.core.agents.events import LineComment
from app.core.github.patch import commentable
from app.ports import Head, Posted, PullRequest, Repository

MOST_FILES_LISTED: Final = 3_000
"""Of a pull request: GitHub's list ends there without a word (list pull requests files)."""


class PullRequests(Part):
    """Pull requests, their files, and our reviews of them."""

    async def pull_request(self, repository: Repository, number: int) -> PullRequest:
        return reading.pull_request(await self._at(repository).get("pulls", number))

    async def commentable_lines(
        self, repository: Repository, number: int
    ) -> Mapping[str, frozenset[int]]:
        found = self._at(repository).list("pulls", number, "files")
        return {
            reading.needed_text(each, "filename"): commentable(reading.text(each, "patch") or "")
            async for each in found
        }

    async def reviews(self, repository: Repository, number: int, marker: str) -> Sequence[Posted]:
        us = await self.bot_login()
        return [
            reading.posted_comment(each)
            async for each in self._at(repository).list("pulls", number, "reviews")
            if reading.is_marked(each, us, marker)
        ]

    async def submit_review(
        self,
        repository: Repository,
        number: int,
        commit: str,
        body: str,
        comments: Sequence[LineComment],
    ) -> Posted:
        document = {
            "commit_id": commit,
            "body": body,
            "event": "COMMENT",
            "comments": [
                {"path": each.path, "line": each.line, "side": "RIGHT", "body": each.body}
                for each in comments
            ],
        }
        here = self._at(repository)
        return reading.posted_comment(await here.post("pulls", number, "reviews", body=document))

    async def changed_files(self, repository: Repository, number: int) -> Sequence[str] | None:
        found = [each async for each in self._at(repository).list("pulls", number, "files")]
        if len(found) >= MOST_FILES_LISTED:
            return None
        return [path for each in found for path in reading.changed_paths(each)]

    async def pull_requests(self, repository: Repository, branch: str) -> Sequence[PullRequest]:
        owner = repository.full_name.partition("/")[0]
        query = {"state": "all", "head": f"{owner}:{branch}", **OLDEST_FIRST}
        # The head names an owner only, and an owner may have a fork of its own repository.
        return [
            reading.pull_request(each)
            async for each in self._at(repository).list("pulls", query=query)
            if reading.same(repository.full_name, reading.text(each, "head", "repo", "full_name"))
        ]

    async def open_heads(self, repository: Repository) -> Sequence[Head]:
        found = self._at(repository).list(
            "pulls", query={"state": "open", **OLDEST_FIRST}, is_remembered=True
        )
        return [reading.head(each, repository.full_name) async for each in found]

    async def branch_head(self, repository: Repository, branch: str) -> str | None:
        found = await self._at(repository).find("git", "ref", "heads", *branch.split("/"))
        return None if found is None else reading.text(found, "object", "sha")

    async def branch_heads(self, repository: Repository, beginning: str) -> Mapping[str, str]:
        parts = ("git", "matching-refs", "heads", *beginning.split("/"))
        found = reading.needed_list(await self._at(repository).get(*parts, is_remembered=True))
        return dict(map(reading.branch_head, found))

    async def is_base(self, repository: Repository, branch: str) -> bool:
        query: Query = {"state": "open", "base": branch}
        return bool([each async for each in self._at(repository).list("pulls", query=query)])

    async def open_pull_requests(
        self, repository: Repository, prefix: str
    ) -> Sequence[PullRequest]:
        us = await self.bot_login()
        found = self._at(repository).list("pulls", query={"state": "open", **OLDEST_FIRST})
        return [
            reading.pull_request(each)
            async for each in found
            if (reading.text(each, "head", "ref") or "").startswith(prefix)
            and reading.same(repository.full_name, reading.text(each, "head", "repo", "full_name"))
            and reading.text(each, "user", "login") == us
        ]

    async def open_pull_request(
        self,
        repository: Repository,
        *,
        branch: str,
        base: str,
        title: str,
        body: str,
        is_draft: bool = False,
    ) -> PullRequest:
        document: dict[str, object] = {"title": title, "body": body, "head": branch, "base": base}
        document |= {"draft": True} if is_draft else {}
        return reading.pull_request(await self._at(repository).post("pulls", body=document))
