"""Command lines of a recorded run: which of them test, change something, wait, or start anew."""

from typing import Any

import pytest

from app.adapters.shell import parse
from app.core.agents.events import ToolKind
from app.core.history.replay import Rules, replay
from app.core.history.transcript import Format, Transcript
from app.testruns import SuiteRules
from app.testruns.shell_line import ShellLine
from tests.core.recorded import Run, stop
from tests.core.strategies import only


def cycles(run: Run) -> int:
    return run.under(only()).counters.fix_cycles


@pytest.mark.parametrize(
    ("between", "fix_cycles"),
    [
        ("sed -i s/a/b/ login.py", 1),
        ("cp -r fixed/ src/", 1),
        ("ls -l", 0),
        ("sleep 30", 0),
        ("kubectl wait --for=condition=ready pod/web", 0),
    ],
)
def test_a_command_that_may_change_files_makes_the_next_test_run_a_fix_cycle(
    between: str, fix_cycles: int
) -> None:
    assert cycles(Run().tests().runs(between).tests()) == fix_cycles


def test_a_change_in_the_same_line_as_the_tests_is_a_change_too() -> None:
    run = Run().tests().runs("sed -i s/a/b/ login.py && pytest -q", ok=False, output="1 failed")
    assert cycles(run) == 1
    assert stop(run.under(only(max_iterations=1)).trip) is None
    run.runs("sed -i s/b/c/ login.py && pytest -q", ok=False, output="1 failed")
    assert stop(run.under(only(max_iterations=1)).trip) == ("max_iterations", 1, 1, 2)


def test_looking_at_a_file_is_no_change() -> None:
    assert cycles(Run().tests().calls().tests()) == 0
    assert cycles(Run().tests().edits().tests()) == 1


def test_changes_of_two_kinds_do_not_undo_each_other() -> None:
    assert cycles(Run().tests().runs("sed -i s/a/b/ login.py").edits().tests()) == 1


def test_what_changed_while_the_tests_ran_was_part_of_that_run() -> None:
    run = Run().tests().edits()
    asked, ended, *edit = run.steps
    run.steps = [asked, *edit, ended]
    assert cycles(run.tests()) == 0


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        (ToolKind.OTHER, "pytest -q"),
        (ToolKind.SHELL, ["pytest", "-q"]),
        (ToolKind.SHELL, None),
    ],
)
def test_only_the_text_that_a_shell_runs_is_a_command_line(kind: ToolKind, command: Any) -> None:
    run = Run().calls("tool", kind, command=command)
    assert run.under(only()).counters.test_runs == 0
    assert Run().runs("pytest -q").under(only()).counters.test_runs == 1


def test_a_waiting_command_that_sees_the_time_pass_is_no_loop() -> None:
    waiting, looking = Run(), Run()
    for minute in range(4):
        said = f"09:0{minute}:00 still pending"
        waiting.runs("sleep 30; cat status", output=said)
        looking.runs("cat status", output=said)
    limits = only(max_repeated_calls=2)
    assert waiting.under(limits).trip is None
    assert stop(looking.under(limits).trip) == ("max_repeated_calls", 2, 2, 2)


def test_whoever_looks_without_waiting_sees_the_same_at_another_time() -> None:
    run = Run()
    for minute in range(4):
        run.calls("view", output=f"09:0{minute}:00 still pending", path="status")
    assert stop(run.under(only(max_repeated_calls=2)).trip) == ("max_repeated_calls", 2, 2, 2)


def test_each_command_line_is_read_once() -> None:
    read = []

    def noted(command: str, *, pipefail: bool) -> ShellLine:
        read.append((command, pipefail))
        return parse(command, pipefail=pipefail)

    run = Run().runs("ls").runs("pytest -q").runs("ls").runs("pytest -q", pipefail=True)
    transcript = Transcript(format=Format.SQUADRON, steps=tuple(run.steps))
    replay(transcript, Rules(only(), SuiteRules(), noted, lambda model, at: None))
    assert read == [("ls", False), ("pytest -q", False), ("pytest -q", True)]


@pytest.mark.parametrize("pipefail", [True, False])
def test_what_a_pipe_says_of_its_tests_is_for_the_shell_that_ran_it_to_say(pipefail: bool) -> None:
    """As the live hook judges it (`ToolCall.pipefail`)."""
    run = Run().tests().edits().runs("pytest -q | tail -n 1", output="done", pipefail=pipefail)
    counters = run.edits().tests(passed=True).under(only()).counters
    assert counters.fix_cycles == (0 if pipefail else 1)


# --- turns ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "turns"),
    [
        (Run(), 0),
        (Run().calls(), 1),
        (Run().turn().calls(), 1),
        (Run().calls().turn().calls(), 2),
        (Run().times(3, "turn"), 3),
    ],
)
def test_a_run_that_begins_without_a_prompt_has_one_turn_more(run: Run, turns: int) -> None:
    assert run.under(only()).counters.turns == turns


def test_another_prompt_opens_the_work_that_was_closed() -> None:
    limits = only(max_tokens=1_000)
    assert stop(Run().asks_model(1_000).under(limits).trip) == ("max_tokens", 1_000, 1_000, 0)
    closed = Run().calls("report_complete").turn()
    assert stop(closed.asks_model(1_000).under(limits).trip) == ("max_tokens", 1_000, 1_000, 0)


def test_a_call_of_a_sub_agent_leaves_the_turn_as_it_was() -> None:
    limits = only(max_tool_calls_per_turn=2, max_consecutive_tools=9)
    run = Run().times(2, "calls").calls(agent="helper").calls()
    assert stop(run.under(limits).trip) == ("max_tool_calls_per_turn", 2, 2, 3)
    for strict in (only(max_tool_calls_per_turn=1), only(max_consecutive_tools=1)):
        assert Run().calls(agent="helper").under(strict).stops == ()


def test_only_a_tool_that_starts_sub_agents_starts_one() -> None:
    assert Run().times(3, "calls").under(only(max_spawns=0, max_depth=0)).stops == ()
    for tool in ("task", "Task", "Agent"):
        marks = Run().calls(tool).under(only(max_spawns=0)).passed
        assert [mark.limit for mark in marks] == ["max_spawns"]
