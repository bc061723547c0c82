"""Sessions of Gemini CLI: one object, or lines."""

from datetime import timedelta

import pytest

from app.adapters.transcripts import TranscriptProblem, read, recognise
from app.core.agents.events import ToolKind
from app.core.history.transcript import Format, Message, ModelCall, ToolResult, Turn
from tests.support.gemini import MESSAGES, at, gemini, in_lines, in_one, shell, user
from tests.support.transcripts import calls, model_calls, results


@pytest.mark.parametrize("data", [in_one(*MESSAGES), in_lines(*MESSAGES)])
def test_prompts_answers_calls_and_results_in_both_forms(data: bytes) -> None:
    assert recognise(data) is Format.GEMINI
    transcript = read(data)
    assert [type(step) for step in transcript.steps].count(Turn) == 2
    said = [step for step in transcript.steps if isinstance(step, Message) and not step.thought]
    assert [each.text for each in said] == ["I run the tests."]
    shown = [(each.tool, each.kind) for each in calls(transcript)]
    assert shown == [
        ("run_shell_command", ToolKind.SHELL),
        ("replace", ToolKind.WRITE),
        ("run_shell_command", ToolKind.SHELL),
        ("run_shell_command", ToolKind.SHELL),
    ]
    ended = [(each.ok, each.exit_code, each.denied) for each in results(transcript)]
    assert ended == [
        (False, 1, False),
        (True, None, False),
        (True, 0, False),
        (False, None, True),
    ]
    first, _ = model_calls(transcript)
    assert first == ModelCall(
        at=transcript.steps[0].at + timedelta(minutes=1),
        agent=None,
        model="gemini-2.5-pro",
        input_tokens=900,
        output_tokens=47,
        cache_read_tokens=300,
        cache_write_tokens=None,
    )
    assert results(transcript)[0].output.endswith("Exit Code: 1\nSignal: 0")


def test_the_last_word_about_a_message_counts_and_a_rewind_undoes_nothing() -> None:
    asked = shell("ls", "", 2) | {"status": "executing", "result": None}
    once = in_lines(user(0), gemini(1, shell("ls", "Output: a.py", 2)), user(3))
    grown = in_lines(
        user(0),
        gemini(1, asked),
        gemini(1, shell("ls", "Output: a.py", 2)),
        {"$rewindTo": "u0"},
        {"$set": {"summary": "Lists files", "lastUpdated": at(3)}},
        {"$set": {"messages": [user(3)]}},
    )
    assert read(grown).steps == read(once).steps


def test_a_call_that_was_cut_off_has_no_result() -> None:
    asked = shell("sleep 9", "", 2) | {"status": "executing", "result": None}
    transcript = read(in_lines(user(0), gemini(1, asked)))
    assert len(calls(transcript)) == 1 and results(transcript) == []


def test_a_sub_agents_session_names_it_and_has_no_turn() -> None:
    transcript = read(in_one(*MESSAGES, kind="subagent"))
    assert {step.agent for step in transcript.steps if isinstance(step, ToolResult)} == {"f86f5318"}
    assert not [step for step in transcript.steps if isinstance(step, Turn)]


def test_what_an_older_session_does_not_tell_of_a_command_is_unknown() -> None:
    quiet = shell("true", "Command: true\nDirectory: (root)\nExit Code: (none)", 2)
    [result] = results(read(in_one(user(0), gemini(1, quiet, tokens=None, thoughts=None))))
    assert (result.ok, result.exit_code) == (True, None)


def test_a_problem_is_told_with_its_line() -> None:
    broken = gemini(1, shell("ls", "", 2) | {"args": "ls"})
    data = in_one(user(0), broken)
    with pytest.raises(TranscriptProblem) as caught:
        read(data)
    where = data.decode().splitlines()
    assert '"args": "ls"' in where[caught.value.line - 1] or caught.value.line > 10
    assert "args: expected an object" in caught.value.message


def test_a_torn_line_of_a_session_is_named() -> None:
    data = in_lines(*MESSAGES)
    torn = data.replace(b'{"id": "i4"', b'"id": "i4"')
    transcript = read(torn)
    assert transcript.steps == read(data).steps
    assert [each.line for each in transcript.unread] == [4]


def test_a_session_without_messages_is_no_empty_run() -> None:
    for data in (in_one(), in_lines()):
        with pytest.raises(TranscriptProblem, match="expected events of a session of gemini"):
            read(data)
