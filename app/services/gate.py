"""The gate of one running segment: every ask is judged, stored, and only then answered.

It fails closed: an answer that could not be stored is a denial, and a gate whose segment was
taken over by somebody else denies everything from then on.
"""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from app.core.agent import Agent
from app.core.breaker import Answer, Verdict, decide
from app.core.counters import Counters, fold
from app.core.events import (
    AgentEvent,
    Ask,
    Layer,
    ModelCalled,
    SuiteAsked,
    Ticked,
    ToolAsked,
    ToolEnded,
    TurnAsked,
)
from app.core.redact import redact
from app.core.shell_line import SHELL_TOOLS
from app.core.testruns import Outcome, Suite, may_change, outcome_of, suite_of
from app.ports import (
    Clock,
    ModelUsage,
    ParseShell,
    Store,
    ToolCall,
    ToolResult,
    Workspace,
    WorkspaceFailed,
)

MOST_WHAT_CHARACTERS: Final = 500
MOST_FAILURES_CHARACTERS: Final = 500

log = logging.getLogger("squadron.gate")


class Superseded(Exception):
    """Somebody else moved the agent on; this segment must stop and write nothing more."""


class BreakerGate:
    """`ports.Gate` for one attempt of one segment."""

    def __init__(
        self,
        agent: Agent,
        counters: Counters,
        next_seq: int,
        *,
        store: Store,
        workspace: Workspace,
        parse: ParseShell,
        clock: Clock,
    ) -> None:
        self._agent = agent
        self._counters = counters
        self._next_seq = next_seq
        self._directory: Path | None = None
        self._store = store
        self._workspace = workspace
        self._parse = parse
        self._clock = clock
        self._lock = asyncio.Lock()
        self._suites: dict[str, Suite] = {}
        self._untold: list[str] = []
        self.tripped = asyncio.Event()
        self.superseded = asyncio.Event()

    @property
    def counters(self) -> Counters:
        """As of the last event that was stored."""
        return self._counters

    def enter(self, directory: Path) -> None:
        """From now on test runs are compared by the content of this workspace."""
        self._directory = directory

    async def before_turn(self) -> Verdict:
        """May one more prompt be sent? Counts as a turn."""
        return await self._ask(TurnAsked(at=self._clock.now()))

    async def before_tool(self, call: ToolCall) -> Verdict:
        """May this working tool run?"""
        asked = await self._suite_asked(call)
        if asked is not None:
            self._suites[call.id] = asked.suite
        ask = ToolAsked(
            at=self._clock.now(),
            call=call.id,
            tool=call.tool[:100],
            what=_in_short(call.args),
            suite=asked,
        )
        return await self._ask(ask)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> None:
        """Record how an allowed tool ended; a test run also by its outcome."""
        suite = self._suites.pop(call.id, None)
        outcome = outcome_of(suite, result.exit_code, result.output) if suite else None
        passed = outcome in (None, Outcome.PASSED)
        ended = ToolEnded(
            at=self._clock.now(),
            call=call.id,
            ok=result.ok,
            outcome=outcome,
            fingerprint=await self._fingerprint() if suite else None,
            failures="" if passed else redact(_last_line(result.output)),
        )
        await self.note(ended)

    async def used(self, usage: ModelUsage) -> None:
        """Record an answer of the model and what it was billed for."""
        called = ModelCalled(
            at=self._clock.now(),
            model=usage.model,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
        )
        await self.note(called)

    async def tick(self) -> None:
        """Let time pass: the timer layer's check. A warning waits for the next tool call."""
        verdict = await self._ask(Ticked(at=self._clock.now()), Layer.TIMER)
        if verdict.answer is Answer.WARN:
            self._untold.append(verdict.reason)

    async def record(self, events: Sequence[AgentEvent]) -> None:
        """Append facts that need no judgement. Raises `Superseded`."""
        async with self._lock:
            await self._store_events(events)
            self._counters = fold(events, self._counters)
            if self._counters.trip is not None:
                self.tripped.set()

    async def note(self, event: AgentEvent) -> None:
        """Record, unless the segment was taken over: then it is being stopped anyway."""
        try:
            await self.record([event])
        except Superseded:
            log.info("dropped an event of a superseded segment")

    async def _ask(self, ask: Ask, layer: Layer = Layer.HOOK) -> Verdict:
        async with self._lock:
            decision = decide(self._counters, ask, self._agent.assignment.limits, layer)
            try:
                await self._store_events(decision.events)
            except Superseded:
                return Verdict(Answer.DENY, "This segment was taken over; nothing runs any more.")
            self._counters = decision.counters
            verdict = decision.verdict
            self._log(ask, verdict)
            if self._counters.trip is not None:
                self.tripped.set()
            if verdict.allowed and self._untold and not isinstance(ask, Ticked):
                told = " ".join([*self._untold, verdict.reason]).strip()
                self._untold.clear()
                return Verdict(Answer.WARN, told, verdict.limit, verdict.observed, verdict.maximum)
            return verdict

    async def _store_events(self, events: Sequence[AgentEvent]) -> None:
        if self.superseded.is_set():
            raise Superseded(str(self._agent.id))
        appended = await self._store.append(
            self._agent.id, self._agent.segment, self._next_seq, events
        )
        if not appended:
            self.superseded.set()
            log.warning("segment superseded", extra={"agent": str(self._agent.id)})
            raise Superseded(str(self._agent.id))
        self._next_seq += len(events)

    async def _suite_asked(self, call: ToolCall) -> SuiteAsked | None:
        if call.tool not in SHELL_TOOLS:
            return None
        command = call.args.get("command")
        if not isinstance(command, str):
            return None
        line, rules = self._parse(command), self._agent.assignment.suites
        suite = suite_of(line, rules)
        if suite is None:
            return None
        return SuiteAsked(
            suite=suite,
            fingerprint=await self._fingerprint(),
            may_change=may_change(line, rules),
        )

    async def _fingerprint(self) -> str:
        """Without a fingerprint the workspace counts as changed: never in the agent's favour."""
        assert self._directory is not None, "a tool was asked for before there was a workspace"
        try:
            return await self._workspace.fingerprint(self._directory)
        except WorkspaceFailed as error:
            log.warning("no fingerprint: %s", error, extra={"agent": str(self._agent.id)})
            return f"unknown-{self._next_seq}"

    def _log(self, ask: Ask, verdict: Verdict) -> None:
        if isinstance(ask, Ticked) and verdict.answer is Answer.ALLOW:
            return
        log.info(
            "verdict",
            extra={
                "agent": str(self._agent.id),
                "role": self._agent.id.role,
                "issue": self._agent.id.issue,
                "asked": type(ask).__name__,
                "answer": verdict.answer.value,
                "reason": verdict.reason,
            },
        )


def _in_short(args: Mapping[str, object]) -> str:
    """The command line, or the path: what a person wants to see of a call."""
    for key in ("command", "path"):
        value = args.get(key)
        if isinstance(value, str):
            return redact(value)[:MOST_WHAT_CHARACTERS]
    return redact(json.dumps(dict(args), default=str))[:MOST_WHAT_CHARACTERS]


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:MOST_FAILURES_CHARACTERS] if lines else ""
