"""Claude Code: the JSON lines of a session, or of one of its sub-agents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from app.adapters.transcripts.builder import Builder, NoSuchCall, RepeatedId
from app.adapters.transcripts.reading import Record, session_lines
from app.core.agents.events import ToolKind
from app.core.history.transcript import Format, Transcript, Unread

_KINDS: Final = {
    "Bash": ToolKind.SHELL,
    **dict.fromkeys(("Write", "Edit", "MultiEdit", "NotebookEdit"), ToolKind.WRITE),
    **dict.fromkeys(
        ("Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "BashOutput"), ToolKind.READ
    ),
}
_EXIT_CODE: Final = re.compile(r"Exit code (\d{1,9})\b")
_NO_MODEL: Final = "<synthetic>"
"""Named as the model of a line that the CLI wrote itself, when a request failed."""
_UNNAMED_SUB_AGENT: Final = "sidechain"


def read(data: bytes) -> Transcript:
    """The transcript; types of lines that are not known are passed over.

    A torn line is passed over and named, a last line that was being written when the agent died is
    dropped. A result whose call is not
    in the file changes nothing.
    """
    importer, unread = _Importer(), list[Unread]()
    for record in session_lines(data, unread):
        importer.add(record)
    return replace(importer.builder.done(Format.CLAUDE), unread=tuple(unread))


class _Importer:
    def __init__(self) -> None:
        self.builder = Builder()
        self._answers: dict[str, int] = {}
        """The step of each model call, by the id of its answer, which several lines repeat."""
        self._shell_calls: set[str] = set()

    def add(self, record: Record) -> None:
        kind = record.text("type")
        if kind not in ("assistant", "user"):
            return
        self.builder.not_before(record.instant("timestamp"))
        agent = None
        if record.fields.get("isSidechain") is True:
            agent = record.optional_text("agentId") or _UNNAMED_SUB_AGENT
        message = record.record("message")
        if kind == "assistant":
            self._answer(message, agent)
        else:
            self._heard(record, message, agent)

    def _answer(self, message: Record, agent: str | None) -> None:
        model = message.text("model")
        if model == _NO_MODEL:
            return
        answer, usage = message.text("id"), message.record("usage")
        if answer in self._answers:
            output_tokens = usage.optional_count("output_tokens")
            self.builder.at_least(self._answers[answer], output_tokens or 0)
        else:
            self._answers[answer] = self._model_call(usage, model, agent)
        for block in message.records("content"):
            match block.text("type"):
                case "text" if text := block.text("text"):
                    self.builder.message(text, agent)
                case "thinking":
                    self.builder.message(block.text("thinking"), agent, thought=True)
                case "tool_use":
                    self._call(block, agent)
                case _:
                    pass

    def _model_call(self, usage: Record, model: str, agent: str | None) -> int:
        cache_read = usage.optional_count("cache_read_input_tokens")
        cache_write = usage.optional_count("cache_creation_input_tokens")
        fresh = usage.optional_count("input_tokens")
        return self.builder.model_call(
            agent,
            model=model,
            input_tokens=None if fresh is None else fresh + (cache_read or 0) + (cache_write or 0),
            output_tokens=usage.optional_count("output_tokens"),
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
        )

    def _call(self, block: Record, agent: str | None) -> None:
        tool, own_id = block.text("name"), block.text("id")
        kind = _KINDS.get(tool, ToolKind.OTHER)
        if kind is ToolKind.SHELL:
            self._shell_calls.add(own_id)
        try:
            self.builder.call(tool, kind, block.mapping("input"), agent, own_id=own_id)
        except RepeatedId:
            block.misfit("id", "another than that of a call which still has no result")

    def _heard(self, record: Record, message: Record, agent: str | None) -> None:
        """A prompt, or results."""
        content = message.fields.get("content")
        blocks = [] if isinstance(content, str) else list(message.records("content"))
        results = [block for block in blocks if block.text("type") == "tool_result"]
        for block in results:
            self._result(record, block, agent)
        by_the_cli = record.fields.get("isMeta") or record.fields.get("isCompactSummary")
        if not results and agent is None and not by_the_cli:
            self.builder.turn()

    def _result(self, record: Record, block: Record, agent: str | None) -> None:
        own_id = block.text("tool_use_id")
        failed = block.fields.get("is_error") is True
        denied = record.fields.get("toolDenialKind") is not None
        seen = record.fields.get("toolUseResult")
        interrupted = isinstance(seen, dict) and seen.get("interrupted") is True
        output = "\n".join(_texts(block.fields.get("content")))
        exit_code = None
        if own_id in self._shell_calls and not interrupted:
            said = _EXIT_CODE.match(output) if failed else None
            exit_code = int(said[1]) if said else None if failed else 0
        try:
            self.builder.result(
                agent,
                ok=not failed and not interrupted,
                exit_code=exit_code,
                output=output,
                denied=denied,
                own_id=own_id,
            )
        except NoSuchCall:
            return


def _texts(content: Any) -> Iterator[str]:
    """The texts of a result; pictures and other blocks have none."""
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            yield block["text"]
