"""The tools that Squadron brings to the CLI: the closing ones, and those that it serves itself."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from copilot.tools import Tool, ToolInvocation
from copilot.tools import ToolResult as ToldResult

from app.adapters.runtimes.arguments import BadCall, checked, description
from app.adapters.runtimes.closing import ClosingTool, closing_tools
from app.adapters.runtimes.granted import Granted
from app.adapters.runtimes.serving import ServedTool, ServedTools
from app.ports import SessionOrder, ToolResult


class OwnTools:
    """Those of one session."""

    def __init__(self, order: SessionOrder) -> None:
        self._served = ServedTools(order)
        self._closing = closing_tools(order)
        self.granted = Granted(self._served.offered)
        """Calls of those that are served here, as the hooks have allowed them."""
        self.closed: ClosingTool | None = None
        """What the agent ended its turn with; the first well-formed call counts."""

    @property
    def closing(self) -> Mapping[str, type[ClosingTool]]:
        """Those that are never counted, by name."""
        return self._closing

    @property
    def names(self) -> list[str]:
        """Of all of them."""
        return [*self._served.offered, *self._closing]

    def for_cli(self) -> list[Tool]:
        """As the SDK wants them."""
        served = [_tool(n, tool, self._serve(n, tool)) for n, tool in self._served.offered.items()]
        closing = [
            _tool(name, tool, self._close(name, tool), is_terminal=True)
            for name, tool in self._closing.items()
        ]
        return [*served, *closing]

    def _serve(self, name: str, tool: type[ServedTool]) -> "_Handler":
        async def run(call: ToolInvocation) -> ToldResult:
            try:
                self.granted.take(name, call.arguments)
                result = await self._served.run(checked(tool, name, _args(call)))
            except BadCall as error:
                result = ToolResult(ok=False, exit_code=None, output=str(error))
            return _told(result.output, ok=result.ok)

        return run

    def _close(self, name: str, tool: type[ClosingTool]) -> "_Handler":
        async def run(call: ToolInvocation) -> ToldResult:
            try:
                closing = checked(tool, name, _args(call))
            except BadCall as error:
                return _told(str(error), ok=False)
            if self.closed is not None:
                return _told("You have reported already.", ok=False)
            self.closed = closing
            return _told("Reported.", ok=True)

        return run


_Handler = Callable[[ToolInvocation], Awaitable[ToldResult]]


def _tool(name: str, tool: type[Any], handler: _Handler, *, is_terminal: bool = False) -> Tool:
    return Tool(
        name,
        description(tool),
        handler,
        tool.model_json_schema(),
        overrides_built_in_tool=True,  # the CLI has a `task` of its own
        skip_permission=True,  # the hook decides; the handler behind it rejects everything
        is_terminal=is_terminal,
    )


def _args(call: ToolInvocation) -> object:
    return call.arguments if isinstance(call.arguments, Mapping) else {}


def _told(text: str, *, ok: bool) -> ToldResult:
    return ToldResult(text or "(nothing)", "success" if ok else "failure", None if ok else text)
