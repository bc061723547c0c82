"""When people have taken an agent's work away, decided from the issue as it is now.

Whoever may set a label or assign somebody on GitHub may take it back; who it was does not matter,
so that a lost webhook changes nothing (promise 10).

A label names the role, an assignment of our own login asks for the roles of the labels. So the
label that goes takes the work away, whoever is assigned; an assignment that goes does so only
where no label asks for the agent by itself.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.events import AgentEvent, Created
from app.core.github.timeline import Mark

LABEL_TRIGGER: Final = "label "
"""How the trigger of a start begins that a label asked for."""
ASSIGNMENT_TRIGGER: Final = "assignment"
RELABELLED_WITHIN: Final = timedelta(seconds=2)
"""Between a label that is taken off and the same that is set again. GitHub tells instants to the
second."""
RETRY_TRIGGER: Final = "retry"
"""Of a start that a person told Squadron to make."""
_BESIDE_A_LABEL: Final = (ASSIGNMENT_TRIGGER, RETRY_TRIGGER)
"""Triggers for which a label of the role stands, whichever that is."""


@dataclass(frozen=True, slots=True)
class Issue:
    """What of an issue says whose work it is."""

    number: int
    is_open: bool
    assignees: Collection[str]
    starts_role: bool
    """Whether one of its labels starts the agent's role."""
    labels: Collection[str] = ()
    removed_label: str = ""
    """The last label that starts the agent's role and was removed since it began."""
    assigned_after_us: Collection[str] = ()
    """Who was assigned after our own login was, if that was since the agent began."""
    taken_back: Mark | None = None
    """What took the work away first since the agent was asked for; it may be undone by now."""
    label_asks: bool = False
    """Whether a label would have started the agent by itself, though an assignment did."""


@dataclass(frozen=True, slots=True)
class Taken:
    """That people have taken an agent's work away."""

    why: str
    at: datetime | None
    """When they did, as GitHub tells it; None: it does not."""


def is_withdrawn(
    trigger: str,
    role: str,
    labels: Collection[str],
    role_of_label: Callable[[str], str | None],
    is_ours: bool,
) -> bool:
    """Whether what asked for an agent of the role, by `trigger`, is not there any more: the label,
    and any other that starts the role, or the assignment of our own login (`is_ours`: it is
    there) with all of these."""
    starts_role = any(role_of_label(label) == role for label in labels)
    if trigger == ASSIGNMENT_TRIGGER:
        return not (is_ours and starts_role)
    return not starts_role and _is_unlabelled(trigger, labels)


def beginning(history: Sequence[AgentEvent]) -> Created | None:
    """How an agent was asked for, and what its issue was like then."""
    return next((event for event in history if isinstance(event, Created)), None)


def taken_away(history: Sequence[AgentEvent], issue: Issue | None, bot: str) -> str:
    """Why the agent has to stop; empty: it goes on.

    `issue` None: it was deleted or transferred. A co-assignee, and who was assigned from the
    start, change nothing: only somebody in the place of `bot`, our own login, does.
    """
    if issue is None:
        return "The issue was deleted or transferred."
    taken = issue.taken_back
    back, by = ("", "") if taken is None else (taken.what, taken.by or "Somebody")
    if back == "closed":
        return f"{by} closed #{issue.number}."
    if not (back or issue.is_open):
        return f"#{issue.number} was closed."
    began = beginning(history)
    if began is None:
        return ""
    if label := _removed(began, issue):
        is_known = back == "unlabeled"
        how = f"{by} removed `{label}`" if is_known else f"`{label}` was removed"
        return f"{how} from #{issue.number}."
    return _replaced(began, issue, bot) or (_unassigned(issue, bot) if back == "unassigned" else "")


def needs_marks(history: Sequence[AgentEvent], issue: Issue, bot: str) -> bool:
    """Whether `taken_away` depends on what has happened to an open issue since the agent began:
    who started it by a word or an assignment can take back a label that was there; where an
    assignment is gone a label may ask; and our own login may have been assigned meanwhile, and
    replaced."""
    began = beginning(history)
    if began is None:
        return False
    if began.trigger in _BESIDE_A_LABEL and not issue.starts_role:
        return True
    if began.trigger == ASSIGNMENT_TRIGGER and bot not in issue.assignees:
        return True
    is_known = bot in began.assignees or bot in issue.assignees
    return not is_known and bool(set(issue.assignees) - set(began.assignees))


def _removed(began: Created, issue: Issue) -> str:
    """The label that stood for the agent's work, and is gone."""
    label = began.trigger.removeprefix(LABEL_TRIGGER)
    back = issue.taken_back
    if back is not None and back.what == "unlabeled":
        return label if _is_label(began.trigger) else back.about
    if issue.starts_role:
        return ""
    if began.trigger in _BESIDE_A_LABEL:
        return issue.removed_label
    return label if _is_unlabelled(began.trigger, issue.labels) else ""


def taken_back(
    trigger: str,
    starts_role: Callable[[str], bool],
    bot: str,
    since: datetime,
    marks: Sequence[Mark],
    may_start: Callable[[Mark], bool],
) -> Mark | None:
    """What first ended, after `since`, that somebody wants an agent by `trigger`: the issue was
    closed, or what asks for the agent was taken off. All of that may be undone by now.

    `starts_role`: whether a label starts the agent's role; while one does, no other is missed.
    `may_start`: whether it would have started this agent, set as the mark says.
    """
    own = trigger.removeprefix(LABEL_TRIGGER).casefold() if _is_label(trigger) else None
    stands_for_it = own is not None or trigger in _BESIDE_A_LABEL
    labels = set[str]()
    for position, mark in enumerate(marks):
        about, is_later = mark.about.casefold(), mark.at > since
        match mark.what:
            case "labeled":
                labels.add(about)
            case "unlabeled":
                labels.discard(about)
                is_its = about == own or (stands_for_it and starts_role(about))
                is_left = own in labels or any(map(starts_role, labels))
                is_gone = not is_left and not _is_set_again(mark, marks[position + 1 :])
                if is_later and is_its and is_gone:
                    return mark
            case "unassigned" if is_later and trigger == ASSIGNMENT_TRIGGER:
                is_us = about == bot.casefold()
                if is_us and not label_asks(labels, starts_role, marks[:position], may_start):
                    return mark
            case "closed" if is_later:
                return mark
            case _:
                pass
    return None


def label_asks(
    labels: Collection[str],
    starts_role: Callable[[str], bool],
    marks: Sequence[Mark],
    may_start: Callable[[Mark], bool],
) -> bool:
    """Whether one of the labels, as the marks tell of it, asks for an agent by itself: what was
    set before the issue was closed does not."""
    there, asking = {label.casefold() for label in labels}, set[str]()
    for mark in marks:
        if mark.what == "closed":
            asking.clear()
        elif mark.what == "labeled" and starts_role(mark.about) and may_start(mark):
            asking.add(mark.about.casefold())
        elif mark.what == "labeled":  # whoever set it last asks
            asking.discard(mark.about.casefold())
    return bool(asking & there)


def _is_set_again(off: Mark, later: Sequence[Mark]) -> bool:
    """Whether a label was taken off for a moment only: relabelling stops nobody who works."""
    until = off.at + RELABELLED_WITHIN
    return any(
        mark.what == "labeled"
        and mark.about.casefold() == off.about.casefold()
        and mark.at <= until
        for mark in later
    )


def _is_label(trigger: str) -> bool:
    return trigger.startswith(LABEL_TRIGGER)


def _is_unlabelled(trigger: str, labels: Collection[str]) -> bool:
    """Whether it was a label that asked, and is gone: what it starts by now does not matter."""
    names = {f"{LABEL_TRIGGER}{label}".casefold() for label in labels}
    return trigger.startswith(LABEL_TRIGGER) and trigger.casefold() not in names


def _replaced(began: Created, issue: Issue, bot: str) -> str:
    if bot in issue.assignees:
        return ""
    others = sorted(set(issue.assignees) - set(began.assignees))
    if bot not in began.assignees:
        others = [login for login in others if login in issue.assigned_after_us]
    if others:
        return f"#{issue.number} was assigned to {', '.join(others)} instead."
    if began.trigger == ASSIGNMENT_TRIGGER and not issue.label_asks:
        return _unassigned(issue, bot)
    return ""


def _unassigned(issue: Issue, bot: str) -> str:
    return f"#{issue.number} is not assigned to {bot} any more."
