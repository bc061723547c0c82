"""One turn of a session: the model is asked and its tools run, until one of the ends is reached."""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from app.adapters.runtimes.embedded.bounds import Bounds
from app.adapters.runtimes.embedded.calls import ModelFailed, ask
from app.adapters.runtimes.embedded.conversation import Conversation, NotSaved
from app.adapters.runtimes.embedded.gate import ClosedGate, GateBroken
from app.adapters.runtimes.embedded.models import context_tokens
from app.adapters.runtimes.embedded.tools import (
    CLOSING,
    BadCall,
    ClosingTool,
    ReportBlocked,
    ReportComplete,
    Toolbox,
    for_model,
    parsed,
    shortened,
)
from app.core.breaker import Answer
from app.ports import (
    Halted,
    Idle,
    ModelUsage,
    ReportedBlocked,
    ReportedComplete,
    RuntimeFailed,
    SessionOrder,
    ToolCall,
    ToolResult,
    TurnEnd,
)

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything that the turns of one session work with."""

    order: SessionOrder
    model: Model
    offer: ModelRequestParameters
    """The system prompt, and the tools as the model is told about them."""
    gate: ClosedGate
    tools: Toolbox
    conversation: Conversation
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class _Used:
    """What became of one working tool call."""

    part: ToolReturnPart
    ran: bool
    note: str = ""
    """A warning of the breaker, for the model."""
    halts: bool = False
    broken: GateBroken | None = None


class Turn:
    """Runs once. The working tools of an answer run first, in parallel, then its closing tool.

    A report ends the turn whatever the gate said to the tools beside it: closing is never denied.
    """

    def __init__(
        self, desk: Desk, prompt: str, most_model_calls: int | None, interrupted: asyncio.Event
    ) -> None:
        self._desk = desk
        self._prompt = prompt
        self._calls_left = most_model_calls
        self._interrupted = interrupted
        self._fruitless_answers = 0
        self._text = ""

    async def run(self) -> TurnEnd:
        """From the prompt to the end of the turn."""
        try:
            await self._desk.conversation.prompted(self._prompt)
            while True:
                end = await self._step()
                if end is not None:
                    return end
        except (ModelFailed, NotSaved, GateBroken) as error:
            return RuntimeFailed(str(error))

    async def _step(self) -> TurnEnd | None:
        """One answer of the model and what it asks for."""
        if self._interrupted.is_set() or self._calls_left == 0:
            return self._halted()
        conversation = self._desk.conversation
        if conversation.has_answers and conversation.tokens() >= self._compaction_tokens():
            return await self._compact()
        response = await self._ask(conversation.messages, {})
        if response is None:
            return self._halted()
        self._text = response.text or self._text
        if response.parts:  # an empty answer is refused by some providers when it is repeated
            await conversation.answered(response)
        if not response.tool_calls:
            return Idle(self._words())
        return await self._use_tools(response.tool_calls)

    async def _ask(
        self, messages: list[ModelMessage], settings: ModelSettings
    ) -> ModelResponse | None:
        """The model's answer, counted; None if the turn was interrupted meanwhile."""
        desk = self._desk
        if self._calls_left is not None:
            self._calls_left -= 1
        asked = ask(desk.model, messages, desk.offer, settings, desk.bounds)
        response = await unless(self._interrupted, asked)
        if response is not None:
            usage = response.usage
            await desk.gate.used(
                ModelUsage(desk.order.model, usage.input_tokens, usage.output_tokens)
            )
        return response

    async def _use_tools(self, calls: Sequence[ToolCallPart]) -> TurnEnd | None:
        working = [call for call in calls if call.tool_name not in CLOSING]
        share = self._desk.bounds.most_results_characters // max(len(working), 1)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._use(call, share)) for call in working]
        used = [task.result() for task in tasks]
        closing, closed = self._close([call for call in calls if call.tool_name in CLOSING])
        await self._desk.conversation.returned(
            [*(each.part for each in used), *closed], [each.note for each in used if each.note]
        )
        for each in used:
            if each.broken is not None:
                raise each.broken
        if closing is not None:
            return _reported(closing)
        if any(each.halts for each in used):
            return self._halted()
        if any(each.ran for each in used):
            self._fruitless_answers = 0
            return None
        self._fruitless_answers += 1
        too_many = self._fruitless_answers >= self._desk.bounds.most_fruitless_answers
        return self._halted() if too_many else None

    async def _use(self, part: ToolCallPart, share_characters: int) -> _Used:
        """Ask the gate about one working tool call and run it if it is allowed."""
        call = ToolCall(part.tool_call_id, part.tool_name, part.args_as_dict())
        verdict = await self._desk.gate.before_tool(call)
        if not verdict.allowed:
            denied = _result(part, verdict.reason, ok=False)
            return _Used(denied, ran=False, halts=verdict.answer is Answer.HALT)
        note = verdict.reason if verdict.answer is Answer.WARN else ""
        try:
            result = await self._desk.tools.run(part)
        except asyncio.CancelledError:
            cancelled = ToolResult(ok=False, exit_code=None, output="(cancelled)")
            with suppress(GateBroken):  # the session ends, whatever the gate says to it
                await self._desk.gate.after_tool(call, cancelled)
            raise
        answer = _result(part, for_model(result, share_characters), ok=result.ok)
        try:
            await self._desk.gate.after_tool(call, result)
        except GateBroken as error:
            return _Used(answer, ran=True, note=note, broken=error)
        return _Used(answer, ran=True, note=note)

    def _close(
        self, calls: Sequence[ToolCallPart]
    ) -> tuple[ClosingTool | None, list[ToolReturnPart]]:
        """The first closing call that is well-formed, and the results of all of them."""
        chosen: ClosingTool | None = None
        results = []
        for call in calls:
            try:
                closing = parsed(CLOSING[call.tool_name], call)
            except BadCall as error:
                results.append(_result(call, str(error), ok=False))
                continue
            if chosen is None:
                chosen = closing
                results.append(_result(call, "Reported.", ok=True))
            else:
                results.append(_result(call, "You have reported already.", ok=False))
        return chosen, results

    async def _compact(self) -> TurnEnd | None:
        """Put a summary in the place of the conversation, if one more turn is allowed."""
        verdict = await self._desk.gate.before_turn()
        if not verdict.allowed:
            return self._halted()
        conversation = self._desk.conversation
        messages = conversation.asking_for_a_summary()
        response = await self._ask(messages, {"tool_choice": "none"})
        if response is None:
            return self._halted()
        if not response.text:
            raise ModelFailed(
                f"{self._desk.order.model} did not summarise the conversation, which is close to"
                " the end of its context window"
            )
        notes = [verdict.reason] if verdict.answer is Answer.WARN else []
        await conversation.compacted(self._prompt, response.text, notes)
        return None

    def _compaction_tokens(self) -> float:
        bounds = self._desk.bounds
        window = bounds.context_tokens or context_tokens(self._desk.model)
        return window * bounds.compact_at

    def _halted(self) -> Halted:
        return Halted(self._words())

    def _words(self) -> str:
        return shortened(self._text, self._desk.bounds.most_text_characters)


async def unless(stop: asyncio.Event, work: Coroutine[object, object, _Result]) -> _Result | None:
    """The result of `work`, or None if `stop` is set first; the work is then cancelled."""
    working = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        stopped.cancel()
        await asyncio.gather(working, stopped, return_exceptions=True)


def _reported(closing: ClosingTool) -> ReportedComplete | ReportedBlocked:
    match closing:
        case ReportComplete():
            return ReportedComplete(closing.summary)
        case ReportBlocked():
            return ReportedBlocked(closing.reason, tuple(closing.blocked_by))


def _result(call: ToolCallPart, text: str, *, ok: bool) -> ToolReturnPart:
    return ToolReturnPart(
        call.tool_name, text, call.tool_call_id, outcome="success" if ok else "failed"
    )
