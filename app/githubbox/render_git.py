"""GitHub's JSON for what lies in git: commits, branches, files and pull requests."""

from __future__ import annotations

from datetime import UTC, datetime

from app.githubbox.git import EMPTY_TREE, Commit, Comparison, FileChange, Signature
from app.githubbox.render import REPO, Render, instant, optional_instant
from app.githubbox.state import (
    CheckSuite,
    Issue,
    Json,
    LineComment,
    Pull,
    Repository,
    Review,
    User,
)
from app.githubbox.suites import latest_runs, outcome

_EXAMPLE_REPOSITORY = "octocat/Hello-World"
_EXAMPLE_SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
_NOT_OF_A_REVIEW = ("subject_type", "start_line", "start_side", "original_start_line")
MAX_FILES = 300
"""GitHub shows no more changed files of a comparison or a commit."""


class GitRender:
    """Like Render, for answers that have to ask git; so its methods are asynchronous."""

    def __init__(self, render: Render) -> None:
        self.plain = render

    def account(self, signature: Signature) -> User | None:
        """Whose commit this is: known by the no-reply address, or by the name."""
        login = signature.email.partition("@")[0].rpartition("+")[2]
        world = self.plain.identity.world
        return world.user(login) or world.user(signature.name)

    def commit(self, repository: Repository, commit: Commit) -> Json:
        names = {_EXAMPLE_REPOSITORY: repository.full_name, _EXAMPLE_SHA: commit.sha}
        git_url = self.plain.api_url(repository, "/git")
        author, committer = self.account(commit.author), self.account(commit.committer)
        return self.plain.example(f"GET {REPO}/commits", names, 0) | {
            "sha": commit.sha,
            "node_id": f"C_{commit.sha}",
            "commit": {
                "url": f"{git_url}/commits/{commit.sha}",
                "author": _person(commit.author),
                "committer": _person(commit.committer),
                "message": commit.message,
                "tree": {"sha": commit.tree, "url": f"{git_url}/trees/{commit.tree}"},
                "comment_count": 0,
                "verification": {
                    "verified": False,
                    "reason": "unsigned",
                    "signature": None,
                    "payload": None,
                    "verified_at": None,
                },
            },
            "author": self.plain.user(author) if author else None,
            "committer": self.plain.user(committer) if committer else None,
            "parents": [
                {
                    "sha": parent,
                    "url": self.plain.api_url(repository, f"/commits/{parent}"),
                    "html_url": self.plain.page_url(repository, f"/commit/{parent}"),
                }
                for parent in commit.parents
            ],
        }

    async def full_commit(self, repository: Repository, sha: str) -> Json:
        """A commit with its statistics and changed files."""
        commit = await repository.git.commit(sha)
        parent = commit.parents[0] if commit.parents else EMPTY_TREE
        files = await repository.git.changes(parent, sha)
        additions = sum(one.additions for one in files)
        deletions = sum(one.deletions for one in files)
        return self.commit(repository, commit) | {
            "stats": {
                "additions": additions,
                "deletions": deletions,
                "total": additions + deletions,
            },
            "files": [self.file(repository, sha, one) for one in files[:MAX_FILES]],
        }

    def file(self, repository: Repository, sha: str, change: FileChange) -> Json:
        place = f"{sha}/{change.path}"
        body: Json = {
            "sha": change.sha or "0" * 40,
            "filename": change.path,
            "status": change.status,
            "additions": change.additions,
            "deletions": change.deletions,
            "changes": change.additions + change.deletions,
            "blob_url": self.plain.page_url(repository, f"/blob/{place}"),
            "raw_url": self.plain.page_url(repository, f"/raw/{place}"),
            "contents_url": self.plain.api_url(repository, f"/contents/{change.path}?ref={sha}"),
        }
        if change.previous:
            body["previous_filename"] = change.previous
        if change.patch is not None:
            body["patch"] = change.patch
        return body

    async def comparison(self, repository: Repository, base: str, head: str, name: str) -> Json:
        found = await repository.git.compare(base, head)
        ahead, behind = len(found.commits), found.behind_by
        status = {
            (False, False): "identical",
            (True, False): "ahead",
            (False, True): "behind",
            (True, True): "diverged",
        }[ahead > 0, behind > 0]
        page = self.plain.page_url(repository, f"/compare/{name}")
        return {
            "url": self.plain.api_url(repository, f"/compare/{name}"),
            "html_url": page,
            "permalink_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "base_commit": self.commit(repository, await repository.git.commit(base)),
            "merge_base_commit": self.commit(
                repository, await repository.git.commit(found.merge_base)
            ),
            "status": status,
            "ahead_by": ahead,
            "behind_by": behind,
            "total_commits": ahead,
            "commits": [self.commit(repository, one) for one in found.commits],
            "files": [self.file(repository, head, one) for one in found.files[:MAX_FILES]],
        }

    async def pull(self, repository: Repository, issue: Issue, pull: Pull) -> Json:
        """A pull request as lists show it."""
        number = issue.number
        head, base = await ends(repository, issue, pull)
        names = {
            _EXAMPLE_REPOSITORY: repository.full_name,
            "/1347": f"/{number}",
            _EXAMPLE_SHA: head,
        }
        example = self.plain.example(f"GET {REPO}/pulls", names, 0)
        shared = self.plain.issue(repository, issue)
        taken = (
            "number",
            "state",
            "title",
            "body",
            "user",
            "labels",
            "assignee",
            "assignees",
            "milestone",
            "locked",
            "active_lock_reason",
            "created_at",
            "updated_at",
            "closed_at",
            "author_association",
        )
        url = self.plain.api_url(repository, f"/pulls/{number}")
        issue_url = self.plain.api_url(repository, f"/issues/{number}")
        statuses = self.plain.api_url(repository, f"/statuses/{head}")
        links = {
            "self": url,
            "html": example["html_url"],
            "issue": issue_url,
            "comments": f"{issue_url}/comments",
            "review_comments": f"{url}/comments",
            "review_comment": example["review_comment_url"],
            "commits": f"{url}/commits",
            "statuses": statuses,
        }
        return (
            example
            | {key: shared[key] for key in taken}
            | {
                "id": pull.id,
                "node_id": issue.node_id,
                "statuses_url": statuses,
                "draft": pull.draft,
                "merged_at": optional_instant(pull.merged_at),
                "merge_commit_sha": pull.merge_commit_sha,
                "requested_reviewers": [],
                "requested_teams": [],
                "head": self._end(pull.source or repository, pull.head, head),
                "base": self._end(repository, pull.base, base),
                "_links": {name: {"href": link} for name, link in links.items()},
                "auto_merge": None,
            }
        )

    async def full_pull(
        self, repository: Repository, issue: Issue, pull: Pull, mergeable: bool | None
    ) -> Json:
        """A pull request by itself; `mergeable` None means that GitHub is still working it out."""
        head, base = await ends(repository, issue, pull)
        found = await repository.git.compare(base, head)
        state = {None: "unknown", True: "clean", False: "dirty"}[mergeable]
        return await self.pull(repository, issue, pull) | {
            "merged": pull.merged_at is not None,
            "merged_by": self.plain.user(pull.merged_by) if pull.merged_by else None,
            "mergeable": mergeable,
            "rebaseable": mergeable,
            "mergeable_state": state,
            "comments": len(issue.comments),
            "review_comments": len(pull.shown_comments),
            "maintainer_can_modify": False,
            "commits": len(found.commits),
            "additions": sum(one.additions for one in found.files),
            "deletions": sum(one.deletions for one in found.files),
            "changed_files": len(found.files),
        }

    def _end(self, repository: Repository, branch: str, sha: str) -> Json:
        return {
            "label": f"{repository.owner.login}:{branch}",
            "ref": branch,
            "sha": sha,
            "user": self.plain.user(repository.owner),
            "repo": self.plain.repository(repository),
        }

    async def short_pulls(self, repository: Repository, sha: str) -> list[Json]:
        """The open pull requests whose head is that commit, as check runs list them: GitHub does
        not name those of forks."""
        found = []
        short_repository = {
            "id": repository.id,
            "url": self.plain.api_url(repository),
            "name": repository.name,
        }
        for issue, pull in repository.pulls():
            head, base = await ends(repository, issue, pull)
            if issue.state == "open" and head == sha and pull.source is None:
                found.append(
                    {
                        "id": pull.id,
                        "number": issue.number,
                        "url": self.plain.api_url(repository, f"/pulls/{issue.number}"),
                        "head": {"ref": pull.head, "sha": head, "repo": short_repository},
                        "base": {"ref": pull.base, "sha": base, "repo": short_repository},
                    }
                )
        return found

    def review(self, repository: Repository, issue: Issue, review: Review) -> Json:
        page = self.plain.page_url(
            repository, f"/pull/{issue.number}#pullrequestreview-{review.id}"
        )
        url = self.plain.api_url(repository, f"/pulls/{issue.number}")
        submitted = review.submitted_at
        when = {"submitted_at": instant(submitted)} if submitted else {}
        return {
            "id": review.id,
            "node_id": f"PRR_{review.id}",
            "user": self.plain.user(review.author),
            "body": review.body,
            "state": review.state,
            "html_url": page,
            "pull_request_url": url,
            "_links": {"html": {"href": page}, "pull_request": {"href": url}},
            "commit_id": review.commit_id,
            "author_association": self.plain.association(repository, review.author),
            **when,
        }

    async def suite(self, repository: Repository, suite: CheckSuite) -> Json:
        """The runs of one App on one commit, as one."""
        sha, runs = suite.head_sha, latest_runs(repository, suite)
        commit, refs = await repository.git.commit(sha), await repository.git.refs()
        heads = [ref.removeprefix("refs/heads/") for ref, at in refs.items() if at == sha]
        status, conclusion = outcome(runs)
        url = self.plain.api_url(repository, f"/check-suites/{suite.id}")
        return {
            "id": suite.id,
            "node_id": f"CS_{suite.id}",
            "head_branch": heads[0] if heads else None,
            "head_sha": sha,
            "status": status,
            "conclusion": conclusion,
            "url": url,
            "before": commit.parents[0] if commit.parents else None,
            "after": sha,
            "pull_requests": await self.short_pulls(repository, sha),
            "app": self.plain.app_named(suite.app_slug),
            "repository": self.plain.repository(repository),
            "created_at": instant(suite.created_at),
            "updated_at": instant(max((one.started_at for one in runs), default=suite.created_at)),
            "head_commit": {
                "id": sha,
                "tree_id": commit.tree,
                "message": commit.message,
                "timestamp": _person(commit.committer)["date"],
                "author": _short_person(commit.author),
                "committer": _short_person(commit.committer),
            },
            "latest_check_runs_count": len(runs),
            "check_runs_url": f"{url}/check-runs",
            "rerequestable": True,
            "runs_rerequestable": True,
        }

    def review_comment(self, repository: Repository, issue: Issue, line: LineComment) -> Json:
        """The same as `line_comment`, as the list of one review has it."""
        whole = self.line_comment(repository, issue, line)
        return {name: value for name, value in whole.items() if name not in _NOT_OF_A_REVIEW}

    def line_comment(self, repository: Repository, issue: Issue, line: LineComment) -> Json:
        page = self.plain.page_url(repository, f"/pull/{issue.number}#discussion_r{line.id}")
        url = self.plain.api_url(repository, f"/pulls/comments/{line.id}")
        pull = self.plain.api_url(repository, f"/pulls/{issue.number}")
        return {
            "id": line.id,
            "node_id": f"PRRC_{line.id}",
            "pull_request_review_id": line.review_id,
            "url": url,
            "html_url": page,
            "pull_request_url": pull,
            "_links": {
                "self": {"href": url},
                "html": {"href": page},
                "pull_request": {"href": pull},
            },
            "diff_hunk": line.diff_hunk,
            "path": line.path,
            "position": 1,
            "original_position": 1,
            "line": line.line,
            "original_line": line.line,
            "side": line.side,
            "start_line": None,
            "original_start_line": None,
            "start_side": None,
            "subject_type": "line",
            "commit_id": line.commit_id,
            "original_commit_id": line.commit_id,
            "user": self.plain.user(line.author),
            "author_association": self.plain.association(repository, line.author),
            "body": line.body,
            "reactions": self.plain.reactions(url, line.reactions),
            "created_at": instant(line.created_at),
            "updated_at": instant(line.updated_at),
        }


async def ends(repository: Repository, issue: Issue, pull: Pull) -> tuple[str, str]:
    """Head and base SHA of a pull request: git's while it is open, the last known ones after."""
    if issue.state == "open":
        refs = await repository.git.refs()
        pull.last_head_sha = await pull.head_sha(repository) or pull.last_head_sha
        pull.base_sha = refs.get(f"refs/heads/{pull.base}", pull.base_sha)
    return pull.last_head_sha, pull.base_sha


async def pull_changes(repository: Repository, issue: Issue, pull: Pull) -> Comparison:
    """What the pull request would bring, or brought."""
    head, base = await ends(repository, issue, pull)
    return await repository.git.compare(base, head)


def _short_person(signature: Signature) -> Json:
    return {"name": signature.name, "email": signature.email}


def _person(signature: Signature) -> Json:
    return _short_person(signature) | {"date": instant(utc(signature))}


def utc(signature: Signature) -> datetime:
    """When it was signed."""
    return datetime.fromisoformat(signature.date).astimezone(UTC)
