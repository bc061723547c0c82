"""Others push to the branch of an agent, or to the one that it starts from, while it works."""

from collections.abc import Sequence

from app.core.agents.lifecycle import State
from app.scripted.script import Answer
from tests.stories.happening import AT_REVIEW, FIXES, STOPPED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import commits, completes, runs, thinks, writes
from tests.twins.shell import TEST
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository({"fixer": {}})}
OURS = (writes("answer", "42\n"), runs(TEST), commits("Answer"), thinks(60), completes("42."))


def meets(squad: Story, *then: Answer) -> Task:
    """Its work and what Maria pushes to its branch meanwhile do not fit together."""
    task = squad.give("fixer", "The answer is wrong", *OURS, *then)
    squad.pushes({"answer": "43\n"}, task.branch)
    squad.passes(seconds=60)
    return task


def test_what_does_not_fit_is_told_to_the_agent_which_resolves_it() -> None:
    with story(PLACES) as squad:
        merges = runs("git merge -X ours squadron/fixer/issue-1")
        task = meets(squad, merges, completes("Merged."))
        assert squad.was_told(task, "They conflict with your commits in: answer")
        assert squad.states(task) == [AT_REVIEW]
        answer = squad.sees(f"/repos/{REPOSITORY}/contents/answer?ref={squad.agent(task).sha}")
        assert answer["content"].strip() == "NDIK"


def test_what_still_does_not_fit_is_left_to_a_human() -> None:
    with story(PLACES) as squad:
        task = meets(squad, completes("I leave it."))
        assert squad.states(task) == [STOPPED]
        assert len(squad.needs_human(task)) == 1
        answer = squad.sees(f"/repos/{REPOSITORY}/contents/answer?ref={task.branch}")
        assert answer["content"].strip() == "NDMK", "what Maria pushed is gone"


def conflict_at_review(squad: Story, steps: Sequence[Answer]) -> Task:
    """Main has moved, and the work that was handed over conflicts with it."""
    task = squad.give("fixer", "The answer is wrong", *FIXES, *steps)
    squad.pushes({"answer": "43\n"})
    squad.passes(minutes=2)
    return task


def test_who_leaves_a_conflict_with_main_is_stopped() -> None:
    with story(PLACES) as squad:
        task = conflict_at_review(squad, [completes("I leave it.")])
        assert squad.states(task) == [STOPPED]
        assert squad.needs_human(task) != []


def test_who_has_left_one_that_went_and_comes_again_is_stopped() -> None:
    with story(PLACES) as squad:
        task = conflict_at_review(squad, [thinks(300), completes("I see none.")])
        assert squad.states(task) == [(State.ACTIVE, None)]
        squad.pushes({"answer": "41\n"})
        squad.passes(seconds=300)
        assert squad.states(task) == [AT_REVIEW]
        squad.pushes({"answer": "43\n"})
        squad.passes(minutes=2)
        squad.passes(minutes=2)  # GitHub looks whether it can be merged only when it is asked
        assert squad.states(task) == [STOPPED]


def test_what_cannot_be_pushed_is_not_handed_over() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *OURS, completes("Again."))
        squad.workspace.refused = "remote: the branch is protected"
        squad.passes(seconds=60)
        assert squad.states(task) == [AT_REVIEW] and squad.agent(task).pull_request is None
        assert squad.sees(f"/repos/{REPOSITORY}/pulls") == []
        assert "the branch is protected" in squad.comments(task)[0]
        squad.workspace.refused = ""
        squad.comment(task, "Now it is not.")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
