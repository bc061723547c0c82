"""Sessions of Gemini CLI, made by hand as its recorder's types say (gemini-cli 0.11 and later,
`chatRecordingTypes.ts`)."""

import json
from typing import Any

from tests.support.transcripts import json_lines

SESSION = {
    "sessionId": "f86f5318",
    "projectHash": "79b6fa86",
    "startTime": "2026-01-05T10:00:00.000Z",
    "lastUpdated": "2026-01-05T10:09:00.000Z",
}


def at(minute: int) -> str:
    return f"2026-01-05T10:{minute:02}:00.000Z"


def user(minute: int, text: Any = "Fix it.") -> dict[str, Any]:
    return {"id": f"u{minute}", "timestamp": at(minute), "type": "user", "content": text}


def gemini(minute: int, *tools: dict[str, Any], text: str = "", **more: Any) -> dict[str, Any]:
    return {
        "id": f"g{minute}",
        "timestamp": at(minute),
        "type": "gemini",
        "content": text,
        "thoughts": [{"subject": "Plan", "description": "Look first.", "timestamp": at(minute)}],
        "tokens": {"input": 900, "output": 40, "cached": 300, "thoughts": 7, "tool": 0, "total": 9},
        "model": "gemini-2.5-pro",
        "toolCalls": list(tools),
        **more,
    }


def tool(
    name: str, args: dict[str, Any], output: str, minute: int, status: str = "success"
) -> dict[str, Any]:
    key = "output" if status == "success" else "error"
    answer = {"id": f"t{minute}", "name": name, "response": {key: output}}
    return {
        "id": f"t{minute}",
        "name": name,
        "args": args,
        "result": [{"functionResponse": answer}],
        "status": status,
        "timestamp": at(minute),
        "displayName": "Shell",
    }


def shell(command: str, output: str, minute: int, status: str = "success") -> dict[str, Any]:
    return tool("run_shell_command", {"command": command}, output, minute, status)


MESSAGES = (
    user(0),
    gemini(
        1,
        shell("pytest", "Command: pytest\nOutput: 1 failed\nExit Code: 1\nSignal: 0", 2),
        tool("replace", {"file_path": "a.py"}, "Successfully modified", 3),
        text="I run the tests.",
    ),
    {"id": "i4", "timestamp": at(4), "type": "info", "content": "Request cancelled."},
    user(5, [{"text": "And "}, {"text": "now?"}]),
    gemini(
        6, shell("pytest", "Output: 2 passed", 7), shell("git push", "[Cancelled]", 8, "cancelled")
    ),
)


def in_one(*messages: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({**SESSION, "messages": messages, **more}, indent=2).encode()


def in_lines(*records: dict[str, Any]) -> bytes:
    return json_lines({**SESSION, "kind": "main"}, *records)
