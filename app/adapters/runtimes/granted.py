"""Which calls of our own tools the gate has allowed: a CLI asks for them apart from its hook.

It asks by its pipe, and into that pipe whatever its agent's shell runs can write as well. So what
is asked for is done only where the gate was asked about the very same, and no more often.
"""

import json
from collections import Counter
from collections.abc import Collection

from app.adapters.runtimes.arguments import BadCall


class Granted:
    """Those of one session, turn by turn."""

    def __init__(self, tools: Collection[str]) -> None:
        """`tools` are the names of those that are served here; others run in the CLI."""
        self._tools = tools
        self._left = Counter[str]()

    def forget(self) -> None:
        """A turn begins: what was allowed before is worth nothing."""
        self._left.clear()

    def allow(self, tool: str, args: object) -> None:
        """The gate has allowed this call."""
        if tool in self._tools:
            self._left[key_of(tool, args)] += 1

    def take(self, tool: str, args: object) -> None:
        """A call is about to run. Raises `BadCall` unless it was allowed and has not run yet."""
        key = key_of(tool, args)
        if self._left[key] <= 0:
            raise BadCall("The circuit breaker was not asked about this call; it does not run.")
        self._left[key] -= 1


def key_of(tool: str, args: object) -> str:
    """Equal calls are as good as each other."""
    return json.dumps([tool, args], sort_keys=True, default=str)
