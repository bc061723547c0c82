"""What of a review, a check or a conflict wakes an agent, and in which words it is told."""

from dataclasses import replace

import pytest

from app.adapters.markdown import visible_lines
from app.core.agents.events import Braked, Woken
from app.core.github.checks import FailedCheck
from app.core.steering.feedback import (
    MOST_CHECKS,
    MOST_REMARK_CHARACTERS,
    MOST_REMARKS,
    MOST_SUMMARY_CHARACTERS,
    Remark,
    Review,
    ReviewState,
    asking,
    check_name,
    checks_words,
    conflict_name,
    conflict_stays_words,
    conflict_words,
    for_the_agent,
    review_name,
    review_words,
    told,
    was_told_of_a_conflict,
)
from tests.core.strategies import after_seconds

LINK = "https://github.com/octo/demo/pull/7#discussion_r1"
REMARK = Remark("app/login.py", 7, " Use a constant.\n", LINK)
CHECK = FailedCheck("lint", "Linter", "failure", "2 problems", "a.py:1 unused\n")


def review(
    number: int,
    state: ReviewState,
    body: str = "",
    *remarks: Remark,
    author: str = "mona",
) -> Review:
    link = f"https://github.com/octo/demo/pull/7#pullrequestreview-{number}"
    return Review(number, author, False, state, body, after_seconds(number), link, remarks)


def woken(seconds: float, said: str | None = None, *feedback: str) -> Woken:
    return Woken(at=after_seconds(seconds), why="said", by="mona", said=said, feedback=feedback)


def test_what_is_meant_for_squadron_asks_the_agent_for_nothing() -> None:
    order, quoted = replace(REMARK, body="/squadron status"), replace(REMARK, body="> /squadron x")
    for state in ("changes_requested", "commented", "approved"):
        said = for_the_agent(review(1, state, "/squadron stop\n", order), visible_lines)
        assert (said.body, said.remarks) == ("", ()) and asking([said]) == []
    mixed = review(1, "changes_requested", "No.\n\n/squadron stop\nYes.", order, REMARK, quoted)
    said = for_the_agent(mixed, visible_lines)
    assert said == replace(mixed, body="No.\n\nYes.", remarks=(REMARK, quoted))
    wish = replace(mixed, body="/squadron status", remarks=(REMARK,))
    assert for_the_agent(wish, visible_lines).state == "changes_requested"
    for body in ("`/squadron stop`", r"\/squadron stop", "", "Please."):
        plain = review(1, "changes_requested", body, replace(REMARK, body=body))
        assert for_the_agent(plain, visible_lines) is plain


@pytest.mark.parametrize(
    ("state", "body", "remarks", "asks"),
    [
        ("changes_requested", "", (), True),
        ("changes_requested", "Please.", (), True),
        ("commented", "Please.", (), True),
        ("commented", " \n", (), False),
        ("commented", "", (REMARK,), True),
        ("approved", "Nice.", (), False),
        ("approved", "", (REMARK,), True),
        ("dismissed", "Please.", (REMARK,), False),
    ],
)
def test_words_and_comments_on_lines_ask(
    state: ReviewState, body: str, remarks: tuple[Remark, ...], asks: bool
) -> None:
    one = review(1, state, body, *remarks)
    assert asking([one]) == ([one] if asks else [])


def test_what_somebody_said_before_he_approved_is_settled() -> None:
    first = review(1, "changes_requested", "Please.")
    other = review(2, "commented", "And this.", author="hubot")
    approval = review(3, "approved")
    again = review(4, "changes_requested", "No, wait.")
    assert asking([first, other, approval, again]) == [other, again]
    assert asking([first, other, again]) == [first, other, again]
    assert asking([first, approval]) == []


def test_each_has_a_name_of_its_own() -> None:
    assert review_name("octo/demo", review(7, "approved")) == "review octo/demo 7"
    assert check_name("octo/demo", "abc", CHECK) == "check octo/demo abc lint"
    assert conflict_name("octo/demo", "abc") == "conflict octo/demo abc"


def test_what_has_woken_an_agent_is_known_by_name() -> None:
    log = [woken(1), woken(2, "answer 5"), woken(3, None, "review octo/demo 7", "check x")]
    assert told(log) == {"answer 5", "review octo/demo 7", "check x"}
    assert told([]) == frozenset()


def test_other_events_wake_nobody() -> None:
    slept = Braked(at=after_seconds(3), why="conflict", scope="all", since=after_seconds(3))
    conflict = woken(1, conflict_name("octo/demo", "abc"))
    assert told([conflict, slept]) == {"conflict octo/demo abc"}
    assert was_told_of_a_conflict([conflict, slept])


def test_a_conflict_was_told_of_if_it_was_the_last_that_woke() -> None:
    conflict = woken(1, conflict_name("octo/demo", "abc"))
    assert was_told_of_a_conflict([conflict])
    assert was_told_of_a_conflict([woken(0), conflict])
    assert not was_told_of_a_conflict([conflict, woken(2)])
    assert not was_told_of_a_conflict([conflict, woken(2, "answer 5")])
    assert not was_told_of_a_conflict([])


def test_a_review_is_told_with_the_place_of_each_comment() -> None:
    whole = Remark("README.md", None, "Say why.", "https://github.com/r2")
    asked = review(1, "changes_requested", " Two things:\n", REMARK, whole)
    assert review_words(asked) == (
        "mona requested changes:\n\nTwo things:\n\n"
        f"app/login.py:7 ({LINK})\nUse a constant."
        "\n\nREADME.md (https://github.com/r2)\nSay why."
    )
    assert review_words(review(1, "commented", "", REMARK)).startswith("mona reviewed:\n\napp/")


def test_a_long_review_is_bounded_and_says_so() -> None:
    one_more = review(1, "commented", "", *[REMARK] * (MOST_REMARKS + 1))
    assert review_words(one_more).endswith("\n\n(1 more comments on lines.)")
    full = review(1, "commented", "", *[REMARK] * MOST_REMARKS)
    assert review_words(full).endswith("Use a constant.")
    more = review(1, "commented", "", *[REMARK] * (MOST_REMARKS + 2))
    assert review_words(more).count("app/login.py:7") == MOST_REMARKS == 50
    assert review_words(more).endswith("\n\n(2 more comments on lines.)")
    long = review(1, "commented", "b" * 9_999, Remark("x", 1, "r" * 9_999, ""))
    words = review_words(long)
    assert words.count("b") <= MOST_SUMMARY_CHARACTERS == 3_000
    assert words.count("r") <= MOST_REMARK_CHARACTERS + len("mona reviewed: characters more")
    assert MOST_REMARK_CHARACTERS == 2_000


def test_failed_checks_are_told_in_the_words_of_their_apps() -> None:
    bare = FailedCheck("build", "Builder", "timed_out", "", "")
    named_alike = FailedCheck("unit", "Tester", "failure", "unit", "1 failed")
    assert checks_words([CHECK, bare, named_alike]) == (
        "The check lint of Linter ended with failure (2 problems).\n\na.py:1 unused\n\n"
        "The check build of Builder ended with timed_out.\n\n"
        "The check unit of Tester ended with failure.\n\n1 failed"
    )


def test_many_failed_checks_are_bounded_and_say_so() -> None:
    assert "more checks" not in checks_words([CHECK] * MOST_CHECKS)
    words = checks_words([CHECK] * (MOST_CHECKS + 3))
    assert words.count("lint") == MOST_CHECKS == 10
    assert words.endswith("\n\n(3 more checks failed.)")


def test_a_conflict_is_told_with_what_to_do() -> None:
    words = conflict_words(7, "main")
    assert words.startswith("Pull request #7 conflicts with main and cannot be merged.")
    assert "origin/main" in words


def test_a_conflict_that_stays_names_at_most_ten_files() -> None:
    assert conflict_stays_words("main") == (
        "The branch still conflicts with `main` after a round to resolve it."
    )
    paths = [f"{number}.py" for number in range(11)]
    words = conflict_stays_words("main", paths)
    assert " in `0.py`, `1.py`, " in words and "`9.py` after" in words and "10.py" not in words


STATUS = FailedCheck("lint", None, "error", "The server is away", "https://ci.example/7")


def test_a_check_and_a_status_of_the_same_name_wake_apart() -> None:
    assert check_name("octo/demo", "abc", CHECK) == "check octo/demo abc lint"
    assert check_name("octo/demo", "abc", STATUS) == "status octo/demo abc lint"


def test_a_status_names_its_page() -> None:
    words = "The status lint says error (The server is away).\n\nhttps://ci.example/7"
    assert checks_words([STATUS]) == words
    assert checks_words([replace(STATUS, title="", summary="")]) == "The status lint says error."
