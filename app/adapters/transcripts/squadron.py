"""Squadron's own interchange form: JSON lines of four types, in the order of what happened.

An export of a session has two more, which say nothing about limits: what the agent was told, and
its event log.
"""

from __future__ import annotations

from typing import Final

from app.adapters.transcripts.builder import ORIGIN, Builder, NoSuchCall, RepeatedId
from app.adapters.transcripts.reading import Record, lines
from app.core.agents.events import ToolKind
from app.core.history.transcript import Format, Transcript

TYPES: Final = ("tool_call", "tool_result", "message", "model_call")
PASSED_OVER: Final = ("prompt", "event")
"""Types of an export that are not replayed."""
_KINDS: Final = {kind.value: kind for kind in ToolKind}


def read(data: bytes) -> Transcript:
    """The transcript; `TranscriptProblem` at the first line that is not what it should be.

    An event without an instant happened at that of the last event which has one, those at the
    start at that of the first.
    """
    builder = Builder()
    records = [record for record in lines(data) if record.fields.get("type") not in PASSED_OVER]
    timed = (record for record in records if record.fields.get("at") is not None)
    first = next(timed, None)
    builder.now = ORIGIN if first is None else first.instant("at")
    for record in records:
        if record.fields.get("at") is not None:
            at = record.instant("at")
            if at < builder.now:
                record.misfit("at", f"no instant before {builder.now.isoformat()}")
            builder.now = at
        _add(record, builder)
    return builder.done(Format.SQUADRON)


def _add(record: Record, builder: Builder) -> None:
    agent = record.optional_text("agent")
    match record.fields.get("type"):
        case "tool_call":
            _add_call(record, builder, agent)
        case "tool_result":
            _add_result(record, builder, agent)
        case "message":
            builder.message(record.text("text"), agent)
        case "model_call":
            builder.model_call(
                agent,
                model=record.nullable_text("model"),
                input_tokens=record.nullable_count("input_tokens"),
                output_tokens=record.nullable_count("output_tokens"),
            )
        case _:
            record.misfit("type", f"one of {', '.join(TYPES)}")


def _add_call(record: Record, builder: Builder, agent: str | None) -> None:
    record.instant("at")
    kind = _KINDS.get(record.text("kind"))
    if kind is None:
        record.misfit("kind", f"one of {', '.join(_KINDS)}")
    own_id = record.optional_text("id")
    try:
        builder.call(
            record.text("tool"),
            kind,
            record.mapping("args"),
            agent,
            own_id=own_id,
            pipefail=record.optional_flag("pipefail"),
        )
    except RepeatedId:
        record.misfit("id", "another than that of a call which still has no result")


def _add_result(record: Record, builder: Builder, agent: str | None) -> None:
    own_id = record.optional_text("id")
    try:
        builder.result(
            agent,
            ok=record.flag("ok"),
            exit_code=record.nullable_whole("exit_code"),
            output=record.text("output"),
            own_id=own_id,
        )
    except NoSuchCall:
        whose = "" if own_id is None else f" with the id {own_id!r:.60}"
        record.refuse(f"expected a tool_call{whose} before its tool_result, and no other result")
