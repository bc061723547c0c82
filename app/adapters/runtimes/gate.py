"""The gate, failing closed: no verdict, a late one and an exception are all a denial."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from app.core.breaker.verdict import Answer, Verdict
from app.ports import Gate, ModelRequest, ModelUsage, ToolCall, ToolResult

Answered = TypeVar("Answered")


class GateBroken(Exception):
    """The gate did not take what happened; the turn must not go on uncounted."""


class ClosedGate:
    """Asks a gate so that nothing runs without its word."""

    def __init__(self, gate: Gate, answer_seconds: float) -> None:
        self._gate = gate
        self._answer_seconds = answer_seconds

    async def before_turn(self) -> Verdict:
        """The gate's verdict, or a denial that says why there is none."""
        return await self._verdict(self._gate.before_turn())

    async def before_model(self, request: ModelRequest) -> Verdict:
        """The gate's verdict, or a denial that says why there is none."""
        return await self._verdict(self._gate.before_model(request))

    async def before_tool(self, call: ToolCall) -> Verdict:
        """The gate's verdict, or a denial that says why there is none."""
        return await self._verdict(self._gate.before_tool(call))

    async def after_tool(self, call: ToolCall, result: ToolResult) -> str:
        """Report an allowed tool's end; what people have written. Raises `GateBroken`."""
        return await self._told(self._gate.after_tool(call, result))

    async def used(self, usage: ModelUsage) -> None:
        """Report an answer of the model. Raises `GateBroken`."""
        await self._told(self._gate.used(usage))

    async def _verdict(self, asked: Awaitable[object]) -> Verdict:
        try:
            async with asyncio.timeout(self._answer_seconds):
                verdict = await asked
            if not isinstance(verdict, Verdict):
                raise TypeError(f"no verdict: {verdict!r}")
            return verdict
        except Exception as error:  # whatever went wrong, nothing must run
            return Verdict(
                Answer.DENY,
                f"The circuit breaker gave no verdict ({type(error).__name__}); nothing runs"
                " without one.",
            )

    async def _told(self, told: Awaitable[Answered]) -> Answered:
        try:
            async with asyncio.timeout(self._answer_seconds):
                return await told
        except Exception as error:  # whatever went wrong, it was not counted
            raise GateBroken(
                f"the agent was stopped: what it did could not be recorded ({type(error).__name__})"
            ) from error
