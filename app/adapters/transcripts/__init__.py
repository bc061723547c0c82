"""Importers: the recorded runs of six agent systems, each as a `Transcript`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.adapters.transcripts import claude, copilot, gemini, mini_swe_agent, squadron, swe_agent
from app.adapters.transcripts.places import line_of
from app.adapters.transcripts.reading import (
    MAX_FILE_BYTES,
    Record,
    TranscriptProblem,
    parsed,
    text_of,
)
from app.adapters.transcripts.recognise import recognise
from app.core.history.transcript import Format, Transcript

__all__ = ["TranscriptProblem", "load", "read", "recognise"]


def load(path: Path, form: Format | None = None) -> Transcript:
    """The transcript in a file, recognised by its content unless `form` says what it is.

    `TranscriptProblem` names the line; `OSError` if the file cannot be read.
    """
    with path.open("rb") as file:
        return read(file.read(MAX_FILE_BYTES + 1), form)


def read(data: bytes, form: Format | None = None) -> Transcript:
    """The same for the content of a file."""
    match recognise(data) if form is None else form:
        case Format.SQUADRON:
            return squadron.read(data)
        case Format.COPILOT:
            return _not_empty(copilot.read(data))
        case Format.CLAUDE:
            return _not_empty(claude.read(data))
        case Format.GEMINI if gemini.is_in_lines(data):
            return _not_empty(gemini.read_lines(data))
        case Format.GEMINI:
            return _not_empty(_document(data, gemini.read, "messages"))
        case Format.SWE_AGENT:
            return _document(data, swe_agent.read, "trajectory")
        case Format.MINI_SWE_AGENT:
            return _document(data, mini_swe_agent.read, "messages")


def _not_empty(transcript: Transcript) -> Transcript:
    """Where unknown lines are passed over, a file of another system would be an empty run."""
    if not transcript.steps:
        message = f"expected events of a session of {transcript.format}; the file has none"
        raise TranscriptProblem(1, message)
    return transcript


def _document(data: bytes, importer: Callable[[Record], Transcript], key: str) -> Transcript:
    """A file that is one JSON object with a list under `key`; or that list alone."""
    text = text_of(data)
    value = parsed(text, 1)
    document = {key: value} if isinstance(value, list) else value
    if not isinstance(document, dict):
        raise TranscriptProblem(1, f"expected a JSON object with the list {key}")
    try:
        return importer(Record(document, 1))
    except TranscriptProblem as problem:
        path = problem.path[1:] if isinstance(value, list) else problem.path
        raise TranscriptProblem(line_of(text, path), problem.message) from problem
