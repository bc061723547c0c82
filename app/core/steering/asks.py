"""Who asks for an agent on an issue, as GitHub's state tells it: the same whoever was told by a
webhook (promise 10).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Final

from app.core.github.timeline import Mark
from app.core.steering.ownership import ASSIGNMENT_TRIGGER, LABEL_TRIGGER

PUSHED: Final = "pull_request.synchronize"
"""The head of a pull request has moved."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Somebody asks for an agent of a role."""

    role: str
    by: str
    """Login."""
    trigger: str
    """What set it in motion, for people."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Trigger:
    """An event (`triggers.events`) or a label that starts a role."""

    role: str
    since: datetime
    """From when on it counts: what happened before asks for nothing."""


def label_trigger(label: str) -> str:
    """The name of a label among the triggers. GitHub's labels ignore case."""
    return f"{LABEL_TRIGGER}{label.casefold()}"


def in_force(
    before: Mapping[str, Trigger],
    events: Mapping[str, str],
    labels: Mapping[str, str],
    since: datetime,
) -> Mapping[str, Trigger]:
    """The triggers of a configuration, by event and `label_trigger`. One that is new counts from
    `since` on, others from when they did `before`."""
    roles = {**events, **{label_trigger(label): role for label, role in labels.items()}}
    triggers = {name: Trigger(role, since) for name, role in roles.items()}
    return {
        name: before[name] if name in before and before[name].role == new.role else new
        for name, new in triggers.items()
    }


def asks(
    labels: Collection[str],
    role_of_label: Callable[[str], str | None],
    is_ours: bool,
    bot: str,
    marks: Sequence[Mark],
    triggers: Mapping[str, Trigger],
) -> list[Ask]:
    """What the labels and the assignees of an open issue ask for, oldest first.

    What was asked for before the issue was closed last ended with that: opening it again alone
    asks for nothing. `is_ours`: whether `bot`, our own login, is assigned. A label asks when it
    was set last, an assignment asks for the roles of the labels that were there by then. What was
    asked for before a label was one of the `triggers` asks for nothing.
    """
    found, later = [], since_closed(marks)
    assigned = _last(later, "assigned", bot) if is_ours else None
    for label in labels:
        role, labelled = role_of_label(label), _last(marks, "labeled", label)
        if role is None or labelled is None:
            continue
        own = []
        if _last(later, "labeled", label) is not None:
            own.append(Ask(role, labelled.by, f"{LABEL_TRIGGER}{label}", labelled.at))
        if assigned is not None and assigned.at >= labelled.at:
            own.append(Ask(role, assigned.by, ASSIGNMENT_TRIGGER, assigned.at))
        trigger = triggers.get(label_trigger(label))
        found += [ask for ask in own if trigger is None or ask.at >= trigger.since]
    return sorted(found, key=lambda ask: ask.at)


def asked_by_opening(
    triggers: Mapping[str, Trigger], is_pull_request: bool, author: str, at: datetime
) -> Ask | None:
    """What an issue or a pull request asks for by having been opened, `at` that instant."""
    event = "pull_request.opened" if is_pull_request else "issues.opened"
    trigger = triggers.get(event)
    if trigger is None or at < trigger.since:
        return None
    return Ask(trigger.role, author, event, at)


def told_by_marks(
    triggers: Mapping[str, Trigger], is_pull_request: bool, changed_at: datetime
) -> Mapping[str, Trigger]:
    """Those of the triggers of which an issue or a pull request may have marks that count;
    `changed_at`: when something happened to it last."""
    events: Sequence[str] = ("issues.reopened",)
    if is_pull_request:
        events = ("pull_request.reopened", "pull_request.ready_for_review")
    return {
        event: triggers[event]
        for event in events
        if event in triggers and changed_at >= triggers[event].since
    }


def asked_by_events(triggers: Mapping[str, Trigger], marks: Sequence[Mark]) -> list[Ask]:
    """What the marks of such triggers (`told_by_marks`) ask for, oldest first: each event asks
    when it happened last."""
    found = []
    for event, trigger in triggers.items():
        mark = _last(marks, event.partition(".")[2], "")
        if mark is not None and mark.at >= trigger.since:
            found.append(Ask(trigger.role, mark.by, event, mark.at))
    return sorted(found, key=lambda ask: ask.at)


class Push(Enum):
    """What the head of a pull request asks for."""

    NOTHING = auto()
    LATER = auto()
    """An agent is at work, and may or may not have this head before it."""
    REVIEW = auto()


def asked_by_push(seen: str | None, head: str, reviewed: str | None, *, is_at_work: bool) -> Push:
    """Whether a pull request's head has moved unseen, and nobody has reviewed it.

    `seen`: the head as of the last look, None if there was none of this pull request; `reviewed`:
    the head that the role's newest agent had before it.
    """
    if seen is None or head in (seen, reviewed):
        return Push.NOTHING
    return Push.LATER if is_at_work else Push.REVIEW


def since_closed(marks: Sequence[Mark]) -> Sequence[Mark]:
    """What happened after an issue was closed last, oldest first; all, if it never was."""
    closed = [place for place, mark in enumerate(marks) if mark.what == "closed"]
    return marks[closed[-1] + 1 :] if closed else marks


def still_counts(trigger: str, at: datetime | None, bot: str, marks: Sequence[Mark]) -> bool:
    """Whether what asked for an agent by `trigger`, at that instant, was not ended by closing the
    issue, which is open again. `bot`: our own login; `at` None: nobody knows."""
    later = since_closed(marks)
    if len(later) == len(marks):
        return True
    if trigger == ASSIGNMENT_TRIGGER or trigger.startswith(LABEL_TRIGGER):
        again = _last(later, "labeled", trigger.removeprefix(LABEL_TRIGGER))
        return (again or _last(later, "assigned", bot)) is not None
    if trigger == "issues.reopened":
        return True
    if trigger == "issues.opened":
        return False
    closed = marks[len(marks) - len(later) - 1]
    return at is None or closed.at <= at


def removed_since(
    marks: Sequence[Mark], at: datetime, role: str, role_of_label: Callable[[str], str | None]
) -> str:
    """The label that starts the role and was removed last, not before that instant; empty: none."""
    gone = (mark.about for mark in reversed(_since(marks, at)) if mark.what == "unlabeled")
    return next((label for label in gone if role_of_label(label) == role), "")


def assigned_after(marks: Sequence[Mark], at: datetime, bot: str) -> frozenset[str]:
    """Who was assigned after `bot` was, which was not before that instant; nobody if it was not."""
    later = _since(marks, at)
    assigned = [mark.about for mark in later if mark.what == "assigned"]
    logins = [login.casefold() for login in assigned]
    if bot.casefold() not in logins:
        return frozenset()
    return frozenset(assigned[logins.index(bot.casefold()) + 1 :]) - {bot}


def _since(marks: Sequence[Mark], at: datetime) -> Sequence[Mark]:
    """GitHub tells instants to the second."""
    return [mark for mark in marks if mark.at >= at.replace(microsecond=0)]


def is_answered(at: datetime | None, began: datetime, ended: datetime | None) -> bool:
    """Whether the newest agent of a post, which began and `ended` then (None: it works still),
    answers what was asked for at `at` (None: now), whenever that is heard of: it was at work, or
    the one before it. GitHub tells instants to the second."""
    if at is None or ended is None:
        return ended is None
    return at < began or at < ended.replace(microsecond=0)


def _last(marks: Sequence[Mark], what: str, about: str) -> Mark | None:
    fitting = (
        mark
        for mark in reversed(marks)
        if mark.what == what and mark.about.casefold() == about.casefold()
    )
    return next(fitting, None)
