"""What the CLI asks and tells: before each tool, after it, and for our own tools.

On any doubt the tool does not run: a hook that fails blocks (`on_failure`), and so does one that
the CLI has waited too long for.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

from claude_agent_sdk import HookMatcher, McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server
from claude_agent_sdk.types import HookContext, HookEvent, HookInput, HookJSONOutput

from app.adapters.runtimes.arguments import BadCall, checked, description
from app.adapters.runtimes.claude.bounds import Bounds
from app.adapters.runtimes.claude.calls import ended_badly, ended_well, own_name
from app.adapters.runtimes.claude.launch import SERVER
from app.adapters.runtimes.claude.turn import Ruling, Turn
from app.adapters.runtimes.closing import ClosingTool
from app.adapters.runtimes.serving import ServedTool, ServedTools

_OVER: Final = "No turn is running; nothing runs."

Hook = Callable[[HookInput, str | None, HookContext], Awaitable[HookJSONOutput]]


class Hooks:
    """Those of one session; `turn` is the one that runs."""

    def __init__(
        self,
        served: ServedTools,
        closing: Mapping[str, type[ClosingTool]],
        bounds: Bounds,
    ) -> None:
        self._served = served
        self._closing = closing
        self._bounds = bounds
        self.turn: Turn | None = None
        self.heard = 0
        """How often the CLI asked or told something."""

    def matchers(self) -> dict[HookEvent, list[HookMatcher]]:
        """The hooks as the SDK registers them, for every tool."""
        events: Mapping[HookEvent, Hook] = {
            "PreToolUse": self._before,
            "PostToolUse": self._after,
            "PostToolUseFailure": self._after,
        }
        return {event: [self._matcher(hook)] for event, hook in events.items()}

    def server(self) -> McpSdkServerConfig:
        """Our own tools."""
        served = [
            SdkMcpTool(name, description(tool), tool.model_json_schema(), self._serving(name, tool))
            for name, tool in self._served.offered.items()
        ]
        closing = [
            SdkMcpTool(name, description(tool), tool.model_json_schema(), self._ending(name, tool))
            for name, tool in self._closing.items()
        ]
        return create_sdk_mcp_server(SERVER, tools=[*served, *closing])

    def _matcher(self, hook: Hook) -> HookMatcher:
        return HookMatcher(hooks=[hook], timeout=self._bounds.hook_seconds, on_failure="block")

    async def _before(
        self, call: HookInput, call_id: str | None, context: HookContext
    ) -> HookJSONOutput:
        self.heard += 1
        told: Mapping[str, Any] = {**call}
        turn = self.turn
        if turn is None or call_id is None:
            return _answer(Ruling(allowed=False, reason=_OVER, stops=True))
        return _answer(await turn.may_run(str(told["tool_name"]), told["tool_input"], call_id))

    async def _after(
        self, call: HookInput, call_id: str | None, context: HookContext
    ) -> HookJSONOutput:
        self.heard += 1
        told: Mapping[str, Any] = {**call}
        turn = self.turn
        if turn is None or call_id is None:
            return {"continue_": False, "stopReason": _OVER}
        tool = str(told["tool_name"])
        if told["hook_event_name"] == "PostToolUse":
            result = ended_well(tool, told.get("tool_response"))
        else:
            result = ended_badly(tool, told.get("error"))
        await turn.ended(call_id, result)
        # A closing tool ends the turn when the tools beside it have ended, too.
        if turn.must_stop and (not turn.running or own_name(tool) not in self._closing):
            return {"continue_": False, "stopReason": "The turn is over."}
        words = turn.told()
        return _answer_after(str(told["hook_event_name"]), words) if words else {}

    def _serving(
        self, name: str, tool: type[ServedTool]
    ) -> Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]:
        async def serve(args: dict[str, Any]) -> dict[str, Any]:
            turn = self.turn
            if turn is None:
                return _told(_OVER, ok=False)
            try:
                turn.granted.take(name, args)
                result = await self._served.run(checked(tool, name, args))
            except BadCall as error:
                return _told(str(error), ok=False)
            return _told(result.output or "(nothing)", ok=result.ok)

        return serve

    def _ending(
        self, name: str, tool: type[ClosingTool]
    ) -> Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]:
        async def end(args: dict[str, Any]) -> dict[str, Any]:
            turn = self.turn
            if turn is None:
                return _told(_OVER, ok=False)
            try:
                closing = checked(tool, name, args)
            except BadCall as error:
                return _told(str(error), ok=False)
            if turn.closing is not None:
                return _told("You have reported already.", ok=False)
            turn.closing = closing
            return _told("Reported.", ok=True)

        return end


def _answer(ruling: Ruling) -> HookJSONOutput:
    output: dict[str, Any] = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow" if ruling.allowed else "deny",
    }
    if ruling.reason:
        key = "additionalContext" if ruling.allowed else "permissionDecisionReason"
        output[key] = ruling.reason
    answer: dict[str, Any] = {"hookSpecificOutput": output}
    if ruling.stops:
        answer |= {"continue_": False, "stopReason": ruling.reason}
    return cast(HookJSONOutput, answer)


def _answer_after(event: str, words: str) -> HookJSONOutput:
    """What the model reads with the result."""
    output = {"hookEventName": event, "additionalContext": words}
    return cast(HookJSONOutput, {"hookSpecificOutput": output})


def _told(words: str, *, ok: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], "is_error": not ok}
