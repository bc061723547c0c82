"""From the box's state to GraphQL: what each type tells.

A node is a mapping by the names of the schema's fields; a value that takes arguments, or that git
has to be asked for, is a function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from app.githubbox.git import FileChange
from app.githubbox.graphql_accounts import account
from app.githubbox.graphql_commits import Commits
from app.githubbox.graphql_pages import Info, Node, mistake, page
from app.githubbox.graphql_search import issues_asked, pulls_asked, state_of
from app.githubbox.http import Call, forbidden
from app.githubbox.identity import AsInstallation, sees
from app.githubbox.moves import closes
from app.githubbox.render import instant, optional_instant
from app.githubbox.render_git import GitRender, ends, pull_changes
from app.githubbox.state import (
    Comment,
    Issue,
    Label,
    Pull,
    Reaction,
    Repository,
    Review,
    TextEdit,
    User,
)

Found = TypeVar("Found")
_REACTIONS = {
    "+1": "THUMBS_UP",
    "-1": "THUMBS_DOWN",
    "laugh": "LAUGH",
    "hooray": "HOORAY",
    "confused": "CONFUSED",
    "heart": "HEART",
    "rocket": "ROCKET",
    "eyes": "EYES",
}


class Nodes:
    """The types of the schema, as one caller sees them."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._git = GitRender(call.render)
        self._commits = Commits(self._git)

    # --- repositories --------------------------------------------------------------------------

    def seen(self, full_name: str) -> Node:
        """The repository of that name. Raises `GraphQLError` where the caller sees none."""
        found = self._call.world.repository(full_name) or self._call.world.moved(full_name)
        if found is None or not sees(self._call.caller, found):
            words = f"Could not resolve to a Repository with the name '{full_name}'."
            raise mistake("NOT_FOUND", words)
        return self.repository(found)

    def repository(self, repository: Repository) -> Node:
        call = self._call
        is_app = isinstance(call.caller, AsInstallation)
        return {
            "__typename": "Repository",
            "id": f"R_{repository.id}",
            "name": repository.name,
            "nameWithOwner": repository.full_name,
            "owner": self.account(repository.owner),
            "description": None,
            "url": call.render.page_url(repository),
            "createdAt": instant(repository.created_at),
            "isPrivate": repository.private,
            "isArchived": repository.archived,
            "isFork": repository.parent is not None,
            "hasIssuesEnabled": repository.has_issues,
            "defaultBranchRef": {
                "id": f"REF_{repository.id}_{repository.default_branch}",
                "name": repository.default_branch,
            },
            "viewerPermission": None if is_app else repository.role(call.actor).name,
            "issue": lambda _, number: self._issue_of(repository, number),
            "pullRequest": lambda _, number: self._pull_of(repository, number),
            "issueOrPullRequest": lambda _, number: self._thread_of(repository, number),
            "issues": lambda info, **asked: self._issues(repository, info, asked),
            "pullRequests": lambda info, **asked: self._pulls(repository, info, asked),
        }

    def _issue_of(self, repository: Repository, number: int) -> Node:
        found = repository.issues.get(number)
        if found is None or found.pull is not None:
            words = f"Could not resolve to an Issue with the number of {number}."
            raise mistake("NOT_FOUND", words)
        return self.thread(repository, found)

    def _pull_of(self, repository: Repository, number: int) -> Node:
        found = repository.issues.get(number)
        if found is None or found.pull is None:
            words = f"Could not resolve to a PullRequest with the number of {number}."
            raise mistake("NOT_FOUND", words)
        return self.thread(repository, found)

    def _thread_of(self, repository: Repository, number: int) -> Node:
        found = repository.issues.get(number)
        if found is None:
            words = f"Could not resolve to an issue or pull request with the number of {number}."
            raise mistake("NOT_FOUND", words)
        return self.thread(repository, found)

    def _issues(self, repository: Repository, info: Info, asked: Mapping[str, Any]) -> Node:
        self._check_may("issues")
        found = issues_asked(repository, asked)
        return page(info, found, asked, lambda one: self.thread(repository, one))

    def _pulls(self, repository: Repository, info: Info, asked: Mapping[str, Any]) -> Node:
        self._check_may("pull_requests")
        found = pulls_asked(repository, asked)
        return page(info, found, asked, lambda one: self.thread(repository, one))

    def _check_may(self, permission: str) -> None:
        caller = self._call.caller
        if isinstance(caller, AsInstallation) and not caller.may(permission, "read"):
            raise mistake("FORBIDDEN", str(forbidden(caller)))

    # --- accounts ------------------------------------------------------------------------------

    def account(self, user: User) -> Node:
        return account(self._call.render, user)

    # --- issues and pull requests --------------------------------------------------------------

    def thread(self, repository: Repository, issue: Issue) -> Node:
        """An issue or, with what it has besides, a pull request."""
        self._check_may("pull_requests" if issue.pull else "issues")
        kind = "pull" if issue.pull else "issues"
        number_of_edits = sum(each.what == "body" for each in issue.edits)
        node: dict[str, object] = {
            "__typename": "Issue",
            "id": issue.node_id,
            "number": issue.number,
            "title": issue.title,
            "url": self._call.render.page_url(repository, f"/{kind}/{issue.number}"),
            "state": issue.state.upper(),
            "stateReason": issue.state_reason.upper() if issue.state_reason else None,
            "closed": issue.state == "closed",
            "closedAt": optional_instant(issue.closed_at),
            "locked": issue.locked,
            "milestone": None,
            "repository": lambda _: self.repository(repository),
            "assignees": lambda info, **asked: page(info, issue.assignees, asked, self.account),
            "labels": lambda info, **asked: page(info, issue.labels, asked, _label),
            "comments": lambda info, **asked: page(
                info, issue.comments, asked, lambda one: self._comment(repository, issue, one)
            ),
            "projectCards": _none,
            "projectItems": _none,
            "reactionGroups": _reaction_groups(issue.reactions),
            "timelineItems": lambda info, **asked: self._timeline(repository, issue, info, asked),
            **self._said(repository, issue.author, issue.body, issue.created_at),
            "updatedAt": instant(issue.updated_at),
            "includesCreatedEdit": number_of_edits > 0,
            "userContentEdits": lambda info, **asked: page(
                info, _edits_of_body(issue), asked, self._edit
            ),
        }
        if issue.pull is not None:
            node |= self._pull(repository, issue, issue.pull)
        return node

    def _said(
        self, repository: Repository, author: User, body: str | None, at: datetime
    ) -> dict[str, object]:
        """What all texts of people have."""
        return {
            "author": self.account(author),
            "authorAssociation": self._call.render.association(repository, author),
            "body": body or "",
            "createdAt": instant(at),
            "updatedAt": instant(at),
            "includesCreatedEdit": False,
            "viewerDidAuthor": author is self._call.actor,
            "userContentEdits": _none,
        }

    def _comment(self, repository: Repository, issue: Issue, comment: Comment) -> Node:
        url = self._call.render.comment(repository, issue, comment)["html_url"]
        return {
            "__typename": "IssueComment",
            "id": f"IC_{comment.id}",
            **self._said(repository, comment.author, comment.body, comment.created_at),
            "updatedAt": instant(comment.updated_at),
            "includesCreatedEdit": comment.updated_at != comment.created_at,
            "isMinimized": False,
            "minimizedReason": None,
            "reactionGroups": _reaction_groups(comment.reactions),
            "url": url,
        }

    def _edit(self, edit: TextEdit) -> Node:
        return {
            "id": f"UCE_{edit.at.timestamp():.0f}",
            "editedAt": instant(edit.at),
            "editor": self.account(edit.actor),
        }

    def _timeline(
        self,
        repository: Repository,
        issue: Issue,
        info: Info,
        asked: Mapping[str, Any],
    ) -> Node:
        """Comments and new titles, which is what the box knows of it."""
        entries: list[tuple[datetime, str, Node]] = [
            (one.created_at, "ISSUE_COMMENT", self._comment(repository, issue, one))
            for one in issue.comments
        ]
        entries += [
            (one.at, "RENAMED_TITLE_EVENT", self._renaming(one))
            for one in issue.edits
            if one.what == "title"
        ]
        kinds = asked.get("itemTypes")
        found = [node for _, kind, node in sorted(entries, key=_at) if not kinds or kind in kinds]
        return page(info, found, asked, lambda one: one)

    def _renaming(self, edit: TextEdit) -> Node:
        return {
            "__typename": "RenamedTitleEvent",
            "id": f"RTE_{edit.at.timestamp():.0f}",
            "createdAt": instant(edit.at),
            "actor": self.account(edit.actor),
        }

    # --- pull requests -------------------------------------------------------------------------

    def _pull(self, repository: Repository, issue: Issue, pull: Pull) -> dict[str, object]:
        source = pull.source or repository
        head = _Later(lambda: ends(repository, issue, pull))
        changes = _Later(lambda: pull_changes(repository, issue, pull))

        async def files() -> Sequence[FileChange]:
            return (await changes()).files

        async def commits(info: Info, **asked: Any) -> Node:
            found = (await changes()).commits
            return page(info, found, asked, lambda one: self._commits.of_pull(repository, one))

        async def changed(info: Info, **asked: Any) -> Node:
            return page(info, await files(), asked, _file)

        async def added(_: Info) -> int:
            return sum(one.additions for one in await files())

        async def deleted(_: Info) -> int:
            return sum(one.deletions for one in await files())

        async def number_of_files(_: Info) -> int:
            return len(await files())

        async def head_oid(_: Info) -> str:
            return (await head())[0]

        async def base_oid(_: Info) -> str:
            return (await head())[1]

        async def mergeable(_: Info) -> str:
            return await self._mergeable(repository, issue, await head())

        async def merge_state(_: Info) -> str:
            if pull.draft:
                return "DRAFT"
            found = await self._mergeable(repository, issue, await head())
            return {"MERGEABLE": "CLEAN", "CONFLICTING": "DIRTY"}.get(found, "UNKNOWN")

        async def merge_commit(_: Info) -> Node | None:
            if pull.merge_commit_sha is None or pull.merged_at is None:
                return None
            merged = await repository.git.commit(pull.merge_commit_sha)
            return self._commits.commit(repository, merged)

        async def rollup(_: Info) -> Node | None:
            return self._commits.rollup(repository, (await head())[0])

        reviews = [
            one for one in pull.reviews if one in pull.submitted or one.author is self._call.actor
        ]
        return {
            "__typename": "PullRequest",
            "state": state_of(issue, pull),
            "isDraft": pull.draft,
            "merged": pull.merged_at is not None,
            "mergedAt": optional_instant(pull.merged_at),
            "mergeCommit": merge_commit,
            "potentialMergeCommit": None,
            "mergedBy": self.account(pull.merged_by) if pull.merged_by else None,
            "mergeable": mergeable,
            "mergeStateStatus": merge_state,
            "maintainerCanModify": False,
            "headRefName": pull.head,
            "headRefOid": head_oid,
            "headRepository": lambda _: self.repository(source),
            "headRepositoryOwner": self.account(source.owner),
            "isCrossRepository": pull.source is not None,
            "baseRefName": pull.base,
            "baseRefOid": base_oid,
            "additions": added,
            "deletions": deleted,
            "changedFiles": number_of_files,
            "files": changed,
            "commits": commits,
            "reviewDecision": None,
            "reviewRequests": _none,
            "reviews": lambda info, **asked: page(
                info,
                [
                    one
                    for one in reviews
                    if (not asked.get("states") or one.state in asked["states"])
                    and asked.get("author") in (None, one.author.login)
                ],
                asked,
                lambda one: self._review(repository, issue, one),
            ),
            "latestReviews": lambda info, **asked: page(
                info,
                [*{one.author.login: one for one in pull.submitted}.values()],
                asked,
                lambda one: self._review(repository, issue, one),
            ),
            "closingIssuesReferences": lambda info, **asked: page(
                info,
                closes(repository, issue.body or ""),
                asked,
                lambda one: self.thread(repository, one),
            ),
            "statusCheckRollup": rollup,
        }

    async def _mergeable(self, repository: Repository, issue: Issue, at: tuple[str, str]) -> str:
        if issue.state == "closed":
            return "UNKNOWN"
        head, base = at
        fits = await repository.git.merged_tree(base, head) is not None
        return "MERGEABLE" if fits else "CONFLICTING"

    def _review(self, repository: Repository, issue: Issue, review: Review) -> Node:
        shown = self._git.review(repository, issue, review)
        at = review.submitted_at or self._call.now

        async def commit(_: Info) -> Node:
            return self._commits.commit(repository, await repository.git.commit(review.commit_id))

        return {
            "__typename": "PullRequestReview",
            "id": shown["node_id"],
            **self._said(repository, review.author, review.body, at),
            "state": review.state,
            "submittedAt": optional_instant(review.submitted_at),
            "commit": commit,
            "reactionGroups": _reaction_groups([]),
            "url": shown["html_url"],
        }


class _Later(Generic[Found]):
    """Asks git once, and not before somebody wants to know."""

    def __init__(self, ask: Callable[[], Awaitable[Found]]) -> None:
        self._ask = ask
        self._found: Found | None = None

    async def __call__(self) -> Found:
        if self._found is None:
            self._found = await self._ask()
        return self._found


def _none(info: Info, **asked: Any) -> Node:
    """Of what the box has nothing."""
    nothing: list[Node] = []
    return page(info, nothing, asked, lambda one: one)


def _at(entry: tuple[datetime, str, Node]) -> datetime:
    return entry[0]


def _edits_of_body(issue: Issue) -> list[TextEdit]:
    """The newest first; of a text that was edited, the first edit is how it was written."""
    edits = [each for each in issue.edits if each.what == "body"]
    if edits:
        edits.insert(0, TextEdit("body", issue.author, issue.created_at))
    return edits[::-1]


def _label(label: Label) -> Node:
    return {
        "id": f"LA_{label.id}",
        "name": label.name,
        "color": label.color,
        "description": label.description,
    }


def _reaction_groups(reactions: Sequence[Reaction]) -> list[Node]:
    return [
        {
            "content": shown,
            "users": {"totalCount": sum(one.content == content for one in reactions)},
        }
        for content, shown in _REACTIONS.items()
    ]


def _file(change: FileChange) -> Node:
    return {"path": change.path, "additions": change.additions, "deletions": change.deletions}
