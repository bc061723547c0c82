"""What Squadron saw of the work stands above what the agent says of it (docs/design.md, 13)."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.words.report import report
from app.scripted.script import Answer
from app.services.views import report_json
from tests.stories.happening import AGAIN, AT_REVIEW, COMPLETED, FIXES, pull
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import commits, completes, runs, writes
from tests.twins.shell import TEST
from tests.twins.story import Story, story

ROLES: Final[Mapping[str, Mapping[str, Any]]] = {"fixer": {}, "writer": {"tests": "none"}}
CLAIM: Final = completes("Did it; both tests pass.")
EDITS: Final = (writes("answer", "43\n"), commits("Answer"))

SEEN: Final[Mapping[str, tuple[tuple[Answer, ...], str, str, str]]] = {
    "its tests passed": (FIXES, "yes", "yes", "success"),
    "its tests failed": ((*EDITS, runs(TEST), CLAIM), "yes", "no", "action_required"),
    "its tests failed, and it says otherwise": (
        (*EDITS, runs(TEST), runs("echo passed"), CLAIM),
        "yes",
        "no",
        "action_required",
    ),
    "it ran no tests": ((*EDITS, CLAIM), "no", "unknown", "neutral"),
    "it edits after its tests": (
        (*FIXES[:2], writes("answer", "41.5\n"), commits("Answer"), CLAIM),
        "no",
        "unknown",
        "neutral",
    ),
    "it hides the failure": (
        (*EDITS, runs(f"{TEST} || true"), CLAIM),
        "yes",
        "no",
        "action_required",
    ),
}
"""What an agent does, what is known of its tests, and how its check ends."""


def given(squad: Story, *steps: Answer, role: str = "fixer") -> Task:
    task = squad.give(role, "The answer is wrong", *steps)
    assert squad.state(task) == AT_REVIEW
    return task


def is_draft(squad: Story, task: Task) -> bool:
    return bool(squad.sees(pull(squad, task))["draft"])


def conclusion(squad: Story, task: Task) -> str:
    return str(squad.checks(task)[0]["conclusion"])


@pytest.mark.parametrize("what", SEEN)
def test_what_was_seen_stands_above_what_the_agent_says(what: str) -> None:
    steps, tests_run, tests_passed, says = SEEN[what]
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = given(squad, *steps)
        assert (conclusion(squad, task), is_draft(squad, task)) == (says, says != "success")
        body = squad.sees(pull(squad, task))["body"]
        seen, claim = body.index("What Squadron saw:"), body.index("The agent says:\n\n> ")
        assert seen < body.index(f"Tests run after the last edit: **{tests_run}**.") < claim
        assert seen < body.index(f"Tests passed: **{tests_passed}**.") < claim
        assert ("So this pull request is a draft." in body) is (says != "success")
        [check, *_] = squad.checks(task)
        summary, [comment] = check["output"]["summary"], squad.comments(task)
        for text in (summary, comment):
            assert text.index("What Squadron saw:") < text.index("The agent says:\n\n> ")
        assert check["output"]["title"].startswith(
            "The agent handed its work over as #2, and waits for a review. Squ"
        )
        agent = squad.agent(task)
        seen_of_it = report(agent, squad.log(agent.id), squad.clock.now())
        shown = report_json(seen_of_it)["evidence"]
        assert isinstance(shown, dict)
        assert (shown["tests_run"], shown["tests_passed"]) == (tests_run, tests_passed)


def test_a_role_that_changes_no_code_needs_no_tests() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = given(squad, *EDITS, CLAIM, role="writer")
        assert (conclusion(squad, task), is_draft(squad, task)) == ("success", False)
        assert "expects no tests (`tests: none`)" in squad.sees(pull(squad, task))["body"]


def test_a_draft_is_ready_once_the_tests_passed_and_a_draft_again_if_they_fail() -> None:
    """What people wrote around what Squadron saw stays."""
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = given(squad, *EDITS, CLAIM, *FIXES, *EDITS, runs(TEST), CLAIM)
        path = pull(squad, task)
        body = squad.sees(path)["body"]
        squad.does("maria", "PATCH", path, {"body": f"Look at the sums!\n\n{body}"})
        for says, is_draft_now in (("success", False), ("action_required", True)):
            squad.does(
                "maria",
                "POST",
                f"{path}/reviews",
                {"event": "REQUEST_CHANGES", "body": "Once more, please."},
            )
            squad.settle()
            assert squad.state(task) == AT_REVIEW
            assert (conclusion(squad, task), is_draft(squad, task)) == (says, is_draft_now)
            body = squad.sees(path)["body"]
            assert body.startswith("Look at the sums!\n\n")
            assert body.count("What Squadron saw:") == 1
            assert ("So this pull request is a draft." in body) is is_draft_now


def test_what_a_person_made_of_a_draft_stays_until_more_work_comes() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = given(squad, *EDITS, CLAIM, *AGAIN)
        squad.makes_ready(pull(squad, task))
        squad.passes(hours=1)
        assert not is_draft(squad, task)
        squad.merge(task)
        squad.settle()
        assert squad.state(task) == COMPLETED
        assert conclusion(squad, task) == "success", "a person has merged it"


def test_where_drafts_are_refused_it_is_an_ordinary_one_that_says_so() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        squad.orders("drafts", repository=REPOSITORY, allowed=False)
        task = given(squad, *EDITS, CLAIM, *FIXES)
        path = pull(squad, task)
        assert (conclusion(squad, task), is_draft(squad, task)) == ("neutral", False)
        assert (
            "This repository has no drafts, else this pull request would be a draft."
            in squad.sees(path)["body"]
        )
        squad.does("maria", "POST", f"{path}/reviews", {"event": "REQUEST_CHANGES", "body": "No."})
        squad.settle()
        assert conclusion(squad, task) == "success"
        assert "no draft" not in squad.sees(path)["body"]


def test_the_longest_wait_for_a_review_makes_nothing_green() -> None:
    with story({REPOSITORY: repository({"fixer": {"max_review_wait": 3_600}})}) as squad:
        task = given(squad, *EDITS, runs(TEST), CLAIM)
        squad.passes(hours=2)
        assert squad.state(task) == COMPLETED
        assert conclusion(squad, task) == "action_required"


def test_nothing_to_change_is_no_claim_about_code() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("fixer", "The answer is right", completes("It is 42 already."))
        assert (squad.state(task), conclusion(squad, task)) == ((State.COMPLETED, None), "success")
        assert Waits.REVIEW is not squad.agent(task).waits_for
