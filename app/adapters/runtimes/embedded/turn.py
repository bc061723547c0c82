"""One turn of a session: the model is asked and its tools run, until one of the ends is reached."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from app.adapters.runtimes.arguments import BadCall
from app.adapters.runtimes.closing import ClosingTool, reported
from app.adapters.runtimes.embedded.bounds import Bounds, Sleep
from app.adapters.runtimes.embedded.calls import ModelFailed, NoAnswer, ask
from app.adapters.runtimes.embedded.conversation import (
    Conversation,
    NotSaved,
    counted,
    said_tokens,
    tokens_of,
)
from app.adapters.runtimes.embedded.models import context_tokens
from app.adapters.runtimes.embedded.results import ResultGuard, returned, shortened
from app.adapters.runtimes.embedded.tools import RESULT, Toolbox, parsed
from app.adapters.runtimes.gate import ClosedGate, GateBroken
from app.core.agents.events import Phase
from app.core.breaker.verdict import Answer, Verdict
from app.ports import (
    CUT_OFF,
    Halted,
    Idle,
    ModelRequest,
    ModelUsage,
    ProviderAway,
    Report,
    RuntimeFailed,
    SessionOrder,
    ToolResult,
    TurnEnd,
)

_CUT_OFF: Final = "length"
"""The finish reason of an answer that has reached the bound on its output."""

_Result = TypeVar("_Result")


SUMMARY_TOKENS: Final = 1_500
"""Most output of one answer that only says what was done."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything that the turns of one session work with."""

    order: SessionOrder
    models: Mapping[str, Model]
    """By the names in the order."""
    offer: ModelRequestParameters
    """The system prompt, and the tools as the model is told about them."""
    offer_tokens: int
    """What the offer adds to each request, guessed."""
    gate: ClosedGate
    tools: Toolbox
    guard: ResultGuard
    conversation: Conversation
    bounds: Bounds
    sleep: Sleep


@dataclass(frozen=True, slots=True)
class _Used:
    """What became of one working tool call."""

    call: ToolCallPart
    result: ToolResult
    ran: bool
    note: str = ""
    """A warning of the breaker, or words of people, for the model."""
    halts: bool = False
    broken: GateBroken | None = None


class Turn:
    """Runs once. The working tools of an answer run first, in parallel, then its closing tool.

    A report ends the turn whatever the gate said to the tools beside it: closing is never denied.

    The session's first turn is the planning phase, if the order names a model for it. It is over
    when the agent ends it; a turn that was halted, that failed, or that asked for an increase goes
    on in the next one.
    """

    def __init__(
        self,
        desk: Desk,
        prompt: str,
        phase: Phase,
        most_model_calls: int | None,
        interrupted: asyncio.Event,
    ) -> None:
        order = desk.order
        self._desk = desk
        self._prompt = prompt
        self._phase = phase
        self._model = (phase is Phase.PLANNING and order.planning_model) or order.model
        self._calls_left = most_model_calls
        self._most_output = _most_output(order, is_summary=most_model_calls is not None)
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
                    break
            if self._phase is Phase.PLANNING and isinstance(end, Idle | Report):
                await self._desk.conversation.planned()
        except NoAnswer as error:
            return ProviderAway(error.failure)
        except (ModelFailed, NotSaved, GateBroken) as error:
            return RuntimeFailed(str(error))
        return end

    async def _step(self) -> TurnEnd | None:
        """One answer of the model and what it asks for."""
        if self._interrupted.is_set() or self._calls_left == 0:
            return self._halted()
        conversation = self._desk.conversation
        if conversation.has_answers and self._tokens(conversation.messages) >= self._most_tokens():
            return await self._compact()
        verdict = await self._judged(conversation.messages)
        if not verdict.allowed:
            return self._halted()
        if verdict.answer is Answer.WARN:
            await conversation.prompted(verdict.reason)
        most_output = verdict.most_output_tokens or self._most_output
        response = await self._ask(conversation.messages, {}, most_output)
        if response is None:
            return self._halted()
        await self._used(response, has_text=bool((response.text or "").strip()))
        self._text = response.text or self._text
        if response.parts:  # an empty answer is refused by some providers when it is repeated
            await conversation.answered(response)
        if response.tool_calls:
            return await self._use_tools(response, most_output)
        if response.finish_reason != _CUT_OFF:
            return Idle(self._words())
        await conversation.prompted(_cut_off_words("Your answer", most_output))
        return self._after_fruitless_answer()

    def _tokens(self, messages: Sequence[ModelMessage]) -> int:
        return tokens_of(messages, self._desk.offer_tokens)

    async def _judged(self, messages: Sequence[ModelMessage]) -> Verdict:
        """The gate's verdict on the request with these messages."""
        size = self._tokens(messages)
        request = ModelRequest(self._model, size, self._most_output, self._phase)
        return await self._desk.gate.before_model(request)

    async def _ask(
        self, messages: list[ModelMessage], settings: ModelSettings, most_output: int | None
    ) -> ModelResponse | None:
        """The model's answer; None if the turn was interrupted meanwhile."""
        if self._interrupted.is_set():
            return None
        desk = self._desk
        if self._calls_left is not None:
            self._calls_left -= 1
        if most_output is not None:
            settings = {**settings, "max_tokens": most_output}
        model = desk.models[self._model]
        asked = ask(self._model, model, messages, desk.offer, settings, desk.bounds, desk.sleep)
        return await unless(self._interrupted, asked)

    async def _used(self, response: ModelResponse, *, has_text: bool) -> None:
        """Report an answer of the model. Raises `GateBroken`."""
        usage, seen = response.usage, said_tokens(response)
        output = counted(usage.output_tokens)
        is_told = output > 0 or seen == 0
        await self._desk.gate.used(
            ModelUsage(
                self._model,
                counted(usage.input_tokens),
                output if is_told else seen,
                counted(usage.cache_read_tokens),
                counted(usage.cache_write_tokens),
                self._phase,
                has_text,
                is_estimate=not is_told,
            )
        )

    async def _use_tools(self, response: ModelResponse, most_output: int | None) -> TurnEnd | None:
        whole, cut_off = _told_apart(response)
        closings = self._desk.tools.closing
        working = [call for call in whole if call.tool_name not in closings]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._use(call)) for call in working]
        used = [task.result() for task in tasks]
        results = self._told(used)
        closing, closed = self._close([call for call in whole if call.tool_name in closings])
        results.extend(closed)
        if cut_off is not None:
            words = _cut_off_words("This call", most_output)
            results.append(returned(cut_off, words, ok=False))
        await self._desk.conversation.returned(results, [each.note for each in used if each.note])
        for each in used:
            if each.broken is not None:
                raise each.broken
        if closing is not None:
            return reported(closing)
        if any(each.halts for each in used):
            return self._halted()
        if any(each.ran for each in used):
            self._fruitless_answers = 0
            return None
        return self._after_fruitless_answer()

    async def _use(self, part: ToolCallPart) -> _Used:
        """Ask the gate about one working tool call and run it if it is allowed."""
        call = self._desk.tools.asked(part)
        verdict = await self._desk.gate.before_tool(call)
        if not verdict.allowed:
            denied = ToolResult(ok=False, exit_code=None, output=verdict.reason)
            return _Used(part, denied, ran=False, halts=verdict.answer is Answer.HALT)
        note = verdict.reason if verdict.answer is Answer.WARN else ""
        try:
            result = await self._desk.tools.run(part)
        except asyncio.CancelledError:
            with suppress(GateBroken):  # the session ends, whatever the gate says to it
                await self._desk.gate.after_tool(call, CUT_OFF)
            raise
        try:
            words = await self._desk.gate.after_tool(call, result)
        except GateBroken as error:
            return _Used(part, result, ran=True, note=note, broken=error)
        note = "\n\n".join(filter(None, (note, words)))
        return _Used(part, result, ran=True, note=note)

    def _told(self, used: Sequence[_Used]) -> list[ToolReturnPart]:
        """The results of one answer as the model is told them."""
        desk = self._desk
        share = desk.bounds.most_results_characters // max(len(used), 1)
        told_before, told = desk.conversation.results, list[ToolReturnPart]()
        for each in used:
            if each.ran:
                keep = each.call.tool_name != RESULT  # it was kept before
                before = (*told_before, *told)
                told.append(desk.guard.told(each.call, each.result, share, before, keep=keep))
            else:
                told.append(returned(each.call, each.result.output, ok=False))
        return told

    def _close(
        self, calls: Sequence[ToolCallPart]
    ) -> tuple[ClosingTool | None, list[ToolReturnPart]]:
        """The first closing call that is well-formed, and the results of all of them."""
        chosen: ClosingTool | None = None
        results = []
        for call in calls:
            try:
                closing = parsed(self._desk.tools.closing[call.tool_name], call)
            except BadCall as error:
                results.append(returned(call, str(error), ok=False))
                continue
            if chosen is None:
                chosen = closing
                results.append(returned(call, "Reported.", ok=True))
            else:
                results.append(returned(call, "You have reported already.", ok=False))
        return chosen, results

    async def _compact(self) -> TurnEnd | None:
        """Put a summary in the place of the conversation; the turn goes on."""
        conversation = self._desk.conversation
        messages = conversation.asking_for_a_summary()
        request = await self._judged(messages)
        if not request.allowed:
            return self._halted()
        most_output = request.most_output_tokens or self._most_output
        response = await self._ask(messages, {"tool_choice": "none"}, most_output)
        if response is None:
            return self._halted()
        await self._used(response, has_text=False)  # said to itself, not to people
        if not response.text:
            raise ModelFailed(
                f"{self._model} did not summarise the conversation, which is close to the end of"
                " its context window"
            )
        notes = [request.reason] if request.answer is Answer.WARN else []
        await conversation.compacted(self._prompt, response.text, notes)
        return None

    def _most_tokens(self) -> float:
        """When to compact: the smallest window counts, the next turn may be on another model."""
        known = self._desk.bounds.context_tokens
        windows = (known or context_tokens(each) for each in self._desk.models.values())
        return min(windows) * self._desk.bounds.compact_at

    def _after_fruitless_answer(self) -> TurnEnd | None:
        self._fruitless_answers += 1
        too_many = self._fruitless_answers >= self._desk.bounds.most_fruitless_answers
        return self._halted() if too_many else None

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


def _cut_off_words(what: str, most_output: int | None) -> str:
    bound = (
        "the most that it may have"
        if most_output is None
        else f"{most_output} tokens, the most allowed"
    )
    return (
        f"{what} was cut off: the answer had reached {bound}. Nothing of what was cut off was"
        " done. Go on in smaller steps: write less at once, a file in parts."
    )


def _told_apart(response: ModelResponse) -> tuple[list[ToolCallPart], ToolCallPart | None]:
    """The tool calls that came whole, and the one in the middle of which the answer was cut off.

    Its arguments may be well-formed and still miss something: it must not run.
    """
    calls = list(response.tool_calls)
    is_cut = response.finish_reason == _CUT_OFF and response.parts[-1] is calls[-1]
    return (calls[:-1], calls[-1]) if is_cut else (calls, None)


def _most_output(order: SessionOrder, *, is_summary: bool) -> int | None:
    """Tokens of one answer. A summary is short, so that less money has to be left for it."""
    if not is_summary:
        return order.most_output_tokens
    return min(order.most_output_tokens or SUMMARY_TOKENS, SUMMARY_TOKENS)
