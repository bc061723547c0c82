"""One agent's life as the services would write it.

`Life` is no double: every verdict and every counter in it comes from the core. What it keeps
besides (`truly_active`) is counted in another way, to compare the core's figures with. Random
lives are in `random_lives`, a second opinion on every verdict is in `second_opinion`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.core.agents.counters import Counters, fold
from app.core.agents.events import (
    AgentEvent,
    Ask,
    Created,
    HeldUp,
    ModelAsked,
    ModelCalled,
    Phase,
    Raised,
    Returned,
    SegmentEnded,
    SegmentStarted,
    Slept,
    Spawned,
    SpawnRefused,
    Spoke,
    SuiteAsked,
    Ticked,
    ToolAsked,
    ToolEnded,
    ToolKind,
    TurnAsked,
    Waits,
    Woken,
)
from app.core.agents.stops import Layer
from app.core.breaker.verdict import Answer, Decision, Verdict, decide
from app.core.limits import LimitName, Limits
from app.testruns import Outcome, Suite
from tests.core.strategies import EVERYTHING, NO_LIMITS, START

KINDS = {
    "bash": ToolKind.SHELL,
    "zsh": ToolKind.SHELL,
    "edit": ToolKind.WRITE,
    "view": ToolKind.READ,
}
"""What the tools of these lives can do; all others are `OTHER`."""


@dataclass
class Life:
    """An agent from its first segment on. Methods are what happens to it, in order."""

    limits: Limits = NO_LIMITS
    now: datetime = START
    log: list[AgentEvent] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)
    decisions: list[tuple[Counters, Decision]] = field(default_factory=list)
    asks: list[tuple[Ask, int]] = field(default_factory=list)
    """What each decision was about, and how long the log was before it."""
    truly_active: timedelta = timedelta()
    contents: dict[str, str] = field(default_factory=dict)
    """Of test runs that were allowed: the workspace that each was asked on."""
    open_runs: list[str] = field(default_factory=list)
    open_calls: list[str] = field(default_factory=list)
    last_call: str = ""
    _unrecorded: timedelta | None = None
    """Active time since the last event; None while no segment runs."""
    _active_before_asking: timedelta | None = None
    """What `truly_active` was before the first ask since the model's last answer."""
    _segment: int = 0
    _attempt: int = 0
    _moments: int = 0

    # --- time and segments

    def waits(self, seconds: float) -> None:
        """Time passes; nobody writes anything."""
        self.now += timedelta(seconds=seconds)
        if self._unrecorded is not None:
            self._unrecorded += timedelta(seconds=seconds)

    def begins_segment(self) -> None:
        """What was under way before never ends."""
        self.open_runs, self.open_calls = [], []
        self._attempt += 1
        self._unrecorded = None
        self.happens(SegmentStarted(at=self.now, segment=self._segment, attempt=self._attempt))
        self._unrecorded = timedelta()

    def ends_segment(self) -> None:
        self.happens(SegmentEnded(at=self.now, why="closed"))
        self._unrecorded = None
        self._segment += 1
        self._attempt = 0

    def asks_in_vain(self) -> None:
        """The model's provider is away: since it was asked, nothing was done."""
        self.ends_segment()
        if self._active_before_asking is not None:
            self.truly_active = self._active_before_asking
        self.happens(HeldUp(at=self.now, waits_for=Waits.PROVIDER, why="it does not answer"))

    def crashes(self) -> None:
        """The process is gone, and with it what was not written down."""
        self._unrecorded = None

    def sleeps(self, waits_for: Waits = Waits.BLOCKER) -> None:
        self.ends_segment()
        self.happens(Slept(at=self.now, waits_for=waits_for, blocked_by=(7,), reason="needs #7"))

    def wakes(self) -> None:
        self.happens(Woken(at=self.now, why="a comment", by="mona"))

    def is_reviewed(self) -> Verdict:
        """Feedback on its pull request wakes it, and it is prompted."""
        self.happens(Woken(at=self.now, why="a review", by="mona", feedback=("review 7",)))
        return self.asks_turn()

    def goes_on(self) -> None:
        """After a pause: the next segment."""
        self.ends_segment()
        self.begins_segment()

    # --- asks, judged

    def asks_turn(self) -> Verdict:
        return self.judged(TurnAsked(at=self.now))

    def asks_model(
        self, estimate_nanousd: int | None = None, phase: Phase = Phase.EXECUTION
    ) -> Verdict:
        ask = ModelAsked(at=self.now, phase=phase, estimate_nanousd=estimate_nanousd)
        return self.judged(ask)

    def asks_tool(self, tool: str = "view", key: str = "", *, spawns: bool = False) -> Verdict:
        """A working tool is asked for; `last_call` then names it."""
        call = self._call()
        ask = ToolAsked(
            at=self.now,
            call=call,
            tool=tool,
            what="README.md",
            kind=KINDS.get(tool, ToolKind.OTHER),
            key=key,
            spawns=spawns,
        )
        verdict = self.judged(ask)
        if verdict.allowed:
            self.open_calls.append(call)
        return verdict

    def ticks(self) -> Verdict:
        return self.judged(Ticked(at=self.now), Layer.TIMER)

    def asks_tests(
        self,
        suite: Suite = EVERYTHING,
        content: str = "v1",
        *,
        may_change: bool = False,
        may_restore: bool = True,
        key: str = "",
    ) -> Verdict:
        """A test run is asked for; `last_call` then names it."""
        call = self._call()
        asked = SuiteAsked(
            suite=suite, fingerprint=content, may_change=may_change, may_restore=may_restore
        )
        ask = ToolAsked(
            at=self.now,
            call=call,
            tool="bash",
            what="pytest",
            suite=asked,
            kind=ToolKind.SHELL,
            key=key,
        )
        verdict = self.judged(ask)
        if verdict.allowed:
            self.contents[call] = content
            self.open_runs.append(call)
        return verdict

    def judged(self, ask: Ask, layer: Layer = Layer.HOOK) -> Verdict:
        decision = decide(self.counters, ask, self.limits, layer)
        self.asks.append((ask, len(self.log)))
        self._write(decision.events)
        self.decisions.append((self.counters, decision))
        self.counters = decision.counters
        return decision.verdict

    # --- facts, recorded

    def tool_ends(
        self, call: str = "", result: str = "", error: str = "", *, changed: bool = False
    ) -> None:
        """A tool ends: the last one that was asked for, unless `call` names another."""
        call = call or self.last_call
        self.open_calls.remove(call)
        self.happens(
            ToolEnded(
                at=self.now, call=call, ok=not error, result=result, error=error, changed=changed
            )
        )

    def is_cut_off(self) -> None:
        """The turn is over while the tool that was asked for last runs."""
        call = self.last_call
        for running in (self.open_calls, self.open_runs):
            if call in running:
                running.remove(call)
        self.happens(ToolEnded(at=self.now, call=call, ok=False, cut_off=True))

    def does(
        self, key: str, result: str = "same", error: str = "", *, tool: str = "bash"
    ) -> Verdict:
        """A tool is asked for and, if it may, ends at once."""
        verdict = self.asks_tool(tool, key)
        if verdict.allowed:
            self.tool_ends(result=result, error=error)
        return verdict

    def edits(self, key: str, result: str = "done", error: str = "") -> Verdict:
        """An editing tool; it changed files unless it failed."""
        verdict = self.asks_tool("edit", key)
        if verdict.allowed:
            self.tool_ends(result=result, error=error, changed=not error)
        return verdict

    def tests_end(
        self, call: str, outcome: Outcome | None, left: str | None = None, result: str = ""
    ) -> None:
        """A test run ends; the workspace is as it was asked on unless `left` says more."""
        self.open_runs.remove(call)
        self.happens(
            ToolEnded(
                at=self.now,
                call=call,
                ok=outcome is Outcome.PASSED,
                outcome=outcome,
                fingerprint=self.contents[call] if left is None else left,
                result=result,
            )
        )

    def tests(self, outcome: Outcome, suite: Suite = EVERYTHING, content: str = "v1") -> Verdict:
        """A test run is asked for and, if it may, ends at once."""
        verdict = self.asks_tests(suite, content)
        if verdict.allowed:
            self.tests_end(self.last_call, outcome)
        return verdict

    def model_answers(
        self,
        cost_nanousd: int | None = None,
        phase: Phase = Phase.EXECUTION,
        *,
        input_tokens: int = 100,
        output_tokens: int = 10,
    ) -> None:
        self.happens(
            ModelCalled(
                at=self.now,
                model="scripted:one",
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                cost_nanousd=cost_nanousd,
                phase=phase,
            )
        )

    def calls_model(
        self,
        cost_nanousd: int | None = None,
        estimate_nanousd: int | None = None,
        phase: Phase = Phase.EXECUTION,
    ) -> Verdict:
        """The model is asked and, if it may be, answers."""
        verdict = self.asks_model(estimate_nanousd, phase)
        if verdict.allowed:
            self.model_answers(cost_nanousd, phase)
        return verdict

    def speaks(self) -> None:
        self.happens(Spoke(at=self.now))

    def is_granted(self, limit: LimitName, amount: float) -> None:
        """A human raises a limit."""
        maximum = (self.limits.maximum(limit) or 0) + amount
        self.happens(Raised(at=self.now, limit=limit, amount=amount, maximum=maximum, by="mona"))

    def spawned(self, child: str, reserved: Mapping[LimitName, float] | None = None) -> None:
        promised = tuple((reserved or {}).items())
        self.happens(Spawned(at=self.now, child=child, reserved=promised))

    def refuses_to_spawn(self) -> None:
        self.happens(SpawnRefused(at=self.now, why="no role `helper`"))

    def child_returns(
        self, child: str, *, tool_calls: int = 0, cost_nanousd: int = 0, levels: int = 0
    ) -> None:
        """A sub-agent comes back; it called the model once, with 100 tokens in and 10 out."""
        self.happens(
            Returned(
                at=self.now,
                child=child,
                tool_calls=tool_calls,
                model_calls=1,
                input_tokens=100,
                output_tokens=10,
                cost_nanousd=cost_nanousd,
                unpriced_calls=0,
                levels=levels,
            )
        )

    def happens(self, event: AgentEvent) -> None:
        """An event that needs no judgement."""
        self._write((event,))
        self.counters = fold([event], self.counters)

    def _write(self, events: tuple[AgentEvent, ...]) -> None:
        self.log.extend(events)
        if self._unrecorded is not None:
            self.truly_active += self._unrecorded
            self._unrecorded = timedelta()
        for event in events:
            if isinstance(event, ModelCalled | SegmentStarted):
                self._active_before_asking = None
            elif isinstance(event, TurnAsked | ModelAsked) and self._active_before_asking is None:
                self._active_before_asking = self.truly_active

    def _call(self) -> str:
        self._moments += 1
        self.last_call = f"call-{self._moments}"
        return self.last_call


def begun(limits: Limits = NO_LIMITS) -> Life:
    """An agent whose first segment has just begun."""
    life = Life(limits)
    life.happens(Created(at=life.now, started_by="mona", trigger="label squadron:bug-fix"))
    life.begins_segment()
    return life


def no_limit_speaks(verdict: Verdict) -> bool:
    """The call may happen; a sign that the agent gets nowhere (`test_signs`) may be told."""
    return verdict.allowed and verdict.limit is None


def halted(verdict: Verdict, limit: str, observed: float, maximum: float) -> bool:
    """Whether this verdict is the stop, or the hold, of `limit` with these figures."""
    figures = (verdict.limit, verdict.observed, verdict.maximum)
    return verdict.answer is Answer.HALT and figures == (limit, observed, maximum)
