"""A transcript that cannot be read is refused with its line and with what was expected there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.transcripts import TranscriptProblem, load, read, reading, recognise
from app.core.history.transcript import Format
from tests.support.gemini import MESSAGES, in_lines
from tests.support.transcripts import DATA, LABELS, NOON, answered, asked, calls, json_lines

GOOD = json_lines(asked("ls"), answered())


def refused(data: bytes, form: Format | None = None) -> tuple[int, str]:
    with pytest.raises(TranscriptProblem) as caught:
        read(data, form)
    return caught.value.line, caught.value.message


def without(event: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name != field}


SPOKEN = {"type": "message", "text": "x"}
BILLED = {"type": "model_call", "model": "m", "input_tokens": 1, "output_tokens": None}


@pytest.mark.parametrize(
    ("event", "field"),
    [
        *((asked(), field) for field in ("at", "tool", "kind", "args")),
        *((answered(), field) for field in ("ok", "exit_code", "output")),
        (SPOKEN, "text"),
        *((BILLED, field) for field in ("model", "input_tokens", "output_tokens")),
        (SPOKEN, "type"),
    ],
)
def test_each_field_of_squadrons_form_must_be_there(event: dict[str, Any], field: str) -> None:
    line, message = refused(json_lines(asked(), without(event, field)))
    assert line == 2
    assert message.startswith(f"{field}: expected ")


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (asked(tool=3), "tool: expected a string, found 3"),
        (
            asked(kind="sudo"),
            'kind: expected one of shell, write, read, other, found "sudo"',
        ),
        (asked(args=["ls"]), "args: expected an object, found a list"),
        (asked(at="yesterday"), 'at: expected an instant as 2026-01-31T12:00:00Z, found "yest'),
        (asked(at="2026-01-01T12:00:00"), "at: expected an instant as 2026-01-31T12:00:00Z"),
        (asked(at="2026-01-01 12:00:00Z"), "at: expected an instant as 2026-01-31T12:00:00Z"),
        (asked(at="2026-01-01"), "at: expected an instant as 2026-01-31T12:00:00Z"),
        (asked(at="0001-01-01T00:00:00+14:00"), "at: expected an instant as 2026-01-31T12:00:00Z"),
        (answered(ok=1), "ok: expected true or false, found 1"),
        (answered(exit_code=True), "exit_code: expected a whole number, or null, found true"),
        (answered(exit_code=1.5), "exit_code: expected a whole number, or null, found 1.5"),
        ({**BILLED, "input_tokens": -1}, "input_tokens: expected a number from 0, or null"),
        ({**SPOKEN, "text": None}, "text: expected a string, found null"),
        ({**SPOKEN, "agent": {}}, "agent: expected a string, found an object"),
        (
            {"type": "note"},
            'type: expected one of tool_call, tool_result, message, model_call, found "note"',
        ),
    ],
)
def test_each_field_of_squadrons_form_must_be_of_its_kind(
    event: dict[str, Any], message: str
) -> None:
    line, said = refused(json_lines(asked(), event))
    assert line == 2
    assert said.startswith(message)


def test_an_instant_that_goes_back_is_refused() -> None:
    earlier = "2026-01-01T11:59:59Z"
    line, message = refused(GOOD + json_lines(asked(at=earlier)))
    assert line == 3
    expected = "no instant before 2026-01-01T12:00:00+00:00"
    assert message == f'at: expected {expected}, found "{earlier}"'


def test_a_result_without_a_call_is_refused() -> None:
    line, message = refused(GOOD + json_lines(answered()))
    assert line == 3
    assert message.startswith("expected a tool_call before its tool_result")
    line, message = refused(json_lines(asked(id="a"), answered(id="b")))
    assert line == 2
    assert message.startswith("expected a tool_call with the id 'b' before its tool_result")


UNREADABLE = "expected JSON that can be read: "
TOO_LONG = "a whole number in it has more than 1000 digits"


def test_two_open_calls_with_one_id_are_refused() -> None:
    line, message = refused(json_lines(asked(id="a"), asked(id="a")))
    assert (line, message[:20]) == (2, "id: expected another")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b'{"type":"message","text":', "expected JSON: Expecting value, column 26"),
        (b"[1, 2]", "expected a JSON object, found a list"),
        (b"42", "expected a JSON object, found 42"),
        (b'{"type":"message","text":NaN}', "expected JSON that can be read: NaN is no JSON"),
        (b'{"type":"message","text":' + b"[" * 99999, "expected JSON that can be read: "),
        (b'{"type":"message","n":' + b"1" * 1001 + b"}", f"{UNREADABLE}{TOO_LONG}"),
        (b'{"type":"message","n":' + b"1" * 9999 + b"}", f"{UNREADABLE}{TOO_LONG}"),
        (b'{"type":"message","text":"\xff"}', "byte 0xff is no UTF-8; expected UTF-8 text"),
    ],
)
def test_a_line_that_is_no_object_is_refused_in_its_place(bad: bytes, message: str) -> None:
    line, said = refused(GOOD + bad + b"\n" + GOOD)
    assert line == 3
    assert said.startswith(message)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", 1),
        (b"\n \n", 1),
        (b"\x7fELF\x02\x01\x01" + bytes(64), 1),
        ("a transcript?".encode("utf-16"), 1),
        (b"# Notes\n\nfrom a meeting\n", 1),
        (b'{"name": "squadron"}', 1),
        (b'\n{"name": "squadron"}\n{"name": "other"}\n', 2),
        (b'{\n  "trajectory": [\n    {"action": }\n  ]\n}', 3),
        (b'{\n  "name": "x"\n}', 1),
        (b"[1, 2]", 1),
        (b'"text"', 1),
    ],
)
def test_a_file_of_none_of_the_formats_says_where_and_which_there_are(
    data: bytes, line: int
) -> None:
    with pytest.raises(TranscriptProblem) as caught:
        recognise(data)
    assert caught.value.line == line
    assert "squadron, copilot, claude, gemini, swe-agent, mini-swe-agent" in caught.value.message


@pytest.mark.parametrize("form", [Format.COPILOT, Format.CLAUDE])
def test_the_last_line_that_a_dying_agent_was_writing_is_dropped(form: Format) -> None:
    file = next(DATA / label["file"] for label in LABELS if label["format"] == form)
    data = file.read_bytes().rstrip(b"\n")
    whole = read(data, form)
    last = data.rindex(b"\n")
    for cut in (last + 2, last + 50, len(data) - 1):
        assert read(data[:cut], form).steps == whole.steps[: len(read(data[:last], form).steps)]
    [torn] = read(data[: last + 50] + b"\n", form).unread
    assert (torn.line, torn.reason[:14]) == (data.count(b"\n") + 1, "expected JSON:")


@pytest.mark.parametrize("form", [Format.COPILOT, Format.CLAUDE])
def test_a_torn_line_costs_no_more_than_itself_and_is_named(form: Format) -> None:
    file = next(DATA / label["file"] for label in LABELS if label["format"] == form)
    every = file.read_bytes().splitlines(keepends=True)
    middle = len(every) // 2
    before, torn, after = every[:middle], every[middle], every[middle + 1 :]
    without = read(b"".join(before + after), form)
    for bad in (torn[: len(torn) // 2] + b"\n", b"\xff\n", b"[1]\n", b"\x00\x00\n"):
        found = read(b"".join([*before, bad, *after]))
        assert found.steps == without.steps
        assert [each.line for each in found.unread] == [middle + 1]
    assert without.unread == ()


@pytest.mark.parametrize("form", [Format.COPILOT, Format.CLAUDE])
def test_two_objects_on_a_line_are_both_read_and_the_line_is_named(form: Format) -> None:
    """Two processes wrote at once."""
    file = next(DATA / label["file"] for label in LABELS if label["format"] == form)
    data = file.read_bytes()
    every = data.splitlines(keepends=True)
    calls = (b'"tool.execution_start"', b'"tool_use"')
    middle = next(at for at, line in enumerate(every) if any(call in line for call in calls))
    joined = every[middle].rstrip(b"\n") + every[middle + 1]
    found = read(b"".join([*every[:middle], joined, *every[middle + 2 :]]))
    assert found.steps == read(data, form).steps
    assert found.steps != read(b"".join([*every[:middle], *every[middle + 2 :]])).steps
    [named] = found.unread
    assert named.line == middle + 1 and named.reason.startswith("expected JSON: Extra data")


def test_a_session_whose_first_line_is_torn_is_recognised_by_the_next() -> None:
    file = next(DATA / label["file"] for label in LABELS if label["format"] == Format.CLAUDE)
    assert recognise(b'{"type":"us\n' + file.read_bytes()) is Format.CLAUDE


def test_a_session_of_claude_that_begins_with_progress_of_a_hook_is_claudes() -> None:
    """It has `data` and `timestamp` as Copilot's events have, and an id of its session."""
    file = next(DATA / label["file"] for label in LABELS if label["format"] == Format.CLAUDE)
    progress = {
        "type": "progress",
        "data": {"type": "hook_progress", "hookEvent": "SessionStart"},
        "timestamp": "2026-02-01T10:00:00.000Z",
        "uuid": "5f0c",
        "sessionId": "77aa",
    }
    data = json.dumps(progress).encode() + b"\n" + file.read_bytes()
    assert read(data).steps == read(file.read_bytes()).steps


def test_a_file_that_is_one_cut_off_line_is_no_empty_run() -> None:
    assert refused(b'{"type":"a', Format.COPILOT)[1].startswith("expected JSON: ")
    assert refused(b'{"type":"a')[1].startswith("expected JSON: ")


def test_a_cut_off_line_of_squadrons_own_form_is_refused() -> None:
    assert refused(GOOD + GOOD[:20])[0] == 3


@pytest.mark.parametrize("form", [Format.COPILOT, Format.CLAUDE])
def test_types_that_are_not_known_are_passed_over_but_known_ones_are_read_strictly(
    form: Format,
) -> None:
    file = next(DATA / label["file"] for label in LABELS if label["format"] == form)
    data = file.read_bytes()
    news = json_lines({"type": "news", "data": 5})
    assert read(news + data, form).steps == read(data, form).steps
    known = {Format.COPILOT: "tool.execution_start", Format.CLAUDE: "assistant"}[form]
    line, message = refused(news + json_lines({"type": known, "uuid": "u"}), form)
    assert (line, message[:19]) == (2, "timestamp: expected")
    inner = {"timestamp": NOON, "data": {}, "message": {}}
    line, message = refused(news + json_lines({"type": known, **inner}), form)
    assert line == 2
    assert message.startswith(("data.toolName: expected", "message.model: expected"))


def test_time_never_goes_back_in_a_log_that_is_written_in_parallel() -> None:
    prompt = {"type": "user.message", "data": {}}
    late = json_lines(
        {**prompt, "timestamp": "2026-01-01T12:00:01.250Z"},
        {**prompt, "timestamp": "2026-01-01T12:00:01.100Z"},
    )
    first, second = read(late).steps
    assert first.at == second.at


def test_a_problem_in_a_document_is_told_with_the_line_of_its_object() -> None:
    steps = [{"thought": "", "action": "ls"}, {"thought": ""}]
    document = {"trajectory": steps, "info": {}}
    data = json.dumps(document, indent=2).encode()
    lines = data.decode().splitlines()
    line, message = refused(data)
    assert message == "trajectory[1].action: expected a string, found nothing"
    assert lines[line - 1 : line + 1] == ["    {", '      "thought": ""']
    messages = json.dumps([{"role": "user"}, {"role": 5}], indent=1).encode()
    assert refused(messages) == (6, "messages[1].role: expected a string, found 5")


@pytest.mark.parametrize("seconds", [-1, "1", [], 1e12, 1e999])
def test_a_step_that_takes_no_possible_time_is_refused(seconds: Any) -> None:
    step = {"thought": "", "action": "ls", "observation": "", "execution_time": seconds}
    run = json.dumps({"trajectory": [step], "info": {}}).replace("Infinity", "1e999")
    line, message = refused(run.encode())
    assert line == 1
    assert message.startswith("trajectory[0].execution_time: expected the seconds that the step")


@pytest.mark.parametrize("seconds", [-1e15, "1", [], 1e999, {}])
def test_a_message_at_no_possible_instant_is_refused(seconds: Any) -> None:
    message = {"role": "assistant", "content": "", "extra": {"timestamp": seconds}}
    run = json.dumps([message]).replace("Infinity", "1e999")
    said = "messages[0].extra.timestamp: expected seconds since 1970"
    assert refused(run.encode())[1].startswith(said)


def test_a_format_that_was_named_is_not_guessed() -> None:
    none = "expected events of a session of copilot; the file has none"
    assert refused(GOOD, Format.COPILOT) == (1, none)
    assert refused(b"[]", Format.SQUADRON) == (1, "expected a JSON object, found a list")
    assert refused(b"5", Format.SWE_AGENT) == (1, "expected a JSON object with the list trajectory")


def test_files_and_lines_beyond_their_bounds_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 200)
    line, message = refused(GOOD + json_lines(answered("x" * 200)), Format.SQUADRON)
    assert line == 3
    assert message.endswith("expected at most 200")
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", len(GOOD) - 1)
    file = tmp_path / "run.jsonl"
    file.write_bytes(GOOD)
    with pytest.raises(TranscriptProblem, match=r"the file has .* bytes; expected at most"):
        load(file, Format.SQUADRON)


SMALL = {
    label["format"]: (DATA / label["file"]).read_bytes()[:60_000]
    for label in reversed(LABELS)
    if label["file"] != "swe-agent/marshmallow-1867-function-calling.traj"
} | {Format.GEMINI: in_lines(*MESSAGES)}
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 1.5, "", "x", [], [1], [[]], {}, {"a": 1}, 10**30, "\0"]
)


def changed(value: Any, data: st.DataObject) -> Any:
    """The value with one part of it replaced by something odd, or left out."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 3)):
        key = data.draw(st.sampled_from(sorted(value)))
        rest = {name: item for name, item in value.items() if name != key}
        if data.draw(st.integers(0, 4)):
            rest[key] = changed(value[key], data)
        return rest
    if isinstance(value, list) and value and data.draw(st.integers(0, 3)):
        index = data.draw(st.integers(0, len(value) - 1))
        return [*value[:index], changed(value[index], data), *value[index + 1 :]]
    return data.draw(ODD)


@pytest.mark.parametrize("form", list(Format))
@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_whatever_stands_in_a_file_it_is_read_or_refused_with_a_place(
    form: Format, data: st.DataObject
) -> None:
    whole = SMALL[form]
    if form in (Format.SWE_AGENT, Format.MINI_SWE_AGENT):
        hostile = json.dumps(changed(json.loads(whole), data)).encode()
    else:
        lines = whole.splitlines()
        number = data.draw(st.integers(0, len(lines) - 2))
        lines[number] = json.dumps(changed(json.loads(lines[number]), data)).encode()
        hostile = b"\n".join(lines)
    try:
        transcript = read(hostile, form)
    except TranscriptProblem as problem:
        assert 1 <= problem.line <= hostile.count(b"\n") + 1
        assert "expected" in problem.message
    else:
        assert len({call.id for call in calls(transcript)}) == len(calls(transcript))


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_are_recognised_or_refused(data: bytes) -> None:
    try:
        read(data)
    except TranscriptProblem as problem:
        assert "expected" in problem.message
