"""The Claude runtime: Claude Code, driven by `claude-agent-sdk`, asks the gate before each tool.

`runtime` opens sessions, `session` starts the CLI and runs turns in it, `hooks` is what the CLI
asks, `turn` is what is known of the running turn, `calls` tells its tools in the words of the gate,
`own_tools` offers ours, `launch` says how the CLI is started and `process` is the child process.
Nothing here imports the SDK before the first session is opened: it is an extra.
"""

from app.adapters.runtimes.claude.bounds import Bounds
from app.adapters.runtimes.claude.runtime import ClaudeRuntime, bundled, missing

__all__ = ["Bounds", "ClaudeRuntime", "bundled", "missing"]
