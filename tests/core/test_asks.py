"""Who asks for an agent, as GitHub's state tells it."""

from collections.abc import Mapping

import pytest

from app.core.github.timeline import Happening, Mark
from app.core.steering.asks import (
    Ask,
    Push,
    Trigger,
    asked_by_events,
    asked_by_opening,
    asked_by_push,
    asks,
    assigned_after,
    in_force,
    is_answered,
    removed_since,
    since_closed,
    still_counts,
    told_by_marks,
)
from tests.core.strategies import START, after_seconds

BOT = "squadron[bot]"
ROLES = {"squadron:docs": "docs", "bug": "bug-fix"}


def mark(what: Happening, at: float, about: str = "", by: str = "mona") -> Mark:
    return Mark(what, about, by, after_seconds(at))


def asked(
    *marks: Mark,
    labels: tuple[str, ...] = ("bug",),
    is_ours: bool = False,
    triggers: Mapping[str, Trigger] | None = None,
) -> list[Ask]:
    return asks(labels, ROLES.get, is_ours, BOT, marks, triggers or {})


# --- labels and assignments --------------------------------------------------------------------


def test_a_label_asks_when_and_by_whom_it_was_set_last() -> None:
    first, last = mark("labeled", 1, "bug", "tom"), mark("labeled", 5, "BUG", "ada")
    other = mark("labeled", 9, "squadron:docs", "zoe")
    assert asked(first, last, other) == [Ask("bug-fix", "ada", "label bug", last.at)]


def test_what_starts_no_role_or_was_never_seen_set_asks_for_nothing() -> None:
    assert asked(mark("labeled", 1, "question"), labels=("question",)) == []
    assert asked(mark("assigned", 1, "bug"), mark("labeled", 1, "docs")) == []
    assert asked(labels=()) == []


def test_an_assignment_asks_for_the_roles_of_the_labels_that_were_there() -> None:
    labels = ("squadron:docs", "bug")
    early, late = mark("labeled", 1, "bug"), mark("labeled", 6, "squadron:docs")
    assigned = mark("assigned", 5, BOT, "ada")
    by_label = [
        Ask("bug-fix", "mona", "label bug", early.at),
        Ask("docs", "mona", "label squadron:docs", late.at),
    ]
    by_hand = Ask("bug-fix", "ada", "assignment", assigned.at)
    found = asked(early, assigned, late, labels=labels, is_ours=True)
    assert found == [by_label[0], by_hand, by_label[1]], "oldest first"
    assert asked(early, assigned, late, labels=labels) == by_label, "it is not ours any more"


def test_an_assignment_of_the_same_second_is_for_the_label() -> None:
    marks = mark("labeled", 1, "bug"), mark("assigned", 1, BOT)
    assert [ask.trigger for ask in asked(*marks, is_ours=True)] == ["label bug", "assignment"]
    other = mark("labeled", 1, "bug"), mark("assigned", 2, "ada")
    assert [ask.trigger for ask in asked(*other, is_ours=True)] == ["label bug"]


def test_what_was_asked_for_before_a_label_started_anybody_asks_for_nothing() -> None:
    """Fifteen old issues carry a label on the day that it is mapped to a role."""
    triggers = {"label bug": trigger("bug-fix", 5)}
    early, late = mark("labeled", 4, "Bug"), mark("labeled", 5, "Bug")
    assert asked(early, triggers=triggers) == []
    assert [ask.at for ask in asked(late, triggers=triggers)] == [late.at]
    other = mark("labeled", 1, "squadron:docs")
    both = asked(early, other, labels=("bug", "squadron:docs"), triggers=triggers)
    assert [ask.role for ask in both] == ["docs"], "each label has its own instant"


def test_an_assignment_asks_for_a_label_from_before_its_mapping() -> None:
    triggers = {"label bug": trigger("bug-fix", 5)}
    early = mark("labeled", 4, "bug")
    for at, expected in ((4, []), (6, ["assignment"])):
        found = asked(early, mark("assigned", at, BOT), is_ours=True, triggers=triggers)
        assert [ask.trigger for ask in found] == expected


# --- events ------------------------------------------------------------------------------------


def trigger(role: str = "pm", since: float = 0) -> Trigger:
    return Trigger(role, after_seconds(since))


def test_a_trigger_counts_from_when_it_was_first_seen() -> None:
    events = {"issues.opened": "pm", "issues.reopened": "pm"}
    first = in_force({}, events, {}, START)
    assert first == dict.fromkeys(events, trigger())
    events = {"issues.opened": "pm", "issues.reopened": "docs", "pull_request.opened": "look"}
    second = in_force(first, events, {}, after_seconds(9))
    assert second == {
        "issues.opened": trigger(),
        "issues.reopened": trigger("docs", 9),
        "pull_request.opened": trigger("look", 9),
    }
    assert in_force(second, {}, {}, START) == {}
    again = in_force({}, {"issues.opened": "pm"}, {}, after_seconds(20))
    assert again == {"issues.opened": trigger("pm", 20)}, "it was away meanwhile"


def test_a_label_counts_from_when_it_was_first_seen_to_start_its_role() -> None:
    first = in_force({}, {}, {"bug": "fixer"}, START)
    assert first == {"label bug": trigger("fixer")}
    labels = {"Bug": "fixer", "feature": "fixer"}
    second = in_force(first, {"issues.opened": "fixer"}, labels, after_seconds(9))
    assert second == {
        "issues.opened": trigger("fixer", 9),
        "label bug": trigger("fixer"),
        "label feature": trigger("fixer", 9),
    }
    moved = in_force(second, {}, {"bug": "docs"}, after_seconds(20))
    assert moved == {"label bug": trigger("docs", 20)}, "another role"


@pytest.mark.parametrize(
    ("is_pull_request", "event"), [(False, "issues.opened"), (True, "pull_request.opened")]
)
def test_opening_asks_once_the_trigger_counts(is_pull_request: bool, event: str) -> None:
    triggers = {event: trigger("pm", 5)}

    def opened(at: float) -> Ask | None:
        return asked_by_opening(triggers, is_pull_request, "mona", after_seconds(at))

    assert opened(5) == Ask("pm", "mona", event, after_seconds(5))
    assert opened(4) is None
    assert asked_by_opening(triggers, not is_pull_request, "mona", after_seconds(9)) is None
    assert asked_by_opening({}, is_pull_request, "mona", after_seconds(9)) is None


ALL = ("issues.reopened", "pull_request.reopened", "pull_request.ready_for_review")


@pytest.mark.parametrize(("is_pull_request", "told"), [(False, ALL[:1]), (True, ALL[1:])])
def test_marks_are_worth_a_look_where_something_has_happened_since(
    is_pull_request: bool, told: tuple[str, ...]
) -> None:
    triggers = dict.fromkeys((*ALL, "issues.opened", "pull_request.opened"), trigger("pm", 5))
    found = told_by_marks(triggers, is_pull_request, after_seconds(5))
    assert found == {event: triggers[event] for event in told}
    assert told_by_marks(triggers, is_pull_request, after_seconds(4)) == {}
    assert told_by_marks({}, is_pull_request, after_seconds(5)) == {}


def test_an_event_asks_when_it_happened_last() -> None:
    marks = [
        mark("reopened", 1, by="tom"),
        mark("labeled", 2, "reopened"),
        mark("reopened", 3, by="ada"),
        mark("ready_for_review", 2, by="zoe"),
    ]
    triggers: Mapping[str, Trigger] = {
        "pull_request.reopened": trigger("look", 3),
        "pull_request.ready_for_review": trigger("check", 2),
    }
    ready = Ask("check", "zoe", "pull_request.ready_for_review", after_seconds(2))
    again = Ask("look", "ada", "pull_request.reopened", after_seconds(3))
    assert asked_by_events(triggers, marks) == [ready, again]
    late = {event: Trigger(each.role, after_seconds(3)) for event, each in triggers.items()}
    assert asked_by_events(late, marks) == [again]
    assert asked_by_events(triggers, []) == asked_by_events({}, marks) == []


@pytest.mark.parametrize(
    ("seen", "reviewed", "is_at_work", "push"),
    [
        (None, None, False, Push.NOTHING),  # it was opened since
        (None, "old", True, Push.NOTHING),
        ("new", None, False, Push.NOTHING),
        ("new", "old", True, Push.NOTHING),
        ("old", "new", False, Push.NOTHING),  # a webhook told of it
        ("old", "new", True, Push.NOTHING),
        ("old", "old", False, Push.REVIEW),
        ("old", None, False, Push.REVIEW),
        ("old", "old", True, Push.LATER),
        ("old", None, True, Push.LATER),
    ],
)
def test_a_head_that_has_moved_is_reviewed_once(
    seen: str | None, reviewed: str | None, is_at_work: bool, push: Push
) -> None:
    assert asked_by_push(seen, "new", reviewed, is_at_work=is_at_work) is push


# --- closed and opened again --------------------------------------------------------------------

CLOSED, AGAIN = mark("closed", 5), mark("reopened", 6)


def test_what_was_asked_for_before_a_close_ended_with_it() -> None:
    """Issue 4: opening an issue again alone asks for nothing, whoever was told of it."""
    marks = (mark("labeled", 1, "bug"), CLOSED, AGAIN, mark("labeled", 7, "squadron:docs"))
    found = asked(*marks, labels=("bug", "squadron:docs"))
    assert [(ask.role, ask.at) for ask in found] == [("docs", after_seconds(7))]


def test_an_assignment_after_a_close_asks_for_the_labels_from_before_it() -> None:
    marks = (mark("labeled", 1, "bug"), mark("assigned", 2, BOT), CLOSED, AGAIN)
    assert asked(*marks, is_ours=True) == []
    found = asked(*marks, mark("assigned", 7, BOT, "ada"), is_ours=True)
    assert found == [Ask("bug-fix", "ada", "assignment", after_seconds(7))]


def test_the_last_close_counts() -> None:
    later = mark("labeled", 7, "bug")
    assert since_closed((later,)) == (later,)
    assert since_closed((CLOSED, AGAIN, CLOSED, later)) == (later,)
    assert since_closed((later, CLOSED)) == ()


@pytest.mark.parametrize(
    ("trigger", "seconds", "later", "counts"),
    [
        ("label bug", 1, (), False),
        ("label bug", 1, (mark("labeled", 7, "BUG"),), True),
        ("label bug", 1, (mark("labeled", 7, "feature"),), False),
        ("label bug", 1, (mark("assigned", 7, BOT),), True),
        ("assignment", 1, (), False),
        ("assignment", 1, (mark("assigned", 7, BOT),), True),
        ("assignment", 1, (mark("assigned", 7, "mona"),), False),
        ("issues.reopened", 1, (), True),
        ("issues.opened", 9, (), False),
        ("retry", 4, (), False),
        ("retry", 5, (), True),
        ("retry", None, (), True),
    ],
)
def test_what_still_counts_after_a_close(
    trigger: str, seconds: float | None, later: tuple[Mark, ...], counts: bool
) -> None:
    """A close at the same second as the ask: the ask counts."""
    asked_at = None if seconds is None else after_seconds(seconds)
    marks = (mark("labeled", 1, "bug"), CLOSED, AGAIN, *later)
    assert still_counts(trigger, asked_at, BOT, marks) is counts
    assert still_counts(trigger, asked_at, BOT, (mark("labeled", 1, "bug"), AGAIN)) is True


def test_a_label_that_nobody_has_set_is_asked_for_by_no_assignment() -> None:
    assert asked(mark("assigned", 2, BOT), is_ours=True) == []


# --- what an agent answers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "ended", "expected"),
    [
        (5, None, True),
        (15, None, True),
        (None, None, True),
        (5, 20.5, True),
        (15, 20.5, True),
        (20, 20.5, False),
        (21, 20.5, False),
        (None, 20.5, False),
    ],
)
def test_what_was_asked_for_before_an_agent_ended_is_answered_by_it(
    at: float | None, ended: float | None, expected: bool
) -> None:
    """However late it is heard of."""
    asked_at, end = (None if one is None else after_seconds(one) for one in (at, ended))
    assert is_answered(asked_at, after_seconds(10), end) is expected


# --- what happened while an agent worked -------------------------------------------------------


def removed(*marks: Mark, at: float = 5.7) -> str:
    return removed_since(marks, after_seconds(at), "docs", ROLES.get)


def test_a_label_that_started_the_role_and_was_removed_since() -> None:
    gone, other = mark("unlabeled", 6, "squadron:docs"), mark("unlabeled", 7, "bug")
    assert removed(gone, other, mark("labeled", 8, "squadron:docs")) == "squadron:docs"
    assert removed(mark("unlabeled", 5, "squadron:docs")) == "squadron:docs", "in that second"
    assert removed(mark("unlabeled", 4, "squadron:docs"), other) == ""
    assert removed(mark("labeled", 6, "squadron:docs"), mark("closed", 7)) == ""


def after_bot(*marks: Mark, at: float = 5.7) -> set[str]:
    return set(assigned_after(marks, after_seconds(at), BOT))


def test_who_was_assigned_after_we_were() -> None:
    before, ours = mark("assigned", 6, "ada"), mark("assigned", 7, BOT)
    later = mark("assigned", 8, "zoe"), mark("labeled", 9, "bug"), mark("assigned", 9, "tom")
    assert after_bot(before, ours, *later) == {"zoe", "tom"}
    assert after_bot(before, ours, mark("assigned", 8, BOT), *later) == {"zoe", "tom"}
    assert after_bot(before, *later) == set(), "we never were"
    assert after_bot(mark("assigned", 4, BOT), *later) == set(), "not since it began"
    assert after_bot(mark("assigned", 5, BOT), before) == {"ada"}, "in that second"
