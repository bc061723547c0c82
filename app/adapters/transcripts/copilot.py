"""GitHub Copilot: the `events.jsonl` of a session, appended while the agent works."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from app.adapters.transcripts.builder import Builder, NoSuchCall, RepeatedId
from app.adapters.transcripts.reading import Record, session_lines
from app.core.agents.events import ToolKind
from app.core.history.transcript import Format, Transcript, Unread

_KINDS: Final = {
    **dict.fromkeys(("bash", "write_bash"), ToolKind.SHELL),
    **dict.fromkeys(("create", "edit", "apply_patch"), ToolKind.WRITE),
    **dict.fromkeys(("view", "grep", "glob", "read_bash", "list_bash"), ToolKind.READ),
}


def read(data: bytes) -> Transcript:
    """The transcript; types of events that are not known are passed over.

    A torn line is passed over and named, a last line that was being written when the agent died is
    dropped. A completion whose call is
    not in the file (an aborted call that completes all the same) changes nothing.
    """
    builder, unread = Builder(), list[Unread]()
    for record in session_lines(data, unread):
        _add(record, builder)
    return replace(builder.done(Format.COPILOT), unread=tuple(unread))


def _add(record: Record, builder: Builder) -> None:
    add = _ADDS.get(record.text("type"))
    if add is not None:
        builder.not_before(record.instant("timestamp"))
        add(record.record("data"), builder, record.optional_text("agentId"))


def _prompt(data: Record, builder: Builder, agent: str | None) -> None:
    del data
    if agent is None:
        builder.turn()


def _usage(data: Record, builder: Builder, agent: str | None) -> None:
    _model_call(data.record("usage"), builder, agent)


def _compaction(data: Record, builder: Builder, agent: str | None) -> None:
    """The one model call that has no usage record; one that failed reports no tokens."""
    if data.fields.get("compactionTokensUsed") is not None:
        _model_call(data.record("compactionTokensUsed"), builder, agent)


def _model_call(usage: Record, builder: Builder, agent: str | None) -> None:
    builder.model_call(
        agent,
        model=usage.optional_text("model"),
        input_tokens=usage.optional_count("inputTokens"),
        output_tokens=usage.optional_count("outputTokens"),
        cache_read_tokens=usage.optional_count("cacheReadTokens"),
        cache_write_tokens=usage.optional_count("cacheWriteTokens"),
    )


def _text(data: Record, builder: Builder, agent: str | None) -> None:
    text = data.optional_text("content")
    if text:
        builder.message(text, agent)


def _start(data: Record, builder: Builder, agent: str | None) -> None:
    tool = data.text("toolName")
    kind = _KINDS.get(tool, ToolKind.OTHER)
    own_id = data.text("toolCallId")
    args = data.fields.get("arguments")
    if not isinstance(args, dict):  # a tool may take a text, and nothing
        args = {} if args is None else {"input": args}
    try:
        builder.call(tool, kind, args, agent, own_id=own_id)
    except RepeatedId:
        data.misfit("toolCallId", "another than that of a call which has not completed")


def _complete(data: Record, builder: Builder, agent: str | None) -> None:
    succeeded = data.flag("success")
    exit_code = data.optional_record("shellExecution").optional_whole("exitCode")
    error = data.optional_record("error")
    answer = data.optional_record("result").optional_text("content")
    output = answer if succeeded else error.optional_text("message")
    try:
        builder.result(
            agent,
            ok=succeeded and not exit_code,
            exit_code=exit_code,
            output=output or "",
            denied=error.optional_text("code") == "denied",
            own_id=data.text("toolCallId"),
        )
    except NoSuchCall:
        return


_ADDS: Final = {
    "user.message": _prompt,
    "session.usage_record": _usage,
    "session.compaction_complete": _compaction,
    "assistant.message": _text,
    "tool.execution_start": _start,
    "tool.execution_complete": _complete,
}
