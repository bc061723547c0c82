"""Commits that Squadron writes itself, and how commits stand to each other."""

from pathlib import Path

from app.adapters.workspace.host_git import GitFailed, HostGit
from app.ports import CheckoutOrder, WorkspaceFailed


async def write_commit(
    git: HostGit,
    git_directory: Path,
    order: CheckoutOrder,
    message: str,
    tree: str,
    *parents: str,
) -> str:
    """Write a commit under the App's bot identity; its SHA."""
    made = await git(
        git_directory,
        *("commit-tree", tree, *(word for parent in parents for word in ("-p", parent))),
        *("-F", "-"),
        variables={
            "GIT_AUTHOR_NAME": order.author_name,
            "GIT_AUTHOR_EMAIL": order.author_email,
            "GIT_COMMITTER_NAME": order.author_name,
            "GIT_COMMITTER_EMAIL": order.author_email,
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
