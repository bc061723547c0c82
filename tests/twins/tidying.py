"""What the twin of the workspaces makes of an agent's commits for people: as real git does."""

from collections.abc import Sequence

from app.githubbox.git import Commit
from app.ports import WORK_IN_PROGRESS, CheckoutOrder
from tests.twins.git import MemoryGit


def ours(git: MemoryGit, order: CheckoutOrder, head: str, known: Sequence[str]) -> str:
    """The head with commits of the bot alone in what none of the known ones has."""
    return _rewritten(git, order, head, known, "")


def finished(
    git: MemoryGit, order: CheckoutOrder, head: str, there: str, default: str, message: str
) -> str | None:
    """The same for a pull request; None: others have commits there, or there is nothing to show."""
    if any(each.committer.email != order.author_email for each in git.since(there, default)):
        return None
    new = _rewritten(git, order, head, [default], message)
    return new if git.since(new, default) else None


def _rewritten(
    git: MemoryGit, order: CheckoutOrder, head: str, known: Sequence[str], message: str
) -> str:
    """`message`: of a commit in place of one that keeps what was never committed; empty unless the
    work is finished."""
    became = dict[str, str]()
    for each in reversed(git.since(head, *known)):
        parents = list(dict.fromkeys(became.get(one, one) for one in each.parents))
        is_kept = bool(message) and each.message.startswith(WORK_IN_PROGRESS)
        is_empty = len(parents) == 1 and dict(git.files(each.sha)) == dict(git.files(parents[0]))
        if (message and is_empty) or (is_kept and each.sha != head and len(parents) == 1):
            became[each.sha] = parents[0]
        else:
            became[each.sha] = _as_ours(git, order, each, parents, message if is_kept else "")
    return became.get(head, head)


def _as_ours(
    git: MemoryGit, order: CheckoutOrder, commit: Commit, parents: list[str], message: str
) -> str:
    us = (order.author_name, order.author_email)
    is_ours = all((who.name, who.email) == us for who in (commit.author, commit.committer))
    if is_ours and [*commit.parents] == parents and not message:
        return commit.sha
    return git.make(git.files(commit.sha), parents, message or commit.message, *us)
