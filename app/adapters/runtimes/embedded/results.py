"""Tool results as the model reads them: bounded, kept whole where they are cut, never said twice.

Seed 003's `tool_result_guard`. What the gate is told is not this: it always sees whole results.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from hashlib import blake2b

from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from app.adapters.runtimes.embedded.bounds import Bounds
from app.adapters.runtimes.embedded.kept import KeptResults
from app.ports import ToolResult

_MOST_CALL_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ResultNote:
    """What is remembered of a result as long as the conversation holds it; no model sees it."""

    digest: str
    """Equal for equal results, cut or not."""
    call: str
    """The call in short, as the model wrote it."""
    kept: int | None
    """Its number among the kept results, if it was cut."""


class ResultGuard:
    """Turns results into what the model is told."""

    def __init__(self, kept: KeptResults, bounds: Bounds) -> None:
        self._kept = kept
        self._bounds = bounds

    def told(
        self,
        call: ToolCallPart,
        result: ToolResult,
        share_characters: int,
        told_before: Iterable[ToolReturnPart],
        *,
        keep: bool,
    ) -> ToolReturnPart:
        """The result of an allowed call, after those that the model has already.

        `keep`: whether it is kept whole if it is cut.
        """
        most = min(share_characters, self._bounds.most_result_characters)
        if len(result.output) <= self._bounds.least_repeated_characters:
            return returned(call, for_model(result, most), ok=result.ok)
        digest = _digest(result)
        first = _first(told_before, digest)
        if first is not None and (first.kept is None or self._kept.has(first.kept)):
            words = _same_as(first)
            reference = for_model(ToolResult(result.ok, result.exit_code, words), len(words))
            if len(reference) < len(for_model(result, most)):
                return returned(call, reference, ok=result.ok)
        is_cut = len(result.output) > most
        number = self._kept.keep(result.output) if is_cut and keep else None
        # What the model can read nowhere in full must not be referred to.
        is_readable = number is not None or not is_cut
        note = ResultNote(digest, _in_short(call), number) if is_readable else None
        return returned(call, for_model(result, most, number), ok=result.ok, note=note)


def returned(
    call: ToolCallPart, text: str, *, ok: bool, note: ResultNote | None = None
) -> ToolReturnPart:
    """A text as the result of a call."""
    return ToolReturnPart(
        call.tool_name,
        text,
        call.tool_call_id,
        metadata=None if note is None else asdict(note),
        outcome="success" if ok else "failed",
    )


def for_model(result: ToolResult, most_characters: int, number: int | None = None) -> str:
    """A result as the model reads it: its head and tail, and the exit code of a command.

    `number`: under which it is kept, for the model to ask for the rest.
    """
    hint = "" if number is None else f"; call result with id {number} to read them"
    text = shortened(result.output, most_characters, hint)
    if result.exit_code is None:
        return text or "(nothing)"
    return f"{text}\n[exit code {result.exit_code}]".lstrip("\n")


def shortened(text: str, most_characters: int, hint: str = "") -> str:
    """The text without its middle if it is longer than this; the note in its place says `hint`."""
    if len(text) <= most_characters:
        return text
    half = most_characters // 2
    cut = len(text) - 2 * half
    return f"{text[:half]}\n[… {cut} characters cut{hint} …]\n{text[len(text) - half :]}"


def _first(told_before: Iterable[ToolReturnPart], digest: str) -> ResultNote | None:
    for part in told_before:
        note = part.metadata
        if isinstance(note, dict) and note.get("digest") == digest:
            return ResultNote(**note)
    return None


def _same_as(first: ResultNote) -> str:
    kept = "" if first.kept is None else f"; call result with id {first.kept} to read all of it"
    return f"(identical to the result of your earlier call {first.call}, see above{kept})"


def _in_short(call: ToolCallPart) -> str:
    args = call.args if isinstance(call.args, str) else json.dumps(call.args, default=str)
    return f"{call.tool_name} {shortened(args, _MOST_CALL_CHARACTERS)}"


def _digest(result: ToolResult) -> str:
    text = f"{result.ok}\0{result.exit_code}\0{result.output}"
    return blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()
