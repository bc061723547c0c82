"""What a story does, in the words of the runtime that plays it: each names its tools as it likes.

The CLIs' tools are theirs; paths are those of the workspace, where every runtime works.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from app.scripted.script import Call


class Tools(Protocol):
    """The tools of one runtime."""

    def run(self, command: str) -> Call:
        """A command line in the workspace."""

    def view(self, path: str) -> Call:
        """A file, shown."""

    def create(self, path: str, text: str) -> Call:
        """A new file."""

    def edit(self, path: str, old: str, new: str) -> Call:
        """Another text in the place of `old`, which the file holds once."""

    def ours(self, tool: str, **args: object) -> Call:
        """One of Squadron's own tools, the same everywhere but for its name."""


class _Embedded:
    def run(self, command: str) -> Call:
        return Call("bash", {"command": command})

    def view(self, path: str) -> Call:
        return Call("view", {"path": path})

    def create(self, path: str, text: str) -> Call:
        return Call("create", {"path": path, "text": text})

    def edit(self, path: str, old: str, new: str) -> Call:
        return Call("edit", {"path": path, "old": old, "new": new})

    def ours(self, tool: str, **args: object) -> Call:
        return Call(tool, args)


class _Copilot:
    def run(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "As the story tells it"})

    def view(self, path: str) -> Call:
        return Call("view", {"path": path})

    def create(self, path: str, text: str) -> Call:
        return Call("create", {"path": path, "file_text": text})

    def edit(self, path: str, old: str, new: str) -> Call:
        return Call("edit", {"path": path, "old_str": old, "new_str": new})

    def ours(self, tool: str, **args: object) -> Call:
        return Call(tool, args)


class _Claude:
    def run(self, command: str) -> Call:
        return Call("Bash", {"command": command})

    def view(self, path: str) -> Call:
        return Call("Read", {"file_path": path})

    def create(self, path: str, text: str) -> Call:
        return Call("Write", {"file_path": path, "content": text})

    def edit(self, path: str, old: str, new: str) -> Call:
        return Call("Edit", {"file_path": path, "old_string": old, "new_string": new})

    def ours(self, tool: str, **args: object) -> Call:
        return Call(f"mcp__squadron__{tool}", args)


TOOLS: Final[Mapping[str, Tools]] = {
    "embedded": _Embedded(),
    "copilot": _Copilot(),
    "claude": _Claude(),
}
"""By the name of the runtime."""
