"""Gemini CLI: the recorded chat of a session, as one JSON object, or as JSON lines since 2026.

In lines, the session comes first, then each message as often as it changed, the last word wins.
What was rewound in a chat has happened all the same, and is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from app.adapters.transcripts.builder import Builder, RepeatedId
from app.adapters.transcripts.reading import Record, TranscriptProblem, lines, session_lines
from app.core.agents.events import ToolKind
from app.core.history.transcript import Format, Transcript, Unread

MARKS: Final = frozenset({"sessionId", "projectHash"})
"""Fields by which a session is known."""
_KINDS: Final = {
    "run_shell_command": ToolKind.SHELL,
    **dict.fromkeys(("write_file", "replace", "edit"), ToolKind.WRITE),
    **dict.fromkeys(
        (
            *("read_file", "read_many_files", "list_directory", "glob", "grep_search"),
            *("search_file_content", "web_fetch", "google_web_search"),
        ),
        ToolKind.READ,
    ),
}
_EXIT_CODE: Final = re.compile(r"^Exit Code: (\d{1,9})$", re.MULTILINE)
_NO_FAILURE_TOLD: Final = "Output: "
"""How the result of a command begins where the CLI tells an exit code only of those that failed."""


def is_in_lines(data: bytes) -> bool:
    """Whether the session is a file of JSON lines."""
    try:
        first = next(lines(data), None)
    except TranscriptProblem:
        return False
    return first is not None and "messages" not in first.fields


def read(document: Record) -> Transcript:
    """The transcript of a session that is one object."""
    return _transcript(document.records("messages"), _agent(document))


def read_lines(data: bytes) -> Transcript:
    """The transcript of a session in lines; torn ones are passed over and named."""
    unread, agent = list[Unread](), None
    messages: dict[str, Record] = {}
    for record in session_lines(data, unread):
        if record.fields.keys() >= MARKS:
            agent = _agent(record)
        elif "$set" in record.fields:
            changed = record.record("$set")
            told = changed.records("messages") if "messages" in changed.fields else ()
            messages |= {message.text("id"): message for message in told}
        elif "type" in record.fields:
            messages[record.text("id")] = record
    return replace(_transcript(messages.values(), agent), unread=tuple(unread))


def _agent(session: Record) -> str | None:
    """A sub-agent's session is a file of its own."""
    is_below = session.optional_text("kind") == "subagent"
    return session.text("sessionId") if is_below else None


def _transcript(messages: Iterable[Record], agent: str | None) -> Transcript:
    builder = Builder()
    for message in messages:
        builder.not_before(message.instant("timestamp"))
        match message.text("type"):
            case "user" if agent is None:
                builder.turn()
            case "gemini":
                _answer(message, builder, agent)
            case _:
                pass
    return builder.done(Format.GEMINI)


def _answer(message: Record, builder: Builder, agent: str | None) -> None:
    tokens = message.optional_record("tokens")
    output = tokens.optional_count("output")
    builder.model_call(
        agent,
        model=message.optional_text("model"),
        input_tokens=tokens.optional_count("input"),
        output_tokens=None if output is None else output + (tokens.optional_count("thoughts") or 0),
        cache_read_tokens=tokens.optional_count("cached"),
    )
    for thought in _optional_records(message, "thoughts"):
        builder.message(thought.optional_text("description") or "", agent, thought=True)
    if said := "".join(_texts(message.fields.get("content"))).strip():
        builder.message(said, agent)
    calls = list(_optional_records(message, "toolCalls"))
    for call in calls:
        kind = _KINDS.get(call.text("name"), ToolKind.OTHER)
        args = call.mapping("args")
        try:
            builder.call(call.text("name"), kind, args, agent, own_id=call.text("id"))
        except RepeatedId:
            call.misfit("id", "another than that of a call which still has no result")
    for call in calls:
        _result(call, builder, agent)


def _result(call: Record, builder: Builder, agent: str | None) -> None:
    status = call.text("status")
    if status not in _ENDED:
        return
    builder.not_before(call.instant("timestamp"))
    output = "\n".join(_answers(call.fields.get("result")))
    exit_code = None
    if call.text("name") == "run_shell_command" and status == "success":
        told = _EXIT_CODE.search(output)
        exit_code = int(told[1]) if told else 0 if output.startswith(_NO_FAILURE_TOLD) else None
    builder.result(
        agent,
        ok=status == "success" and not exit_code,
        exit_code=exit_code,
        output=output,
        denied=status == "cancelled",
        own_id=call.text("id"),
    )


_ENDED: Final = frozenset({"success", "error", "cancelled"})
"""How a call stands that is over; a cancelled one was refused by a person."""


def _optional_records(message: Record, key: str) -> Iterator[Record]:
    return iter(()) if message.fields.get(key) is None else message.records(key)


def _answers(result: Any) -> Iterator[str]:
    """What the model was told of a call."""
    for part in result if isinstance(result, list) else [result]:
        response = part.get("functionResponse") if isinstance(part, dict) else None
        told = response.get("response") if isinstance(response, dict) else None
        for key in ("output", "error"):
            said = told.get(key) if isinstance(told, dict) else None
            if isinstance(said, str):
                yield said
        yield from () if response is not None else _texts(part)


def _texts(content: Any) -> Iterator[str]:
    """The texts of a message, whether it is one or a list of parts."""
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
