"""Copilot, Claude Code, SWE-agent and mini-swe-agent: what each writes, as one kind of steps."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.adapters.transcripts import load, read
from app.core.agents.events import ToolKind
from app.core.history.transcript import Message, ModelCall, ToolCall, ToolResult, Turn
from tests.support.transcripts import DATA, NOON, answers, calls, json_lines, model_calls, results

COPILOT = next(DATA.glob("copilot/**/events.jsonl"))
CLAUDE = next(DATA.glob("claude/projects/*/*.jsonl"))
CLAUDE_CHILD = next(DATA.glob("claude/**/agent-*.jsonl"))


def test_copilot_results_find_their_calls_and_a_sub_agent_is_named() -> None:
    transcript = load(COPILOT)
    by_id = answers(transcript)
    story = [
        (call.agent is not None, call.kind, call.args.get("command"), by_id[call.id].denied)
        for call in calls(transcript)
    ]
    shell, other = ToolKind.SHELL, ToolKind.OTHER
    assert story == [
        (False, shell, "sleep 1; echo one", False),
        (False, shell, "sleep 1; echo two-deny", True),
        (False, shell, "sleep 1; echo three", False),
        (False, other, None, False),
        (True, shell, "echo in-child; pwd", False),
        (True, shell, "echo child-deny", True),
    ]
    assert by_id[calls(transcript)[2].id].output.startswith("three")
    assert Counter(call.agent is None for call in model_calls(transcript)) == {True: 4, False: 3}
    assert sum(isinstance(step, Turn) for step in transcript.steps) == 2


def copilot_event(kind: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": "e", "timestamp": NOON, **more}


def copilot_start(call: str, tool: str = "bash", **more: Any) -> dict[str, Any]:
    data = {"toolCallId": call, "toolName": tool, "arguments": {"command": "x"}, **more}
    return copilot_event("tool.execution_start", data)


def copilot_end(call: str, **more: Any) -> dict[str, Any]:
    return copilot_event("tool.execution_complete", {"toolCallId": call, **more})


def test_a_copilot_command_that_exits_with_3_ran_but_did_not_do_what_it_was_asked() -> None:
    failing = {"success": True, "result": {"content": "x"}, "shellExecution": {"exitCode": 3}}
    (result,) = results(read(json_lines(copilot_start("a"), copilot_end("a", **failing))))
    assert (result.ok, result.exit_code, result.denied) == (False, 3, False)


def test_copilots_compaction_is_a_model_call_that_has_no_usage_record() -> None:
    tokens = {"inputTokens": 900, "outputTokens": 80, "cacheReadTokens": 700}
    compacted = copilot_event("session.compaction_complete", {"compactionTokensUsed": tokens})
    failed = copilot_event("session.compaction_complete", {"success": False})
    (call,) = model_calls(read(json_lines(compacted, failed)))
    assert (call.input_tokens, call.output_tokens, call.cache_read_tokens) == (900, 80, 700)


def test_a_copilot_call_without_completion_was_cut_off_and_a_stray_completion_is_nothing() -> None:
    error = {"message": "gone", "code": "interrupted"}
    transcript = read(
        json_lines(
            copilot_start("a"),
            copilot_start("b", tool="apply_patch", arguments="*** Begin Patch"),
            copilot_end("z", success=False, error=error),
            copilot_end("a", success=False, error=error),
        )
    )
    assert [call.args for call in calls(transcript)] == [
        {"command": "x"},
        {"input": "*** Begin Patch"},
    ]
    (result,) = results(transcript)
    assert (result.id, result.ok, result.output, result.denied) == ("a", False, "gone", False)


def test_claude_counts_one_model_call_for_the_lines_of_one_answer() -> None:
    transcript = load(CLAUDE)
    by_id = answers(transcript)
    assert len(model_calls(transcript)) == 6
    assert [(call.tool, by_id[call.id].denied) for call in calls(transcript)] == [
        ("Bash", False),
        ("Bash", True),
        ("Bash", False),
        ("Read", False),
        ("Read", True),
        ("Read", False),
        ("Agent", False),
    ]
    assert [by_id[call.id].exit_code for call in calls(transcript)][:4] == [0, None, 0, None]
    assert sum(isinstance(step, Turn) for step in transcript.steps) == 3


def test_a_sub_agents_file_of_claude_names_it_and_has_no_turn_of_a_human() -> None:
    steps = load(CLAUDE_CHILD).steps
    assert {step.agent for step in steps if not isinstance(step, Turn)} == {"acf42c1c5ec785ee6"}
    assert not any(isinstance(step, Turn) for step in steps)


def claude_answer(block: dict[str, Any], output_tokens: int = 5, **more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3000,
        "output_tokens": output_tokens,
    }
    message = {"id": "msg", "model": "m", "usage": usage, "content": [block], **more}
    return {"type": "assistant", "uuid": "u", "timestamp": NOON, "message": message}


def claude_user(content: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "user", "uuid": "u", "timestamp": NOON, "message": {"content": content}, **more
    }  # fmt: skip


def test_claudes_input_is_the_sum_of_its_parts_and_a_growing_answer_counts_once() -> None:
    transcript = read(
        json_lines(
            claude_answer({"type": "thinking", "thinking": "hm"}, output_tokens=1),
            claude_answer({"type": "text", "text": "Look."}, output_tokens=42),
            claude_answer({"type": "text", "text": "No request."}, model="<synthetic>"),
        )
    )
    (call,) = model_calls(transcript)
    assert (call.input_tokens, call.output_tokens) == (3210, 42)
    assert (call.cache_read_tokens, call.cache_write_tokens) == (3000, 200)
    said = [step for step in transcript.steps if isinstance(step, Message)]
    assert [(message.text, message.thought) for message in said] == [("hm", True), ("Look.", False)]


@pytest.mark.parametrize(
    ("content", "more", "expected"),
    [
        ("done", {}, (True, 0)),
        ([{"type": "text", "text": "done"}], {}, (True, 0)),
        ("Exit code 3\nno such test", {"is_error": True}, (False, 3)),
        ("The command timed out", {"is_error": True}, (False, None)),
    ],
)
def test_claudes_shell_tells_its_exit_code_in_words(
    content: Any, more: dict[str, Any], expected: tuple[bool, int | None]
) -> None:
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "pytest"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": content, **more}
    (read_back,) = results(read(json_lines(claude_answer(call), claude_user([result]))))
    assert (read_back.ok, read_back.exit_code) == expected


def test_a_command_of_claude_that_was_interrupted_did_not_end_by_itself() -> None:
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "pytest"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "3 of 9"}
    heard = claude_user([result], toolUseResult={"stdout": "3 of 9", "interrupted": True})
    (read_back,) = results(read(json_lines(claude_answer(call), heard)))
    assert (read_back.ok, read_back.exit_code) == (False, None)


def test_only_what_a_human_wrote_is_a_turn_of_claude() -> None:
    transcript = read(
        json_lines(
            claude_user("fix it"),
            claude_user([{"type": "text", "text": "and this"}]),
            claude_user("a caveat", isMeta=True),
            claude_user("what was so far", isCompactSummary=True),
            claude_user("do a part", isSidechain=True),
        )
    )
    assert [type(step) for step in transcript.steps] == [Turn, Turn]


def test_swe_agents_actions_become_tools_of_their_kinds_and_time_adds_up() -> None:
    transcript = load(DATA / "swe-agent" / "marshmallow-1867-function-calling.traj")
    assert Counter((call.tool, call.kind.value) for call in calls(transcript)) == {
        ("bash", "shell"): 4,
        ("create", "write"): 1,
        ("edit", "write"): 2,
        ("insert", "write"): 1,
        ("find_file", "read"): 1,
        ("open", "read"): 1,
        ("submit", "other"): 1,
    }
    failed = [result.id for result in results(transcript) if not result.ok]
    assert [call.tool for call in calls(transcript) if call.id in failed] == ["edit"]
    taken = transcript.steps[-1].at - transcript.steps[0].at
    assert taken == pytest.approx(timedelta(seconds=3.999127), abs=timedelta(milliseconds=1))


def swe_run(*steps: dict[str, Any]) -> bytes:
    info = {"model_stats": {"api_calls": 1, "tokens_sent": 10, "tokens_received": 2}}
    return json.dumps({"trajectory": steps, "info": info}).encode()


@pytest.mark.parametrize(
    ("action", "observation", "kind", "ok"),
    [
        ("str_replace_editor view /a.py", "1 x", "read", True),
        ("str_replace_editor str_replace /a.py", "done", "write", True),
        ("python a.py", "Traceback (most recent call last):\n…", "shell", False),
        ("nose2", "bash: nose2: command not found", "shell", False),
        ("open log.txt", "12: bash: nose2: command not found", "read", True),
        ("goto 5", "Traceback (most recent call last):\n…", "read", False),
        ("exit_cost", "", "other", True),
    ],
)
def test_the_first_word_of_an_action_of_swe_agent_decides_its_kind(
    action: str, observation: str, kind: str, ok: bool
) -> None:
    transcript = read(swe_run({"thought": "", "action": action, "observation": observation}))
    assert [call.kind.value for call in calls(transcript)] == [kind]
    assert [result.ok for result in results(transcript)] == [ok]


def test_a_step_of_swe_agent_without_an_action_is_a_model_call_but_no_tool_call() -> None:
    transcript = read(swe_run({"thought": "hm", "action": "\n", "observation": "no command"}))
    assert [type(step) for step in transcript.steps] == [ModelCall, Message]


def test_a_list_of_mini_swe_agent_has_one_command_an_answer_and_the_patch_as_last_result() -> None:
    transcript = load(DATA / "mini-swe-agent" / "github_issue.traj.json")
    first, *_, last = calls(transcript)
    by_id = answers(transcript)
    path = "/repo/tests/./missing_colon.py"
    assert first.args == {"command": f"cat {path}"}
    answer = by_id[first.id]
    assert (answer.ok, answer.exit_code) == (False, 1)
    assert answer.output == f"cat: {path}: No such file or directory\n"
    assert (by_id[last.id].ok, by_id[last.id].exit_code) == (True, None)
    assert by_id[last.id].output.startswith("diff --git")
    said = [step.text for step in transcript.steps if isinstance(step, Message)]
    assert said[1].startswith("I need to find") and "```" not in said[1]


def mini_list(*contents: str) -> bytes:
    """The task, then answers and what they heard in turns."""
    roles = ["assistant", "user"] * len(contents)
    said = [{"role": role, "content": text} for role, text in zip(roles, contents, strict=False)]
    return json.dumps([{"role": "user", "content": "Fix it."}, *said]).encode()


def block(command: str, name: str = "bash") -> str:
    return f"So:\n```{name}\n{command}\n```"


def test_an_answer_of_mini_swe_agent_with_two_commands_or_none_ran_nothing() -> None:
    transcript = read(
        mini_list(
            block("ls", "mswea_bash_command") * 2 + "\n" + block("pwd"),
            "Exactly one command, please.",
            "I see.",
            "Exactly one command, please.",
            block("ls"),
            "<returncode>0</returncode>\n<output>\na.py\n</output>",
        )
    )
    kinds = Counter(type(step) for step in transcript.steps)
    assert kinds == {ModelCall: 3, Message: 3, ToolCall: 1, ToolResult: 1}
    assert results(transcript)[0].output == "a.py\n"


def test_a_command_of_mini_swe_agent_that_timed_out_did_not_succeed() -> None:
    transcript = read(
        mini_list(
            block("sleep 99", "mswea_bash_command"),
            "The last command timed out.",
            block("ls", "mswea_bash_command"),
            "",
        )
    )
    assert [(each.ok, each.exit_code) for each in results(transcript)] == [
        (False, None),
        (True, None),
    ]


def mini_object(*messages: dict[str, Any]) -> bytes:
    info = {"model_stats": {"api_calls": 2}, "config": {"model": {"model_name": "openai/m"}}}
    form = "mini-swe-agent-1.1"
    return json.dumps({"trajectory_format": form, "info": info, "messages": messages}).encode()


def test_an_object_of_mini_swe_agent_tells_instants_tokens_and_several_actions() -> None:
    usage = {
        "prompt_tokens": 900,
        "completion_tokens": 40,
        "prompt_tokens_details": {"cached_tokens": 512},
    }
    actions = [
        {"command": "pytest -q", "tool_call_id": "a"},
        {"command": "ls", "tool_call_id": "b"},
    ]
    ran = {"raw_output": "1 failed", "returncode": 1, "timestamp": 1_767_268_805.5}
    did_not_run = {"raw_output": "", "returncode": -1, "exception_info": "was not executed"}
    submit = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    wrong_form = {"interrupt_type": "FormatError", "response": {"model": "m-2"}}
    transcript = read(
        mini_object(
            {"role": "system", "content": "You are helpful."},
            {"role": "user", "content": "Fix it."},
            {
                "role": "assistant",
                "content": "Run both.",
                "extra": {
                    "actions": actions,
                    "timestamp": 1_767_268_800.0,
                    "response": {"usage": usage},
                },
            },
            {"role": "tool", "tool_call_id": "b", "content": "…", "extra": did_not_run},
            {"role": "tool", "tool_call_id": "a", "content": "…", "extra": ran},
            {"role": "user", "content": "Call a tool.", "extra": wrong_form},
            {"role": "assistant", "content": None, "extra": {"actions": [{"command": submit}]}},
            {"role": "exit", "extra": {"exit_status": "Submitted", "submission": "a patch"}},
        )
    )
    start = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert transcript.steps[0].at == start
    assert transcript.steps[-1].at == start + timedelta(seconds=5.5)
    by_id = answers(transcript)
    assert [
        (by_id[call.id].ok, by_id[call.id].exit_code, by_id[call.id].output)
        for call in calls(transcript)
    ] == [(False, 1, "1 failed"), (False, None, "was not executed"), (True, None, "a patch")]
    made = model_calls(transcript)
    assert [(call.model, call.input_tokens, call.output_tokens) for call in made] == [
        ("openai/m", 900, 40),
        ("m-2", None, None),
        ("openai/m", None, None),
    ]
    assert made[0].cache_read_tokens == 512


def test_a_human_who_breaks_in_on_mini_swe_agent_answers_no_command() -> None:
    actions = {"actions": [{"command": "make"}]}
    ask = {"role": "assistant", "content": ""}
    transcript = read(
        mini_object(
            {**ask, "extra": actions},
            {"role": "user", "content": "Wait.", "extra": {"interrupt_type": "UserInterruption"}},
            {"role": "user", "content": "…", "extra": {"returncode": 0, "raw_output": ""}},
            {**ask, "extra": {**actions, "timestamp": 1_767_268_800}},
            {"role": "exit", "extra": {"exit_status": "LimitsExceeded", "submission": ""}},
        )
    )
    assert [type(step) for step in transcript.steps] == [
        ModelCall, ToolCall, ToolResult, ModelCall, ToolCall
    ]  # fmt: skip
    assert results(transcript)[0].output == ""
    assert {step.at for step in transcript.steps} == {datetime(2026, 1, 1, 12, tzinfo=UTC)}


def test_mini_swe_agent_keeps_answers_of_the_responses_api_as_they_came() -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "Look."}]}
    ran = {"raw_output": "a.py", "returncode": 0}
    transcript = read(
        mini_object(
            {"role": "user", "content": "Fix it."},
            {
                "object": "response",
                "model": "m",
                "output": [said],
                "usage": {"input_tokens": 7, "output_tokens": 3},
                "extra": {
                    "actions": [
                        {"command": "pwd", "tool_call_id": "b"},
                        {"command": "ls", "tool_call_id": "a"},
                    ]
                },
            },
            {"type": "function_call_output", "call_id": "a", "output": "…", "extra": ran},
        )
    )
    (call,) = model_calls(transcript)
    assert (call.model, call.input_tokens, call.output_tokens) == ("m", 7, 3)
    assert [step.text for step in transcript.steps if isinstance(step, Message)] == ["Look."]
    assert [(call.args["command"], call.id) for call in calls(transcript)][1] == ("ls", "a")
    assert [(each.id, each.output) for each in results(transcript)] == [("a", "a.py")]
