"""Commits that Squadron writes itself, and how commits stand to each other."""

import re
from pathlib import Path
from typing import Final

from app.adapters.workspace.host_git import GitFailed, HostGit
from app.core.agents.events import DiffSize
from app.ports import CheckoutOrder, WorkspaceFailed
from app.testruns import is_test_file

_SHORTSTAT: Final = re.compile(
    r"(\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?"
)


async def signed(git: HostGit, git_directory: Path, order: CheckoutOrder, message: str) -> str:
    """A message that names the order's co-author, if there is one, in a trailer as GitHub reads
    it (https://docs.github.com/en/pull-requests/committing-changes-to-your-project)."""
    if not order.co_author:
        return message
    return await git(
        git_directory,
        *("interpret-trailers", "--no-divider", "--if-exists", "addIfDifferent"),
        *("--trailer", f"Co-authored-by: {order.co_author}"),
        stdin=f"{message.rstrip()}\n".encode(),
    )


async def write_commit(
    git: HostGit,
    git_directory: Path,
    order: CheckoutOrder,
    message: str,
    tree: str,
    *parents: str,
    dates: tuple[str, str] | None = None,
) -> str:
    """Write a commit under the App's bot identity; its SHA. `dates`: when it was written and when
    committed, as `--date=raw` has them; None: now."""
    written, committed = (f"@{date}" for date in dates) if dates else ("", "")
    made = await git(
        git_directory,
        *("commit-tree", tree, *(word for parent in parents for word in ("-p", parent))),
        *("-F", "-"),
        variables={
            "GIT_AUTHOR_NAME": order.author_name,
            "GIT_AUTHOR_EMAIL": order.author_email,
            "GIT_COMMITTER_NAME": order.author_name,
            "GIT_COMMITTER_EMAIL": order.author_email,
            "GIT_AUTHOR_DATE": written,
            "GIT_COMMITTER_DATE": committed,
        },
        stdin=message.encode(),
    )
    return made.strip()


async def tree_of(git: HostGit, git_directory: Path, commit: str) -> str:
    """The tree of a commit."""
    return (await git(git_directory, "rev-parse", "--verify", f"{commit}^{{tree}}")).strip()


async def have_equal_content(git: HostGit, git_directory: Path, one: str, other: str) -> bool:
    """Whether two commits hold the same tree."""
    trees = await git(git_directory, "rev-parse", f"{one}^{{tree}}", f"{other}^{{tree}}")
    return len(set(trees.split())) == 1


async def diff_size(git: HostGit, git_directory: Path, one: str, other: str) -> DiffSize | None:
    """How far two commits differ; None when git does not say, which must not keep work back."""
    try:
        said = await git(
            git_directory,
            *("diff", "--shortstat", "--no-ext-diff", "--no-textconv", one, other, "--"),
        )
    except GitFailed:
        return None
    files, added, deleted = (
        (int(count or 0) for count in found.groups())
        if (found := _SHORTSTAT.search(said))
        else (0, 0, 0)
    )
    return DiffSize(files=files, added=added, deleted=deleted)


async def deleted_tests(git: HostGit, git_directory: Path, one: str, other: str) -> list[str]:
    """Files with tests that are in one commit and not in the other: a file that was moved to where
    no runner finds it is one of them."""
    said = await git(
        git_directory,
        *("diff", "--name-status", "-z", "--find-renames", "--diff-filter=DR"),
        *("--no-ext-diff", "--no-textconv", one, other, "--"),
    )
    words, gone = iter(said.split("\0")), list[str]()
    for status in words:
        if not status:
            break
        before = next(words)
        after = next(words) if status.startswith("R") else ""
        if is_test_file(before) and not is_test_file(after):
            gone.append(before)
    return sorted(gone)


async def merged_tree(
    git: HostGit, git_directory: Path, one: str, other: str
) -> tuple[str, list[str]]:
    """The tree of a merge, and the files in which it conflicts; none: it is clean.

    Works on objects alone: no file is checked out, and no driver of a repository runs.
    """
    said = await git(
        git_directory,
        *("merge-tree", "--write-tree", "--name-only", "--no-messages", one, other),
        answers=(0, 1),
    )
    tree, *conflicts = said.splitlines()
    return tree, conflicts


async def is_ancestor(git: HostGit, git_directory: Path, older: str, newer: str) -> bool:
    """Whether `newer` holds `older`; every commit holds itself."""
    return older == newer or await git.answers(
        git_directory, "merge-base", "--is-ancestor", older, newer
    )


async def merge_base(git: HostGit, git_directory: Path, one: str, other: str) -> str:
    """The commit that two commits parted from. Raises `WorkspaceFailed` if there is none."""
    try:
        return (await git(git_directory, "merge-base", one, other)).strip()
    except GitFailed as failure:
        if failure.is_transient:
            raise
        raise WorkspaceFailed(
            f"{one[:12]} and {other[:12]} share no history. "
            "Rename or delete the branch that is in the agent's way."
        ) from None
