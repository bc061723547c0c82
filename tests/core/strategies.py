"""One agent's life as the services would write it, and strategies for random lives.

`Life` is no double: every verdict and every counter in it comes from the core. What it keeps
besides (`truly_active`, `runs`) is counted in another way, to compare the core's figures with.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st

from app.core.agent import Agent, AgentId, Assignment, Task
from app.core.breaker import Answer, Decision, Verdict, decide
from app.core.counters import Counters, fold
from app.core.events import (
    AgentEvent,
    Ask,
    Created,
    Layer,
    ModelCalled,
    SegmentEnded,
    SegmentStarted,
    Slept,
    SuiteAsked,
    Ticked,
    ToolAsked,
    ToolEnded,
    TurnAsked,
    Waits,
    Woken,
)
from app.core.lifecycle import State
from app.core.limits import Limits
from app.core.plan import EscalationRules
from app.core.testruns import Outcome, Suite, SuiteRules

EXAMPLES = settings(deadline=None, derandomize=True, max_examples=200)
FEWER_EXAMPLES = settings(EXAMPLES, max_examples=60)

START = datetime(2026, 3, 1, 9, tzinfo=UTC)

EVERYTHING = Suite("pytest", (), status_visible=True)
FOLDER = Suite("pytest", ("tests/login",), status_visible=True)
ONE_FILE = Suite("pytest", ("tests/login/test_form.py",), status_visible=True)
ELSEWHERE = Suite("pytest", ("tests/search",), status_visible=True)
OTHER_RUNNER = Suite("jest", (), status_visible=True)
SUITES = (EVERYTHING, FOLDER, ONE_FILE, ELSEWHERE, OTHER_RUNNER)
WIDER_OR_SAME = {
    EVERYTHING: {EVERYTHING},
    FOLDER: {FOLDER, EVERYTHING},
    ONE_FILE: {ONE_FILE, FOLDER, EVERYTHING},
    ELSEWHERE: {ELSEWHERE, EVERYTHING},
    OTHER_RUNNER: {OTHER_RUNNER},
}
"""Which passes clear the failure of a selection, written down by hand."""

NOT_PASSED = (Outcome.FAILED, Outcome.DID_NOT_RUN, Outcome.UNKNOWN)

NO_LIMITS = Limits(
    max_iterations=None,
    max_tool_calls=None,
    max_turns=None,
    max_active_duration=365 * 24 * 3600,
    max_sleep_duration=365 * 24 * 3600,
)


def after_seconds(seconds: float) -> datetime:
    """An instant so many seconds after `START`."""
    return START + timedelta(seconds=seconds)


@dataclass
class SuiteRun:
    """A test run as an onlooker remembers it; `asked` and `ended` are places in one order."""

    suite: Suite
    content: str
    asked: int
    ended: int | None = None
    outcome: Outcome | None = None
    left: str = ""


@dataclass
class Life:
    """An agent from its first segment on. Methods are what happens to it, in order."""

    limits: Limits = NO_LIMITS
    now: datetime = START
    log: list[AgentEvent] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)
    decisions: list[tuple[Counters, Decision]] = field(default_factory=list)
    truly_active: timedelta = timedelta()
    runs: dict[str, SuiteRun] = field(default_factory=dict)
    last_call: str = ""
    _unrecorded: timedelta | None = None
    """Active time since the last event; None while no segment runs."""
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
        self._attempt += 1
        self._unrecorded = None
        self.happens(SegmentStarted(at=self.now, segment=self._segment, attempt=self._attempt))
        self._unrecorded = timedelta()

    def ends_segment(self) -> None:
        self.happens(SegmentEnded(at=self.now, why="closed"))
        self._unrecorded = None
        self._segment += 1
        self._attempt = 0

    def crashes(self) -> None:
        """The process is gone, and with it what was not written down."""
        self._unrecorded = None

    def sleeps(self, waits_for: Waits = Waits.BLOCKER) -> None:
        self.ends_segment()
        self.happens(Slept(at=self.now, waits_for=waits_for, blocked_by=(7,), reason="needs #7"))

    def wakes(self) -> None:
        self.happens(Woken(at=self.now, why="#7 was closed", by="squadron"))

    # --- asks, judged

    def asks_turn(self) -> Verdict:
        return self._judged(TurnAsked(at=self.now))

    def asks_tool(self, tool: str = "view") -> Verdict:
        return self._judged(ToolAsked(at=self.now, call=self._call(), tool=tool, what="README.md"))

    def ticks(self) -> Verdict:
        return self._judged(Ticked(at=self.now), Layer.TIMER)

    def asks_tests(
        self, suite: Suite = EVERYTHING, content: str = "v1", *, may_change: bool = False
    ) -> Verdict:
        """A test run is asked for; `last_call` then names it."""
        call = self._call()
        asked = SuiteAsked(suite=suite, fingerprint=content, may_change=may_change)
        ask = ToolAsked(at=self.now, call=call, tool="bash", what="pytest", suite=asked)
        verdict = self._judged(ask)
        if verdict.allowed:
            self.runs[call] = SuiteRun(suite, content, self._moment())
        return verdict

    # --- facts, recorded

    def tests_end(self, call: str, outcome: Outcome | None, left: str | None = None) -> None:
        """A test run ends; the workspace is as it was asked on unless `left` says more."""
        run = self.runs[call]
        run.left = run.content if left is None else left
        run.outcome, run.ended = outcome, self._moment()
        self.happens(
            ToolEnded(
                at=self.now,
                call=call,
                ok=outcome is Outcome.PASSED,
                outcome=outcome,
                fingerprint=run.left,
            )
        )

    def tests(self, outcome: Outcome, suite: Suite = EVERYTHING, content: str = "v1") -> Verdict:
        """A test run is asked for and, if it may, ends at once."""
        verdict = self.asks_tests(suite, content)
        if verdict.allowed:
            self.tests_end(self.last_call, outcome)
        return verdict

    def model_answers(self) -> None:
        self.happens(
            ModelCalled(at=self.now, model="scripted:one", input_tokens=100, output_tokens=10)
        )

    def happens(self, event: AgentEvent) -> None:
        """An event that needs no judgement."""
        self._write((event,))
        self.counters = fold([event], self.counters)

    def forgets_runs(self) -> None:
        """Runs that were under way when their segment ended never end, and have not passed."""
        for call in self.open_runs:
            run = self.runs[call]
            run.left, run.ended = run.content, self._moment()

    @property
    def open_runs(self) -> list[str]:
        return [call for call, run in self.runs.items() if run.ended is None]

    @property
    def is_running(self) -> bool:
        return self._unrecorded is not None

    def _judged(self, ask: Ask, layer: Layer = Layer.HOOK) -> Verdict:
        decision = decide(self.counters, ask, self.limits, layer)
        self._write(decision.events)
        self.decisions.append((self.counters, decision))
        self.counters = decision.counters
        return decision.verdict

    def _write(self, events: tuple[AgentEvent, ...]) -> None:
        self.log.extend(events)
        if self._unrecorded is not None:
            self.truly_active += self._unrecorded
            self._unrecorded = timedelta()

    def _call(self) -> str:
        self.last_call = f"call-{self._moment()}"
        return self.last_call

    def _moment(self) -> int:
        self._moments += 1
        return self._moments


def begun(limits: Limits = NO_LIMITS) -> Life:
    """An agent whose first segment has just begun."""
    life = Life(limits)
    life.happens(Created(at=life.now, started_by="mona", trigger="label squadron:bug-fix"))
    life.begins_segment()
    return life


# --- random lives -----------------------------------------------------------------------------

Step = tuple[str, object]

contents = st.sampled_from(["v1", "v2", "v3"])
outcomes = st.sampled_from([*Outcome, None])

test_run_steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("run tests"), st.tuples(st.sampled_from(SUITES), contents, outcomes)),
    st.tuples(st.just("ask tests"), st.tuples(st.sampled_from(SUITES), contents)),
    st.tuples(st.just("end tests"), st.tuples(st.integers(0, 3), outcomes, contents)),
)

steps: st.SearchStrategy[Step] = st.one_of(
    test_run_steps,
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.25, 1.0, 7.5])),
    st.tuples(st.just("turn"), st.none()),
    st.tuples(st.just("tool"), st.none()),
    st.tuples(st.just("tick"), st.none()),
    st.tuples(st.just("model"), st.none()),
    st.tuples(st.just("crash and start again"), st.sampled_from([0.0, 30.0])),
    st.tuples(st.just("end and start again"), st.sampled_from([0.0, 30.0])),
    st.tuples(st.just("sleep and wake"), st.sampled_from(list(Waits))),
)

step_lists = st.lists(steps, max_size=60)
test_run_lists = st.lists(test_run_steps, min_size=4, max_size=30)

small_limits = st.builds(
    Limits,
    max_iterations=st.sampled_from([None, 1, 2, 3]),
    max_tool_calls=st.sampled_from([None, 1, 2, 5, 12]),
    max_turns=st.sampled_from([None, 1, 2, 5]),
    max_active_duration=st.sampled_from([1, 8, 20, 10_000]),
    warning_threshold=st.sampled_from([0.01, 0.5, 0.8, 1.0]),
    iteration_mode=st.sampled_from(["fix_cycles", "test_runs"]),
)


def take(life: Life, step: Step) -> Verdict | None:
    """One random step; the verdict if it was an ask."""
    match step:
        case "wait", float(seconds):
            life.waits(seconds)
        case "turn", _:
            return life.asks_turn()
        case "tool", _:
            return life.asks_tool()
        case "tick", _:
            return life.ticks()
        case "model", _:
            life.model_answers()
        case "ask tests", (Suite() as suite, str(content)):
            return life.asks_tests(suite, content)
        case "run tests", (Suite() as suite, str(content), Outcome() | None as outcome):
            verdict = life.asks_tests(suite, content)
            if verdict.allowed:
                life.tests_end(life.last_call, outcome)
            return verdict
        case "end tests", (int(nth), Outcome() | None as outcome, str(left)):
            if life.open_runs:
                life.tests_end(life.open_runs[nth % len(life.open_runs)], outcome, left)
        case "crash and start again", float(gap_seconds):
            life.crashes()
            life.waits(gap_seconds)
            life.forgets_runs()
            life.begins_segment()
        case "end and start again", float(gap_seconds):
            life.ends_segment()
            life.waits(gap_seconds)
            life.forgets_runs()
            life.begins_segment()
        case "sleep and wake", Waits() as waits_for:
            life.sleeps(waits_for)
            life.waits(100)
            life.wakes()
            life.waits(50)
            life.forgets_runs()
            life.begins_segment()
        case _:
            raise AssertionError(step)
    return None


def answers(life: Life) -> list[Answer]:
    """All verdicts of a life in order, in short."""
    return [decision.verdict.answer for _, decision in life.decisions]


# --- rows of the registry ---------------------------------------------------------------------


def agent(
    state: State = State.ACTIVE,
    *,
    waits_for: Waits | None = None,
    limits: Limits | None = None,
    updated_at: datetime = START,
) -> Agent:
    """A row of the registry; only what matters to the core differs from test to test."""
    assignment = Assignment(
        limits=limits or Limits(),
        prompt="Fix the bug.",
        model="scripted:one",
        tools=None,
        setup=(),
        escalation=EscalationRules(),
        suites=SuiteRules(),
        task=Task("Login fails", "It says 500."),
    )
    return Agent(
        id=AgentId("octo/demo", 12, "bug-fix", 1),
        installation_id=1,
        state=state,
        waits_for=waits_for,
        segment=0,
        segment_attempts=1,
        worker="worker-1",
        assignment=assignment,
        branch="squadron/bug-fix/issue-12",
        default_branch="main",
        base_sha="b" * 40,
        sha="a" * 40,
        pull_request=None,
        blocked_by=(),
        summary="",
        trip=None,
        started_by="mona",
        predecessor=None,
        note="",
        input_tokens=0,
        output_tokens=0,
        created_at=START,
        updated_at=updated_at,
    )
