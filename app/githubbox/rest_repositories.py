"""REST of a repository and its git: contents, references, branches, commits, comparisons."""

from __future__ import annotations

import base64

from app.githubbox.git import EMPTY_TREE, NOTHING, Entry, GitFailed
from app.githubbox.http import Call, Refused, Reply, in_media, not_found
from app.githubbox.identity import AsInstallation, AsUser
from app.githubbox.moves import moved
from app.githubbox.render import REPO
from app.githubbox.render_git import GitRender
from app.githubbox.routing import Need, Route, reading, writing
from app.githubbox.state import Json, Repository, Role

MAX_INLINE_BYTES = 1_000_000
"""The content of a larger file is left out of the answer."""
MAX_LISTED_COMMITS = 10_000


async def get_repository(call: Call) -> Reply:
    is_person = isinstance(call.caller, AsUser)
    role = call.repository.role(call.actor) if is_person else Role.READ
    if isinstance(call.caller, AsInstallation) and call.caller.may("contents", "write"):
        role = Role.WRITE
    return Reply(200, call.render.repository(call.repository, role))


async def get_permission(call: Call) -> Reply:
    """What a person may do here; an App's bot is no person to GitHub."""
    user = call.world.user(call.params["username"])
    if user is None:
        raise not_found()
    if user.kind == "Bot":
        raise Refused(404, f"{user.login} is not a user")
    role = call.repository.role(user)
    body = call.render.user(user) | {
        "role_name": role.label,
        "permissions": {
            "admin": role >= Role.ADMIN,
            "maintain": role >= Role.MAINTAIN,
            "push": role >= Role.WRITE,
            "triage": role >= Role.TRIAGE,
            "pull": role >= Role.READ,
        },
    }
    return Reply(
        200,
        {
            "permission": role.legacy,
            "role_name": role.label,
            "user": body,
        },
    )


async def check_collaborator(call: Call) -> Reply:
    user = call.world.user(call.params["username"])
    if user is None or call.repository.role(user) is Role.NONE:
        raise not_found()
    return Reply(204)


# contents


async def get_contents(call: Call) -> Reply:
    """A file with its content, or the list of a directory."""
    repository, path = call.repository, call.params.get("path", "").strip("/")
    ref = call.query.get("ref") or repository.default_branch
    sha = await repository.git.resolve(ref)
    if sha is None:
        raise Refused(404, f"No commit found for the ref {ref}")
    entries = await repository.git.entries(sha, path)
    if not entries:
        raise not_found()
    if len(entries) > 1 or entries[0].path != path:
        return Reply(200, [_entry(call, repository, one, ref) for one in entries])
    content = await repository.git.blob(entries[0].sha)
    if call.media == "raw":
        return in_media("raw", content)
    small = len(content) <= MAX_INLINE_BYTES
    return Reply(
        200,
        _entry(call, repository, entries[0], ref)
        | {
            "encoding": "base64" if small else "none",
            "content": base64.encodebytes(content).decode() if small else "",
        },
    )


def _entry(call: Call, repository: Repository, entry: Entry, ref: str) -> Json:
    url = call.render.api_url(repository, f"/contents/{entry.path}?ref={ref}")
    kind = {"tree": "dir", "commit": "submodule"}.get(entry.kind, "file")
    git = "trees" if kind == "dir" else "blobs"
    git_url = call.render.api_url(repository, f"/git/{git}/{entry.sha}")
    view = "tree" if kind == "dir" else "blob"
    page = call.render.page_url(repository, f"/{view}/{ref}/{entry.path}")
    raw = call.render.page_url(repository, f"/raw/{ref}/{entry.path}") if kind == "file" else None
    return {
        "type": "symlink" if entry.mode == "120000" else kind,
        "size": entry.size,
        "name": entry.path.rpartition("/")[2],
        "path": entry.path,
        "sha": entry.sha,
        "url": url,
        "git_url": git_url,
        "html_url": page,
        "download_url": raw,
        "_links": {"self": url, "git": git_url, "html": page},
    }


# references


async def get_ref(call: Call) -> Reply:
    ref = f"refs/{call.params['ref']}"
    sha = (await call.repository.git.refs()).get(ref)
    if sha is None:
        raise not_found()
    return Reply(200, _ref(call, ref, sha))


async def list_matching_refs(call: Call) -> Reply:
    """All that begin so, on one page."""
    beginning = f"refs/{call.params['ref']}"
    refs = await call.repository.git.refs()
    return Reply(
        200, [_ref(call, ref, sha) for ref, sha in refs.items() if ref.startswith(beginning)]
    )


async def create_ref(call: Call) -> Reply:
    fields, git = call.fields("Reference"), call.repository.git
    ref, sha = fields.text("ref"), fields.text("sha")
    if not ref.startswith("refs/") or ref.count("/") < 2 or not await git.valid_name(ref):
        raise Refused(422, f"'{ref}' is not a valid ref name.")
    if len(sha) != len(NOTHING) or await git.resolve(sha) is None:
        raise Refused(422, "Object does not exist")
    await _move(call, ref, sha, "Reference already exists", must_exist=False)
    return Reply(
        201, _ref(call, ref, sha), {"Location": call.render.api_url(call.repository, f"/git/{ref}")}
    )


async def change_ref(call: Call) -> Reply:
    fields, git = call.fields("Reference"), call.repository.git
    ref, sha = f"refs/{call.params['ref']}", fields.text("sha")
    if len(sha) != len(NOTHING) or await git.resolve(sha) is None:
        raise Refused(422, "Object does not exist")
    old = (await git.refs()).get(ref)
    if old and not fields.flag("force") and not await git.contains(sha, old):
        raise Refused(422, "Update is not a fast forward")
    await _move(call, ref, sha, "Reference does not exist", must_exist=True)
    return Reply(200, _ref(call, ref, sha))


async def delete_ref(call: Call) -> Reply:
    ref = f"refs/{call.params['ref']}"
    if ref == f"refs/heads/{call.repository.default_branch}":
        raise Refused(422, "Cannot delete the default branch")
    await _move(call, ref, NOTHING, "Reference does not exist", must_exist=True)
    return Reply(204)


async def _move(call: Call, ref: str, new: str, refusal: str, *, must_exist: bool) -> None:
    """Move a reference under the repository's lock and tell what followed."""
    repository = call.repository
    if ref.removeprefix("refs/heads/") in repository.protected:
        raise Refused(422, f"Protected branch update failed for {ref}.")
    async with repository.git.lock:
        before = await repository.git.refs()
        if (ref in before) != must_exist:
            raise Refused(422, refusal)
        try:
            await repository.git.move(ref, new, before.get(ref, NOTHING))
        except GitFailed as error:
            raise Refused(422, str(error)) from None
        await moved(repository, before, call.events, call.actor, call.now)


def _ref(call: Call, ref: str, sha: str) -> Json:
    url = call.render.api_url(call.repository, f"/git/commits/{sha}")
    return {
        "ref": ref,
        "node_id": f"REF_{ref}",
        "url": call.render.api_url(call.repository, f"/git/{ref}"),
        "object": {"sha": sha, "type": "commit", "url": url},
    }


# branches and commits


async def list_branches(call: Call) -> Reply:
    repository, branches = call.repository, []
    for ref, sha in (await repository.git.refs()).items():
        if ref.startswith("refs/heads/"):
            name = ref.removeprefix("refs/heads/")
            commit = {"sha": sha, "url": call.render.api_url(repository, f"/commits/{sha}")}
            branches.append(
                {"name": name, "commit": commit, "protected": name in repository.protected}
            )
    page, links = call.page(branches)
    return Reply(200, page, links)


async def get_branch(call: Call) -> Reply:
    repository, name = call.repository, call.params["branch"]
    sha = (await repository.git.refs()).get(f"refs/heads/{name}")
    if sha is None:
        raise Refused(404, "Branch not found")
    protected = name in repository.protected
    url = call.render.api_url(repository, f"/branches/{name}")
    commit = GitRender(call.render).commit(repository, await repository.git.commit(sha))
    page = call.render.page_url(repository, f"/tree/{name}")
    return Reply(
        200,
        {
            "name": name,
            "commit": commit,
            "_links": {"self": url, "html": page},
            "protected": protected,
            "protection": {
                "enabled": protected,
                "required_status_checks": {
                    "enforcement_level": "off",
                    "contexts": [],
                    "checks": [],
                },
            },
            "protection_url": f"{url}/protection",
        },
    )


async def list_commits(call: Call) -> Reply:
    repository = call.repository
    name = call.query.get("sha") or repository.default_branch
    sha = await repository.git.resolve(name)
    if sha is None:
        raise not_found()
    found = await repository.git.log(
        sha, limit=MAX_LISTED_COMMITS, path=call.query.get("path") or None
    )
    page, links = call.page(found)
    return Reply(200, [GitRender(call.render).commit(repository, one) for one in page], links)


async def get_commit(call: Call) -> Reply:
    sha = await call.repository.git.resolve(call.params["ref"])
    if sha is None:
        raise Refused(422, f"No commit found for SHA: {call.params['ref']}")
    if call.media == "diff":
        git = call.repository.git
        parents = (await git.commit(sha)).parents
        return in_media("diff", await git.diff(parents[0] if parents else EMPTY_TREE, sha))
    return Reply(200, await GitRender(call.render).full_commit(call.repository, sha))


async def compare(call: Call) -> Reply:
    """`base...head` of two branches, tags or SHAs; an `owner:` before a name is dropped."""
    base, dots, head = call.params["basehead"].partition("...")
    git = call.repository.git
    shas = [await git.resolve(name.rpartition(":")[2]) for name in (base, head)]
    if not dots or shas[0] is None or shas[1] is None:
        raise not_found()
    parted = await git.merge_base(shas[0], shas[1])
    if parted == EMPTY_TREE:
        raise Refused(404, f"No common ancestor between {base} and {head}.")
    if call.media == "diff":
        return in_media("diff", await git.diff(parted, shas[1]))
    return Reply(
        200,
        await GitRender(call.render).comparison(
            call.repository, shas[0], shas[1], f"{base}...{head}"
        ),
    )


_READ, _PUSH = reading("contents"), writing(Role.WRITE, "contents")
ROUTES = (
    Route("GET", REPO, get_repository, Need(("metadata",), "read", Role.NONE, public=True)),
    Route("GET", f"{REPO}/collaborators/{{username}}", check_collaborator, reading("metadata")),
    Route(
        "GET", f"{REPO}/collaborators/{{username}}/permission", get_permission, reading("metadata")
    ),
    Route("GET", f"{REPO}/contents", get_contents, _READ),
    Route("GET", f"{REPO}/contents/{{path}}", get_contents, _READ),
    Route("GET", f"{REPO}/git/ref/{{ref}}", get_ref, _READ),
    Route("GET", f"{REPO}/git/matching-refs/{{ref}}", list_matching_refs, _READ),
    Route("POST", f"{REPO}/git/refs", create_ref, _PUSH),
    Route("PATCH", f"{REPO}/git/refs/{{ref}}", change_ref, _PUSH),
    Route("DELETE", f"{REPO}/git/refs/{{ref}}", delete_ref, _PUSH),
    Route("GET", f"{REPO}/branches", list_branches, _READ),
    Route("GET", f"{REPO}/branches/{{branch}}", get_branch, _READ),
    Route("GET", f"{REPO}/commits", list_commits, _READ),
    Route("GET", f"{REPO}/commits/{{ref}}", get_commit, _READ),
    Route("GET", f"{REPO}/compare/{{basehead}}", compare, _READ),
)
