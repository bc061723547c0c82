"""REST of pull requests: the requests, their files and commits, and the merge."""

from __future__ import annotations

from app.githubbox.events import address
from app.githubbox.git import GitFailed
from app.githubbox.http import Call, Refused, Reply, forbidden, in_media, invalid, not_found
from app.githubbox.moves import merged, moved
from app.githubbox.render import REPO
from app.githubbox.render_git import GitRender, ends, pull_changes
from app.githubbox.rest_checks import passes
from app.githubbox.rest_issues import MAX_TITLE_CHARACTERS, change_text, set_state
from app.githubbox.routing import Route, reading, writing
from app.githubbox.state import NO_DRAFTS, Issue, Pull, Repository, Role

MAX_LISTED_FILES = 3_000
"""Of a pull request (list pull requests files: "a maximum of 3000 files will be returned")."""


async def list_pulls(call: Call) -> Reply:
    """Pull requests, newest first; `head` is `owner:branch`."""
    query, repository = call.query, call.repository
    state = query.get("state", "open")
    found = [pair for pair in repository.pulls() if state in ("all", pair[0].state)]
    if head := query.get("head"):
        owner, colon, branch = head.partition(":")
        wanted = f"{owner.lower()}:{branch}"
        # GitHub ignores a head without an owner
        found = [one for one in found if not colon or _label(repository, one[1]) == wanted]
    if base := query.get("base"):
        found = [one for one in found if one[1].base == base]
    found.sort(key=lambda pair: pair[0].number)
    if query.get("sort") == "updated":
        found.sort(key=lambda pair: pair[0].updated_at)
    descending = "desc" if query.get("sort", "created") == "created" else "asc"
    if query.get("direction", descending) == "desc":
        found.reverse()
    page, links = call.page(found)
    git = GitRender(call.render)
    return Reply(200, [await git.pull(repository, *pair) for pair in page], links)


async def create_pull(call: Call) -> Reply:
    async with call.repository.git.lock:  # of two equal requests at once one is the second
        issue, pull = await _new_pull(call)
    repository = call.repository
    await call.events.pull_request("opened", repository, issue, pull, call.actor)
    answer = await GitRender(call.render).full_pull(repository, issue, pull, mergeable=None)
    return Reply(201, answer, {"Location": answer["url"]})


async def _new_pull(call: Call) -> tuple[Issue, Pull]:
    fields, repository = call.fields("PullRequest"), call.repository
    title = fields.text("title", MAX_TITLE_CHARACTERS)
    owner, _, head = fields.text("head").rpartition(":")
    base, source = fields.text("base"), _fork(call, owner)
    is_own = source is not None and source.role(call.actor) >= Role.WRITE
    if not is_own and not (source is None and call.at_least(Role.WRITE, "pull_requests")):
        raise forbidden(call.caller)
    refs = await repository.git.refs()
    theirs = refs if source is None else await source.git.refs()
    head_sha, base_sha = theirs.get(f"refs/heads/{head}"), refs.get(f"refs/heads/{base}")
    if head_sha is None:
        raise invalid("PullRequest", "head")
    if base_sha is None:
        raise invalid("PullRequest", "base")
    if source is not None:
        await repository.git.take(source.git, head_sha)
    for issue, pull in repository.pulls():
        is_same = (pull.source, pull.head, pull.base) == (source, head, base)
        if issue.state == "open" and is_same:
            raise _custom(f"A pull request already exists for {pull.head_label(repository)}.")
    if not (await repository.git.compare(base_sha, head_sha)).commits:
        raise _custom(f"No commits between {base} and {head}")
    is_draft = fields.flag("draft")
    if is_draft and not repository.has_drafts:
        raise Refused(422, NO_DRAFTS)
    pull = Pull(call.world.next_id(), head, base, head_sha, base_sha, is_draft, source=source)
    issue = Issue(
        call.world.next_id(),
        repository.next_number(),
        title,
        fields.optional_text("body"),
        call.actor,
        call.now,
        call.now,
        pull=pull,
    )
    await repository.git.set_pull(issue.number, head_sha)
    repository.issues[issue.number] = issue
    return issue, pull


def _fork(call: Call, owner: str) -> Repository | None:
    """The fork of that owner; None: no owner is named, or it is the repository's."""
    repository = call.repository
    if owner.lower() in ("", repository.owner.login.lower()):
        return None
    for one in call.world.repositories.values():
        if one.parent is repository and one.owner.login.lower() == owner.lower():
            return one
    raise invalid("PullRequest", "head")


def _label(repository: Repository, pull: Pull) -> str:
    """The head as requests name it; owners are equal in any case, branches are not."""
    owner, _, branch = pull.head_label(repository).partition(":")
    return f"{owner.lower()}:{branch}"


def _custom(message: str) -> Refused:
    error = {"resource": "PullRequest", "code": "custom", "message": message}
    return Refused(422, "Validation Failed", [error])


async def get_pull(call: Call) -> Reply:
    """One pull request. Whether it can be merged is worked out on the first request for a pair of
    commits, which answers null, as GitHub's does."""
    issue, pull = call.pull
    repository = call.repository
    if call.media == "diff":
        head, base = await ends(repository, issue, pull)
        parted = await repository.git.merge_base(base, head)
        return in_media("diff", await repository.git.diff(parted, head))
    mergeable = None
    if issue.state == "open":
        pair = await ends(repository, issue, pull)
        if pull.asked_for == pair:
            head, base = pair
            mergeable = await repository.git.merged_tree(base, head) is not None
        pull.asked_for = pair
    answer = await GitRender(call.render).full_pull(repository, issue, pull, mergeable)
    return Reply(200, answer)


async def change_pull(call: Call) -> Reply:
    issue, pull = call.pull
    repository, fields = call.repository, call.fields("PullRequest")
    if issue.author is not call.actor and not call.at_least(Role.WRITE, "pull_requests"):
        raise forbidden(call.caller)
    state = fields.choice("state", ("open", "closed"))
    if base := fields.optional_text("base"):
        base_sha = (await repository.git.refs()).get(f"refs/heads/{base}")
        if base_sha is None:
            raise invalid("PullRequest", "base")
        pull.base, pull.base_sha = base, base_sha
    await change_text(call, repository, issue, fields)
    if state and state != issue.state:
        head = await pull.head_sha(repository)
        if state == "open" and (pull.merged_at or head is None):
            raise _custom("state cannot be changed. The pull request cannot be reopened.")
        await set_state(call, repository, issue, state, None)
    answer = await GitRender(call.render).full_pull(repository, issue, pull, mergeable=None)
    return Reply(200, answer)


async def list_files(call: Call) -> Reply:
    issue, pull = call.pull
    changes = await pull_changes(call.repository, issue, pull)
    page, links = call.page(changes.files[:MAX_LISTED_FILES])
    git = GitRender(call.render)
    return Reply(200, [git.file(call.repository, pull.last_head_sha, one) for one in page], links)


async def list_commits(call: Call) -> Reply:
    issue, pull = call.pull
    changes = await pull_changes(call.repository, issue, pull)
    page, links = call.page(changes.commits)
    return Reply(200, [GitRender(call.render).commit(call.repository, one) for one in page], links)


# merging


async def is_merged(call: Call) -> Reply:
    if call.pull[1].merged_at is None:
        raise not_found()
    return Reply(204)


async def merge(call: Call) -> Reply:
    """Merge by a merge commit or squashed into one; rebasing is switched off in the box."""
    issue, pull = call.pull
    repository, fields = call.repository, call.fields("PullRequest")
    method = fields.choice("merge_method", ("merge", "squash", "rebase")) or "merge"
    if method == "rebase":
        raise Refused(405, "Rebase merges are not allowed on this repository.")
    async with repository.git.lock:
        before = await repository.git.refs()
        head, base = await pull.head_sha(repository), before.get(f"refs/heads/{pull.base}")
        if pull.draft and issue.state == "open":
            raise Refused(405, "Pull Request is still a draft")
        if issue.state == "closed" or head is None or base is None:
            raise Refused(405, "Pull Request is not mergeable")
        if (wanted := fields.optional_text("sha")) and wanted != head:
            raise Refused(409, "Head branch was modified. Review and try the merge again.")
        for name in repository.required.get(pull.base, ()):
            if not passes(repository, head, name):
                raise Refused(405, f'Required status check "{name}" has not passed.')
        tree = await repository.git.merged_tree(base, head)
        if tree is None:
            raise Refused(405, "Pull Request is not mergeable")
        title, text = _merge_message(repository, issue, pull, method)
        title = fields.optional_text("commit_title") or title
        text = fields.optional_text("commit_message") or text
        parents = [base, head] if method == "merge" else [base]
        commit = await repository.git.commit_tree(
            tree, parents, f"{title}\n\n{text}", call.actor.login, address(call.actor)
        )
        try:
            await repository.git.move(f"refs/heads/{pull.base}", commit, base)
        except GitFailed:
            raise Refused(409, "Base branch was modified. Try the merge again.") from None
        pull.last_head_sha, pull.base_sha = head, base
        await merged(repository, issue, pull, commit, call.events, call.actor, call.now)
        await moved(repository, before, call.events, call.actor, call.now)
    return Reply(
        200, {"sha": commit, "merged": True, "message": "Pull Request successfully merged"}
    )


def _merge_message(
    repository: Repository, issue: Issue, pull: Pull, method: str
) -> tuple[str, str]:
    if method == "squash":
        return f"{issue.title} (#{issue.number})", issue.body or ""
    source = pull.head_label(repository).replace(":", "/", 1)
    return f"Merge pull request #{issue.number} from {source}", issue.title


_ONE = f"{REPO}/pulls/{{pull_number}}"
_READ = reading("pull_requests")
_MERGE = writing(Role.WRITE, "contents")
ROUTES = (
    Route("GET", f"{REPO}/pulls", list_pulls, _READ),
    Route("POST", f"{REPO}/pulls", create_pull, writing(Role.NONE, "pull_requests")),
    Route("GET", _ONE, get_pull, _READ),
    Route("PATCH", _ONE, change_pull, writing(Role.NONE, "pull_requests")),
    Route("GET", f"{_ONE}/files", list_files, _READ),
    Route("GET", f"{_ONE}/commits", list_commits, _READ),
    Route("GET", f"{_ONE}/merge", is_merged, _READ),
    Route("PUT", f"{_ONE}/merge", merge, _MERGE),
)
