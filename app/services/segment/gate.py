"""The gate of one running segment: every ask is judged, stored, and only then answered.

It fails closed: an answer that could not be stored is a denial (a turn that could not be stored
raises: the segment is tried again), and a gate whose segment was taken over by somebody else
denies everything from then on.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from app.core.agents.agent import Agent
from app.core.agents.clock_set import clock_set
from app.core.agents.counters import Counters, after, fold
from app.core.agents.events import (
    AgentEvent,
    Ask,
    ModelAsked,
    ModelCalled,
    SentBack,
    Spoke,
    SuiteAsked,
    Ticked,
    ToolAsked,
    ToolDenied,
    ToolEnded,
    ToolKind,
    TurnAsked,
)
from app.core.agents.loops import call_key, error_key, result_key
from app.core.agents.stops import Layer
from app.core.breaker.answers import USUAL_ANSWER_TOKENS, Question, answer_tokens
from app.core.breaker.running_tools import tool_wait_seconds
from app.core.breaker.verdict import Answer, Verdict, decide, is_affordable, left
from app.core.limits import LimitName
from app.core.money import PriceOf
from app.core.rules.outages import ProviderFailure, provider_of
from app.core.rules.plan import RoleKind
from app.core.text.redact import Redactor
from app.core.words.glance import Glance, NotedGlance, counted_on, glance
from app.core.words.prompts import CONTINUE_TASK
from app.core.words.report import report
from app.ports import (
    Clock,
    ModelRequest,
    ModelUsage,
    ParseShell,
    Store,
    StoreUnavailable,
    ToolCall,
    ToolResult,
    Workspace,
    WorkspaceFailed,
)
from app.services.moves import agent_log
from app.services.world import World, clock_lead, page_of
from app.testruns import Outcome, Suite, may_change, may_restore, outcome_of, suite_of
from app.testruns.shell_line import SHELL_TOOLS
from app.testruns.waiting import is_waiting

MOST_WHAT_CHARACTERS: Final = 500
MOST_FAILURES_CHARACTERS: Final = 500
MOST_TEST_OUTPUT: Final = 2_000
"""Characters that are kept of a test run that did not pass: its end."""
_MOST_SENT: Final = 100
"""Requests of which it is remembered how large they were."""
_CHANGES: Final = frozenset({ToolKind.SHELL, ToolKind.WRITE})

log = logging.getLogger("squadron.gate")


@dataclass(frozen=True, slots=True)
class _Running:
    """What has to be known of a call when it ends."""

    suite: Suite | None
    waits: bool
    waits_for_another: bool
    """It lasts as long as a sub-agent works."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What a shell command asks of the tests."""

    suite: Suite | None
    waits: bool
    """It only waits."""
    may_change: bool
    """It may change files before its tests run."""
    may_restore: bool
    """And may change them back."""
    text: str
    """The command as the shell reads it."""


@dataclass(frozen=True, slots=True)
class _Shell:
    """What a call of a shell asks for; of any other tool, nothing."""

    suite: SuiteAsked | None = None
    waits: bool = False
    text: str | None = None


class Superseded(Exception):
    """Somebody else moved the agent on; this segment must stop and write nothing more."""


class BreakerGate:
    """`ports.Gate` for one attempt of one segment."""

    def __init__(
        self,
        agent: Agent,
        counters: Counters,
        next_seq: int,
        seen: Glance,
        *,
        store: Store,
        workspace: Workspace,
        parse: ParseShell,
        price_of: PriceOf,
        redact: Redactor,
        clock: Clock,
        page: str,
    ) -> None:
        """`seen`: what lists show of it; `page`: the repository's in a browser."""
        self._agent = agent
        self._counters = counters
        self._seen = seen
        self._seen_seq = 0
        self._next_seq = next_seq
        self._directory: Path | None = None
        self._store = store
        self._workspace = workspace
        self._parse = parse
        self._price_of = price_of
        self._clock = clock
        self._page = page
        self.redact = redact
        self._lock = asyncio.Lock()
        self._in_turn = asyncio.Lock()
        """Tools are judged in the order in which they were asked for, however long it takes to
        read what each of them would run; and before anything that comes of the first of them."""
        self._running: dict[str, _Running] = {}
        self._runs_nothing = asyncio.Event()
        self._runs_nothing.set()
        self.tools_are_over = False
        """Whether the tools that ran at the stop have had their time."""
        self._listen: Callable[[], Awaitable[str]] | None = None
        self._untold: list[str] = []
        self._last_words_calls = 0
        self._sent_tokens: deque[int] = deque(maxlen=_MOST_SENT)
        self.answered = frozenset[str]()
        """Providers that have given a whole answer."""
        self.missing: ProviderFailure | None = None
        """How the provider of a sub-agent is away, without which the agent cannot go on."""
        self.tripped = asyncio.Event()
        self.held = asyncio.Event()
        self.superseded = asyncio.Event()

    @classmethod
    def going_on(cls, world: World, agent: Agent, history: Sequence[AgentEvent]) -> Self:
        """The gate of an agent whose log is `history`, in full."""
        return cls(
            agent,
            fold(history),
            len(history) + 1,
            glance(report(agent, history, world.clock.now())),
            store=world.store,
            workspace=world.workspace,
            parse=world.parse,
            price_of=world.price_of,
            redact=world.redact,
            clock=world.clock,
            page=page_of(world, agent),
        )

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

    async def before_model(self, request: ModelRequest) -> Verdict:
        """May this request be sent to the model? Judged by the most that it may cost, with an
        answer that is no longer than what is left pays for: the verdict says how long."""
        verdict = await self._before_model(request)
        if verdict.allowed:
            self._sent_tokens.append(request.input_tokens)
        return verdict

    async def _before_model(self, request: ModelRequest) -> Verdict:
        question = Question(
            request.phase,
            request.input_tokens,
            self._price_of(request.model, self._clock.now()),
            request.most_output_tokens,
            request.least_output_tokens,
        )
        if self._counters.stop is not None and self._last_words_calls > 0:
            self._last_words_calls -= 1
            async with self._lock:
                ask, most_output_tokens = self._bounded(question, self._clock.now())
                if is_affordable(self._counters, ask, self._agent.assignment.limits):
                    await self._record([ask])
                    return Verdict(Answer.ALLOW, most_output_tokens=most_output_tokens)
        return await self._ask_or_deny(question)

    def _bounded(self, question: Question, at: datetime) -> tuple[ModelAsked, int | None]:
        """The ask, and the bound of the answer that its estimate counts with."""
        limits = self._agent.assignment.limits
        most = answer_tokens(question, self._counters, limits, at)
        estimate = question.estimate_nanousd(most or USUAL_ANSWER_TOKENS)
        return ModelAsked(at=at, phase=question.phase, estimate_nanousd=estimate), most

    def grant_last_words(self, most_model_calls: int) -> None:
        """After a trip the model may be asked so many times more, for the summary alone (seed
        002, escalation flow), as far as the money goes. They are counted; nothing else is
        allowed."""
        self._last_words_calls = most_model_calls

    @property
    def runs_tools(self) -> bool:
        """Whether a tool that was allowed has not ended."""
        return bool(self._running)

    @property
    def runs_sub_agents(self) -> bool:
        """Whether one of these tools waits for a sub-agent."""
        return any(each.waits_for_another for each in self._running.values())

    async def tools_ended(self) -> None:
        """Wait until no tool runs."""
        await self._runs_nothing.wait()

    @property
    def tool_wait_seconds(self) -> float:
        """How long the tools may still take that run although the agent was stopped: no longer than
        the agent may work."""
        if self.tools_are_over:
            return 0
        limits, name = self._agent.assignment.limits, LimitName.MAX_ACTIVE_DURATION
        active_left = left(self._counters, limits, name, self._clock.now())
        wait = tool_wait_seconds(self._counters.stop, limits)
        return wait if active_left is None else min(wait, active_left)

    def listens(self, listen: Callable[[], Awaitable[str]]) -> None:
        """`listen` tells what people have written since it was asked last, for the model."""
        self._listen = listen

    async def before_tool(self, call: ToolCall) -> Verdict:
        """May this working tool run? With its verdict the model reads what people have written
        while it thought."""
        if self._agent.assignment.kind is RoleKind.REVIEW and call.kind in _CHANGES:
            verdict = await self._read_only(call)
        else:
            async with self._in_turn:
                verdict = await self._judged(call)
        words = "" if verdict.answer is Answer.HALT else await self._words()
        if not words:
            return verdict
        answer = Answer.WARN if verdict.allowed else verdict.answer
        reason = "\n\n".join(filter(None, (verdict.reason, words)))
        return replace(verdict, answer=answer, reason=reason)

    async def _judged(self, call: ToolCall) -> Verdict:
        shell = await self._shell_asked(call)
        ask = ToolAsked(
            at=self._clock.now(),
            call=call.id,
            tool=self.redact(call.tool, 100),
            what=self._in_short(call.args),
            suite=shell.suite,
            kind=call.kind,
            key=call_key(call.tool, call.args, shell.text),
            spawns=call.spawns,
        )
        verdict = await self._ask_or_deny(ask)
        if verdict.allowed:
            suite = None if shell.suite is None else shell.suite.suite
            waits_for_another = call.spawns or call.tool == CONTINUE_TASK
            self._running[call.id] = _Running(suite, shell.waits, waits_for_another)
            self._runs_nothing.clear()
        return verdict

    async def _read_only(self, call: ToolCall) -> Verdict:
        """Whatever tools a runtime offers, a reviewer changes and runs nothing."""
        what, reason = self._in_short(call.args), "This role reads; it changes and runs nothing."
        denied = ToolDenied(
            at=self._clock.now(), tool=self.redact(call.tool, 100), what=what, reason=reason
        )
        await self.record_or_drop([denied])
        return Verdict(Answer.DENY, reason)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> str:
        """Record how an allowed tool ended, a test run also by its outcome; what people have
        written while it ran."""
        running = self._running.pop(call.id, _Running(None, False, False))
        if not self._running:
            self._runs_nothing.set()
        if result.is_cut_off:
            cut_off = ToolEnded(at=self._clock.now(), call=call.id, ok=False, cut_off=True)
            async with self._in_turn:
                await self.note(cut_off)
            return ""
        suite = running.suite
        outcome = outcome_of(suite, result.exit_code, result.output) if suite else None
        passed = outcome in (None, Outcome.PASSED)
        ended = ToolEnded(
            at=self._clock.now(),
            call=call.id,
            ok=result.ok,
            outcome=outcome,
            fingerprint=await self._fingerprint() if suite else None,
            failures="" if passed else self._failures(result.output),
            output="" if passed else self.redact.tail(result.output.strip(), MOST_TEST_OUTPUT),
            result=result_key(result.ok, result.exit_code, result.output, waits=running.waits),
            error="" if result.ok or suite is not None else error_key(result.output),
            changed=result.ok and call.kind is ToolKind.WRITE,
        )
        async with self._in_turn:
            await self.note(ended)
        return await self._words()

    async def _words(self) -> str:
        """What people have written, unless the agent has to stop: then it is in its next prompt."""
        is_over = self.tripped.is_set() or self.held.is_set() or self.superseded.is_set()
        return "" if self._listen is None or is_over else await self._listen()

    async def used(self, usage: ModelUsage) -> None:
        """Record an answer of the model, what it was billed for, and what that costs.

        An input that nobody reported is counted as what the request was guessed to be.
        """
        if usage.is_whole:
            self.answered |= {provider_of(usage.model)}
        now = self._clock.now()
        sent_tokens = self._sent_tokens.pop() if self._sent_tokens else 0
        if usage.input_tokens <= 0:
            usage = replace(usage, input_tokens=sent_tokens, is_estimate=True)
        price = self._price_of(usage.model, now)
        cost = (
            None
            if price is None
            else price.cost_nanousd(
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
            )
        )
        called = ModelCalled(
            at=now,
            model=usage.model,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cost_nanousd=cost,
            phase=usage.phase,
            is_estimate=usage.is_estimate,
        )
        if usage.is_estimate:
            log.warning(
                "usage estimated: %s did not say all that an answer used; counted %d tokens of"
                " input and %d of output",
                usage.model,
                usage.input_tokens,
                usage.output_tokens,
                extra={"agent": str(self._agent.id)},
            )
        if cost is None and not self._counters.unpriced_calls:
            log.warning(
                "cost unknown: %s has no price",
                usage.model,
                extra={"agent": str(self._agent.id)},
            )
        await self.record_or_drop([called, Spoke(at=now)] if usage.has_text else [called])

    async def tick(self) -> None:
        """Let time pass: the timer layer's check. A warning waits for the next tool call."""
        verdict = await self._ask(Ticked(at=self._clock.now()), Layer.TIMER)
        if verdict.answer is Answer.WARN:
            self._untold.append(verdict.reason)

    async def sent_back(self) -> Verdict:
        """May the agent have its work back, which is not sound? Counts as an iteration."""
        return await self._ask(SentBack(at=self._clock.now()))

    async def look(self) -> None:
        """See whether the segment is still the present one, if it does not ask for anything, and
        tell lists what it has used."""
        try:
            await self.record_or_drop([])
            await self._tell_lists()
        except StoreUnavailable as error:  # whoever asks for something then is denied it
            log.warning("not looked: %s", error, extra={"agent": str(self._agent.id)})

    async def _tell_lists(self) -> None:
        """If anything has happened since they were told last."""
        seq = self._next_seq - 1
        if self.superseded.is_set() or seq == self._seen_seq:
            return
        seen = counted_on(self._seen, self._agent, self._counters, self._clock.now())
        self._seen_seq = seq
        await self._store.note_glance(self._agent.id, NotedGlance(seen, seq))

    async def record(self, events: Sequence[AgentEvent]) -> None:
        """Append facts that need no judgement. Raises `Superseded`."""
        async with self._lock:
            await self._record(events)

    async def record_next(
        self, make: Callable[[Counters], Awaitable[Sequence[AgentEvent]]]
    ) -> None:
        """Append what follows from the counters, which stay as they are until it is stored, and of
        which all is a part that was asked for before.

        Raises `Superseded`, and what `make` raises; then nothing is appended.
        """
        async with self._in_turn, self._lock:
            await self._record(await make(self._counters))

    async def note(self, event: AgentEvent) -> None:
        """Record, unless the segment was taken over: then it is being stopped anyway."""
        await self.record_or_drop([event])

    async def record_or_drop(self, events: Sequence[AgentEvent]) -> None:
        """As `note`, for events that belong together."""
        try:
            await self.record(events)
        except Superseded:
            log.info("dropped an event of a superseded segment")

    def _set(self, counters: Counters) -> None:
        self._counters = counters
        if counters.stop is not None:
            self.tripped.set()
        elif counters.hold is not None:
            self.held.set()
        if counters.stop is not None or counters.hold is not None:
            self._untold.clear()  # too late for a warning

    async def _ask_or_deny(self, ask: Ask | Question) -> Verdict:
        try:
            return await self._ask(ask)
        except StoreUnavailable as error:
            log.error("denied: %s", error, extra={"agent": str(self._agent.id)})
            return Verdict(
                Answer.DENY,
                "The registry cannot be written now, and nothing runs that could not be counted."
                " Try again, or end with report_blocked.",
            )

    async def _ask(self, asked: Ask | Question, layer: Layer = Layer.HOOK) -> Verdict:
        async with self._lock:
            try:
                is_clock_set = await self._is_clock_set()
                ask: Ask
                most_output_tokens = None
                if isinstance(asked, Question):
                    ask, most_output_tokens = self._bounded(asked, self._clock.now())
                else:
                    ask = replace(asked, at=self._clock.now()) if is_clock_set else asked
                decision = decide(self._counters, ask, self._agent.assignment.limits, layer)
                await self._store_events(decision.events)
            except Superseded:
                return Verdict(Answer.DENY, "This segment was taken over; nothing runs any more.")
            self._set(decision.counters)
            verdict = decision.verdict
            if verdict.allowed and most_output_tokens is not None:
                verdict = replace(verdict, most_output_tokens=most_output_tokens)
            self._log(ask, verdict)
            for event in decision.events:
                agent_log.tell(self._page, self._agent, decision.counters, event)
            if verdict.allowed and self._untold and not isinstance(ask, Ticked):
                told = " ".join([*self._untold, verdict.reason]).strip()
                self._untold.clear()
                return replace(verdict, answer=Answer.WARN, reason=told)
            return verdict

    async def _record(self, events: Sequence[AgentEvent]) -> None:
        if await self._is_clock_set():
            events = [replace(event, at=self._clock.now()) for event in events]
        await self._store_events(events)
        self._set(fold(events, self._counters))
        for event in events:
            agent_log.tell(self._page, self._agent, self._counters, event)

    async def _is_clock_set(self) -> bool:
        """Whether somebody has set the machine's clock since the last event: that is noted, and
        no instant counts that was read before."""
        told = clock_set(self._counters, clock_lead(self._clock), self._clock.now())
        if told is None:
            return False
        await self._store_events([told])
        self._set(after(self._counters, told))
        log.warning(
            "the machine's clock was set by %s seconds",
            f"{told.by_seconds:+.0f}",
            extra={"agent": str(self._agent.id)},
        )
        return True

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

    async def _shell_asked(self, call: ToolCall) -> _Shell:
        """What a shell call asks of the tests, and whether it only waits."""
        command = call.args.get("command")
        if call.tool not in SHELL_TOOLS or not isinstance(command, str):
            return _Shell()
        read = await asyncio.to_thread(self._read, command, call.pipefail)
        if read.suite is None:
            return _Shell(None, read.waits, read.text)
        asked = SuiteAsked(
            suite=read.suite,
            fingerprint=await self._fingerprint(),
            may_change=read.may_change,
            may_restore=read.may_restore,
        )
        return _Shell(asked, waits=False, text=read.text)

    def _read(self, command: str, pipefail: bool) -> _Read:
        """Takes its time with what an agent has made long or odd: nobody waits for it."""
        line, rules = self._parse(command, pipefail=pipefail), self._agent.assignment.suites
        suite = suite_of(line, rules, str(self._directory or ""))
        if suite is None:
            return _Read(
                None, is_waiting(line), may_change=False, may_restore=False, text=line.text
            )
        return _Read(
            suite,
            waits=False,
            may_change=may_change(line, rules),
            may_restore=may_restore(line, rules),
            text=line.text,
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

    def _in_short(self, args: Mapping[str, object]) -> str:
        """The command line, or the path: what a person wants to see of a call."""
        for key in ("command", "path"):
            value = args.get(key)
            if isinstance(value, str):
                return self.redact(value, MOST_WHAT_CHARACTERS)
        return self.redact(json.dumps(dict(args), default=str), MOST_WHAT_CHARACTERS)

    def _failures(self, output: str) -> str:
        """The last line that says something."""
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        return self.redact(lines[-1], MOST_FAILURES_CHARACTERS) if lines else ""
