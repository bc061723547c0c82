"""One attempt of one segment: workspace, setup, session, turns, and the two clocks beside them.

The hook layer is the gate, the timer layer is `_watch`, a task of its own that sees an agent
which thinks and calls nothing. Whichever stops the segment, the agent gets `summary_wait` seconds
to say what it did, and then everything it started is ended.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, TypeVar

from app.core import prompts
from app.core.agent import Agent
from app.core.breaker import LimitUse, usage
from app.core.deadlines import seconds_left
from app.core.events import AgentEvent, Cause, ClosingTool, ModelCalled, Reported, Woken
from app.core.redact import redact
from app.ports import (
    Checkout,
    CheckoutOrder,
    GitHubFailed,
    Halted,
    Idle,
    ReportedBlocked,
    ReportedComplete,
    RuntimeFailed,
    Session,
    SessionOrder,
    TurnEnd,
    Work,
    WorkspaceFailed,
)
from app.services.drain import Drain
from app.services.gate import BreakerGate
from app.services.world import World, checkout_order, environment

WATCH_SECONDS: Final = 0.5
"""How often a running segment looks whether it must stop."""
TICK_SECONDS: Final = 5.0
"""How much active time a `kill -9` can make forgotten, at most."""
PROGRESS_SECONDS: Final = 60.0
PREPARE_BACKOFF_SECONDS: Final = (1, 2, 4, 8, 16, 30)
SETUP_SECONDS: Final = 900.0
SETUP_OUTPUT_CHARACTERS: Final = 1_500
MODEL_CALLS_FOR_A_SUMMARY: Final = 3
WRAP_UP_SECONDS: Final = 10.0
"""What a draining process gives a running turn to end by itself."""

Answer = TypeVar("Answer")

log = logging.getLogger("squadron.agents")


class Stop(StrEnum):
    """Why a segment that still works has to stop."""

    TRIPPED = "tripped"
    SUPERSEDED = "superseded"
    DRAINED = "drained"


@dataclass(frozen=True, slots=True)
class Ended:
    """The agent ended its work by a closing tool, or without one (`Idle`)."""

    end: ReportedComplete | ReportedBlocked | Idle


@dataclass(frozen=True, slots=True)
class Stopped:
    """The segment was stopped from outside the agent."""

    why: Stop
    summary: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The segment cannot go on; a human has to look at it."""

    cause: Cause
    reason: str


@dataclass(frozen=True, slots=True)
class Died:
    """The runtime failed; the segment is worth another attempt."""

    reason: str


Result = Ended | Stopped | Failed | Died


class Segment:
    """Runs once."""

    def __init__(
        self,
        world: World,
        agent: Agent,
        gate: BreakerGate,
        history: Sequence[AgentEvent],
        drain: Drain,
    ) -> None:
        self._world = world
        self._agent = agent
        self._gate = gate
        self._history = history
        self._drain = drain
        self._session: Session | None = None

    async def run(self) -> Result:
        """Work until something ends it. Nothing of the segment is left running afterwards."""
        work = asyncio.create_task(self._work(), name=f"work {self._agent.id}")
        watch = asyncio.create_task(self._watch(), name=f"watch {self._agent.id}")
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if watch.done():
                return await self._stop(watch.result(), work)
            ended, stop = work.result(), self._reason_to_stop()
            if stop is Stop.TRIPPED:  # also by a tool beside a closing one
                return await self._stop(stop, work)
            if not isinstance(ended, Halted):
                return ended
            if stop is not None:
                return await self._stop(stop, work)
            return Ended(Idle(ended.text))  # the runtime gave the turn up by a bound of its own
        finally:
            await _ended(work, watch)
            if self._session is not None:
                await self._session.close()

    async def _work(self) -> Result | Halted:
        try:
            order = await self._patiently(partial(checkout_order, self._world, self._agent))
            checkout = await self._prepare(order)
        except (WorkspaceFailed, GitHubFailed) as error:
            return Failed(Cause.WORKSPACE_FAILED, f"The workspace could not be prepared: {error}")
        await self._world.engine.enqueue(
            Work.to_publish(self._agent.id, f"start:{self._agent.segment}")
        )
        try:
            if problem := await self._set_up(order, checkout):
                return Failed(Cause.SETUP_FAILED, problem)
            self._session = await self._open(order, checkout)
            prompt = await self._first_prompt(order, self._session)
            end = await self._turns(self._session, prompt)
            await self._note(end)
            return _result(end)
        except WorkspaceFailed as error:
            return Failed(Cause.WORKSPACE_FAILED, f"The default branch could not be read: {error}")
        except ValueError as error:
            return Failed(Cause.MODEL_FAILED, str(error))
        except (OSError, RuntimeError) as error:
            return Died(f"{type(error).__name__}: {error}")

    async def _prepare(self, order: CheckoutOrder) -> Checkout:
        checkout = await self._patiently(partial(self._world.workspace.prepare, order))
        self._gate.enter(checkout.directory)
        await self._world.store.note_head(self._agent.id, checkout.base_sha, checkout.head_sha)
        return checkout

    async def _patiently(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Ask GitHub or git again for about a minute, then let the failure through."""
        for pause in PREPARE_BACKOFF_SECONDS:
            try:
                return await ask()
            except (WorkspaceFailed, GitHubFailed) as error:
                log.warning("not ready: %s", error, extra={"agent": str(self._agent.id)})
                await asyncio.sleep(pause)
        return await ask()

    async def _set_up(self, order: CheckoutOrder, checkout: Checkout) -> str:
        """Run the role's `setup:` commands; the problem in words, empty if all went well.

        Once in a clone; a set-up that the death of the process cut off runs again.
        """
        is_done = self._world.agents_directory(str(self._agent.id)) / "setup.done"
        if is_done.exists() and not checkout.is_fresh:
            return ""
        for command in self._agent.assignment.setup:
            ended = await self._world.processes.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=checkout.directory,
                environment=environment(self._world, self._agent, order),
                timeout_seconds=SETUP_SECONDS,
            )
            if ended.exit_code != 0:
                how = (
                    f"did not end within {SETUP_SECONDS:.0f} s"
                    if ended.exit_code is None
                    else f"ended with exit code {ended.exit_code}"
                )
                tail = redact(ended.output.strip()[-SETUP_OUTPUT_CHARACTERS:])
                return f"The setup command `{command}` {how}: {tail}"
        is_done.touch()
        return ""

    async def _open(self, order: CheckoutOrder, checkout: Checkout) -> Session:
        agent = self._agent
        files = self._world.agents_directory(str(agent.id))
        for name in ("session", "home"):
            (files / name).mkdir(parents=True, exist_ok=True)
        return await self._world.runtime.open(
            SessionOrder(
                agent=str(agent.id),
                system_prompt=prompts.system_prompt(agent),
                model=agent.assignment.model,
                workspace=checkout.directory,
                session_directory=files / "session",
                environment=environment(self._world, agent, order),
                tools=agent.assignment.tools,
            ),
            self._gate,
        )

    async def _first_prompt(self, order: CheckoutOrder, session: Session) -> str:
        """What the model does not know yet; said once more if nobody knows that it was heard."""
        agent, uses = self._agent, self._uses()
        later = ""
        if _is_heard(self._history):
            later = prompts.resume_prompt(uses)
        elif any(isinstance(event, Woken) for event in self._history):
            later = prompts.wake_prompt(agent, uses, await self._news(order))
        if later and session.is_resumed:
            return later
        return "\n\n".join(filter(None, (prompts.start_prompt(agent, uses), later)))

    async def _news(self, order: CheckoutOrder) -> str:
        since = self._agent.base_sha
        if since is None:
            return ""
        return await self._patiently(partial(self._world.workspace.news, order, since))

    async def _turns(self, session: Session, prompt: str) -> TurnEnd:
        """Prompt until a closing tool was called; ask once more if the agent just stops."""
        end: TurnEnd = Halted("")
        for next_prompt in (prompt, prompts.nudge_prompt()):
            verdict = await self._gate.before_turn()
            if not verdict.allowed:
                return Halted(verdict.reason)
            end = await session.turn("\n\n".join(filter(None, (verdict.reason, next_prompt))))
            if not isinstance(end, Idle):
                return end
        return end

    async def _note(self, end: TurnEnd) -> None:
        """A report is in the log before anything is done about it."""
        now = self._world.clock.now()
        match end:
            case ReportedComplete(summary=text):
                report = Reported(at=now, tool=ClosingTool.REPORT_COMPLETE, text=redact(text))
            case ReportedBlocked(reason=text, blocked_by=blockers):
                report = Reported(
                    at=now,
                    tool=ClosingTool.REPORT_BLOCKED,
                    text=redact(text),
                    blocked_by=blockers,
                )
            case _:
                return
        await self._gate.note(report)

    def _uses(self) -> Sequence[LimitUse]:
        now = self._world.clock.now()
        return usage(self._gate.counters, self._agent.assignment.limits, now)

    async def _watch(self) -> Stop:
        """The timer of this agent: sees deadlines, lost ownership and a draining process."""
        next_tick, next_progress, waited = TICK_SECONDS, PROGRESS_SECONDS, 0.0
        while True:
            if (stop := self._reason_to_stop()) is not None:
                return stop
            left = seconds_left(
                self._gate.counters,
                self._agent.assignment.limits.max_active_duration,
                self._world.clock.now(),
            )
            if left <= 0 or waited >= next_tick:
                await self._gate.tick()
                next_tick = waited + TICK_SECONDS
                continue
            if waited >= next_progress:
                next_progress = waited + PROGRESS_SECONDS
                await self._publish_progress(int(waited))
            pause = min(left, WATCH_SECONDS)
            await asyncio.sleep(pause)
            waited += pause

    def _reason_to_stop(self) -> Stop | None:
        if self._gate.superseded.is_set():
            return Stop.SUPERSEDED
        if self._gate.tripped.is_set():
            return Stop.TRIPPED
        return Stop.DRAINED if self._drain.is_requested else None

    async def _publish_progress(self, second: int) -> None:
        agent = self._agent
        occasion = f"progress:{agent.segment}:{agent.segment_attempts}:{second}"
        await self._world.engine.enqueue(Work.to_publish(agent.id, occasion))

    async def _stop(self, why: Stop, work: "asyncio.Task[Result | Halted]") -> Result:
        """Let running tools end and the agent summarise, both within one bound."""
        if why is Stop.SUPERSEDED:
            return Stopped(why, "")
        wait = (
            float(self._agent.assignment.limits.summary_wait)
            if why is Stop.TRIPPED
            else WRAP_UP_SECONDS
        )
        summary = ""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                summary = await self._last_words(why, work)
        reported = _ended_by_agent(work)
        if why is Stop.DRAINED and reported is not None:
            return reported
        return Stopped(why, summary)

    async def _last_words(self, why: Stop, work: "asyncio.Task[Result | Halted]") -> str:
        session = self._session
        if session is None:
            return ""
        await session.interrupt()
        await asyncio.wait({work})
        reported = _ended_by_agent(work)
        said = _words(reported.end) if reported is not None else ""
        trip = self._gate.counters.trip
        if said or why is not Stop.TRIPPED or trip is None:
            return said
        end = await session.turn(
            prompts.summary_prompt(trip), most_model_calls=MODEL_CALLS_FOR_A_SUMMARY
        )
        return _words(end)


def _is_heard(history: Sequence[AgentEvent]) -> bool:
    """Whether the model has answered since the agent was started, or woken for the last time."""
    for event in reversed(history):
        if isinstance(event, ModelCalled | Woken):
            return isinstance(event, ModelCalled)
    return False


def _result(end: TurnEnd) -> Result | Halted:
    match end:
        case Halted():
            return end
        case RuntimeFailed(reason=reason):
            return Died(reason)
        case ReportedComplete() | ReportedBlocked() | Idle():
            return Ended(end)


def _ended_by_agent(work: "asyncio.Task[Result | Halted]") -> Ended | None:
    """The report with which a turn ended that was interrupted, if it had one."""
    if not work.done() or work.cancelled() or work.exception() is not None:
        return None
    ended = work.result()
    return ended if isinstance(ended, Ended) and not isinstance(ended.end, Idle) else None


def _words(end: TurnEnd) -> str:
    match end:
        case ReportedComplete(summary=text) | ReportedBlocked(reason=text):
            return text
        case Idle(text=text) | Halted(text=text):
            return text
        case RuntimeFailed():
            return ""


async def _ended(*tasks: "asyncio.Task[object]") -> None:
    """Cancel what still runs and wait until it is gone."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
