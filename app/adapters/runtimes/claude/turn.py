"""What is known of the running turn, and what it may still do: the gate is asked here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.adapters.runtimes.claude.bounds import Bounds
from app.adapters.runtimes.claude.calls import (
    Confines,
    gate_arguments,
    kind_of,
    own_name,
)
from app.adapters.runtimes.closing import ClosingTool
from app.adapters.runtimes.gate import ClosedGate, GateBroken
from app.adapters.runtimes.granted import Granted
from app.adapters.runtimes.serving import TASK
from app.core.agents.events import ToolKind
from app.core.breaker.verdict import Answer, Verdict
from app.ports import CUT_OFF, Gate, ModelRequest, ModelUsage, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Offer:
    """What the session may use."""

    tools: frozenset[str]
    """The CLI's own."""
    served: frozenset[str]
    """Ours that do something, by our names."""
    closing: frozenset[str]
    """Ours that end a turn; the gate is never asked about them."""
    confines: Confines


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether a tool runs."""

    allowed: bool
    reason: str = ""
    stops: bool = False
    """The turn ends."""


@dataclass(slots=True)
class Turn:
    """One turn; made anew for each prompt."""

    gate: ClosedGate
    offer: Offer
    bounds: Bounds
    calls_left: int | None
    """Of the model; None: as the gate allows."""
    closing: ClosingTool | None = None
    broken: GateBroken | None = None
    is_halted: bool = False
    is_interrupted: bool = False
    running: dict[str, ToolCall] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    """Ids of all calls that the gate was asked about, and of the closing ones."""
    notes: list[str] = field(default_factory=list)
    """Warnings, and words of people, that the model has not been told yet."""
    granted: Granted = field(init=False)
    """Calls of tools that are served here."""
    _has_answered: bool = False
    _has_run: bool = False
    _fruitless_answers: int = 0

    def __post_init__(self) -> None:
        self.granted = Granted(self.offer.served)

    @property
    def must_stop(self) -> bool:
        """Whether the model may not be asked any more in this turn."""
        return (
            self.is_halted
            or self.is_interrupted
            or self.broken is not None
            or self.closing is not None
        )

    def asks_the_model(self) -> str:
        """Why the model is not asked once more; empty: it may be."""
        if self._has_answered:
            self._fruitless_answers = 0 if self._has_run else self._fruitless_answers + 1
            self._has_answered = self._has_run = False
        if self._fruitless_answers >= self.bounds.most_fruitless_answers:
            self.is_halted = True
            return "Too many answers in a row of which nothing ran."
        if self.must_stop or self.calls_left == 0:
            self.is_halted = True
            return "The turn is over."
        if self.calls_left is not None:
            self.calls_left -= 1
        return ""

    def answered(self) -> None:
        """The model has answered."""
        self._has_answered = True

    async def may_run(self, tool: str, args: Mapping[str, object], call_id: str) -> Ruling:
        """Whether a tool that the model asks for runs."""
        self.asked.add(call_id)
        own = own_name(tool)
        if own in self.offer.closing:
            return Ruling(allowed=True)
        if self.must_stop:
            return Ruling(allowed=False, reason="The turn is over; nothing runs.", stops=True)
        call = self._call(tool, args, call_id)
        verdict = await self.gate.before_tool(call)
        if not verdict.allowed:
            self.is_halted = self.is_halted or verdict.answer is Answer.HALT
            return Ruling(allowed=False, reason=verdict.reason, stops=self.is_halted)
        self.running[call_id] = call
        if refusal := self._refusal(tool, own, args):
            stops = await self.ended(call_id, ToolResult(False, None, refusal))
            return Ruling(allowed=False, reason=refusal, stops=stops)
        self._has_run = True
        if own is not None:
            self.granted.allow(own, args)
        if verdict.answer is Answer.WARN:
            self.notes.append(verdict.reason)
        return Ruling(allowed=True, reason=self.told())

    def told(self) -> str:
        """What the model has to read; it is told once."""
        notes, self.notes = "\n\n".join(self.notes), []
        return notes

    async def ended(self, call_id: str, result: ToolResult) -> bool:
        """An allowed tool has ended; whether the turn ends with it."""
        call = self.running.pop(call_id, None)
        if call is not None:
            try:
                words = await self.gate.after_tool(call, result)
            except GateBroken as error:
                self.broken = error
            else:
                self.notes += filter(None, [words])
        return self.must_stop

    async def refused_by_cli(self, tool: str, args: Mapping[str, object], call_id: str) -> None:
        """The CLI knew no such tool, or not with these arguments, and asked nobody: it counts."""
        if call_id in self.asked or own_name(tool) in self.offer.closing:
            return
        self.asked.add(call_id)
        call = self._call(tool, args, call_id)
        verdict = await self.gate.before_tool(call)
        if verdict.allowed:
            self.running[call_id] = call
            await self.ended(call_id, ToolResult(False, None, "(refused: no such call)"))
        elif verdict.answer is Answer.HALT:
            self.is_halted = True

    async def is_over(self) -> None:
        """Nothing runs any more: what the CLI has not told the end of was cancelled."""
        for call_id in list(self.running):
            await self.ended(call_id, CUT_OFF)

    def _call(self, tool: str, args: Mapping[str, object], call_id: str) -> ToolCall:
        own = own_name(tool)
        name = tool if own is None else own
        known = tool in self.offer.tools
        kind = kind_of(tool) if known else ToolKind.OTHER
        spawns = own == TASK and TASK in self.offer.served
        return ToolCall(call_id, name, gate_arguments(args), kind, spawns)

    def _refusal(self, tool: str, own: str | None, args: Mapping[str, object]) -> str:
        is_offered = tool in self.offer.tools if own is None else own in self.offer.served
        if not is_offered:
            return f"There is no tool {tool[:100]!r} here."
        return self.offer.confines.refusal(tool, args)


class DoorGate:
    """What the door to the model asks: the gate, unless the turn is over anyway."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.turn: Turn | None = None

    async def before_model(self, request: ModelRequest) -> Verdict:
        """As the gate, which is not asked for what is not sent."""
        turn = self.turn
        why = "No turn is running." if turn is None else turn.asks_the_model()
        if turn is None or why:
            return Verdict(Answer.HALT, why)
        verdict = await self._gate.before_model(request)
        if verdict.answer is Answer.WARN:
            turn.notes.append(verdict.reason)
        return verdict

    async def used(self, usage: ModelUsage) -> None:
        """The model has answered."""
        if self.turn is not None:
            self.turn.answered()
        await self._gate.used(usage)

    async def before_turn(self) -> Verdict:
        """As the gate."""
        return await self._gate.before_turn()

    async def before_tool(self, call: ToolCall) -> Verdict:
        """As the gate."""
        return await self._gate.before_tool(call)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> str:
        """As the gate."""
        return await self._gate.after_tool(call, result)
