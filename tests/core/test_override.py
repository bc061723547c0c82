"""When people have taken an agent's work away, as its issue is now."""

import pytest

from app.core.agents.events import AgentEvent, Created, SegmentStarted
from app.core.github.timeline import Happening, Mark
from app.core.steering.ownership import (
    Issue,
    is_withdrawn,
    label_asks,
    needs_marks,
    taken_away,
    taken_back,
)
from tests.core.strategies import START, after_seconds

BOT = "squadron[bot]"


def began(trigger: str = "label squadron:docs", *assignees: str) -> list[AgentEvent]:
    return [
        Created(at=START, started_by="mona", trigger=trigger, assignees=assignees),
        SegmentStarted(at=START, segment=0, attempt=1),
    ]


def issue(
    *assignees: str,
    starts_role: bool = True,
    is_open: bool = True,
    labels: tuple[str, ...] = (),
    removed: str = "",
    after_us: tuple[str, ...] = (),
    back: Happening | None = None,
    label_asks: bool = False,
) -> Issue:
    taken = None if back is None else mark(back, 5, "label")
    return Issue(7, is_open, assignees, starts_role, labels, removed, after_us, taken, label_asks)


def mark(what: Happening, at: float, about: str = "", by: str = "mona") -> Mark:
    return Mark(what, about, by, after_seconds(at))


@pytest.mark.parametrize(
    ("history", "now", "why"),
    [
        (began(), None, "The issue was deleted or transferred."),
        (began(), issue(is_open=False, starts_role=False), "#7 was closed."),
        (began(), issue(back="closed"), "mona closed #7."),
        (began(), issue(back="unlabeled"), "mona removed `squadron:docs` from #7."),
        (began("retry"), issue(back="unlabeled"), "mona removed `label` from #7."),
        (
            began("assignment", BOT),
            issue(BOT, back="unassigned"),
            "#7 is not assigned to squadron[bot] any more.",
        ),
        ([], issue(back="closed"), "mona closed #7."),
        (began(), issue(), ""),
        (began(), issue(starts_role=False), "`squadron:docs` was removed from #7."),
        (began("label Bug"), issue(starts_role=False, labels=("docs", "bug")), ""),
        (
            began("label bug"),
            issue(starts_role=False, labels=("big", "label")),
            "`bug` was removed from #7.",
        ),
        (began("issues.opened"), issue(starts_role=False), ""),
        (began("assignment", BOT), issue(BOT, starts_role=False), ""),
        (
            began("assignment", BOT),
            issue(BOT, starts_role=False, removed="docs"),
            "`docs` was removed from #7.",
        ),
        (began("assignment", BOT), issue(BOT, removed="docs"), ""),
        (
            began("assignment", BOT),
            issue(BOT, back="unlabeled"),
            "mona removed `label` from #7.",
        ),
        (began("assignment", BOT), issue(), "#7 is not assigned to squadron[bot] any more."),
        (began("assignment", BOT), issue(label_asks=True), ""),
        (
            began("assignment", BOT),
            issue("ada", label_asks=True),
            "#7 was assigned to ada instead.",
        ),
        (began("assignment", BOT), issue("ada"), "#7 was assigned to ada instead."),
        (began("assignment", BOT, "ada"), issue("zoe", "ada"), "#7 was assigned to zoe instead."),
        (began("assignment", BOT), issue("zoe", "ada"), "#7 was assigned to ada, zoe instead."),
        (began("assignment", BOT), issue(BOT, "ada"), ""),
        (
            began("assignment", BOT, "ada"),
            issue("ada"),
            "#7 is not assigned to squadron[bot] any more.",
        ),
        (began("label squadron:docs", BOT), issue("ada"), "#7 was assigned to ada instead."),
        (began("label squadron:docs", BOT), issue(), ""),
        (began("label squadron:docs"), issue("ada"), ""),
        (began("label squadron:docs", "ada"), issue(), ""),
        (began(), issue("ada", after_us=("ada",)), "#7 was assigned to ada instead."),
        (began(), issue("ada", "zoe", after_us=("zoe",)), "#7 was assigned to zoe instead."),
        (began(), issue("ada", after_us=("zoe",)), ""),
        (began("retry", "ada"), issue("ada", after_us=("ada",)), ""),
        (began(), issue(BOT, "ada", after_us=("ada",)), ""),
        (began("retry"), issue(starts_role=False, removed="Docs"), "`Docs` was removed from #7."),
        (began("retry"), issue(removed="docs"), ""),
        (began("retry"), issue(starts_role=False), ""),
        (began("issues.opened"), issue(starts_role=False, removed="docs"), ""),
        ([], issue(starts_role=False), ""),
    ],
)
def test_who_takes_the_work_away(history: list[AgentEvent], now: Issue | None, why: str) -> None:
    """Issue 4, "Human override"."""
    assert taken_away(history, now, BOT) == why


@pytest.mark.parametrize(
    ("history", "now", "expected"),
    [
        (began("retry"), issue(starts_role=False), True),
        (began("retry"), issue(), False),
        (began(), issue(starts_role=False), False),
        (began(), issue("ada"), True),
        (began("label docs", "ada"), issue("ada"), False),
        (began("label docs", "ada"), issue("ada", "zoe"), True),
        (began(), issue(BOT, "ada"), False),
        (began("assignment", BOT), issue("ada"), True),
        (began("assignment", BOT), issue(), True),
        (began("assignment", BOT), issue(BOT), False),
        (began("assignment", BOT), issue(BOT, starts_role=False), True),
        ([], issue("ada"), False),
    ],
)
def test_what_happened_meanwhile_is_asked_for_only_if_it_matters(
    history: list[AgentEvent], now: Issue, expected: bool
) -> None:
    assert needs_marks(history, now, BOT) is expected


@pytest.mark.parametrize(
    ("trigger", "labels", "is_ours", "expected"),
    [
        ("label squadron:docs", ("bug", "squadron:docs"), False, False),
        ("label squadron:docs", ("documentation",), False, False),
        ("label squadron:docs", ("bug",), True, True),
        ("label Writing", ("writing",), False, False),
        ("label squadron:docs", (), False, True),
        ("assignment", ("bug", "documentation"), True, False),
        ("assignment", ("bug",), True, True),
        ("assignment", ("squadron:docs",), False, True),
        ("retry", (), False, False),
        ("issues.opened", (), False, False),
    ],
)
def test_what_asked_is_there_or_withdrawn(
    trigger: str, labels: tuple[str, ...], is_ours: bool, expected: bool
) -> None:
    roles = {"squadron:docs": "docs", "documentation": "docs", "bug": "bug-fix"}
    assert is_withdrawn(trigger, "docs", labels, roles.get, is_ours) is expected


DOCS, OTHER = "squadron:docs", "documentation"
SET, OFF, AGAIN = mark("labeled", 1, DOCS), mark("unlabeled", 5, DOCS), mark("labeled", 8, DOCS)
SOON = mark("labeled", 7, DOCS)
OLD, BY_TOM = mark("labeled", 0, DOCS), mark("labeled", 1, DOCS, by="tom")


@pytest.mark.parametrize(
    ("trigger", "marks", "expected"),
    [
        (f"label {DOCS}", [SET], None),
        (f"label {DOCS}", [SET, OFF, AGAIN], OFF),
        (f"label {DOCS.upper()}", [SET, OFF], OFF),
        (f"label {DOCS}", [SET, OFF, AGAIN, mark("unlabeled", 9, DOCS)], OFF),
        (f"label {DOCS}", [SET, OFF, SOON], None),
        (f"label {DOCS}", [SET, OFF, SOON, off := mark("unlabeled", 9, DOCS)], off),
        (f"label {DOCS}", [SET, OFF, mark("labeled", 6, OTHER)], OFF),
        (f"label {DOCS}", [SET, mark("unlabeled", 2, DOCS), mark("labeled", 2, DOCS)], None),
        (f"label {DOCS}", [SET, mark("unlabeled", 5, "bug")], None),
        (f"label {DOCS}", [SET, mark("labeled", 4, OTHER), OFF], None),
        (
            f"label {DOCS}",
            [SET, mark("labeled", 3, OTHER), OFF, off := mark("unlabeled", 6, OTHER)],
            off,
        ),
        ("label bug", [mark("labeled", 1, "Bug"), OFF], None),
        ("label bug", [mark("labeled", 1, "Bug"), off := mark("unlabeled", 5, "BUG")], off),
        ("issues.opened", [SET, OFF], None),
        ("assignment", [SET, OFF], OFF),
        ("assignment", [SET, mark("labeled", 2, OTHER), OFF], None),
        ("assignment", [SET, mark("unlabeled", 5, "bug")], None),
        ("assignment", [SET, mark("unassigned", 5, BOT), OFF], OFF),
        ("assignment", [SET, mark("unassigned", 5, BOT), mark("assigned", 6, BOT)], None),
        ("assignment", [OLD, off := mark("unassigned", 5, BOT)], off),
        ("assignment", [BY_TOM, off := mark("unassigned", 5, BOT)], off),
        ("assignment", [off := mark("unassigned", 5, BOT), AGAIN], off),
        ("assignment", [off := mark("unassigned", 5, BOT.upper())], off),
        ("assignment", [mark("unassigned", 2, BOT)], None),
        ("assignment", [mark("unassigned", 5, "ada")], None),
        (f"label {DOCS}", [SET, mark("unassigned", 5, BOT)], None),
        ("retry", [off := mark("closed", 5), mark("reopened", 6)], off),
        ("retry", [SET, OFF, AGAIN], OFF),
        ("retry", [SET, mark("labeled", 2, OTHER), OFF], None),
        ("retry", [SET, mark("unlabeled", 5, "bug")], None),
        ("retry", [mark("closed", 2), mark("reopened", 3)], None),
        (f"label {DOCS}", [SET, OFF, mark("closed", 6)], OFF),
    ],
)
def test_what_was_taken_back_since_the_agent_began_whatever_is_there_again(
    trigger: str, marks: list[Mark], expected: Mark | None
) -> None:
    """At the third second; to the second, as GitHub tells it, nothing of that one counts."""
    since = after_seconds(2.5)
    assert taken_back(trigger, starts_docs, BOT, since, marks, may_start) == expected


def starts_docs(label: str) -> bool:
    roles = {DOCS: "docs", OTHER: "docs", "bug": "bug-fix"}
    return roles.get(label.casefold()) == "docs"


def may_start(mark: Mark) -> bool:
    """Tom may not; and until the first second another agent was at work."""
    return mark.by != "tom" and mark.at >= after_seconds(1)


@pytest.mark.parametrize(
    ("labels", "marks", "expected"),
    [
        ((DOCS,), [SET], True),
        ((DOCS.upper(), "bug"), [SET], True),
        ((), [SET], False),
        ((OTHER,), [SET], False),
        ((DOCS,), [], False),
        ((DOCS,), [OLD], False),
        ((DOCS,), [BY_TOM], False),
        ((DOCS,), [BY_TOM, OFF, AGAIN], True),
        ((DOCS,), [SET, OFF, mark("labeled", 8, DOCS, by="tom")], False),
        (("bug",), [mark("labeled", 1, "bug")], False),
        ((DOCS,), [SET, mark("closed", 5), mark("reopened", 6)], False),
        ((DOCS,), [SET, mark("closed", 5), mark("reopened", 6), OFF, AGAIN], True),
    ],
)
def test_a_label_asks_by_itself_as_it_was_set_last(
    labels: tuple[str, ...], marks: list[Mark], expected: bool
) -> None:
    assert label_asks(labels, starts_docs, marks, may_start) is expected
