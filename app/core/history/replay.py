"""Replay: what limits would have done to a recorded run of any agent system.

The transcript is turned into the events of a live agent and judged by the same breaker. A limit
that would have stopped the run is noted, and the run goes on without it, so that one pass tells of
every limit; the first stop is the trip. Time is the transcript's own.

Money and tokens are judged by what each recorded call was billed, not by an estimate before it,
which no transcript knows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from app.core.agents.counters import Counters, seconds
from app.core.agents.events import (
    ClosingTool,
    ModelAsked,
    ModelCalled,
    SegmentStarted,
    Spoke,
    SuiteAsked,
    Ticked,
    ToolAsked,
    ToolEnded,
    ToolKind,
    TurnAsked,
)
from app.core.agents.loops import Loops, call_key, error_key, result_key
from app.core.agents.signs import Signs
from app.core.agents.stops import Layer
from app.core.history.onward import ON_TIME, Mark, Onward
from app.core.history.transcript import (
    Message,
    ModelCall,
    Step,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)
from app.core.limits import LimitName, Limits
from app.core.money import Price, PriceOf
from app.testruns import Suite, SuiteRules, may_change, outcome_of, suite_of
from app.testruns.shell_line import ShellLine
from app.testruns.waiting import is_waiting

CLOSING: Final = frozenset({*ClosingTool, "request_increase"})
"""Calls that no limit counts."""
SPAWNING: Final = frozenset({"task", "Task", "Agent"})
"""Tools that start a sub-agent, as the systems call them."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Amounts of a run, or of a part of it."""

    tool_calls: int
    model_calls: int
    tokens: int | None
    """None: the transcript does not say what its model calls used."""
    cost_nanousd: int | None
    """None: nobody knows what the run cost."""
    seconds: float


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A limit that the transcript says too little for."""

    limit: LimitName
    reason: str


@dataclass(frozen=True, slots=True)
class Replay:
    """What became of one transcript."""

    events: int
    """Steps in the transcript."""
    tool_calls: int
    """Asked for in the transcript, denied ones and those of sub-agents included."""
    spent: Spent
    """By the whole run."""
    stops: tuple[Mark, ...]
    """Where each limit would have stopped it, in order; the first is the trip."""
    warnings: tuple[Mark, ...]
    passed: tuple[Mark, ...]
    """Limits that were reached and would have let it go on: `warn` and shadow."""
    not_judged: tuple[NotJudged, ...]
    saved: Spent
    """What came after the first stop."""
    counters: Counters
    """At the end, as if nothing had stopped the run."""

    @property
    def trip(self) -> Mark | None:
        """Where the run would have been stopped; None: nowhere."""
        return self.stops[0] if self.stops else None


class Parse(Protocol):
    """What a shell would run, with `-o pipefail` or without."""

    def __call__(self, command: str, *, pipefail: bool) -> ShellLine: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """What a run is replayed against."""

    limits: Limits
    suites: SuiteRules
    parse: Parse
    price_of: PriceOf


def replay(transcript: Transcript, rules: Rules) -> Replay:
    """Fold the whole transcript. Pure, and the same every time."""
    run = _Run(transcript, rules)
    for step in transcript.steps:
        run.take(step)
    return run.result()


@dataclass(frozen=True, slots=True)
class _Command:
    """What a command line is, whoever runs it."""

    suite: Suite | None = None
    waits: bool = False
    may_change: bool = False
    """Whether it may change files, before the tests too that it runs."""
    text: str | None = None
    """As the shell reads it."""


_NOTHING_REPEATED: Final = (Loops(), Signs())
_NO_COMMAND: Final = _Command()
"""A call that is no command line."""


@dataclass(frozen=True, slots=True)
class _Running:
    """What has to be known of a call when it ends."""

    kind: ToolKind
    command: _Command


class _Run:
    def __init__(self, transcript: Transcript, rules: Rules) -> None:
        self._transcript = transcript
        self._rules = rules
        self._denied = {
            step.id for step in transcript.steps if isinstance(step, ToolResult) and step.denied
        }
        self._model_calls = [step for step in transcript.steps if isinstance(step, ModelCall)]
        self._breaker = Onward(rules.limits)
        self._prices: dict[tuple[str, datetime], Price | None] = {}
        self._commands: dict[tuple[str, bool], _Command] = {}
        self._running: dict[str, _Running] = {}
        self._repeated: dict[str, tuple[Loops, Signs]] = {}
        """Of each sub-agent."""
        self._changes = 0
        """Stands for the content of the workspace, which no transcript knows."""
        self._has_begun = False
        self._closed = False

    def take(self, step: Step) -> None:
        """One step. Between turns nobody waits for the session: that time is not its own."""
        is_turn = isinstance(step, Turn)
        if not self._has_begun or is_turn:
            self._breaker.note(SegmentStarted(at=step.at, segment=0, attempt=1))
            if not is_turn:
                self._breaker.ask(TurnAsked(at=step.at))
        self._has_begun = True
        self._breaker.pass_time(step.at)
        match step:
            case Turn(at=at):
                self._closed = False
                self._breaker.ask(TurnAsked(at=at))
            case Message(at=at, text=text, thought=thought, agent=agent):
                if text.strip() and not thought and agent is None:
                    self._breaker.note(Spoke(at=at))
            case ModelCall():
                self._model_called(step)
            case ToolCall():
                self._tool_called(step)
            case ToolResult():
                self._tool_ended(step)

    def result(self) -> Replay:
        """After the last step. Who has not closed its work would have been asked once more, and
        an amount that the last answer reached is seen then."""
        steps = self._transcript.steps
        if steps and not self._closed:
            self._breaker.ask(Ticked(at=steps[-1].at), Layer.TIMER)
        breaker = self._breaker
        end = breaker.counters
        at_stop = breaker.at_stop if breaker.at_stop is not None else end
        return Replay(
            events=len(steps),
            tool_calls=sum(isinstance(step, ToolCall) for step in steps),
            spent=_spent(self._model_calls, Counters(), end),
            stops=tuple(breaker.stops),
            warnings=tuple(breaker.warnings),
            passed=tuple(breaker.passed),
            not_judged=tuple(self._not_judged(end)),
            saved=_spent(self._model_calls, at_stop, end),
            counters=end,
        )

    def _not_judged(self, end: Counters) -> Iterator[NotJudged]:
        """The limits that are switched on and that this transcript says too little about."""
        for limit in self._rules.limits.armed:
            name, reason = limit.name, None
            if name in ON_TIME:
                reason = self._why_not_time()
            elif name is LimitName.MAX_TOKENS:
                bounds = [each for each in (limit.maximum, limit.ceiling) if each is not None]
                reason = self._why_not_tokens(min(bounds))
            elif name is LimitName.MAX_MODEL_CALLS and not end.model_calls:
                reason = _NO_MODEL_CALLS
            elif limit.info.is_money:
                reason = _why_not_money(end)
            if reason is not None:
                yield NotJudged(name, reason)

    def _why_not_time(self) -> str | None:
        steps = self._transcript.steps
        if len(steps) > 1 and steps[0].at == steps[-1].at:
            return "All steps have the same instant: the transcript knows no time."
        return None

    def _why_not_tokens(self, bound: float) -> str | None:
        calls, totals = self._model_calls, self._transcript.totals
        unknown = sum(not _has_tokens(call) for call in calls)
        if calls and not unknown:
            return None
        used = totals.input_tokens + totals.output_tokens if totals is not None else 0
        if used:
            where = (
                f"The run used {used:,} tokens; at which step it reached {bound:,.0f} is unknown."
            )
            return where if used >= bound else None
        if not calls:
            return _NO_MODEL_CALLS
        return f"{unknown} of {len(calls)} model calls do not say how many tokens they used."

    def _model_called(self, step: ModelCall) -> None:
        self._breaker.ask(ModelAsked(at=step.at))
        input_tokens, output_tokens = step.input_tokens or 0, step.output_tokens or 0
        price = cost_nanousd = None
        if step.model is not None and _has_tokens(step):
            price = self._price(step.model, step.at)
        if price is not None:
            cached = step.cache_read_tokens or 0, step.cache_write_tokens or 0
            cost_nanousd = price.cost_nanousd(input_tokens, output_tokens, *cached)
        self._breaker.note(
            ModelCalled(
                at=step.at,
                model="",  # only its price counts
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                cost_nanousd=cost_nanousd,
            )
        )

    def _price(self, model: str, at: datetime) -> Price | None:
        """Prices change at full minutes at most, and a run asks for the same ones again and
        again."""
        minute = at.replace(second=0, microsecond=0)
        if (model, minute) not in self._prices:
            self._prices[model, minute] = self._rules.price_of(model, minute)
        return self._prices[model, minute]

    def _tool_called(self, step: ToolCall) -> None:
        self._closed = step.tool in CLOSING
        if self._closed or step.id in self._denied:
            return
        command = self._command(step)
        self._changes += command.may_change
        self._running[step.id] = _Running(step.kind, command)
        ask = ToolAsked(
            at=step.at,
            call=step.id,
            tool=step.tool,
            what="",
            suite=None
            if command.suite is None
            else SuiteAsked(suite=command.suite, fingerprint=self._content()),
            kind=step.kind,
            key=call_key(step.tool, step.args, command.text),
            spawns=step.tool in SPAWNING and step.agent is None,
        )
        breaker = self._breaker
        if step.agent is None:
            breaker.ask(ask)
            return
        # A sub-agent's call is the parent's too, but no part of its turn, nor of what it repeats.
        parent = breaker.counters
        loops, signs = self._repeated.get(step.agent, _NOTHING_REPEATED)
        breaker.counters = parent._replace(
            calls_since_text=-1, calls_in_turn=-1, loops=loops, signs=signs
        )
        breaker.ask(ask)
        self._repeated[step.agent] = breaker.counters.loops, breaker.counters.signs
        breaker.counters = breaker.counters._replace(
            calls_since_text=parent.calls_since_text,
            calls_in_turn=parent.calls_in_turn,
            loops=parent.loops,
            signs=parent.signs,
        )

    def _command(self, step: ToolCall) -> _Command:
        text = step.args.get("command")
        if step.kind is not ToolKind.SHELL or not isinstance(text, str):
            return _NO_COMMAND
        key = text, step.pipefail
        if key not in self._commands:
            line, suites = self._rules.parse(text, pipefail=step.pipefail), self._rules.suites
            waits = is_waiting(line)
            self._commands[key] = _Command(
                suite=suite_of(line, suites),
                waits=waits,
                may_change=not waits and may_change(line, suites),
                text=line.text,
            )
        return self._commands[key]

    def _content(self) -> str:
        return f"change {self._changes}"

    def _tool_ended(self, step: ToolResult) -> None:
        running = self._running.get(step.id)
        if running is None:
            return
        suite = running.command.suite
        changed = step.ok and running.kind is ToolKind.WRITE
        self._changes += changed
        ended = ToolEnded(
            at=step.at,
            call=step.id,
            ok=step.ok,
            outcome=outcome_of(suite, step.exit_code, step.output) if suite is not None else None,
            fingerprint=self._content() if suite is not None else None,
            result=result_key(step.ok, step.exit_code, step.output, waits=running.command.waits),
            error="" if step.ok or suite is not None else error_key(step.output),
            changed=changed,
        )
        breaker = self._breaker
        if step.agent is None:
            breaker.note(ended)
            return
        parent = breaker.counters
        loops, signs = self._repeated.get(step.agent, _NOTHING_REPEATED)
        breaker.counters = parent._replace(loops=loops, signs=signs)
        breaker.note(ended)
        self._repeated[step.agent] = breaker.counters.loops, breaker.counters.signs
        breaker.counters = breaker.counters._replace(loops=parent.loops, signs=parent.signs)


def _has_tokens(call: ModelCall) -> bool:
    return call.input_tokens is not None and call.output_tokens is not None


def _spent(calls: Sequence[ModelCall], start: Counters, end: Counters) -> Spent:
    """What came between. A run whose model calls were not recorded has an unknown cost, not none;
    so has one with a single call of unknown price."""
    is_priced = end.model_calls > 0 and not end.unpriced_calls
    has_tokens = all(map(_has_tokens, calls[start.model_calls : end.model_calls]))
    return Spent(
        tool_calls=end.tool_calls - start.tool_calls,
        model_calls=end.model_calls - start.model_calls,
        tokens=end.tokens - start.tokens if has_tokens else None,
        cost_nanousd=end.cost_nanousd - start.cost_nanousd if is_priced else None,
        seconds=seconds(end.active - start.active),
    )


def _why_not_money(end: Counters) -> str | None:
    if end.unpriced_calls:
        return f"What {end.unpriced_calls} of {end.model_calls} model calls cost is unknown."
    return None if end.model_calls else _NO_MODEL_CALLS


_NO_MODEL_CALLS: Final = "The transcript has no model calls."
