"""What an agent did and what happened to it, one line for each thing, in the words of people. Pure.

What agents, tools and strangers wrote stands apart from what Squadron says, as it came.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from app.core.agents.events import (
    AgentEvent,
    Braked,
    BrakeLifted,
    ClockSet,
    ClosingTool,
    Created,
    Decided,
    Failed,
    FilesMoved,
    Finished,
    HandedOver,
    Held,
    HeldUp,
    HostRefused,
    Kept,
    Known,
    LetOn,
    LostAccess,
    Lowered,
    ModelAsked,
    ModelCalled,
    Noticed,
    Passed,
    Phase,
    Proposed,
    Raised,
    Reported,
    Returned,
    SegmentEnded,
    SegmentStarted,
    SentBack,
    SetUp,
    Slept,
    Spawned,
    SpawnRefused,
    Spoke,
    SpokenTo,
    Summarised,
    TakenAway,
    Ticked,
    ToolAsked,
    ToolDenied,
    ToolEnded,
    Tripped,
    TurnAsked,
    Verified,
    VerifyBegun,
    Waits,
    Warned,
    Woken,
)
from app.core.agents.signs import Sign
from app.core.breaker.verdict import amount_words, money
from app.core.limits import CATALOGUE, LimitName
from app.core.money import usd
from app.core.words.files import lost_words
from app.core.words.tables import in_unit
from app.testruns import Outcome


class Tone(StrEnum):
    """How a line is meant."""

    ROUTINE = "routine"
    """It happens in every turn."""
    NEWS = "news"
    GOOD = "good"
    WARNING = "warning"
    """A call that failed, a limit that comes close."""
    BAD = "bad"
    """It stopped the agent, or keeps its work from people."""
    PEOPLE = "people"
    """Somebody did it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a timeline."""

    seq: int
    """Of the event in the agent's log."""
    at: datetime
    what: str
    said: str = ""
    """What somebody else wrote: an agent, a tool, a person. Untrusted."""
    tone: Tone = Tone.NEWS
    result: str = ""
    """What came of a call; empty: nothing did yet, or there is nothing to say."""
    output: str = ""
    """The end of what it printed: several lines. Untrusted."""
    took: timedelta | None = None
    is_open: bool = False
    """A call that has not ended, as far as this part of the log tells."""


_Life = Created | Slept | Woken | Decided | TakenAway | Finished | Failed
_Stretch = SegmentStarted | SegmentEnded | SetUp | HostRefused | FilesMoved | ClockSet
_Turn = TurnAsked | Spoke | ToolDenied | SpokenTo | Proposed | Reported | Summarised
_Limit = Warned | Passed | Noticed | Held | Raised | Lowered | Tripped
_Work = Kept | VerifyBegun | Verified | SentBack | HandedOver
_Child = Spawned | SpawnRefused | Returned
_Hindrance = Braked | BrakeLifted | HeldUp | LetOn | LostAccess
_Happening = _Life | _Stretch | _Turn | _Limit | _Work | _Child | _Hindrance

_OURSELVES: Final = "squadron"
"""Who wakes an agent when the state of GitHub was the reason (`Woken.by`)."""
_WAITED_FOR: Final[Mapping[Waits, str]] = {
    Waits.BLOCKER: "other issues",
    Waits.ANSWER: "an answer",
    Waits.REVIEW: "a review",
    Waits.RAISE: "somebody's decision",
    Waits.ACCESS: "the App to be let in",
    Waits.ROOM: "room on the disk",
    Waits.PROVIDER: "the model's provider",
    Waits.GIT: "GitHub",
    Waits.BUDGET: "money",
    Waits.CAP: "others to end",
}
_REPORTED: Final[Mapping[ClosingTool, str]] = {
    ClosingTool.REPORT_COMPLETE: "It says that it is done",
    ClosingTool.REPORT_BLOCKED: "It says that it cannot go on",
    ClosingTool.SUBMIT_REVIEW: "It reviewed",
}
PASSED_HOW: Final[Mapping[str, str]] = {
    "shadow": "only judged, in shadow",
    "refused": "what it asked for was refused",
    "warn": "only warns",
}
_SIGNS: Final[Mapping[Sign, str]] = {
    Sign.NOTHING_NEW: "it repeats itself",
    Sign.FAILING: "nearly all of its calls fail",
}
_SOUND: Final[Mapping[Known, Tone]] = {
    Known.YES: Tone.GOOD,
    Known.NO: Tone.BAD,
    Known.UNKNOWN: Tone.WARNING,
}


class _Told(NamedTuple):
    what: str
    said: str = ""
    tone: Tone = Tone.NEWS
    output: str = ""


def timeline(log: Iterable[tuple[int, AgentEvent]]) -> list[Entry]:
    """Some events that follow each other, with their numbers. A call and its end are one line; one
    that has no end is open as long as the segment lasts."""
    entries, calls = list[Entry](), dict[str, int]()
    model_asked_at: datetime | None = None
    for seq, event in log:
        match event:
            case Ticked():
                continue
            case ModelAsked(at=at):
                model_asked_at = at
            case ModelCalled(at=at):
                took = None if model_asked_at is None else at - model_asked_at
                entries.append(Entry(seq, at, *_model_words(event), took=took))
                model_asked_at = None
            case ToolEnded(call=call) if call in calls:
                place = calls.pop(call)
                entries[place] = _ended(entries[place], event)
            case ToolEnded(at=at):
                before = Entry(seq, at, "A call that began before", tone=Tone.ROUTINE)
                entries.append(replace(_ended(before, event), took=None))
            case SegmentStarted() | SegmentEnded():
                for place in calls.values():
                    entries[place] = replace(
                        entries[place], result=result_words(None), is_open=False
                    )
                calls.clear()
                entries.append(_entry(seq, event))
            case ToolAsked(at=at, call=call):
                calls[call] = len(entries)
                entries.append(Entry(seq, at, event.tool, event.what, Tone.ROUTINE, is_open=True))
            case _:
                entries.append(_entry(seq, event))
    return entries


def verified_words(event: Verified) -> str:
    """What Squadron has found out of a commit, without why."""
    match event.sound:
        case Known.YES:
            return f"Commit {event.sha[:12]} was checked in a clean checkout: it is sound"
        case Known.NO:
            return f"Commit {event.sha[:12]} was checked in a clean checkout: it is not sound"
        case Known.UNKNOWN:
            return f"Commit {event.sha[:12]} could not be checked"


def outcome_words(outcome: Outcome | None) -> str:
    """What became of a test run; None: it has not ended, or its process died."""
    return "not finished" if outcome is None else outcome.replace("_", " ")


def result_words(end: ToolEnded | None) -> str:
    """What came of a call; empty: it did what it was asked. None: it has no end."""
    if end is None:
        return "did not end"
    if end.outcome is not None:
        return f"tests: {outcome_words(end.outcome)}"
    if end.cut_off:
        return "cut off when its turn was over"
    return "" if end.ok and not end.error else "failed"


def _entry(seq: int, event: _Happening) -> Entry:
    what, said, tone, output = _words(event)
    return Entry(seq, event.at, what, said, tone, output=output)


def _ended(call: Entry, end: ToolEnded) -> Entry:
    words = ": ".join(filter(None, (result_words(end), end.failures)))
    tone = _tone_of_end(end)
    took = end.at - call.at
    return replace(call, result=words, tone=tone, output=end.output, took=took, is_open=False)


def _tone_of_end(end: ToolEnded) -> Tone:
    if end.outcome is Outcome.PASSED:
        return Tone.GOOD
    went_well = end.cut_off or (end.ok and not end.error)
    return Tone.ROUTINE if end.outcome is None and went_well else Tone.WARNING


def _model_words(event: ModelCalled) -> tuple[str, str, Tone]:
    price = "unknown cost" if event.cost_nanousd is None else money(usd(event.cost_nanousd))
    guess = ", estimated" if event.is_estimate else ""
    plans = " (it plans)" if event.phase is Phase.PLANNING else ""
    used = f"{event.input_tokens:,} tokens in, {event.output_tokens:,} out, {price}{guess}"
    return f"The model answered{plans}: {used}", "", Tone.ROUTINE


def _of(limit: LimitName, observed: float, maximum: float) -> str:
    return f"{limit}: {amount_words(CATALOGUE[limit], observed, maximum)}"


def _words(event: _Happening) -> _Told:
    if isinstance(event, _Life):
        return _of_its_life(event)
    if isinstance(event, _Stretch):
        return _of_a_stretch(event)
    if isinstance(event, _Turn):
        return _of_a_turn(event)
    if isinstance(event, _Limit):
        return _of_a_limit(event)
    if isinstance(event, _Work):
        return _of_its_work(event)
    if isinstance(event, _Child):
        return _of_a_sub_agent(event)
    return _of_what_holds_it(event)


def _of_its_life(event: _Life) -> _Told:
    match event:
        case Created(started_by=by, trigger=trigger):
            return _Told(f"{by} started it", trigger, Tone.PEOPLE)
        case Slept(waits_for=waits_for, reason=reason):
            return _Told(f"It fell asleep, and waits for: {_WAITED_FOR[waits_for]}", reason)
        case Woken(why=why, by=by):
            return _Told(f"Woken by {by}", why, _tone_of(by))
        case Decided(rule=rule, reason=reason):
            return _Told(f"Squadron decided, by the rule {rule.replace('_', ' ')}", reason)
        case TakenAway(why=why):
            return _Told("Its work was taken away", why, Tone.PEOPLE)
        case Finished(why=why):
            return _Told("It ended", why, Tone.GOOD)
        case Failed(failure=failure):
            return _Told(f"It failed ({failure.cause.replace('_', ' ')})", failure.reason, Tone.BAD)


def _of_a_stretch(event: _Stretch) -> _Told:
    match event:
        case SegmentStarted(attempt=attempt, worker=worker):
            where = f" on {worker}" if worker else ""
            again = f", for the {_nth(attempt)} time" if attempt > 1 else ""
            return _Told(f"It went to work{where}{again}")
        case SegmentEnded(why=why, died=died, lost=lost):
            what = "Its process died" if died else "Its worker was gone" if lost else "It stopped"
            return _Told(what, why, Tone.WARNING if died or lost else Tone.NEWS)
        case SetUp(made_at=made_at, lacks_dependencies=lacks):
            from_where = "" if made_at is None else ", from a setup that had run before"
            without = "; what its branch adds to the dependencies is not installed" if lacks else ""
            return _Told(f"Its workspace is ready{from_where}{without}")
        case HostRefused(host=host, why=why, times=times):
            often = "" if times == 1 else f" ({times} times)"
            return _Told(f"Its setup did not reach a host{often}", f"{host}: {why}", Tone.WARNING)
        case FilesMoved(lost=lost):
            if not lost:
                return _Told("It goes on elsewhere; none of its files are lost")
            return _Told(f"It goes on elsewhere, without {lost_words(lost)}", tone=Tone.WARNING)
        case ClockSet(by_seconds=by):
            how = "ahead" if by > 0 else "back"
            return _Told(f"The clock of its machine was set {how} by {abs(by):.0f} s")


def _of_a_turn(event: _Turn) -> _Told:
    match event:
        case TurnAsked():
            return _Told("A prompt was sent to it", tone=Tone.ROUTINE)
        case Spoke():
            return _Told("It said something", tone=Tone.ROUTINE)
        case ToolDenied(tool=tool, what=what, reason=reason):
            return _Told(f"{tool} was refused: {reason}", what, Tone.WARNING)
        case SpokenTo(by=by, text=text):
            return _Told(f"{by} wrote to it", text, Tone.PEOPLE)
        case Proposed(issue=issue, role=role, labels=labels, why=why):
            thinks = ", ".join(filter(None, (role and f"role {role}", *labels))) or "nothing"
            return _Told(f"It proposes for #{issue}: {thinks}", why)
        case Reported(tool=tool, text=text):
            return _Told(_REPORTED[tool], text)
        case Summarised(text=text):
            return _Told("It summed up what it had done", text)


def _of_a_limit(event: _Limit) -> _Told:
    match event:
        case Warned(limit=limit, observed=observed, maximum=maximum):
            close = f"Warned that a limit is close. {_of(limit, observed, maximum)}"
            return _Told(close, tone=Tone.WARNING)
        case Passed(limit=limit, observed=observed, maximum=maximum):
            passed = f"A limit was passed ({PASSED_HOW[event.how]})"
            return _Told(f"{passed}. {_of(limit, observed, maximum)}", tone=Tone.WARNING)
        case Noticed(sign=sign):
            return _Told(f"Told that it gets nowhere: {_SIGNS[sign]}", tone=Tone.WARNING)
        case Held(hold=hold):
            claim = f" It says for itself: {hold.claim}" if hold.claim else ""
            return _Told("A limit pauses it", f"{hold.reason}{claim}", Tone.BAD)
        case Raised(limit=limit, amount=amount, maximum=maximum, by=by):
            more, to = in_unit(limit, amount), in_unit(limit, maximum)
            return _Told(f"{by} raised {limit} by {more}, to {to}", tone=_tone_of(by))
        case Lowered(limit=limit, maximum=maximum):
            return _Told(f"{limit} was lowered to {in_unit(limit, maximum)}")
        case Tripped(trip=trip):
            return _Told(f"Stopped for good, by the {trip.layer} layer", trip.reason, Tone.BAD)


def _of_its_work(event: _Work) -> _Told:
    match event:
        case Kept(problem=problem, pushed=pushed, sha=sha):
            what = f"Its work was pushed, as {sha[:12]}" if pushed and sha else "Its work was kept"
            return _Told(what, problem, Tone.BAD if problem else Tone.NEWS)
        case VerifyBegun(sha=sha):
            return _Told(f"Squadron checks commit {sha[:12]} in a clean checkout")
        case Verified(sound=sound, why=why, output=output):
            return _Told(verified_words(event), why, _SOUND[sound], output)
        case SentBack():
            return _Told("The work went back to it, for it is not sound", tone=Tone.WARNING)
        case HandedOver(pull_request=number):
            return _Told(f"Its work became pull request #{number}", tone=Tone.GOOD)


def _of_a_sub_agent(event: _Child) -> _Told:
    match event:
        case Spawned(child=child, goes_on=goes_on):
            return _Told(f"It gave more to {child}" if goes_on else f"It started {child}")
        case SpawnRefused(why=why):
            return _Told("It may not start a sub-agent", why, Tone.WARNING)
        case Returned(child=child, tool_calls=calls, cost_nanousd=cost, asks=asks):
            price = "unknown cost" if event.unpriced_calls else money(usd(cost))
            used = f"{calls} tool call{'' if calls == 1 else 's'}, {price}"
            if asks:
                return _Told(f"{child} paused ({used})", asks, Tone.WARNING)
            return _Told(f"{child} ended ({used})")


def _of_what_holds_it(event: _Hindrance) -> _Told:
    match event:
        case Braked(why=why):
            return _Told("A brake holds it", why, Tone.WARNING)
        case BrakeLifted():
            return _Told("The brake was lifted")
        case HeldUp(waits_for=waits_for, why=why):
            return _Told(f"It waits for: {_WAITED_FOR[waits_for]}", why, Tone.WARNING)
        case LetOn():
            return _Told("It may go on")
        case LostAccess(why=why):
            return _Told("The App is not let into the repository", why, Tone.BAD)


def _tone_of(by: str) -> Tone:
    return Tone.NEWS if by == _OURSELVES else Tone.PEOPLE


def _nth(count: int) -> str:
    return {2: "second", 3: "third"}.get(count, f"{count}th")
