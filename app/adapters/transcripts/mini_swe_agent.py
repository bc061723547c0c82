"""mini-swe-agent, both generations: a list of messages (1.x), or an object that has one (2.x)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from app.adapters.transcripts.builder import ORIGIN, Builder, NoSuchCall, RepeatedId
from app.adapters.transcripts.reading import Record
from app.core.agents.events import ToolKind
from app.core.history.transcript import Format, Transcript

_BLOCKS: Final = tuple(
    re.compile(rf"^```{name}[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL | re.MULTILINE)
    for name in ("mswea_bash_command", "bash")
)
"""How 1.x marks the command, the newer way first. Only exactly one of a kind is run."""
_RETURN_CODE: Final = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>\n?(.*)", re.DOTALL)
_DID_NOT_RUN: Final = -1
"""The return code of a command that did not run or timed out."""


def read(document: Record) -> Transcript:
    """The transcript; instants are those of the messages, where they have any.

    The list of 1.x comes as an object that has nothing but these messages.
    """
    builder = Builder()
    messages = list(document.records("messages"))
    timed = (at for message in messages if (at := _at(message)) is not None)
    builder.now = next(timed, ORIGIN)
    model = _model_of_the_run(document)
    for index, message in enumerate(messages):
        builder.not_before(_at(message) or builder.now)
        match _role(message):
            case "assistant":
                _answer(message, builder, model)
            case "user" | "tool":
                _heard(message, builder, is_last=index == len(messages) - 1, model=model)
            case "exit":
                _exit(message, builder)
            case _:
                pass
    return builder.done(Format.MINI_SWE_AGENT)


def _role(message: Record) -> str:
    """Messages of OpenAI's responses API are kept as they came, without a role."""
    if message.fields.get("object") == "response":
        return "assistant"
    if message.fields.get("type") == "function_call_output":
        return "tool"
    return message.text("role")


def _answer(message: Record, builder: Builder, model: str | None) -> None:
    _model_call(message, builder, model)
    content = _content(message)
    extra = _extra(message)
    if "actions" in extra.fields:
        said, actions = content, list(extra.records("actions"))
        commands = [(act.text("command"), act.optional_text("tool_call_id")) for act in actions]
    else:
        said, command = _without_block(content)
        commands = [] if command is None else [(command, None)]
    if said.strip():
        builder.message(said.strip())
    for command, own_id in commands:
        try:
            builder.call("bash", ToolKind.SHELL, {"command": command}, own_id=own_id)
        except RepeatedId:
            extra.misfit("actions", "ids that differ from those of actions without an answer")


def _heard(message: Record, builder: Builder, *, is_last: bool, model: str | None) -> None:
    """An observation, or something that answers no command: the task, a complaint about form."""
    extra = _extra(message)
    if "response" in extra.fields:  # an answer in a wrong form stands in the complaint about it
        _model_call(message, builder, model)
    if not builder.has_open_call() or "interrupt_type" in extra.fields:
        return
    own_id = message.optional_text("tool_call_id") or message.optional_text("call_id")
    content = _content(message)
    if "returncode" in extra.fields:
        code = extra.nullable_whole("returncode")
        raw = extra.optional_text("raw_output")
        seen = content if raw is None else raw
        output = seen or extra.optional_text("exception_info") or ""
    elif said := _RETURN_CODE.fullmatch(content):
        code = int(said[1])
        inner = said[2].strip().removeprefix("<output>").removesuffix("</output>")
        output = inner.removeprefix("\n")
    else:  # the patch that was handed in, or a command that timed out
        code, output = None, content
    exit_code = None if code == _DID_NOT_RUN else code
    ok = is_last if code is None else code == 0
    try:
        builder.result(ok=ok, exit_code=exit_code, output=output, own_id=own_id)
    except NoSuchCall:
        message.misfit("tool_call_id", "that of an action before it")


def _exit(message: Record, builder: Builder) -> None:
    """The command that handed the work in is answered by the end of the run."""
    extra = _extra(message)
    if builder.has_open_call() and extra.optional_text("exit_status") == "Submitted":
        builder.result(ok=True, output=extra.optional_text("submission") or "")


def _model_call(message: Record, builder: Builder, model: str | None) -> None:
    extra = _extra(message)
    response = extra.optional_record("response") if "response" in extra.fields else message
    usage = response.optional_record("usage")
    details = usage.optional_record("prompt_tokens_details")
    if not details.fields:
        details = usage.optional_record("input_tokens_details")
    builder.model_call(
        model=response.optional_text("model") or model,
        input_tokens=_first_count(usage, "prompt_tokens", "input_tokens"),
        output_tokens=_first_count(usage, "completion_tokens", "output_tokens"),
        cache_read_tokens=_first_count(details, "cached_tokens"),
        cache_write_tokens=_first_count(usage, "cache_creation_input_tokens"),
    )


def _first_count(usage: Record, *keys: str) -> int | None:
    """Providers name the same thing differently; None where none of the names has a number."""
    counts = (usage.optional_count(key) for key in keys)
    return next((count for count in counts if count is not None), None)


def _model_of_the_run(document: Record) -> str | None:
    name: object = document.fields
    for key in ("info", "config", "model", "model_name"):
        name = name.get(key) if isinstance(name, dict) else None
    return name if isinstance(name, str) else None


def _extra(message: Record) -> Record:
    return message.optional_record("extra")


def _at(message: Record) -> datetime | None:
    extra = _extra(message)
    seconds = extra.fields.get("timestamp")
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        extra.misfit("timestamp", "seconds since 1970")


def _content(message: Record) -> str:
    """The text of a message: a string, or the texts of its blocks, whichever API it came from."""
    content = message.fields.get("content", message.fields.get("output"))
    if isinstance(content, str):
        return content
    blocks = _objects(content)
    inner = [part for block in blocks for part in _objects(block.get("content"))]
    texts = (part.get("text") for part in (*blocks, *inner))
    return "\n".join(text for text in texts if isinstance(text, str))


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _without_block(content: str) -> tuple[str, str | None]:
    """What was said, and the command, if there is exactly one."""
    for pattern in _BLOCKS:
        found = list(pattern.finditer(content))
        if len(found) == 1:
            return content[: found[0].start()] + content[found[0].end() :], found[0][1].strip()
        if found:
            break
    return content, None
