"""What each limit bounds, counted by an onlooker: the definitions of the words, read off
a whole log.

The core folds events one by one into counters; the onlooker looks at the history as a person
would. Money is exact here (fractions of the decimal numbers in a file). Slow, and meant to be.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from app.core.agents.events import (
    AgentEvent,
    Finished,
    HeldUp,
    ModelAsked,
    ModelCalled,
    Noticed,
    Phase,
    Raised,
    Returned,
    SegmentEnded,
    SegmentStarted,
    Slept,
    Spawned,
    SpawnRefused,
    Spoke,
    TakenAway,
    ToolAsked,
    ToolDenied,
    ToolEnded,
    ToolKind,
    TurnAsked,
    Waits,
    Woken,
)
from app.core.agents.signs import Sign
from app.core.limits import LimitName, Limits
from app.testruns import Outcome, Suite
from tests.core.strategies import WIDER_OR_SAME

Log = list[AgentEvent]

COUNTS = {
    LimitName.MAX_ITERATIONS,
    LimitName.MAX_TOOL_CALLS,
    LimitName.MAX_TURNS,
    LimitName.MAX_MODEL_CALLS,
    LimitName.MAX_CONSECUTIVE_TOOLS,
    LimitName.MAX_TOOL_CALLS_PER_TURN,
    LimitName.MAX_SPAWNS,
    LimitName.MAX_DEPTH,
    LimitName.MAX_REVIEW_ROUNDS,
}
"""Of these N may happen. All other amounts trip when they have reached the maximum."""

PHASES = {
    LimitName.MAX_COST_USD: (Phase.PLANNING, Phase.EXECUTION),
    LimitName.MAX_PLANNING_COST_USD: (Phase.PLANNING,),
    LimitName.MAX_EXECUTION_COST_USD: (Phase.EXECUTION,),
}

JUDGED = [name for name in LimitName if name is not LimitName.MAX_OUTPUT_TOKENS_PER_CALL]
"""All but the one that is the provider's to keep to."""


@dataclass
class Run:
    """A test run; `asked` and `ended` are places in the log."""

    suite: Suite
    content: str
    may_change: bool
    asked: int
    ended: int | None = None
    outcome: Outcome | None = None
    left: str = ""
    result: str = ""
    is_cut_off: bool = False
    """Its process died: it has not passed, and nobody knows what it changed."""


def exact(amount: float) -> Fraction:
    """A number as it stands in a configuration file."""
    return Fraction(Decimal(str(amount)))


# --- amounts ----------------------------------------------------------------------------------


def amount(name: LimitName, limits: Limits, log: Log, at: datetime) -> Fraction:
    """What a limit bounds, at the end of a history."""
    match name:
        case LimitName.MAX_ITERATIONS if limits.iteration_mode == "test_runs":
            return Fraction(len(runs_of(log)))
        case LimitName.MAX_ITERATIONS:
            return Fraction(fix_cycles(runs_of(log)))
        case LimitName.MAX_ACTIVE_DURATION:
            return _seconds(_answered(log), at, _active)
        case LimitName.MAX_IDLE_DURATION:
            return _seconds(log, at, _idle)
        case LimitName.MAX_SLEEP_DURATION:
            return Fraction(0)  # whoever asks is awake
        case LimitName.MAX_TOKENS:
            answers = [each for each in log if isinstance(each, ModelCalled | Returned)]
            return Fraction(sum(each.input_tokens + each.output_tokens for each in answers))
        case (
            LimitName.MAX_COST_USD
            | LimitName.MAX_PLANNING_COST_USD
            | LimitName.MAX_EXECUTION_COST_USD
        ):
            return Fraction(_cost_nanousd(log, PHASES[name]), 10**9)
        case LimitName.MAX_REPEATED_ERRORS:
            return Fraction(_equal_errors(log))
        case LimitName.MAX_REPEATED_CALLS:
            return Fraction(_rounds(log))
        case LimitName.MAX_UNRUNNABLE_TESTS:
            return Fraction(_unrunnable(log))
        case _:
            return Fraction(_count(name, log))


def _count(name: LimitName, log: Log) -> int:
    tools = [each for each in log if isinstance(each, ToolAsked)]
    back = [each for each in log if isinstance(each, Returned)]
    match name:
        case LimitName.MAX_TOOL_CALLS:
            return len(tools) + sum(each.tool_calls for each in back)
        case LimitName.MAX_TURNS:
            return sum(isinstance(each, TurnAsked) for each in _answered(log))
        case LimitName.MAX_MODEL_CALLS:
            return _model_calls(_answered(log)) + sum(each.model_calls for each in back)
        case LimitName.MAX_CONSECUTIVE_TOOLS:
            return _tools_since(log, lambda each: isinstance(each, Spoke) or _lets_go_on(each))
        case LimitName.MAX_TOOL_CALLS_PER_TURN:
            return _tools_since(log, lambda each: isinstance(each, TurnAsked))
        case LimitName.MAX_REVIEW_ROUNDS:
            prompts = [n for n, each in enumerate(log) if isinstance(each, TurnAsked)]
            begins = zip([-1, *prompts], prompts, strict=False)
            return sum(any(_is_feedback(each) for each in log[a + 1 : b]) for a, b in begins)
        case LimitName.MAX_SPAWNS:
            return _spawns(log)
        case LimitName.MAX_DEPTH:
            below = [1 + each.levels for each in back]
            return max([1 for each in tools if each.spawns] + below, default=0)
        case _:
            raise AssertionError(name)


def _answered(log: Log) -> Log:
    """The history as if nobody had asked a provider that was away: no turn, no request, no time."""
    kept: Log = []
    for each in log:
        if isinstance(each, HeldUp) and each.waits_for is Waits.PROVIDER:
            answers = (
                n for n, one in enumerate(kept) if isinstance(one, ModelCalled | SegmentStarted)
            )
            start = max(answers, default=-1) + 1
            before, since = kept[:start], kept[start:]
            asks = [one for one in since if isinstance(one, TurnAsked | ModelAsked)]
            others = [one for one in since if one not in asks]
            at = min((one.at for one in asks), default=each.at)
            kept = before + [replace(one, at=min(one.at, at)) for one in others]
        kept.append(each)
    return kept


def _spawns(log: Log) -> int:
    """Sub-agents that were started or are about to be: what dies with its process never is."""
    spawns = starting = 0
    for each in log:
        if isinstance(each, ToolAsked) and each.spawns:
            spawns, starting = spawns + 1, starting + 1
        elif isinstance(each, Spawned):
            starting = max(starting - 1, 0)
        elif isinstance(each, SpawnRefused):
            spawns, starting = max(spawns - 1, 0), max(starting - 1, 0)
        elif isinstance(each, SegmentStarted):
            spawns, starting = spawns - starting, 0
    return spawns


def _is_feedback(event: AgentEvent) -> bool:
    return isinstance(event, Woken) and bool(event.feedback)


def _lets_go_on(event: AgentEvent) -> bool:
    """A human grants as many tools without a text once more."""
    return isinstance(event, Raised) and event.limit is LimitName.MAX_CONSECUTIVE_TOOLS


def _tools_since(log: Log, is_start: Callable[[AgentEvent], bool]) -> int:
    start = max((n for n, each in enumerate(log) if is_start(each)), default=-1)
    return sum(isinstance(each, ToolAsked) for each in log[start + 1 :])


def _model_calls(log: Log) -> int:
    """Asked ones, and answers that nobody had asked for in the same stretch of work."""
    calls = waiting = 0
    for each in log:
        if isinstance(each, SegmentStarted):
            waiting = 0
        elif isinstance(each, ModelAsked):
            calls, waiting = calls + 1, waiting + 1
        elif isinstance(each, ModelCalled):
            calls, waiting = calls + (waiting == 0), max(waiting - 1, 0)
    return calls


def _cost_nanousd(log: Log, phases: tuple[Phase, ...]) -> int:
    own = sum(
        each.cost_nanousd or 0
        for each in log
        if isinstance(each, ModelCalled) and each.phase in phases
    )
    children = sum(each.cost_nanousd for each in log if isinstance(each, Returned))
    return own + (children if Phase.EXECUTION in phases else 0)


def _stretches(log: Log) -> list[Log]:
    """The log of each segment's attempt, from its start to its end."""
    found: list[Log] = []
    is_running = False
    for each in log:
        if isinstance(each, SegmentStarted):
            found.append([each])
            is_running = True
        elif is_running:
            found[-1].append(each)
        if isinstance(each, SegmentEnded | Slept | TakenAway | Finished):
            is_running = False
    return found


def _active(stretches: list[Log], at: datetime) -> float:
    last = (at - stretches[-1][-1].at).total_seconds()
    return last + sum((each[-1].at - each[0].at).total_seconds() for each in stretches)


def _idle(stretches: list[Log], at: datetime) -> float:
    of_session = (TurnAsked, ModelAsked, ModelCalled, Spoke, ToolAsked)
    of_tools = (ToolDenied, ToolEnded, Spawned, Returned)
    heard = [each for each in stretches[-1] if isinstance(each, of_session + of_tools)]
    return (at - heard[-1].at).total_seconds() if heard else 0.0


def _seconds(log: Log, at: datetime, measure: object) -> Fraction:
    assert callable(measure)
    return Fraction(int(measure(_stretches(log), at) * 1000 + 0.5), 1000)


# --- outcomes ---------------------------------------------------------------------------------


def _human_spoke(log: Log) -> int:
    """The place behind a human's last word."""
    words = [n for n, each in enumerate(log) if isinstance(each, Raised | Woken)]
    return words[-1] + 1 if words else 0


def _ended_calls(log: Log) -> list[tuple[ToolAsked, ToolEnded]]:
    """Calls that ended since the last human word, in the order of their ends, unless a process
    died between ask and end."""
    found: list[tuple[ToolAsked, ToolEnded]] = []
    human_spoke = _human_spoke(log)
    under_way: dict[str, ToolAsked] = {}
    for place, each in enumerate(log):
        if isinstance(each, SegmentStarted):
            under_way = {}
        elif isinstance(each, ToolAsked):
            under_way[each.call] = each
        elif isinstance(each, ToolEnded) and each.call in under_way and place >= human_spoke:
            found.append((under_way[each.call], each))
    return found


def _last_ask(log: Log) -> tuple[ToolAsked, Log] | None:
    """The tool that was asked for last, unless a human spoke since, and the log before it."""
    for place in range(len(log) - 1, _human_spoke(log) - 1, -1):
        ask = log[place]
        if isinstance(ask, ToolAsked):
            return ask, log[:place]
    return None


def _equal_errors(log: Log) -> int:
    """Failures in the same words in a row; of a tool that reads or edits, of the very same call.
    Other calls in between end the row, except that of a shell. A new edit ends every row."""
    found = _last_ask(log)
    if found is None:
        return 0
    ask, earlier = found
    is_shell = ask.kind is ToolKind.SHELL
    any_call = ask.kind in (ToolKind.SHELL, ToolKind.OTHER)
    row: list[tuple[str, str]] = []
    ended = _ended_calls(earlier)
    for place, (asked, end) in enumerate(ended):
        recent = [_call(*each) for each in ended[max(place - 5, 0) : place]]
        is_new_edit = end.changed and _call(asked, end) not in recent
        is_same = asked.tool == ask.tool and (any_call or _key(asked) == _key(ask) is not None)
        if is_new_edit or (is_same and not end.error) or not (is_same or is_shell):
            row = []
        elif is_same:
            row.append((end.error, end.result))
    equal = 0
    while equal < len(row) and row[-1 - equal] == row[-1]:
        equal += 1
    return equal


_Key = tuple[str, str] | None


def _key(ask: ToolAsked) -> _Key:
    if not ask.key:
        return None
    return ask.key, ask.suite.fingerprint if ask.suite else ""


def _call(ask: ToolAsked, end: ToolEnded) -> tuple[_Key, str]:
    return _key(ask), end.result


def _rounds(log: Log) -> int:
    """Whole rounds of a cycle of one to five calls that the last ask continues."""
    found = _last_ask(log)
    if found is None:
        return 0
    calls = [_call(asked, end) for asked, end in _ended_calls(found[1])]
    return _rounds_of(calls, _key(found[0]))


def _rounds_of(calls: Sequence[tuple[_Key, str]], next_key: _Key) -> int:
    best = 0
    for length in range(1, 6):
        if next_key is None or len(calls) < length or calls[-length][0] != next_key:
            continue
        rounds = 1
        block = calls[-length:]
        while calls[-length * (rounds + 1) : -length * rounds] == block and all(
            key is not None for key, _ in block
        ):
            rounds += 1
        best = max(best, rounds)
    return best


def if_all_ends_the_same(log: Log, ask: ToolAsked) -> tuple[int, int]:
    """Rounds and equal errors that the ask would go on with, if every call that still runs ended as
    the same call did before; nothing where the same call does not run."""
    running = _running(log)
    same = sum(_key(each) == _key(ask) is not None for each in running)
    if not same:
        return 0, 0
    supposed = [_call(asked, end) for asked, end in _ended_calls(log)]
    for each in running:
        before = (result for key, result in reversed(supposed) if key == _key(each))
        supposed.append((_key(each), next(before, "")))
    return _rounds_of(supposed, _key(ask)), _equal_errors([*log, ask]) + same


def _running(log: Log) -> list[ToolAsked]:
    running: dict[str, ToolAsked] = {}
    for each in log:
        if isinstance(each, SegmentStarted):
            running = {}
        elif isinstance(each, ToolAsked):
            running[each.call] = each
        elif isinstance(each, ToolEnded):
            running.pop(each.call, None)
    return list(running.values())


def untold_signs(log: Log) -> list[Sign]:
    """Of what is shown now, that which the agent was not told of since it began to show."""
    untold = []
    for sign in _shown(log):
        told = [n for n, each in enumerate(log) if isinstance(each, Noticed) and each.sign is sign]
        since = range(told[-1] if told else 0, len(log) + 1)
        if not told or not all(sign in _shown(log[:n]) for n in since):
            untold.append(sign)
    return untold


def _shown(log: Log) -> list[Sign]:
    human_spoke = _human_spoke(log)
    asked = [(n, each) for n, each in enumerate(log) if isinstance(each, ToolAsked)]
    last = [(n, each) for n, each in asked if n >= human_spoke][-8:]
    known = [any(each.key == one.key for m, one in asked if m < n) for n, each in last if each.key]
    ends = [each for each in log[human_spoke:] if isinstance(each, ToolEnded) and not each.cut_off]
    shown = [Sign.NOTHING_NEW] if len(known) == 8 and all(known) else []
    return [*shown, *([Sign.FAILING] if sum(not each.ok for each in ends[-6:]) >= 5 else [])]


# --- fix cycles -------------------------------------------------------------------------------


def runs_of(log: Log) -> list[Run]:
    """All test runs. One that was under way when its process died ended there, not passed."""
    runs: dict[str, Run] = {}
    for place, each in enumerate(log):
        if isinstance(each, ToolAsked) and each.suite is not None:
            asked = each.suite
            runs[each.call] = Run(asked.suite, asked.fingerprint, asked.may_change, place)
        elif isinstance(each, ToolEnded) and each.call in runs:
            run = runs[each.call]
            if run.ended is None:
                run.ended, run.outcome, run.result = place, each.outcome, each.result
                run.left = run.content if each.fingerprint is None else each.fingerprint
        elif isinstance(each, SegmentStarted):
            for run in runs.values():
                if run.ended is None:
                    run.ended, run.left, run.is_cut_off = place, run.content, True
    return list(runs.values())


def fix_cycles(runs: list[Run]) -> int:
    """Fix cycles by the definition, from the whole history instead of event by event."""

    def was_open(failed: Run, at: int) -> bool:
        """Whether the failure had happened by then, and no run as wide had passed since."""
        return (
            failed.ended is not None
            and failed.ended < at
            and failed.outcome is not Outcome.PASSED
            and not any(
                run.outcome is Outcome.PASSED
                and run.ended is not None
                and failed.ended < run.ended < at
                and run.suite in WIDER_OR_SAME[failed.suite]
                for run in runs
            )
        )

    def is_cycle(asked: Run) -> bool:
        if not any(was_open(run, asked.asked) for run in runs):
            return False
        ended = [
            (run.ended, run.asked, run.left)
            for run in runs
            if run.ended is not None
            and run.ended < asked.asked
            and run.outcome is not Outcome.PASSED
        ]
        if max(ended)[2] != asked.content:
            return True
        is_known = asked.ended is not None and not asked.is_cut_off
        return asked.may_change and not (is_known and asked.left == asked.content)

    return sum(is_cycle(run) for run in runs if run.outcome is not Outcome.PASSED)


def _unrunnable(log: Log) -> int:
    """Test runs in a row that could not run at all for the same reason, since a human's last word,
    if the last ask would go on with them."""
    found = _last_ask(log)
    if found is None or found[0].suite is None:
        return 0
    row: list[str] = []
    human_spoke = _human_spoke(log)
    for run in sorted(runs_of(found[1]), key=lambda run: run.ended or 0):
        if run.ended is None or run.ended < human_spoke or run.is_cut_off:
            continue
        if run.outcome is not Outcome.DID_NOT_RUN:
            row = []
        elif run.result in row:
            row.append(run.result)
        else:
            row = [run.result]
    return len(row)
