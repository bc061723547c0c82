"""A session at work under its gate and its timer, until something ends it.

The hook layer is the gate, the timer layer is `_watch`, a task of its own that sees an agent
which thinks and calls nothing. Whichever stops the session, the agent gets `summary_wait` seconds
to say what it did, and then everything it started is ended. Where the agent works, and what stops
it besides its own limits, is its `Setting`: a segment has a clone, a sub-agent its parent's.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from app.core.agents.agent import Agent
from app.core.agents.events import ClosingTool, Held, Reported
from app.core.agents.stops import Cause, Hold, Layer
from app.core.breaker.clocks import seconds_left
from app.core.breaker.raises import left_to_grant
from app.core.breaker.verdict import LimitUse, usage
from app.core.limits import LimitName
from app.core.rules.outages import ProviderFailure
from app.core.steering.github_away import GitHubAway
from app.core.words import prompts
from app.ports import (
    Blame,
    Clock,
    Halted,
    Idle,
    IncreaseRequested,
    ModelUnusable,
    NoProvider,
    PortFailed,
    ProviderAway,
    Report,
    ReportedBlocked,
    ReportedComplete,
    ReviewSubmitted,
    RuntimeFailed,
    RuntimeMissing,
    Session,
    SessionDamaged,
    StoreUnavailable,
    TurnEnd,
    WorkspaceFailed,
)
from app.services.failures import github_away, no_access
from app.services.segment.gate import BreakerGate, Superseded
from app.services.waiting import wait_for_all

RUNNING_TOOL_SECONDS: Final = 660.0
"""A pause lets running tools end; none may take longer."""
WATCH_SECONDS: Final = 0.5
"""How often a running session looks whether it must stop."""
LOOK_SECONDS: Final = 1.0
"""How often it looks in the registry whether people have taken it away."""
TICK_SECONDS: Final = 5.0
"""How much active time a `kill -9` can make forgotten, at most."""
PROGRESS_SECONDS: Final = 60.0
MODEL_CALLS_FOR_A_SUMMARY: Final = 3
MOST_CLAIM_CHARACTERS: Final = 4_000

log = logging.getLogger("squadron.agents")


class Stop(StrEnum):
    """Why a session that still works has to stop."""

    TRIPPED = "tripped"
    HELD = "held"
    """A limit, or the agent itself, asks a human."""
    SUPERSEDED = "superseded"
    DRAINED = "drained"
    BRAKED = "braked"
    """A person, or the repository's configuration, holds everything there."""
    PARENT = "parent"
    """The agent whose sub-agent it is was stopped."""
    AWAY = "away"
    """A sub-agent's model does not answer."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The agent ended its work by a closing tool, or without one (`Idle`)."""

    end: Report | Idle


@dataclass(frozen=True, slots=True)
class Stopped:
    """The agent was stopped from outside."""

    why: Stop
    summary: str


@dataclass(frozen=True, slots=True)
class CannotGoOn:
    """The agent cannot go on; somebody has to look at it."""

    cause: Cause
    reason: str


@dataclass(frozen=True, slots=True)
class Died:
    """The runtime failed; the work is worth another attempt."""

    reason: str


@dataclass(frozen=True, slots=True)
class ModelAway:
    """The model's provider does not answer; the work goes on once it does."""

    failure: ProviderFailure


Result = Ended | Stopped | CannotGoOn | Died | ModelAway | GitHubAway


class Setting(Protocol):
    """Where an agent works."""

    @property
    def wrap_up_seconds(self) -> float:
        """What a running turn gets to end by itself, unless a limit has stopped the agent."""
        ...

    async def open(self) -> Session | CannotGoOn | GitHubAway:
        """Make everything ready. Raises `PortFailed`, `OSError`, `RuntimeError`."""
        ...

    async def first_prompt(self, session: Session) -> str:
        """What the model is told first, with what people wrote meanwhile. Raises
        `WorkspaceFailed`."""
        ...

    async def listen(self) -> str:
        """What people have written to the agent and it has not heard, as it is told."""
        ...

    def must_stop(self) -> Stop | None:
        """Whether anything but the agent's own gate stops it."""
        ...

    async def look(self) -> None:
        """See what stops the agent for good and no call tells of: then it is in its gate."""
        ...

    async def progress(self, second: int) -> None:
        """The agent has worked for so long."""
        ...

    async def turned(self) -> None:
        """A turn has ended, or the session was closed."""
        ...

    async def end(self) -> None:
        """Stop the agent's sub-agents."""
        ...


class Stretch:
    """Runs once."""

    def __init__(self, agent: Agent, gate: BreakerGate, clock: Clock, setting: Setting) -> None:
        self._agent = agent
        self._gate = gate
        self._clock = clock
        self._setting = setting
        self._session: Session | None = None

    async def run(self) -> Result:
        """Work until something ends it. Nothing that it started is left running afterwards, and
        no secret of the installation is in what the agent said."""
        result = await self._run()
        if self._session is not None:
            await self._setting.turned()
        return self._gate.redact.within(result)

    async def _run(self) -> Result:
        work = asyncio.create_task(self._work(), name=f"work {self._agent.id}")
        watch = asyncio.create_task(self._watch(), name=f"watch {self._agent.id}")
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if watch.done():
                return await self._stop(watch.result(), work)
            await self._setting.look()  # what ended the work may be what stops the agent
            ended, stop = work.result(), reason_to_stop(self._gate, self._setting)
            if stop in (Stop.SUPERSEDED, Stop.TRIPPED):  # also by a tool beside a closing one
                return await self._stop(stop, work)
            if stop is Stop.HELD and _ended_by_agent(work) is None:
                return await self._stop(stop, work)
            if not isinstance(ended, Halted):
                return ended
            if stop is not None:
                return await self._stop(stop, work)
            return Ended(Idle(ended.text))  # the runtime gave the turn up by a bound of its own
        finally:
            await _ended(work, watch)
            await self._setting.end()
            if self._session is not None:
                await self._session.close()

    async def _work(self) -> Result | Halted:
        try:
            opened = await self._setting.open()
            if isinstance(opened, CannotGoOn | GitHubAway):
                return opened
            self._session = opened
            prompt = await self._setting.first_prompt(opened)
            end = await self._turns(opened, prompt)
            await self._note(end)
            return _result(end)
        except StoreUnavailable:  # the engine tries again
            raise
        except PortFailed as error:
            where = {"agent": str(self._agent.id), "blame": error.blame.value}
            log.warning("a session cannot go on: %s", error, extra=where)
            return follows_from(error)
        except (OSError, RuntimeError) as error:
            return Died(f"{type(error).__name__}: {error}")
        except Superseded:
            raise
        except Exception as error:
            where = {"agent": str(self._agent.id), "blame": Blame.SQUADRON.value}
            log.exception("a session failed as nobody has foreseen", extra=where)
            return Died(f"{type(error).__name__}, which nobody has foreseen: see the log")

    async def _turns(self, session: Session, prompt: str) -> TurnEnd:
        """Prompt until a closing tool was called; ask once more if the agent just stops."""
        end: TurnEnd = Halted("")
        refused = ""
        nudge = prompts.nudge_prompt(self._agent)
        for next_prompt in (prompt, nudge):
            words = await self._setting.listen() if next_prompt is nudge else ""
            verdict = await self._gate.before_turn()
            if not verdict.allowed:
                return Halted(verdict.reason)
            said = filter(None, (verdict.reason, refused, words, next_prompt))
            end = await session.turn("\n\n".join(said))
            await self._setting.turned()
            if isinstance(end, IncreaseRequested) and (refused := self._not_granted(end.limit)):
                end = Idle(refused)
            if not isinstance(end, Idle):
                return end
        return end

    def _not_granted(self, limit: LimitName) -> str:
        """Why nobody could grant more of a limit, whatever a human says; empty: somebody can."""
        room = left_to_grant(self._agent.assignment.limits, self._gate.counters, limit)
        if room is None:
            return f"{limit} has no bound here: there is nothing to ask for."
        if room <= 0:
            return f"{limit} is at its ceiling: nobody can grant more of it."
        return ""

    async def _note(self, end: TurnEnd) -> None:
        """A report is in the log before anything is done about it."""
        now, end = self._clock.now(), self._gate.redact.within(end)
        match end:
            case ReportedComplete(summary=text):
                report = Reported(at=now, tool=ClosingTool.REPORT_COMPLETE, text=text)
            case ReviewSubmitted(summary=text, comments=comments):
                report = Reported(
                    at=now,
                    tool=ClosingTool.SUBMIT_REVIEW,
                    text=text,
                    comments=comments,
                )
            case ReportedBlocked(reason=text, blocked_by=blockers):
                report = Reported(
                    at=now,
                    tool=ClosingTool.REPORT_BLOCKED,
                    text=text,
                    blocked_by=blockers,
                )
            case IncreaseRequested():
                await self._gate.note(Held(at=now, hold=self._asked_hold(end, now)))
                return
            case _:
                return
        await self._gate.note(report)

    def _asked_hold(self, asked: IncreaseRequested, now: datetime) -> Hold:
        """The agent asks early: it pauses as if the limit had been reached."""
        used = {use.name: use for use in self._uses()}
        use = used[asked.limit]
        return Hold(
            limit=asked.limit,
            observed=use.observed,
            maximum=use.maximum,
            layer=Layer.HOOK,
            at=now,
            reason=f"The agent asks for more of {asked.limit}: it used {use.words}.",
            asks=True,
            amount=asked.amount,
            claim=asked.evidence[:MOST_CLAIM_CHARACTERS],
        )

    def _uses(self) -> Sequence[LimitUse]:
        return usage(self._gate.counters, self._agent.assignment.limits, self._clock.now())

    async def _watch(self) -> Stop:
        """The timer of this agent: sees deadlines, lost ownership and whatever else stops it."""
        next_tick, next_progress, next_look = TICK_SECONDS, PROGRESS_SECONDS, LOOK_SECONDS
        began = self._clock.monotonic()
        while True:
            waited = self._clock.monotonic() - began
            await self._setting.look()
            if (stop := reason_to_stop(self._gate, self._setting)) is not None:
                return stop
            left = seconds_left(
                self._gate.counters, self._agent.assignment.limits, self._clock.now()
            )
            if left <= 0 or waited >= next_tick:
                await self._gate.tick()
                next_tick = waited + TICK_SECONDS
                continue
            if waited >= next_look:
                next_look = waited + LOOK_SECONDS
                await self._gate.look()
                continue
            if waited >= next_progress:
                next_progress = waited + PROGRESS_SECONDS
                await self._setting.progress(int(waited))
            await self._clock.sleep(min(left, WATCH_SECONDS))

    async def _stop(self, why: Stop, work: "asyncio.Task[Result | Halted]") -> Result:
        """Let running tools end and the agent summarise, both within one bound."""
        if why is Stop.SUPERSEDED:
            return Stopped(why, "")
        match why:
            case Stop.TRIPPED:
                wait_seconds = await self._tools_ended(work)
            case Stop.HELD:
                wait_seconds = RUNNING_TOOL_SECONDS
            case _:
                wait_seconds = self._setting.wrap_up_seconds
        summary = await self._within(wait_seconds, self._last_words(why, work))
        if self._gate.superseded.is_set():
            return Stopped(Stop.SUPERSEDED, "")
        reported = _ended_by_agent(work)
        if why is not Stop.TRIPPED and reported is not None:
            return reported
        return Stopped(why, summary)

    async def _tools_ended(self, work: "asyncio.Task[Result | Halted]") -> float:
        """After a trip, end the tools that still run once they have had their time, and sub-agents
        once they have said what they did; the seconds that are left for the summary."""
        gate, seconds = self._gate, float(self._agent.assignment.limits.summary_wait)
        if gate.runs_tools:
            await self._within(gate.tool_wait_seconds, self._tools_end(work))
        gate.tools_are_over = True
        began = self._clock.monotonic()
        if gate.runs_sub_agents:
            await self._within(seconds / 2, self._tools_end(work))
        if gate.runs_tools and gate.counters.trip is not None:
            await _ended(work)
        return max(seconds - (self._clock.monotonic() - began), 0)

    async def _tools_end(self, work: "asyncio.Task[Result | Halted]") -> str:
        if self._session is not None:
            await self._session.interrupt()  # no further model call
        ended = asyncio.create_task(self._gate.tools_ended())
        try:
            await asyncio.wait({work, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _ended(ended)
        return ""

    async def _within(self, seconds: float, words: Coroutine[object, object, str]) -> str:
        """What is said in time; when something else stops the agent, that is sooner."""
        saying = asyncio.create_task(words)
        next_look, waited, began = LOOK_SECONDS, 0.0, self._clock.monotonic()
        try:
            while not saying.done() and waited < seconds:
                pause = min(seconds - waited, WATCH_SECONDS)
                await wait_for_all(self._clock, {saying}, pause)
                waited = self._clock.monotonic() - began
                if waited >= next_look:
                    next_look = waited + LOOK_SECONDS
                    await self._gate.look()
                if self._gate.superseded.is_set():
                    break
                if self._setting.must_stop() is not None:
                    seconds = min(seconds, self._setting.wrap_up_seconds)
            return saying.result() if saying.done() else ""
        finally:
            await _ended(saying)

    async def _last_words(self, why: Stop, work: "asyncio.Task[Result | Halted]") -> str:
        session = self._session
        if session is None:
            return ""
        if not work.done():
            await session.interrupt()
            await asyncio.wait({work})
        reported = _ended_by_agent(work)
        said = _words(reported.end) if reported is not None else ""
        stop = self._gate.counters.stop
        if said or why is not Stop.TRIPPED or stop is None:
            return said
        self._gate.grant_last_words(MODEL_CALLS_FOR_A_SUMMARY)
        prompt = prompts.summary_prompt(self._agent, stop)
        end = await session.summarise(prompt, MODEL_CALLS_FOR_A_SUMMARY)
        return _words(end) or _last_text(work)


def stops_sub_agents(gate: BreakerGate, setting: Setting) -> bool:
    """Whether those that work below have to stop with the agent: they are tools that run, so
    neither at a hold nor, for a while, at a trip."""
    why = reason_to_stop(gate, setting)
    if why is Stop.TRIPPED:
        return gate.tool_wait_seconds == 0
    return why not in (None, Stop.HELD)


def reason_to_stop(gate: BreakerGate, setting: Setting) -> Stop | None:
    """Whether an agent that works there has to stop, and why."""
    if gate.superseded.is_set():
        return Stop.SUPERSEDED
    if gate.tripped.is_set():
        return Stop.TRIPPED
    if gate.held.is_set():
        return Stop.HELD
    if gate.missing is not None:
        return Stop.AWAY
    return setting.must_stop()


def follows_from(error: PortFailed) -> Result:
    """What follows for the agent from a failure of the world, by whose it is."""
    if (why := no_access(error)) is not None:
        return CannotGoOn(Cause.NO_ACCESS, why)
    if (away := github_away(error)) is not None:
        return away
    match error:
        case NoProvider(failure=failure):
            return ModelAway(failure)
        case ModelUnusable():
            return CannotGoOn(Cause.MODEL_FAILED, str(error))
        case RuntimeMissing():
            return CannotGoOn(Cause.RUNTIME_MISSING, str(error))
        case SessionDamaged():
            return CannotGoOn(Cause.SESSION_DAMAGED, str(error))
        case WorkspaceFailed():
            why = f"The default branch could not be read: {error}"
            return CannotGoOn(Cause.WORKSPACE_FAILED, why)
        case _:
            return Died(str(error))


def _result(end: TurnEnd) -> Result | Halted:
    match end:
        case Halted():
            return end
        case IncreaseRequested():
            return Halted("")  # the hold is in the log, and stops the agent
        case RuntimeFailed(reason=reason):
            return Died(reason)
        case ProviderAway(failure=failure):
            return ModelAway(failure)
        case ReportedComplete() | ReviewSubmitted() | ReportedBlocked() | Idle():
            return Ended(end)


def _ended_by_agent(work: "asyncio.Task[Result | Halted]") -> Ended | None:
    """The report with which a turn ended that was interrupted, if it had one."""
    if not work.done() or work.cancelled() or work.exception() is not None:
        return None
    ended = work.result()
    return ended if isinstance(ended, Ended) and not isinstance(ended.end, Idle) else None


def _last_text(work: "asyncio.Task[Result | Halted]") -> str:
    """What the agent said last of itself, if it cannot be asked."""
    if work.cancelled() or work.exception() is not None:
        return ""
    ended = work.result()
    return ended.text if isinstance(ended, Halted) else ""


def _words(end: TurnEnd) -> str:
    match end:
        case (
            ReportedComplete(summary=text)
            | ReviewSubmitted(summary=text)
            | ReportedBlocked(reason=text)
        ):
            return text
        case Idle(text=text) | Halted(text=text):
            return text
        case RuntimeFailed() | ProviderAway() | IncreaseRequested():
            return ""


async def _ended(*tasks: "asyncio.Task[object]") -> None:
    """Cancel what still runs and wait until it is gone."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
