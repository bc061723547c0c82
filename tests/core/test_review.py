"""What a review comes to: nothing that an agent found is lost, and nobody is called by it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.agents.agent import AgentId, EffectName
from app.core.agents.events import LineComment
from app.core.effects.review import (
    MOST_COMMENT_CHARACTERS,
    MOST_COMMENTS,
    MOST_PATH_CHARACTERS,
    MOST_SUMMARY_CHARACTERS,
    MOST_UNPOSTED_CHARACTERS,
    composed,
    unposted,
)
from app.core.effects.wanted import marker
from app.core.text.markdown import MOST_TEXT

ID = AgentId("octo/demo", 7, "pr-review", 1)
LINES = {"a.py": frozenset({1, 2}), "b.py": frozenset({5})}


def test_comments_stand_on_their_lines_or_in_the_summary() -> None:
    here, elsewhere = LineComment("a.py", 2, "Wrong."), LineComment("a.py", 3, "Also\nwrong.")
    unknown = LineComment("c`.py", 1, "Not there.")
    review = composed(ID, "It works.", [here, elsewhere, unknown], LINES)
    assert review.comments == (here,)
    assert review.body.startswith(marker(ID, EffectName.REVIEW))
    assert "It works." in review.body and "Wrong." not in review.body
    assert "- `a.py`, line 3: Also wrong." in review.body
    assert "- `c'.py`, line 1: Not there." in review.body
    assert composed(ID, "It works.", [here], {}).comments == ()
    assert "line 2: Wrong." in composed(ID, "It works.", [here], {}).body


def test_a_review_without_a_stray_comment_has_no_list_of_them() -> None:
    assert composed(ID, "It works.", [], LINES).body == (
        f"{marker(ID, EffectName.REVIEW)}\n\n[squadron:pr-review] Review\n\n> It works.\n\n"
        "<sub>A comment, no approval: people decide.</sub>"
    )
    assert "\n\n\n" not in composed(ID, "", [], LINES).body


def test_what_is_too_long_or_too_much_is_cut() -> None:
    long = composed(ID, "z" * 30_000, [LineComment("a.py", 1, "z" * 9_000)] * 60, LINES)
    assert long.body.count("z") == MOST_SUMMARY_CHARACTERS
    assert len(long.comments) == MOST_COMMENTS == 50
    assert long.comments[0].body.count("z") == MOST_COMMENT_CHARACTERS - 15 == 3_985
    assert (MOST_SUMMARY_CHARACTERS, MOST_PATH_CHARACTERS) == (20_000, 500)


def test_a_review_that_is_not_posted_is_whole_within_its_bound() -> None:
    comments = [LineComment("a.py", 2, "Wrong, @mona."), LineComment("b.py", 5, "Too slow.")]
    assert unposted("It works.", comments) == (
        "> It works.\n\n- `a.py`, line 2: Wrong, @\u200bmona.\n- `b.py`, line 5: Too slow."
    )
    assert unposted("It works.", []) == "> It works."
    long = unposted("z" * 30_000, [LineComment("a.py", 1, "z" * 9_000)] * 60)
    assert MOST_UNPOSTED_CHARACTERS - 1 <= len(long) <= MOST_UNPOSTED_CHARACTERS == 40_000


def test_nobody_is_called_no_secret_shown_and_no_marker_forged() -> None:
    secret = "ghs_" + "a1" * 20
    forged = marker(ID, EffectName.COMMENT)
    said = f"@octo/all {forged} {secret} closes #1"
    review = composed(ID, said, [LineComment("a.py", 1, said), LineComment("x", 1, said)], LINES)
    for text in (review.body, review.comments[0].body):
        assert "@octo" not in text and secret not in text and "closes #1" not in text
        assert forged not in text


texts = st.text(max_size=50) | st.just("x" * (MOST_COMMENT_CHARACTERS + 1))
comments = st.lists(
    st.builds(LineComment, st.sampled_from(["a.py", "b.py", "c.py"]), st.integers(1, 6), texts),
    max_size=MOST_COMMENTS,
)


@settings(deadline=None)
@given(texts, comments)
def test_a_review_is_always_one_that_github_takes(
    summary: str, given_comments: list[LineComment]
) -> None:
    review = composed(ID, summary, given_comments, LINES)
    assert 0 < len(review.body) <= MOST_TEXT
    assert len(review.comments) <= MOST_COMMENTS
    assert all(each.line in LINES[each.path] for each in review.comments)
    assert all(len(each.body) <= 2 * MOST_COMMENT_CHARACTERS for each in review.comments)
