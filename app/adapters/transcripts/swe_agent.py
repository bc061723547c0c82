"""SWE-agent: one JSON object a file, `*.traj`. It knows neither instants nor exit codes."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from app.adapters.transcripts.builder import Builder
from app.adapters.transcripts.reading import Record
from app.core.agents.events import ToolKind
from app.core.history.transcript import Format, Totals, Transcript

_KINDS: Final = {
    **dict.fromkeys(
        ("open", "goto", "scroll_up", "scroll_down", "search_dir", "search_file", "find_file"),
        ToolKind.READ,
    ),
    **dict.fromkeys(("create", "edit", "insert", "append", "str_replace_editor"), ToolKind.WRITE),
    **dict.fromkeys(("submit", "exit_cost", "exit_context", "skip"), ToolKind.OTHER),
}
_FAILED_EDIT: Final = "Your proposed edit has introduced new syntax error(s)"
_FAILED_COMMAND: Final = ("Traceback (most recent call last)", "command not found")


def read(document: Record) -> Transcript:
    """The transcript. A step takes its `execution_time`; where that is not recorded, no time."""
    builder = Builder()
    stats = document.record("info").optional_record("model_stats")
    asks_a_model = (stats.optional_count("api_calls") or 0) > 0
    for step in document.records("trajectory"):
        if asks_a_model:
            builder.model_call()
        _add(step, builder)
    totals = Totals(
        input_tokens=stats.optional_count("tokens_sent") or 0,
        output_tokens=stats.optional_count("tokens_received") or 0,
    )
    return builder.done(Format.SWE_AGENT, totals)


def _add(step: Record, builder: Builder) -> None:
    thought = step.optional_text("thought")
    if thought:
        builder.message(thought)
    action = step.text("action").strip()
    if not action:
        _let_time_pass(step, builder)
        return
    tool, kind, args = _call(action)
    builder.call(tool, kind, args)
    _let_time_pass(step, builder)
    observation = step.optional_text("observation") or ""
    builder.result(ok=not _shows_failure(kind, observation), output=observation)


def _call(action: str) -> tuple[str, ToolKind, dict[str, object]]:
    words = action.split(maxsplit=2)
    kind = _KINDS.get(words[0])
    if kind is None:
        return "bash", ToolKind.SHELL, {"command": action}
    if words[:2] == ["str_replace_editor", "view"]:
        kind = ToolKind.READ
    return words[0], kind, {"action": action}


def _let_time_pass(step: Record, builder: Builder) -> None:
    seconds = step.fields.get("execution_time", 0)
    try:
        if isinstance(seconds, int | float) and seconds >= 0:
            builder.now += timedelta(seconds=seconds)
            return
    except OverflowError:  # of this step, or of all of them together
        pass
    step.misfit("execution_time", "the seconds that the step took")


def _shows_failure(kind: ToolKind, observation: str) -> bool:
    """A file that is only looked at may well contain what a failing command prints."""
    match kind:
        case ToolKind.SHELL:
            return any(sign in observation for sign in _FAILED_COMMAND)
        case ToolKind.WRITE if _FAILED_EDIT in observation:
            return True
        case _:
            return observation.lstrip().startswith(_FAILED_COMMAND[0])
