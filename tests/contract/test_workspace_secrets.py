"""No file and no message that holds a secret is pushed, and none is lost."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.adapters.workspace import GitWorkspace, agent_directory, secrets
from tests.contract.git_remote import BRANCH, ORDER, GitRemote, git, serving, workspaces

MESSAGE = "Keep the work"
SECRET = "canary-webhook-secret/7+x"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "\n".join("MIIEowIBAAKCAQEAyJ5TT9Tf0WhPYTQbVYUyPPCzkK4Q7Qk2rVbIRxpM+Zr4Jq" for _ in range(4))
    + "\n-----END RSA PRIVATE KEY-----\n"
)
TOLD = "ghp_" + "Ab1" * 12
"""A token that the default branch holds already."""


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[GitRemote]:
    with serving(tmp_path / "remote") as served:
        served.commit({"fixture.txt": f"a token: {TOLD}\n"}, "A token that is public")
        yield served


@pytest.fixture
def workspace(remote: GitRemote, tmp_path: Path) -> GitWorkspace:
    return workspaces(tmp_path / "data", remote.url, remote.token, SECRET)


def commit(clone: Path, subject: str = "A commit") -> None:
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", subject)


def objects_on(remote: GitRemote) -> str:
    """Everything that the branch has brought to GitHub."""
    listed = git(remote.bare, "rev-list", "--objects", "--no-object-names", BRANCH, "^main")
    found = listed.split()
    kinds = {each: git(remote.bare, "cat-file", "-t", each) for each in found}
    return "\n".join(
        git(remote.bare, "cat-file", "-p", each) for each in found if kinds[each] != "tree"
    )


FORMS: dict[str, Callable[[], str]] = {
    "as it is": lambda: SECRET,
    "in base64": lambda: base64.b64encode(f"user:{SECRET}".encode()).decode(),
    "in hex": lambda: SECRET.encode().hex(),
    "backwards": lambda: SECRET[::-1],
    "in pieces": lambda: "\n".join(SECRET),
    "an App's token": lambda: "ghs_" + "Zz9" * 12,
    "a person's token": lambda: "github_pat_" + "11ABCDEFG0" * 8,
    "a model's key": lambda: "sk-ant-api03-" + "aB3-_" * 18,
    "a private key": lambda: PEM,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_file_that_holds_a_secret_is_withheld_named_and_kept(
    workspace: GitWorkspace, remote: GitRemote, form: str, is_committed: bool
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "fix.py").write_text("x")
    (clone / "config.ini").write_text(f"[main]\nvalue = {FORMS[form]()}\n")
    if is_committed:
        commit(clone)
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and kept.has_changes
    assert (kept.withheld, kept.content) == (("config.ini",), None), "this was not tested"
    assert remote.show(BRANCH, "fix.py") == "x"
    assert git(remote.bare, "ls-tree", "-r", "--name-only", BRANCH).count("config.ini") == 0
    assert FORMS[form]().strip() not in objects_on(remote)
    assert "Files that hold a secret are not on the branch: `config.ini`." in kept.problem
    patch = agent_directory(clone.parents[2], ORDER.agent) / "refused.patch"
    assert str(patch) in kept.problem and "config.ini" in patch.read_text()
    git(remote.person, "fetch", "-q", "origin")
    git(remote.person, "checkout", "-q", f"origin/{BRANCH}")
    git(remote.person, "apply", "--index", str(patch))
    git(clone, "add", "-A")
    assert git(remote.person, "write-tree") == git(clone, "write-tree"), "by the patch it is whole"
    assert await workspace.keep(ORDER, MESSAGE) == kept


async def test_a_secret_that_a_later_commit_took_out_is_in_no_commit_that_is_pushed(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "config.ini").write_text(SECRET)
    commit(clone, "Try it")
    (clone / "config.ini").write_text("from the environment")
    commit(clone, "Without it")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.is_pushed, kept.problem, kept.withheld) == (True, "", ())
    assert kept.content == await workspace.fingerprint(clone)
    assert remote.show(BRANCH, "config.ini") == "from the environment"
    assert SECRET not in objects_on(remote)


async def test_a_secret_in_the_message_of_a_commit_is_not_pushed_and_not_told(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "fix.py").write_text("x")
    commit(clone, f"Use {SECRET}")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and remote.show(BRANCH, "fix.py") == "x"
    assert SECRET not in objects_on(remote)
    assert kept.commits == ("Use [redacted]",)


async def test_what_the_default_branch_tells_already_is_no_secret(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "fixture.txt").rename(clone / "fixtures.txt")
    (clone / "fixtures.txt").write_text(f"one token: {TOLD}\n")
    (clone / "prose.md").write_text("A token begins with `ghp_`, a key with BEGIN PRIVATE KEY.\n")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert (kept.is_pushed, kept.problem) == (True, "")
    assert TOLD in remote.show(BRANCH, "fixtures.txt")


async def test_a_file_with_the_name_of_a_secret_is_withheld_too(
    workspace: GitWorkspace, remote: GitRemote
) -> None:
    clone = (await workspace.prepare(ORDER)).directory
    (clone / "fix.py").write_text("x")
    (clone / f"{SECRET.replace('/', '-')}.txt").write_text("nothing")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert kept.is_pushed and "webhook" not in git(
        remote.bare, "ls-tree", "-r", "--name-only", BRANCH
    )
    assert "webhook" not in kept.problem and "[redacted]" in kept.problem


async def test_where_secrets_are_everywhere_nothing_is_pushed(
    workspace: GitWorkspace, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "MOST_GUILTY", 3)
    clone = (await workspace.prepare(ORDER)).directory
    before = remote.head(BRANCH)
    for number in range(5):
        (clone / f"{number}.txt").write_text(f"{number}: {SECRET}")
    kept = await workspace.keep(ORDER, MESSAGE)
    assert not kept.is_pushed and "more than 3 files and messages hold a secret" in kept.problem
    assert remote.head(BRANCH) == before
