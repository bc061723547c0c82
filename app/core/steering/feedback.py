"""What people and other Apps say to an agent's pull request, and what of it wakes the agent.

All of it is untrusted text. Whoever may not steer agents was left out before.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from app.core.agents.events import AgentEvent, SpokenTo, Woken
from app.core.commands.grammar import without_commands
from app.core.github.checks import FailedCheck
from app.core.github.comment_kinds import comment_name
from app.core.text.markdown import cut

MOST_REMARKS: Final = 50
"""Comments on lines that an agent is told of, of one review."""
MOST_REMARK_CHARACTERS: Final = 2_000
MOST_SUMMARY_CHARACTERS: Final = 3_000
MOST_CHECKS: Final = 10
_CONFLICT: Final = "conflict "

ReviewState = Literal["approved", "changes_requested", "commented", "dismissed"]


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on a line of the diff."""

    path: str
    line: int | None
    """None: the line is not part of the diff any more, or the whole file is meant."""
    body: str
    link: str
    """To the comment."""


@dataclass(frozen=True, slots=True)
class Review:
    """A review as it was submitted, with its comments on lines."""

    number: int
    author: str
    is_bot: bool
    state: ReviewState
    body: str
    at: datetime
    """When it was submitted, to the second."""
    link: str
    remarks: tuple[Remark, ...] = ()


def for_the_agent(review: Review, visible_lines: Callable[[str], Sequence[str]]) -> Review:
    """The review without what in it is meant for Squadron. One that holds nothing else asks the
    agent for nothing."""
    body = without_commands(review.body, visible_lines)
    remarks = tuple(
        replace(each, body=words)
        for each in review.remarks
        if (words := without_commands(each.body, visible_lines)).strip() or words == each.body
    )
    if (body, remarks) == (review.body, review.remarks):
        return review
    is_all = not body.strip() and not remarks
    is_wish = review.state == "changes_requested" and is_all
    state: ReviewState = "commented" if is_wish else review.state
    return replace(review, body=body, remarks=remarks, state=state)


def asking(reviews: Sequence[Review]) -> list[Review]:
    """The reviews that ask for something, oldest first.

    Words and comments on lines do; an approval only by its comments on lines. What somebody said
    before he approved, or withdrew, asks for nothing any more.
    """
    found = []
    for place, review in enumerate(reviews):
        later = (each for each in reviews[place + 1 :] if each.author == review.author)
        says = bool(review.remarks) or (
            review.state == "changes_requested"
            or (review.state == "commented" and bool(review.body.strip()))
        )
        is_settled = any(each.state == "approved" for each in later)
        if says and not is_settled and review.state != "dismissed":
            found.append(review)
    return found


def review_name(repository: str, review: Review) -> str:
    """Tells a review from everything else that wakes agents."""
    return comment_name("review", repository, review.number)


def check_name(repository: str, sha: str, check: FailedCheck) -> str:
    """Once for each head and check or status, however often it is run again."""
    kind = "status" if check.is_status else "check"
    return f"{kind} {repository} {sha} {check.name}"


def conflict_name(repository: str, sha: str) -> str:
    """Of a head that cannot be merged."""
    return f"{_CONFLICT}{repository} {sha}"


def told(log: Iterable[AgentEvent]) -> frozenset[str]:
    """Names of everything that has woken the agent of that log, or that it read at work."""
    found = set[str]()
    for event in log:
        match event:
            case Woken(said=said, feedback=names):
                found.update(names, [said] if said else [])
            case SpokenTo(said=said):
                found.add(said)
            case _:
                pass
    return frozenset(found)


def was_told_of_a_conflict(log: Iterable[AgentEvent]) -> bool:
    """Whether the agent was woken for the last time to resolve a conflict with the base."""
    woken = [event for event in log if isinstance(event, Woken)]
    return bool(woken) and (woken[-1].said or "").startswith(_CONFLICT)


def review_words(review: Review) -> str:
    """What somebody says in a review, each comment with its place."""
    verb = "requested changes" if review.state == "changes_requested" else "reviewed"
    body = cut(review.body.strip(), MOST_SUMMARY_CHARACTERS)
    parts = [f"{review.author} {verb}:", *filter(None, [body])]
    parts += [_remark_words(each) for each in review.remarks[:MOST_REMARKS]]
    if more := max(len(review.remarks) - MOST_REMARKS, 0):
        parts.append(f"({more} more comments on lines.)")
    return "\n\n".join(parts)


def _remark_words(remark: Remark) -> str:
    place = remark.path if remark.line is None else f"{remark.path}:{remark.line}"
    return f"{place} ({remark.link})\n{cut(remark.body.strip(), MOST_REMARK_CHARACTERS)}"


def checks_words(checks: Sequence[FailedCheck]) -> str:
    """What failed on the agent's head, in the words of the Apps."""
    parts = [_check_words(each) for each in checks[:MOST_CHECKS]]
    if more := max(len(checks) - MOST_CHECKS, 0):
        parts.append(f"({more} more checks failed.)")
    return "\n\n".join(parts)


def _check_words(check: FailedCheck) -> str:
    title = f" ({check.title})" if check.title and check.title != check.name else ""
    summary = cut(check.summary.strip(), MOST_SUMMARY_CHARACTERS)
    ended = f"The check {check.name} of {check.app} ended with {check.conclusion}{title}."
    if check.is_status:
        ended = f"The status {check.name} says {check.conclusion}{title}."
    return f"{ended}\n\n{summary}".rstrip()


def conflict_words(number: int, base: str) -> str:
    """What an agent is told of a pull request that cannot be merged."""
    return (
        f"Pull request #{number} conflicts with {base} and cannot be merged. The present {base} is"
        f" in your clone as origin/{base}: commit what you have not committed, merge it into your"
        " branch, resolve the conflict, run the tests, and report."
    )


def conflict_stays_words(base: str, paths: Sequence[str] = ()) -> str:
    """Why a person has to decide: the agent was told of the conflict and it is still there."""
    where = f" in {', '.join(f'`{path}`' for path in paths[:10])}" if paths else ""
    return f"The branch still conflicts with `{base}`{where} after a round to resolve it."
