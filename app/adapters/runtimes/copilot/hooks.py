"""Asks the gate before each tool of the CLI and tells it of each end. Fails closed.

The CLI names no call in its hooks and runs a tool whose hook fails, so calls get ids of ours and
every path here returns an allow or a deny; behind it stands a handler that rejects.
"""

import logging
import secrets
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from app.adapters.runtimes.arguments import BadCall, checked
from app.adapters.runtimes.closing import ClosingTool
from app.adapters.runtimes.copilot.bounds import Bounds
from app.adapters.runtimes.copilot.translating import kind_of, result_of, sent_args, told_args
from app.adapters.runtimes.gate import ClosedGate, GateBroken
from app.adapters.runtimes.granted import Granted, key_of
from app.adapters.runtimes.serving import TASK, Task
from app.core.breaker.verdict import Answer
from app.ports import CUT_OFF, ToolCall, ToolResult

_ID_BYTES: Final = 8
_OVER: Final = "The turn is over; nothing runs any more."

log = logging.getLogger("squadron.copilot")

Decision = dict[str, Any]


class Hooks:
    """The hooks of one session; `begin_turn` before each of its turns."""

    def __init__(
        self,
        gate: ClosedGate,
        closing: Mapping[str, type[ClosingTool]],
        granted: Granted,
        bounds: Bounds,
        end_turn: Callable[[], None],
        all_ended: Callable[[], None],
    ) -> None:
        """`end_turn` is called when the gate halts, `all_ended` when no tool runs any more."""
        self._gate = gate
        self._closing = closing
        self._granted = granted
        self._bounds = bounds
        self._end_turn = end_turn
        self._all_ended = all_ended
        self._running: dict[str, deque[ToolCall]] = {}
        self._fruitless_in_a_row = 0
        self.is_ending = True
        """Working tools are denied: between two turns, and once a turn has to end."""
        self.broken: GateBroken | None = None

    def begin_turn(self) -> None:
        """From now on the gate decides."""
        self.is_ending = False
        self.broken = None
        self._fruitless_in_a_row = 0
        self._granted.forget()

    @property
    def runs_tools(self) -> bool:
        """Whether a tool that was allowed has not ended yet."""
        return any(self._running.values())

    async def before(self, call: Mapping[str, Any], invocation: object) -> Decision:
        """`preToolUse`."""
        try:
            return await self._decided(call)
        except Exception as error:  # whatever went wrong, the tool must not run
            log.exception("a tool of the Copilot CLI was denied")
            return _deny(f"The circuit breaker gave no verdict ({type(error).__name__}).")

    async def after(self, call: Mapping[str, Any], invocation: object) -> Decision | None:
        """`postToolUse`."""
        name, result = str(call["toolName"]), call.get("toolResult")
        said = result if isinstance(result, Mapping) else {"textResultForLlm": result}
        return _note(await self._ended(call, result_of(name, said)))

    async def after_failure(self, call: Mapping[str, Any], invocation: object) -> Decision | None:
        """`postToolUseFailure`."""
        words = str(call.get("error") or "")
        return _note(await self._ended(call, ToolResult(False, None, words)))

    async def cut_off(self) -> None:
        """The turn is over: tools that have not ended were stopped."""
        left = [call for calls in self._running.values() for call in calls]
        self._running.clear()
        for call in left:
            with suppress(GateBroken):  # the turn ends, whatever the gate says to it
                await self._gate.after_tool(call, CUT_OFF)

    async def _decided(self, given: Mapping[str, Any]) -> Decision:
        name, args = str(given["toolName"]), given.get("toolArgs")
        if name in self._closing:
            self._closing_asked(name, args)
            return _allow()  # what is wrong with it is its result
        if self.is_ending:
            return _deny(_OVER)
        call = ToolCall(
            secrets.token_hex(_ID_BYTES),
            name,
            told_args(name, args),
            kind=kind_of(name),
            spawns=_spawns(name, args),
        )
        verdict = await self._gate.before_tool(call)
        if verdict.allowed and self.is_ending:  # stopped while the gate was thinking
            await self._gate.after_tool(call, CUT_OFF)
            return _deny(_OVER)
        if not verdict.allowed:
            self._fruitless()
            if verdict.answer is Answer.HALT:
                self._end_turn()
            return _deny(verdict.reason)
        self._fruitless_in_a_row = 0
        sent = sent_args(name, args, self._bounds.most_command_seconds)
        self._running.setdefault(key_of(name, sent), deque()).append(call)
        self._granted.allow(name, sent)
        return _allow(sent, verdict.reason if verdict.answer is Answer.WARN else "")

    def _closing_asked(self, name: str, args: object) -> None:
        try:
            checked(self._closing[name], name, args)
        except BadCall:
            self._fruitless()

    def _fruitless(self) -> None:
        """One more call of which nothing came."""
        self._fruitless_in_a_row += 1
        if self._fruitless_in_a_row >= self._bounds.most_fruitless_calls:
            self._end_turn()

    async def _ended(self, given: Mapping[str, Any], result: ToolResult) -> str:
        """What people have written meanwhile."""
        name, words = str(given["toolName"]), ""
        calls = self._running.get(key_of(name, given.get("toolArgs")))
        if not calls:  # a closing tool, or one that was denied
            return ""
        call = calls.popleft()
        try:
            words = await self._gate.after_tool(call, result)
        except GateBroken as error:
            self.broken = error
            self._end_turn()
        if not self.runs_tools:
            self._all_ended()
        return words


def _note(words: str) -> Decision | None:
    """What the model reads with the result."""
    return {"additionalContext": words} if words else None


def _allow(args: object = None, note: str = "") -> Decision:
    """With other arguments than the model's, and with a note that the model reads."""
    decision: Decision = {"permissionDecision": "allow"}
    if args is not None:
        decision["modifiedArgs"] = args
    if note:
        decision["additionalContext"] = note
    return decision


def _deny(reason: str) -> Decision:
    return {"permissionDecision": "deny", "permissionDecisionReason": reason}


def _spawns(name: str, args: object) -> bool:
    """A call that is not well-formed starts nothing."""
    if name != TASK:
        return False
    try:
        checked(Task, name, args)
    except BadCall:
        return False
    return True
