"""What the twin of the workspaces makes of an agent's commits for people: as real git does."""

from collections.abc import Sequence

from app.core.text.harmless import without_calls
from app.githubbox.git import Commit
from app.ports import WORK_IN_PROGRESS, CheckoutOrder
from tests.twins.git import MemoryGit


def ours(git: MemoryGit, order: CheckoutOrder, head: str, known: Sequence[str]) -> str:
    """The head with commits of the bot alone in what none of the known ones has."""
    return _rewritten(git, order, head, known, "", set())


def finished(
    git: MemoryGit, order: CheckoutOrder, head: str, there: str, default: str, message: str
) -> str | None:
    """The same for a pull request; None: others have commits there, or there is nothing to show."""
    on_github = git.since(there, default)
    if any(each.committer.email != order.author_email for each in on_github):
        return None
    new = _rewritten(git, order, head, [default], message, {each.sha for each in on_github})
    return new if git.since(new, default) else None


def _rewritten(
    git: MemoryGit,
    order: CheckoutOrder,
    head: str,
    known: Sequence[str],
    message: str,
    on_github: set[str],
) -> str:
    """`message`: of a commit in place of one that keeps what was never committed; empty unless the
    work is finished. `on_github`: what names its co-author already."""
    became = dict[str, str]()
    for each in reversed(git.since(head, *known)):
        parents = list(dict.fromkeys(became.get(one, one) for one in each.parents))
        is_kept = bool(message) and each.message.startswith(WORK_IN_PROGRESS)
        is_empty = len(parents) == 1 and dict(git.files(each.sha)) == dict(git.files(parents[0]))
        if (message and is_empty) or (is_kept and each.sha != head and len(parents) == 1):
            became[each.sha] = parents[0]
        else:
            says = without_calls(message if is_kept else each.message)
            if (is_kept or each.sha not in on_github) and len(parents) == 1:
                says = _signed(order, says)
            became[each.sha] = _as_ours(git, order, each, parents, says)
    return became.get(head, head)


def _as_ours(
    git: MemoryGit, order: CheckoutOrder, commit: Commit, parents: list[str], message: str
) -> str:
    us = (order.author_name, order.author_email)
    is_ours = all((who.name, who.email) == us for who in (commit.author, commit.committer))
    if is_ours and ([*commit.parents], commit.message) == (parents, message):
        return commit.sha
    return git.make(git.files(commit.sha), parents, message, *us)


def _signed(order: CheckoutOrder, message: str) -> str:
    trailer = f"Co-authored-by: {order.co_author}"
    if not order.co_author or trailer in message:
        return message
    return f"{message}\n\n{trailer}"
