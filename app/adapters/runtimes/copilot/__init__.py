"""The Copilot runtime: GitHub's Copilot CLI runs the agent's loop, in a process of its own.

`runtime` opens sessions, `session` runs their turns, `cli` is the process, `hooks` asks the gate
before each tool, `relay` carries the CLI's requests to its model, so that the process needs no
network and no key. `options` keeps out whatever a repository could bring. Nothing here imports
GitHub's SDK before the first session is opened.
"""

from app.adapters.runtimes.copilot.bounds import Bounds
from app.adapters.runtimes.copilot.installed import (
    CLI_VERSION,
    SDK_VERSION,
    found,
    missing,
    unpacking,
)
from app.adapters.runtimes.copilot.runtime import CopilotRuntime

__all__ = [
    "CLI_VERSION",
    "SDK_VERSION",
    "Bounds",
    "CopilotRuntime",
    "found",
    "missing",
    "unpacking",
]
