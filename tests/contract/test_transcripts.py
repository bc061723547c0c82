"""Recorded runs are read as what happened in them, whichever of five systems wrote them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.transcripts import load, read
from app.core.agents.events import ToolKind
from app.core.history.transcript import (
    Format,
    Message,
    ModelCall,
    Step,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)
from tests.support.transcripts import (
    DATA,
    LABELS,
    answered,
    answers,
    asked,
    calls,
    json_lines,
    model_calls,
    results,
)

# The labelled files


@pytest.mark.parametrize("label", LABELS, ids=lambda label: Path(label["file"]).name)
def test_a_recorded_run_counts_what_its_label_says(label: dict[str, Any]) -> None:
    transcript = load(DATA / label["file"])
    totals = transcript.totals
    made = model_calls(transcript)
    input_tokens = sum(call.input_tokens or 0 for call in made)
    output_tokens = sum(call.output_tokens or 0 for call in made)
    counted = {
        "format": transcript.format,
        "tool_calls": len(calls(transcript)),
        "denied": sum(result.denied for result in results(transcript)),
        "model_calls": len(made),
        "input_tokens": input_tokens + (totals.input_tokens if totals else 0),
        "output_tokens": output_tokens + (totals.output_tokens if totals else 0),
    }
    assert {**counted, **label} == {**label, **counted}


def test_there_are_sixteen_recorded_runs_of_all_formats_but_geminis() -> None:
    """Of Gemini CLI there is none with a licence to ship: see `test_transcripts_gemini`."""
    assert len(LABELS) == 16
    assert {label["format"] for label in LABELS} == set(Format) - {Format.GEMINI}


@pytest.mark.parametrize("label", LABELS, ids=lambda label: Path(label["file"]).name)
def test_what_every_transcript_promises_holds_for_a_recorded_run(label: dict[str, Any]) -> None:
    assert_promises(load(DATA / label["file"], Format(label["format"])))


def assert_promises(transcript: Transcript) -> None:
    """Time has one direction, ids are unique, each result answers one call before it."""
    open_calls: dict[str, ToolCall] = {}
    seen: set[str] = set()
    for before, step in zip((None, *transcript.steps), transcript.steps, strict=False):
        assert before is None or before.at <= step.at
        assert step.at.tzinfo is UTC
        if isinstance(step, ToolCall):
            assert step.id not in seen
            seen.add(step.id)
            open_calls[step.id] = step
        if isinstance(step, ToolResult):
            assert open_calls.pop(step.id).agent == step.agent


@pytest.mark.parametrize("label", LABELS, ids=lambda label: Path(label["file"]).name)
def test_the_format_is_told_by_the_content_and_not_by_the_name(
    label: dict[str, Any], tmp_path: Path
) -> None:
    renamed = tmp_path / "run.txt"
    renamed.write_bytes((DATA / label["file"]).read_bytes())
    assert load(renamed).format == label["format"]


# Squadron's own form


def test_events_without_an_instant_happened_at_the_last_one_before_them() -> None:
    first, later = datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 1, 13, tzinfo=UTC)
    transcript = read(
        json_lines(
            {"type": "message", "text": "I look first."},
            asked("ls", at="2026-01-01T12:00:00Z"),
            answered(),
            asked("pwd", at="2026-01-01T14:00:00+01:00"),
            answered(at=None),
        )
    )
    assert [step.at for step in transcript.steps] == [first, first, first, later, later]


def test_a_result_without_an_id_answers_the_oldest_open_call_of_its_agent() -> None:
    transcript = read(
        json_lines(
            asked("task"),
            asked("a", agent="child"),
            asked("b", agent="child"),
            answered("of a", agent="child"),
            answered("of b", agent="child"),
            answered("of task"),
        )
    )
    by_id = answers(transcript)
    outputs = {call.args["command"]: by_id[call.id].output for call in calls(transcript)}
    assert outputs == {"task": "of task", "a": "of a", "b": "of b"}


def test_a_result_belongs_to_the_agent_that_made_the_call() -> None:
    transcript = read(json_lines(asked("a", agent="child"), answered("of a")))
    assert [result.agent for result in results(transcript)] == ["child"]


def test_results_with_ids_come_in_any_order_and_an_id_may_return_after_its_answer() -> None:
    transcript = read(
        json_lines(
            asked("a", id="0"),
            asked("b", id="1"),
            answered("of b", id="1"),
            answered("of a", id="0"),
            asked("c", id="0"),
            answered("of c", id="0"),
        )
    )
    assert_promises(transcript)
    by_id = answers(transcript)
    assert [by_id[call.id].output for call in calls(transcript)] == ["of a", "of b", "of c"]


def test_fields_that_are_not_known_are_passed_over_and_blank_lines_too() -> None:
    transcript = read(b"\n" + json_lines(asked(colour="red")) + b"\n \n" + json_lines(answered()))
    assert [type(step) for step in transcript.steps] == [ToolCall, ToolResult]


def test_a_byte_order_mark_and_line_ends_of_windows_change_nothing() -> None:
    plain = json_lines(asked("grüß"), answered("ok"))
    written_elsewhere = b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")
    assert read(written_elsewhere) == read(plain)


EARLY = datetime(2000, 1, 1, tzinfo=UTC)
"""Of a run without instants."""


def test_half_a_character_at_the_cut_of_an_output_becomes_a_question_mark() -> None:
    for half in (b"\\ud83d", b"\\uDE00"):
        cut = b'{"type":"message","text":"cut ' + half + b'"}\n'
        assert read(cut).steps[0] == Message(at=EARLY, agent=None, text="cut ?", thought=False)
    whole = b'{"type":"message","text":"\\ud83d\\ude00"}\n'
    assert read(whole).steps[0] == Message(at=EARLY, agent=None, text="😀", thought=False)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
COUNTS = st.none() | st.integers(0, 10**9)


@st.composite
def squadron_runs(draw: st.DrawFn) -> list[Step]:
    """Steps as this form can say them: no turns, no thinking, no denials, no cached tokens."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    steps: list[Step] = []
    waiting: list[ToolCall] = []
    for number in range(draw(st.integers(0, 12))):
        at += timedelta(seconds=draw(st.integers(0, 3)))
        agent = draw(st.sampled_from([None, "child"]))
        what = draw(st.sampled_from(["message", "model", "call", "result"]))
        if what == "message":
            steps.append(Message(at=at, agent=agent, text=draw(TEXTS), thought=False))
        elif what == "model":
            model, read_in, written = draw(st.none() | TEXTS), draw(COUNTS), draw(COUNTS)
            steps.append(
                ModelCall(
                    at=at,
                    agent=agent,
                    model=model,
                    input_tokens=read_in,
                    output_tokens=written,
                    cache_read_tokens=None,
                    cache_write_tokens=None,
                )
            )
        elif what == "call" or not waiting:
            kind, args = draw(st.sampled_from(ToolKind)), {"command": draw(TEXTS)}
            tool = draw(TEXTS)
            call = ToolCall(at=at, agent=agent, id=f"id {number}", tool=tool, kind=kind, args=args)
            steps.append(call)
            waiting.append(call)
        else:
            call = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
            steps.append(
                ToolResult(
                    at=at,
                    agent=call.agent,
                    id=call.id,
                    ok=draw(st.booleans()),
                    exit_code=draw(st.none() | st.integers(-9, 255)),
                    output=draw(TEXTS),
                    denied=False,
                )
            )
    return steps


NAMES = {
    Message: ("message", ("text",)),
    ModelCall: ("model_call", ("model", "input_tokens", "output_tokens")),
    ToolCall: ("tool_call", ("id", "tool", "kind", "args")),
    ToolResult: ("tool_result", ("id", "ok", "exit_code", "output")),
}


def written(step: Step) -> dict[str, Any]:
    name, fields = NAMES[type(step)]
    agent = {} if isinstance(step, Turn) or step.agent is None else {"agent": step.agent}
    own = {field: getattr(step, field) for field in fields}
    return {"type": name, "at": step.at.isoformat(), **agent, **own}


@given(squadron_runs(), st.booleans())
@settings(deadline=None)
def test_what_is_written_in_squadrons_form_is_read_as_it_was(
    steps: list[Step], ascii_only: bool
) -> None:
    lines = [json.dumps(written(step), ensure_ascii=ascii_only) for step in steps]
    transcript = read("\n".join(lines).encode(), Format.SQUADRON)
    assert transcript == Transcript(format=Format.SQUADRON, steps=tuple(steps))
