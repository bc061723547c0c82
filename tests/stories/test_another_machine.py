"""An agent begins on one machine and goes on on another; they share nothing but the database."""

from base64 import b64decode
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.adapters.store.tables import ARTIFACTS
from app.core.agents.events import FilesMoved, Lost
from app.core.agents.lifecycle import State
from app.scripted.script import Answer, Conversation
from tests.stories.happening import AGAIN, ASKING, AT_REVIEW, FIXES, ROLES, STOPPED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.squad import json_text
from tests.support.steps import commits, is_blocked, says, writes
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository(ROLES)}
GONE = "Gone with its disk"
COLOUR = is_blocked("Which colour?")
ASKS_FIRST = (writes("first", "1\n"), says("Hm."), COLOUR)
"""In two turns."""


def lost(squad: Story, task: Task) -> list[tuple[Lost, ...]]:
    log = squad.log(squad.agent(task).id)
    return [each.lost for each in log if isinstance(each, FilesMoved) and each.lost]


def files(squad: Story, task: Task) -> dict[str, str]:
    """On its branch."""
    where = f"/repos/{REPOSITORY}/contents"
    names = [
        one["name"] for one in squad.sees(f"{where}?ref={task.branch}") if "." not in one["name"]
    ]
    held = {name: squad.sees(f"{where}/{name}?ref={task.branch}")["content"] for name in names}
    return {name: b64decode(content).decode() for name, content in held.items()}


def answers(squad: Story, task: Task, words: str) -> None:
    squad.comment(task, words)
    squad.settle()


def test_who_wakes_on_another_machine_knows_what_was_said() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "Paint it", *ASKS_FIRST, *FIXES)
        assert squad.states(task) == [ASKING]
        squad.moves_to("another")
        answers(squad, task, "Blue.")
        assert squad.states(task) == [AT_REVIEW]
        assert lost(squad, task) == []
        assert not squad.was_told(task, GONE)
        assert len(squad.calls(task)) == 1, "it asks once"
        assert files(squad, task)["first"] == "1\n", "that was pushed before it fell asleep"
        assert "unpack_work" not in " ".join(squad.workspace.calls), "so nobody needs it again"
        [comment] = squad.comments(task)
        assert "Gone with" not in comment


def test_while_what_was_kept_cannot_be_had_an_agent_waits(tmp_path: Path) -> None:
    kept, away = tmp_path / "kept", tmp_path / "away"
    with story(PLACES, settings={"SQUADRON_ARTIFACTS": str(kept)}) as squad:
        squad.tolerates("what Squadron keeps is away")
        task = squad.give("fixer", "Paint it", *ASKS_FIRST, *FIXES)
        assert squad.states(task) == [ASKING]
        kept.rename(away)
        kept.touch()
        squad.moves_to("another")
        squad.comment(task, "Blue.")
        squad.passes(seconds=1800)
        assert squad.agent(task).state is State.ACTIVE
        kept.unlink()
        away.rename(kept)
        squad.passes(seconds=20)
        assert squad.states(task) == [AT_REVIEW]
        assert lost(squad, task) == []
        assert len(squad.calls(task)) == 1, "it asks once"


def test_what_was_kept_is_deleted_a_month_after_the_end(tmp_path: Path) -> None:
    with story(PLACES, settings={"SQUADRON_ARTIFACTS": str(tmp_path)}) as squad:

        def kept() -> list[str]:
            return [file.name for file in tmp_path.rglob("*") if file.is_file()]

        def days_later(days: int) -> None:
            squad.kill()
            squad.clock.turn(timedelta(days=days))
            squad.start()
            squad.settle()

        task = squad.give("fixer", "Paint it", *ASKS_FIRST, *FIXES)
        answers(squad, task, "Blue.")
        squad.merge(task)
        squad.settle()
        assert squad.agent(task).is_final
        days_later(29)
        assert kept() != []
        days_later(2)
        assert kept() == []


def test_back_on_the_first_machine_nothing_of_the_first_day_counts() -> None:
    """Neither the conversation, which has not heard of the second day, nor the clone, which would
    take the agent's own commits for those of others."""
    with story(PLACES) as squad:
        second = (writes("first", "2\n"), commits("Second"), is_blocked("Which size?"))
        task = squad.give("fixer", "Paint it", *ASKS_FIRST, *second, *FIXES, *AGAIN)
        squad.moves_to("another")
        answers(squad, task, "Blue.")
        assert squad.states(task) == [ASKING]
        squad.moves_to("first")
        answers(squad, task, "Large.")
        assert squad.states(task) == [AT_REVIEW]
        last = json_text(squad.model.requests[-1])
        assert [words for words in ("Blue.", "Large.") if words not in last] == []
        assert not squad.was_told(task, "pushed to your branch")
        assert lost(squad, task) == []
        assert files(squad, task)["first"] == "2\n"


def test_what_cannot_be_had_any_more_is_named_to_the_agent_and_to_people() -> None:
    def asks_once(conversation: Conversation) -> Answer:
        return FIXES[0] if GONE in str(conversation) else COLOUR

    with story(PLACES) as squad:
        task = squad.give("fixer", "Paint it", asks_once, *FIXES[1:])
        assert squad.states(task) == [ASKING]
        with squad.database.engine.begin() as connection:
            connection.execute(sa.update(ARTIFACTS).values(content=b"damaged"))
        squad.moves_to("another")
        answers(squad, task, "Blue.")
        assert squad.states(task) == [AT_REVIEW]
        assert lost(squad, task) == [(Lost.CONVERSATION,)]
        assert squad.was_told(task, "what was said in your session")
        assert squad.was_told(task, "Blue.")
        [comment] = squad.comments(task)
        assert "did not have its files. Gone with them: its conversation." in comment


def test_who_stays_loses_nothing_whoever_dies() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "Paint it", *ASKS_FIRST, *FIXES)
        squad.restart()
        answers(squad, task, "Blue.")
        squad.restart()
        assert squad.states(task) == [AT_REVIEW]
        assert lost(squad, task) == []
        calls = " ".join(squad.workspace.calls)
        assert "discard" not in calls and "unpack" not in calls


@pytest.mark.parametrize("turns", range(40, 400, 40))
def test_who_was_at_work_goes_on_from_what_was_kept(turns: int) -> None:
    with story(PLACES) as squad:
        task = squad.issue("Paint it", *FIXES, *FIXES).by("fixer")
        squad.label(task, "squadron:fixer")
        if squad.goes_on_for(turns):
            squad.moves_to("another")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        told = lost(squad, task)
        assert squad.was_told(task, GONE) == bool(told)
        assert len(told) <= 1
        assert files(squad, task)["answer"] == "42\n"


def test_work_that_was_not_pushed_is_kept_as_of_the_last_turn() -> None:
    """It takes long for a thought after a turn that has ended without a closing tool. Who has done
    more since then is told that this is gone, and does it again."""
    steps = (writes("first", "1\n"), commits("First"), writes("second", "2\n"), says("Hm."))

    def at_a_turn(turns: int) -> bool:
        with story({REPOSITORY: repository({"fixer": {"setup": ["true"]}})}) as squad:
            task = squad.issue("Paint it", *steps, *FIXES).by("fixer")
            squad.label(task, "squadron:fixer")
            if squad.goes_on_for(turns):
                squad.moves_to("another")
            squad.settle()
            assert squad.states(task) == [AT_REVIEW]
            assert files(squad, task) == {"answer": "42\n", "first": "1\n", "second": "2\n"}
            was_taken = any("unpack_work" in call for call in squad.workspace.calls)
            return was_taken and Lost.WORK not in {
                each for told in lost(squad, task) for each in told
            }

    was_all = [at_a_turn(turns) for turns in range(100, 300, 10)]
    assert any(was_all), "no move came at such a time"


def test_what_could_not_be_pushed_is_pushed_by_another_machine() -> None:
    with story(PLACES) as squad:
        squad.workspace.keeps_nothing = "The requested URL returned error: 503"
        task = squad.give("fixer", "Paint it", *FIXES)
        assert files(squad, task) == {"answer": "41\n"}, "as on the default branch"
        squad.workspace.keeps_nothing = ""
        squad.moves_to("another")
        squad.passes(hours=1)
        assert squad.states(task) == [AT_REVIEW]
        assert files(squad, task) == {"answer": "42\n"}
        assert lost(squad, task) == []


def test_work_can_be_had_where_the_conversation_cannot() -> None:
    with story(PLACES) as squad:
        squad.workspace.keeps_nothing = "The requested URL returned error: 503"
        squad.workspace.packs_no_conversation = "No space left on device"
        task = squad.give("fixer", "Paint it", *ASKS_FIRST, *FIXES)
        squad.workspace.keeps_nothing = ""
        squad.moves_to("another")
        answers(squad, task, "Blue.")
        assert squad.states(task) == [ASKING], "it begins its script anew"
        assert lost(squad, task) == [(Lost.CONVERSATION,)]
        assert files(squad, task)["first"] == "1\n", "pushed from the other machine"
        assert "died" not in squad.comments(task)[0]


def test_who_ends_asleep_needs_no_files() -> None:
    with story(PLACES) as squad:
        task = squad.give("sleeper", "Paint it", *ASKS_FIRST)
        squad.moves_to("another")
        squad.passes(hours=2)
        assert squad.states(task) == [STOPPED]
        [comment] = squad.comments(task)
        assert "could not be" not in comment and "another machine" not in comment
        assert files(squad, task)["first"] == "1\n"
