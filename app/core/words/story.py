"""Why an agent stopped, as a story that a person reads in a minute. Plain text, pure.

What agents, tools and people wrote is quoted in one line each, without control characters: it
ends up on a terminal.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, assert_never

from app.core.agents.agent import Agent, Effect, EffectName, EffectState
from app.core.agents.deaths import workers_lost
from app.core.agents.events import (
    AgentEvent,
    Braked,
    Decided,
    Failed,
    FilesMoved,
    Held,
    HostRefused,
    Known,
    Passed,
    Raised,
    Returned,
    SegmentStarted,
    SetUp,
    ToolAsked,
    ToolDenied,
    ToolEnded,
    Tripped,
    Verified,
    Waits,
    Warned,
)
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.core.breaker.verdict import LimitUse, figure, money
from app.core.limits import LimitName
from app.core.money import usd
from app.core.text.markdown import cut
from app.core.words.files import lost_words
from app.core.words.refusals import held_words
from app.core.words.report import Report
from app.core.words.tables import estimate_words, in_unit
from app.core.words.timeline import PASSED_HOW, outcome_words, result_words, verified_words

MOST_TEST_RUNS: Final = 12
MOST_REFUSED_HOSTS: Final = 20
MOST_DECISIONS: Final = 10
CALLS_BEFORE_THE_STOP: Final = 5
_MOST_QUOTED: Final = 160


def story(
    report: Report,
    log: Sequence[AgentEvent],
    effects: Mapping[EffectName, Effect],
    stays: Mapping[str, str],
) -> list[str]:
    """The lines, without a line feed at their ends. Times are UTC. `stays`: why nothing moves the
    agent, by the rule that says so."""
    told = _Story(report, log, effects, stays)
    sections = (
        told.head(),
        told.refused_hosts(),
        told.limits(),
        told.iterations(),
        told.last_step(),
        told.decisions(),
        told.work(),
        told.on_github(),
        told.next_steps(),
    )
    lines: list[str] = []
    for section in sections:
        found = list(section)
        lines += ["", *found] if lines and found else found
    return lines


def command_words(at: datetime, by: str, lines: Sequence[str], *, is_refused: bool) -> str:
    """What somebody told Squadron by a comment or a button: when, who, what, and what came of
    it."""
    outcome = "not all of it was done" if is_refused else "done"
    return f"{_full(at)} {quoted(by)}: {quoted('; '.join(lines))} ({outcome})"


def _verified_words(event: Verified) -> str:
    why = "" if event.sound is Known.YES else quoted(event.why)
    return ": ".join(filter(None, (verified_words(event), why)))


def _worker_words(agent: Agent, log: Sequence[AgentEvent]) -> str:
    """Where it runs; empty: nowhere yet."""
    its = [event.worker for event in log if isinstance(event, SegmentStarted) and event.worker]
    if not its:
        return ""
    runs = "ran" if agent.worker is None else "runs"
    others = len({*its} - {its[-1]})
    before = f", after {others} other worker{'s' if others > 1 else ''}" if others else ""
    return f"Worker {quoted(its[-1])} {runs} it{before}."


class _Story:
    def __init__(
        self,
        report: Report,
        log: Sequence[AgentEvent],
        effects: Mapping[EffectName, Effect],
        stays: Mapping[str, str],
    ) -> None:
        self._report = report
        self._agent = report.agent
        self._log = log
        self._effects = effects
        self._stays = stays

    def head(self) -> Iterator[str]:
        agent, counters = self._agent, self._report.counters
        yield f"{agent.id} is {_state_words(agent)}."
        why = f" ({quoted(self._report.trigger)})" if self._report.trigger else ""
        before = f", successor of {agent.predecessor}" if agent.predecessor else ""
        yield f"Started by {agent.started_by}{why} at {_full(agent.created_at)}{before}."
        deaths = workers_lost(self._log)
        cost = "unknown cost" if counters.unpriced_calls else money(usd(counters.cost_nanousd))
        yield (
            f"It worked for {duration_words(counters.active)}:"
            f" {_count(counters.tool_calls, 'tool call')},"
            f" {_count(counters.model_calls, 'model call')}, {counters.tokens:,} tokens, {cost}."
            + (f" Its process died {_times(deaths)}." if deaths else "")
        )
        if words := estimate_words(counters):
            yield words
        if words := _worker_words(agent, self._log):
            yield words
        for event in self._log:
            if isinstance(event, SetUp) and event.made_at is not None:
                yield f"Its setup was taken from the one that ran at {_full(event.made_at)}."
            if isinstance(event, SetUp) and event.lacks_dependencies:
                yield (
                    "Its setup worked on the default branch alone: dependencies that its branch"
                    " adds or changes were not installed."
                )
        for event in self._log:
            if isinstance(event, FilesMoved) and event.lost:
                yield (
                    f"At {self._clock(event.at)} it began where its files were not. Gone with them:"
                    f" {lost_words(event.lost)}."
                )
        for event in self._log:
            if isinstance(event, Verified):
                yield f"{_verified_words(event)} ({self._clock(event.at)})."
        if agent.trip is not None:
            yield (
                f"Stopped at {self._clock(agent.trip.at)} by the {agent.trip.layer} layer:"
                f" {quoted(agent.trip.reason)}"
            )
        if agent.failure is not None:
            at = self._clock(agent.failure.at)
            yield f"Failed at {at} ({agent.failure.cause}): {quoted(agent.failure.reason)}"
        if self._report.brake is not None:
            yield held_words(self._report.brake)
        if self._report.held_up is not None:
            told, again = self._report.held_up, agent.retry_at
            looks = f" It looks again at {_full(again)}." if again else ""
            yield f"Held up at {self._clock(told.at)}: {quoted(told.why)}{looks}"
        if self._report.hold is not None:
            hold = self._report.hold
            yield f"Paused at {self._clock(hold.at)}: {quoted(hold.reason)}"
            if hold.claim:
                yield f"It says for itself: {quoted(hold.claim)}"

    def refused_hosts(self) -> Iterator[str]:
        """Whom its setup asked for and did not reach, added up over all attempts."""
        times = Counter[tuple[str, str]]()
        for event in self._log:
            if isinstance(event, HostRefused):
                times[event.host, event.why] += event.times
        if times:
            yield "Hosts that its setup did not reach"
        for (host, why), count in list(times.items())[:MOST_REFUSED_HOSTS]:
            yield f"  {quoted(host)} {quoted(why)} ({_times(count)})"
        if len(times) > MOST_REFUSED_HOSTS:
            yield f"  … {len(times) - MOST_REFUSED_HOSTS} more"

    def limits(self) -> Iterator[str]:
        """Each limit's course, the nearest first: how far it came, and what it said on the way."""
        courses = {use.name: ", ".join(self._course(use.name)) for use in self._report.uses}
        used = [use for use in self._report.uses if use.observed or courses[use.name]]
        used.sort(key=lambda use: use.share, reverse=True)
        if used:
            yield "Limits (used of maximum)"
        for use in used:
            line = f"  {use.name:<{_WIDTH}} {_use_words(use)}"
            course = courses[use.name]
            yield f"{line}: {course}" if course else line
        for noticed in self._report.noticed:
            words = noticed.sign.replace("_", " ")
            yield f"  told at {self._clock(noticed.at)}: {words}"
        unused = [use.name.value for use in self._report.uses if use not in used]
        if unused:
            yield f"  not used: {', '.join(unused)}"

    def _course(self, name: LimitName) -> Iterator[str]:
        for event in self._log:
            match event:
                case Warned(at=at, limit=limit, observed=observed) if limit is name:
                    yield f"warned at {in_unit(name, observed)} ({self._clock(at)})"
                case Passed(at=at, limit=limit, observed=observed) if limit is name:
                    why = PASSED_HOW[event.how]
                    yield f"passed at {in_unit(name, observed)} ({self._clock(at)}; {why})"
                case Held(at=at, hold=hold) if hold.limit is name:
                    yield f"paused at {in_unit(name, hold.observed)} ({self._clock(at)})"
                case Raised(at=at, limit=limit, by=by) if limit is name:
                    more, to = in_unit(name, event.amount), in_unit(name, event.maximum)
                    yield f"raised by {more} to {to} by {quoted(by)} ({self._clock(at)})"
                case Tripped(trip=trip) if trip.limit == name:
                    yield f"stopped at {in_unit(name, trip.observed)} ({self._clock(trip.at)})"
                case _:
                    pass

    def iterations(self) -> Iterator[str]:
        runs = self._report.test_runs
        if not runs:
            return
        outcomes = [outcome_words(run.outcome) for run in runs]
        tally = ", ".join(
            f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(outcomes)
        )
        yield f"Test runs ({len(runs)}: {tally})"
        first = max(len(runs) - MOST_TEST_RUNS, 0)
        if first:
            yield f"  … {first} earlier ones"
        for number, run in enumerate(runs[first:], first + 1):
            change = " after a change" if run.changed else " without a change"
            since = change if number > 1 else ""
            yield f"  {number}. {outcome_words(run.outcome)}{since}: {quoted(run.command)}"
            if run.failures:
                yield f"     {quoted(run.failures)}"

    def last_step(self) -> Iterator[str]:
        """The calls before the stop or the pause, and the one that was refused."""
        halts = (
            n for n, event in enumerate(self._log) if isinstance(event, Tripped | Failed | Held)
        )
        place = max(halts, default=None)
        if place is None:
            return
        before = self._log[:place]
        calls = [event for event in before if isinstance(event, ToolAsked)]
        ends = {event.call: event for event in before if isinstance(event, ToolEnded)}
        denied = before[-1] if before and isinstance(before[-1], ToolDenied) else None
        if not calls and denied is None:
            return
        yield "The last steps before it"
        shown = calls[-CALLS_BEFORE_THE_STOP:]
        by_children = sum(event.tool_calls for event in before if isinstance(event, Returned))
        first = len(calls) - len(shown) + 1
        for number, call in enumerate(shown, first):
            result = result_words(ends.get(call.call))
            what = f"{quoted(call.tool)}: {quoted(call.what)}{f' ({result})' if result else ''}"
            yield f"  {number}. {self._clock(call.at)} {what}"
        if by_children:
            yield f"  (and {by_children} tool calls of sub-agents)"
        if denied is not None:
            yield f"  then {quoted(denied.tool)} was refused: {quoted(denied.what)}"

    def decisions(self) -> Iterator[str]:
        """Which rules have moved it, and what each says that does not."""
        made = [event for event in self._log if isinstance(event, Decided)]
        if made:
            yield "What looks at it have decided"
        if len(made) > MOST_DECISIONS:
            yield f"  … {len(made) - MOST_DECISIONS} earlier"
        for event in made[-MOST_DECISIONS:]:
            yield f"  {self._clock(event.at)} {event.rule}: {quoted(event.reason)}"
        if self._stays:
            yield "Why nothing moves it, as far as was seen"
        for rule, why in self._stays.items():
            yield f"  {rule}: {quoted(why)}"

    def work(self) -> Iterator[str]:
        agent, kept = self._agent, self._report.kept
        yield "Its work"
        if agent.sha is None:
            yield f"  branch {agent.branch}: not created yet"
        else:
            yield f"  branch {agent.branch} at {agent.sha[:12]}, as GitHub has it"
        if kept is not None and kept.problem:
            yield f"  {quoted(kept.problem)}"
        if kept is not None and not kept.pushed and kept.problem:
            yield "  What is missing there is kept on Squadron's disk."
        if kept is not None and kept.diff is not None:
            diff = kept.diff
            yield f"  {_count(diff.files, 'file')} changed, +{diff.added} -{diff.deleted} lines"
        if agent.pull_request is not None:
            yield f"  pull request #{agent.pull_request}"
        if agent.summary:
            yield f"  It says: {quoted(agent.summary, 500)}"

    def on_github(self) -> Iterator[str]:
        if self._agent.parent is not None:
            return
        yield "On GitHub"
        for effect in self._effects.values():
            yield f"  {effect.name.replace('_', ' ')}: {self._effect_words(effect)}"
        if not self._effects:
            yield "  nothing was written yet"

    def _effect_words(self, effect: Effect) -> str:
        url = f" {effect.url}" if effect.url else ""
        match effect.state:
            case EffectState.DONE:
                return f"done{url}"
            case EffectState.REFUSED:
                again = f"; asked again at {self._clock(effect.due_at)}" if effect.due_at else ""
                return f"GitHub refuses it: {quoted(effect.error)}{again}{url}"
            case EffectState.WANTED:
                tried = f", {_count(effect.attempts, 'attempt')}" if effect.attempts else ""
                why = f": {quoted(effect.error)}" if effect.error else ""
                due = f"; next attempt at {self._clock(effect.due_at)}" if effect.due_at else ""
                return f"not yet{tried}{why}{due}{url}"

    def next_steps(self) -> Iterator[str]:
        view = self._report
        steps = list(next_steps(self._agent, self._effects, view.brake, view.queue))
        if steps:
            yield "What to do"
        for step in steps:
            yield f"  - {step}"

    def _clock(self, at: datetime) -> str:
        """The time; with its date when that is another than the start's."""
        same_day = at.astimezone(UTC).date() == self._agent.created_at.astimezone(UTC).date()
        return f"{at.astimezone(UTC):%H:%M:%S}" if same_day else _full(at)


_WIDTH: Final = max(map(len, LimitName))


def refused_words(effects: Mapping[EffectName, Effect]) -> list[str]:
    """What GitHub refuses to be told about an agent, and why; one sentence each."""
    return [
        f"GitHub refuses the {effect.name.replace('_', ' ')}: {effect.error}"
        for effect in effects.values()
        if effect.state is EffectState.REFUSED
    ]


def quoted(text: str, most: int = _MOST_QUOTED) -> str:
    """Words that others wrote, in one line that cannot move a cursor."""
    line = " ".join(text.split())
    return cut("".join(each if each.isprintable() else "·" for each in line), most)


def duration_words(duration: timedelta) -> str:
    """`45 s`, `12 min 3 s`, `2 h 5 min`."""
    total = max(int(duration.total_seconds()), 0)
    hours, minutes, seconds = total // 3600, total % 3600 // 60, total % 60
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    return f"{seconds} s"


def next_steps(
    agent: Agent,
    effects: Mapping[EffectName, Effect],
    brake: Braked | None,
    queue: QueuePlace | None,
) -> Iterator[str]:
    """What a person can do about it, one sentence or two each. `brake`: the one that holds it;
    `queue`: where it stands, if it waits for a worker."""
    if any(effect.state is EffectState.REFUSED for effect in effects.values()):
        yield "Mend what GitHub refuses (permissions of the App, a locked issue, protection)."
    if agent.parent is not None:
        yield f"Look at the agent that runs it: squadron explain '{agent.parent}'"
        return
    issue, role = agent.id.issue, agent.id.role
    match agent.state:
        case State.QUEUED:
            yield _while_queued(agent, brake, queue)
        case State.ACTIVE:
            yield f"Nothing: it works. A comment on #{issue} stops it: /squadron stop {role}."
        case State.STOPPING:
            yield "Nothing: it ends as soon as nothing of it runs any more."
        case State.COMPLETED:
            yield "Nothing: it is done."
        case State.CANCELLED:
            yield f"Nothing. To begin anew, set the label on #{issue} again."
        case State.ESCALATED:
            if agent.sha is not None:
                yield (
                    f"Look at the work: git fetch origin {agent.branch} && git log --stat"
                    f" origin/{agent.default_branch}..FETCH_HEAD"
                )
            if agent.trip is not None:
                yield (
                    f"Was the work good and the bound too narrow: raise {agent.trip.limit} in"
                    f" .squadron/config.yaml (`squadron limits suggest --role {role}`)."
                )
            yield (
                f"Resolve #{issue} by hand, or comment on it: /squadron retry {role}, with"
                " raise LIMIT +AMOUNT if it needs more. A fresh agent takes over the branch."
            )
        case State.PAUSED:
            yield f"Comment on #{issue}: /squadron resume, or /squadron raise LIMIT +AMOUNT."
        case State.SLEEPING if agent.waits_for is Waits.BLOCKER:
            blockers = ", ".join(f"#{number}" for number in agent.blocked_by)
            yield f"Close {blockers}: it goes on by itself then."
        case State.SLEEPING if agent.waits_for is Waits.REVIEW:
            if agent.pull_request is not None:
                yield f"Review pull request #{agent.pull_request}."
        case State.SLEEPING if agent.waits_for is Waits.ACCESS:
            yield f"Let the App into {agent.repository} again: it goes on by itself then."
        case State.SLEEPING:
            yield f"Answer its question by a comment on #{issue}."
        case _:
            assert_never(agent.state)


def _while_queued(agent: Agent, brake: Braked | None, queue: QueuePlace | None) -> str:
    again = "it goes on by itself then"
    match agent.waits_for:
        case Waits.ROOM:
            return f"Free space on Squadron's disk: {again}."
        case Waits.PROVIDER:
            whose = agent.missing_provider or "the model's provider"
            return f"See whether {whose} is away, or its key or account is bad: {again}."
        case Waits.GIT:
            return f"Nothing, unless GitHub stays away: {again}."
        case Waits.BUDGET:
            return f"Raise the budget, or wait until it renews: {again}."
        case Waits.CAP:
            return "Nothing: it begins when another one of its repository, or of its role, ends."
        case _ if brake is not None:
            return "Lift the brake: squadron resume, or /squadron resume where it was put on."
        case _ if queue is not None:
            return f"Nothing: it is number {queue.place} in the queue (see `squadron workers`)."
        case _:
            return "Nothing: it begins as soon as a worker takes it."


def _state_words(agent: Agent) -> str:
    return f"{agent.state} (waits for: {agent.waits_for})" if agent.waits_for else agent.state.value


def _use_words(use: LimitUse) -> str:
    return use.words


def _full(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{figure(count)} times"


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
