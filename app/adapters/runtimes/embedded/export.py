"""A saved conversation as JSON lines, for people and `squadron replay`.

`docs/reference/transcripts.md` describes their form.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from app.adapters.runtimes.embedded.conversation import FILE_NAME, saved_messages
from app.adapters.runtimes.embedded.tools import kind_of
from app.core.agents.events import ToolKind

Line = dict[str, object]

_EXIT_CODE: Final = re.compile(r"\[exit code (-?\d+)\]\Z")


def conversation_lines(session_directory: Path) -> Iterator[Line]:
    """What was said in a session, in order; what was compacted away is not there any more.

    Raises `FileNotFoundError` if there is none, `OSError`, and `SessionDamaged`.
    """
    clock = _Clock()
    for message in saved_messages(session_directory / FILE_NAME):
        yield from _lines(message, clock)


class _Clock:
    """Instants of lines, which never go back."""

    def __init__(self) -> None:
        self._now: datetime | None = None

    def at(self, instant: datetime | None) -> str:
        """The instant of the next line."""
        known = [each for each in (instant, self._now) if each is not None]
        self._now = max(known, default=datetime.fromtimestamp(0, UTC))
        return self._now.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _lines(message: ModelMessage, clock: _Clock) -> Iterator[Line]:
    match message:
        case ModelResponse():
            at = clock.at(message.timestamp)
            yield {
                "type": "model_call",
                "at": at,
                "model": message.model_name,
                "input_tokens": message.usage.input_tokens,
                "output_tokens": message.usage.output_tokens,
            }
            for part in message.parts:
                match part:
                    case TextPart(content=text):
                        yield {"type": "message", "at": at, "text": text}
                    case ToolCallPart():
                        yield _call(part, at)
                    case _:  # thoughts, which are nobody's business
                        pass
        case ModelRequest():
            for asked in message.parts:
                match asked:
                    case ToolReturnPart():
                        yield _result(asked, clock.at(asked.timestamp))
                    case UserPromptPart(content=prompt) | RetryPromptPart(content=prompt):
                        at = clock.at(asked.timestamp)
                        yield {"type": "prompt", "at": at, "text": _text(prompt)}
                    case _:
                        pass


def _call(part: ToolCallPart, at: str) -> Line:
    try:
        args: dict[str, object] = part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        args = {"malformed": str(part.args)}
    kind = kind_of(part.tool_name)
    line: Line = {
        "type": "tool_call",
        "at": at,
        "id": part.tool_call_id,
        "tool": part.tool_name,
        "kind": kind.value,
        "args": args,
    }
    return {**line, "pipefail": True} if kind is ToolKind.SHELL else line


def _result(part: ToolReturnPart, at: str) -> Line:
    output = _text(part.content)
    ended = _EXIT_CODE.search(output)
    return {
        "type": "tool_result",
        "at": at,
        "id": part.tool_call_id,
        "ok": part.outcome == "success",
        "exit_code": int(ended[1]) if ended else None,
        "output": output,
    }


def _text(content: object) -> str:
    return content if isinstance(content, str) else str(content)
