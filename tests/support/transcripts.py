"""Hand-made transcripts, and what a test looks at in one that was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.core.history.transcript import ModelCall, ToolCall, ToolResult, Transcript

DATA = Path(__file__).parents[1] / "data" / "transcripts"
LABELS: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "labels.jsonl").read_text().splitlines()
]
NOON = "2026-01-01T12:00:00Z"


def calls(transcript: Transcript) -> list[ToolCall]:
    return [step for step in transcript.steps if isinstance(step, ToolCall)]


def results(transcript: Transcript) -> list[ToolResult]:
    return [step for step in transcript.steps if isinstance(step, ToolResult)]


def model_calls(transcript: Transcript) -> list[ModelCall]:
    return [step for step in transcript.steps if isinstance(step, ModelCall)]


def answers(transcript: Transcript) -> dict[str, ToolResult]:
    return {result.id: result for result in results(transcript)}


def json_lines(*events: dict[str, Any]) -> bytes:
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def asked(command: str = "ls", **more: Any) -> dict[str, Any]:
    call = {"type": "tool_call", "at": NOON, "tool": "bash", "kind": "shell"}
    return {**call, "args": {"command": command}, **more}


def answered(output: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "ok": True, "exit_code": 0, "output": output, **more}
