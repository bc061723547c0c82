"""What the default branch names says whether work is sound, before it is handed over
(docs/design.md, 13)."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from app.core.agents.counters import fold
from app.core.agents.events import Known, SentBack, Verified, VerifyBegun
from app.core.agents.lifecycle import State
from app.core.words.report import report
from app.scripted.script import Answer
from app.services.views import report_json
from tests.stories.happening import AT_REVIEW, CANCELLED, FIXES, PAUSED, pull
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import commits, completes, writes
from tests.twins.shell import TEST
from tests.twins.story import PASS_SECONDS, Story, story

ROLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "fixer": {"max_iterations": 2},
    "pauser": {"max_iterations": 1, "on_limit": "pause"},
    "own": {"verify": ["test -e own"]},
    "slow": {"verify": ["sleep 600"]},
    "endless": {"verify": ["sleep 2000", "true"]},
    "prepared": {"setup": ["echo kept > made"], "verify": ["grep kept made", TEST]},
    "unprepared": {"setup": ["false"], "verify": ["true"]},
}
CONFIG: Final = {"verify": [TEST]}
SAYS_SO: Final = completes("All tests pass.")
WRONG: Final = (writes("answer", "43\n"), commits("Answer"), SAYS_SO)
RIGHT: Final = (writes("answer", "42\n"), commits("Answer"), SAYS_SO)


def given(squad: Story, *steps: Answer, role: str = "fixer") -> Task:
    return squad.give(role, "The answer is wrong", *steps)


def found(squad: Story, task: Task) -> list[Known]:
    """What was found out, oldest first."""
    log = squad.log(squad.agent(task).id)
    return [event.sound for event in log if isinstance(event, Verified)]


def sent_back(squad: Story, task: Task) -> int:
    return sum(isinstance(each, SentBack) for each in squad.log(squad.agent(task).id))


def conclusion(squad: Story, task: Task) -> str:
    return str(squad.checks(task)[0]["conclusion"])


def shown(squad: Story, task: Task) -> Any:
    agent = squad.agent(task)
    return report_json(report(agent, squad.log(agent.id), squad.clock.now()))["evidence"]


def test_sound_work_is_handed_over_under_a_green_check() -> None:
    """Though the agent ran no tests: Squadron did."""
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        task = given(squad, *RIGHT)
        assert squad.state(task) == AT_REVIEW
        assert (found(squad, task), conclusion(squad, task)) == ([Known.YES], "success")
        assert shown(squad, task)["verified"] is True
        pull_request = squad.sees(pull(squad, task))
        assert not pull_request["draft"]
        line = f"Checked in a clean checkout by `{TEST}`: **yes**."
        assert pull_request["body"].index(line) < pull_request["body"].index("The agent says:")
        assert not list(squad.directory.glob("data/agents/*/apart"))


def test_what_is_not_sound_goes_back_with_the_output_and_counts_as_an_iteration() -> None:
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        task = given(squad, *WRONG, *RIGHT)
        assert squad.state(task) == AT_REVIEW
        assert found(squad, task) == [Known.NO, Known.YES]
        assert fold(squad.log(squad.agent(task).id)).fix_cycles == 1
        assert squad.was_told(task, f"It is not sound: `{TEST}` ended with exit code 1.")
        assert squad.was_told(task, "FAILED")
        assert conclusion(squad, task) == "success"
        [only] = squad.sees(f"/repos/{REPOSITORY}/pulls?state=all")
        assert only["number"] == squad.agent(task).pull_request


def test_who_goes_on_saying_so_is_stopped_by_the_limit_on_iterations() -> None:
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        task = given(squad, *WRONG, SAYS_SO, SAYS_SO, SAYS_SO)
        agent = squad.stopped(task)
        assert agent.trip is not None and agent.trip.limit == "max_iterations"
        assert (found(squad, task), sent_back(squad, task)) == ([Known.NO] * 3, 2)
        assert shown(squad, task)["verified"] is False
        assert squad.sees(f"/repos/{REPOSITORY}/pulls?state=all") == []


def test_a_limit_on_iterations_may_ask_a_human_and_then_the_agent_reads_the_output() -> None:
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        task = given(squad, *WRONG, SAYS_SO, *RIGHT, role="pauser")
        assert squad.state(task) == PAUSED
        asked = len(squad.model.requests)
        squad.comment(task, "/squadron raise max_iterations +2")
        squad.settle()
        assert squad.state(task) == AT_REVIEW
        assert "It is not sound" in str(squad.model.requests[asked])
        assert found(squad, task) == [Known.NO, Known.NO, Known.YES]


def test_a_role_has_commands_of_its_own_and_the_script_comes_after_them() -> None:
    files = {".squadron/verify.sh": "false\necho never > seen\n"}
    with story({REPOSITORY: repository(ROLES, CONFIG, files)}) as squad:
        task = given(squad, *WRONG, writes("own", "own\n"), commits("Own"), SAYS_SO, role="own")
        whys = [each.why for each in squad.log(squad.agent(task).id) if isinstance(each, Verified)]
        assert whys == [
            "`test -e own` ended with exit code 1.",
            "`.squadron/verify.sh` ended with exit code 1.",
        ]


def test_what_the_agent_makes_of_the_script_and_the_configuration_changes_nothing() -> None:
    """They are the default branch's, as of the agent's start."""
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        cheats = (
            writes(".squadron/config.yaml", "verify: ['true']\n"),
            writes(".squadron/verify.sh", "exit 0\n"),
        )
        task = given(squad, *cheats, *WRONG, *RIGHT)
        assert found(squad, task)[0] is Known.NO


def test_only_what_git_holds_is_there_and_what_the_setup_made() -> None:
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        task = given(squad, *RIGHT, role="prepared")
        assert (squad.state(task), found(squad, task)) == (AT_REVIEW, [Known.YES])


def test_where_nothing_can_be_said_the_work_is_handed_over_as_a_draft_and_says_why() -> None:
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        squad.workspace.checks_out_nothing = "The disk is full."
        task = given(squad, *FIXES)
        assert squad.state(task) == AT_REVIEW
        assert (found(squad, task), conclusion(squad, task)) == ([Known.UNKNOWN], "neutral")
        assert shown(squad, task)["verified"] is None
        pull_request = squad.sees(pull(squad, task))
        assert pull_request["draft"]
        assert "**unknown**: It could not be run: The disk is full." in pull_request["body"]


def test_no_time_counts_meanwhile() -> None:
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        task = given(squad, *RIGHT, role="slow")
        squad.passes(minutes=10)
        squad.passes(minutes=10)  # the same of the default branch, to compare
        assert (squad.state(task), found(squad, task)) == (AT_REVIEW, [Known.YES])
        log = squad.log(squad.agent(task).id)
        [began] = [each.at for each in log if isinstance(each, VerifyBegun)]
        [ended] = [each.at for each in log if isinstance(each, Verified)]
        assert (ended - began).total_seconds() >= 600
        assert fold(log).active.total_seconds() < 60


def test_what_does_not_end_is_not_sound() -> None:
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        task = given(squad, *WRONG, role="endless")
        squad.passes(seconds=890)
        squad.passes(seconds=30)
        log = squad.log(squad.agent(task).id)
        [verified, *_] = [each for each in log if isinstance(each, Verified)]
        assert (verified.sound, verified.why) == (
            Known.NO,
            "`sleep 2000` did not end within 900 s.",
        )


@pytest.mark.parametrize("how", ["killed", "stopped", "braked"])
def test_what_is_cut_off_is_found_out_anew(how: str) -> None:
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        task = squad.issue("The answer is wrong", *RIGHT).by("slow")
        squad.label(task, "squadron:slow")
        verifies(squad, task)
        squad.settle()
        [comment] = squad.comments(task)
        assert "The agent has done its work; Squadron checks it in a clean checkout." in comment
        match how:
            case "killed":
                squad.restart()
            case "stopped":
                squad.stop()
                squad.start()
            case _:
                squad.brakes()
                squad.passes(seconds=3)
                assert squad.state(task) == (State.QUEUED, None)
                squad.lifts_the_brake()
        squad.settle()
        squad.passes(seconds=PASS_SECONDS)
        squad.passes(minutes=10)
        squad.passes(minutes=10)  # the same of the default branch, to compare
        assert (squad.state(task), found(squad, task)) == (AT_REVIEW, [Known.YES])
        begun = [each for each in squad.log(squad.agent(task).id) if isinstance(each, VerifyBegun)]
        assert len(begun) == 2
        assert squad.model.requests and len(squad.model.requests) == len(RIGHT)


def test_who_is_taken_away_meanwhile_hands_nothing_over() -> None:
    with story({REPOSITORY: repository(ROLES, CONFIG)}) as squad:
        task = squad.issue("The answer is wrong", *RIGHT).by("slow")
        squad.label(task, "squadron:slow")
        verifies(squad, task)
        squad.comment(task, "/squadron stop")
        squad.settle()
        squad.passes(seconds=2)
        assert (squad.state(task), found(squad, task)) == (CANCELLED, [])
        assert squad.sees(f"/repos/{REPOSITORY}/pulls?state=all") == []


def verifies(squad: Story, task: Task) -> None:
    """Until Squadron is about to find out."""
    for _ in range(2_000):
        squad.goes_on_for(3)
        if squad.agents(task):
            log = squad.log(squad.agent(task).id)
            if any(isinstance(each, VerifyBegun) for each in log):
                return
    raise AssertionError("nothing was verified")
