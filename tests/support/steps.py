"""What the scripted model asks for, in the words of a story."""

import json
from pathlib import Path
from shlex import quote

from app.scripted.script import Answer, Call

WAITS_SECONDS = 600
"""The longest that the embedded runtime lets a command run; it has to be asked for."""


def runs(command: str, say: str = "") -> Answer:
    """One shell command."""
    return Answer(say, (Call("bash", {"command": command}),))


def runs_at_once(*commands: str) -> Answer:
    """Several shell commands in one answer, in parallel."""
    return Answer("", tuple(Call("bash", {"command": command}) for command in commands))


def writes(path: str, text: str) -> Answer:
    """One whole file."""
    return Answer("", (Call("create", {"path": path, "text": text}),))


def commits(message: str) -> Answer:
    """Everything that was changed, as one commit."""
    return runs(f"git add --all && git commit --quiet --message {json.dumps(message)}")


def completes(summary: str) -> Answer:
    """The closing tool for work that is done."""
    return Answer("", (Call("report_complete", {"summary": summary}),))


def is_blocked(reason: str, *issues: int) -> Answer:
    """The closing tool for work that has to wait."""
    return Answer("", (Call("report_blocked", {"reason": reason, "blocked_by": [*issues]}),))


def says(text: str) -> Answer:
    """Words only: they end the turn."""
    return Answer(text)


def thinks(seconds: float) -> Answer:
    """An answer that is long in coming."""
    return Answer("Perhaps …", think_seconds=seconds)


def waits_for(file: Path, look_seconds: float = 0.05) -> Answer:
    """A shell that runs until the test writes the file."""
    looks = int(WAITS_SECONDS / look_seconds)
    wait = (
        f"for n in $(seq {looks}); do [ -e {quote(str(file))} ] && exit 0;"
        f" sleep {look_seconds}; done; exit 1"
    )
    return Answer("", (Call("bash", {"command": wait, "timeout_seconds": WAITS_SECONDS}),))
