"""The sub-agents of a running session: the tool `task`, and what ends them with their parent.

A sub-agent works in its parent's clone and process, under a gate and a timer of its own.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters
from app.core.agents.events import AgentEvent, FilesMoved, Lost, Returned, Woken
from app.core.breaker.verdict import usage
from app.core.words import prompts
from app.ports import (
    Continuation,
    Delegation,
    Session,
    SessionOrder,
    StoreUnavailable,
    ToolResult,
)
from app.services.moves.files import Files
from app.services.segment.gate import BreakerGate, Superseded
from app.services.segment.sub_agent_end import ChildEnd, end_of
from app.services.segment.sub_agent_rows import NoSubAgent, SubAgents
from app.services.segment.supervision import (
    CannotGoOn,
    ModelAway,
    Result,
    Stop,
    Stopped,
    Stretch,
    stops_sub_agents,
)
from app.services.waiting import wait_for_all
from app.services.world import World

CLOSE_SECONDS: Final = 30.0
"""What a sub-agent that was cancelled gets to close its session and its row."""
_OUT_OF_ORDER: Final = "it could not be ended in order"


@dataclass(frozen=True, slots=True)
class Workplace:
    """What an agent shares with its sub-agents."""

    world: World
    sub_agents: SubAgents
    directory: Path
    """The clone."""
    environment: Mapping[str, str]
    """Of all processes; it marks them as the segment's, so that orphans are found."""


class Children:
    """What still works when the parent's session ends is ended with it."""

    def __init__(
        self,
        place: Workplace,
        parent: Agent,
        gate: BreakerGate,
        is_stopping: Callable[[], bool],
        wrap_up_seconds: Callable[[], float],
    ) -> None:
        """`gate` and `is_stopping` are the parent's (a hold lets running tools end, so sub-agents
        too); `wrap_up_seconds` is what a running turn of a sub-agent gets when its parent stops."""
        self._place = place
        self._parent = parent
        self._gate = gate
        self._parent_is_stopping = is_stopping
        self._wrap_up_seconds = wrap_up_seconds
        self._is_ending = False
        self._at_work: set[asyncio.Task[ToolResult]] = set()

    async def end(self) -> None:
        """Stop what still works, and settle what could not settle itself. Bounded."""
        self._is_ending = True
        if self._at_work:
            clock = self._place.world.clock
            late = await wait_for_all(clock, {*self._at_work}, self._wrap_up_seconds())
            for work in late:
                work.cancel()
            if late:
                await wait_for_all(clock, late, CLOSE_SECONDS)
        counters = self._gate.counters
        if counters.children:
            asks = counters.hold is not None and counters.stop is None
            sub_agents, why = self._place.sub_agents, _OUT_OF_ORDER
            left = await sub_agents.settle(self._parent, counters, why, keeps_paused=asks)
            for returned in left:
                await self._count(returned)

    async def delegate(self, asked: Delegation | Continuation) -> ToolResult:
        """The parent's tools: a sub-agent works until it ends or pauses; what it reports is the
        result."""
        work = asyncio.create_task(self._run(asked), name=f"task of {self._parent.id}")
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        # A tool that is cancelled leaves its sub-agent to `end`, which closes it in order.
        return await asyncio.shield(work)

    async def _run(self, asked: Delegation | Continuation) -> ToolResult:
        sub_agents = self._place.sub_agents
        try:
            if isinstance(asked, Continuation):
                child = await sub_agents.more(self._parent, self._gate, asked)
            else:
                child = await sub_agents.start(self._parent, self._gate, asked)
            end = await self._worked(child)
        except NoSubAgent as error:
            has_not = "does not go on" if isinstance(asked, Continuation) else "has not started"
            return _failed(f"The sub-agent {has_not}: {error}")
        except Superseded:
            return _failed("This segment was taken over; nothing runs any more.")
        except StoreUnavailable as error:
            return _failed(f"The registry does not answer: {error}")
        return ToolResult(ok=end.ok, exit_code=None, output=end.answer)

    async def _worked(self, child: Agent) -> ChildEnd:
        """Let a sub-agent work to its end, which is in the registry when this returns."""
        world, sub_agents = self._place.world, self._place.sub_agents
        history = await world.store.log(child.id)
        gate = BreakerGate.going_on(world, child, history)
        gate.enter(self._place.directory)
        woken = [event.why for event in history if isinstance(event, Woken)]
        setting = _BesideParent(
            self._place,
            child,
            gate,
            woken[-1] if woken else "",
            self._is_stopping,
            self._wrap_up_seconds,
        )
        result: Result = Stopped(Stop.PARENT, "")
        try:
            result = await Stretch(child, gate, world.clock, setting).run()
        finally:  # also when it was cancelled
            self._gate.answered |= gate.answered
            missing = result.failure if isinstance(result, ModelAway) else gate.missing
            self._gate.missing = missing or self._gate.missing
            end = end_of(result, child, gate.counters, world.clock.now())
            if end.step is not None:
                await sub_agents.end(child, end.step)
            await self._count(await sub_agents.returned(self._parent.id, str(child.id)))
        return end

    async def _count(self, returned: Returned) -> None:
        """What a sub-agent used is used by its parent, once."""

        async def unless_counted(counters: Counters) -> Sequence[AgentEvent]:
            at_work = any(each.agent == returned.child for each in counters.children)
            return [returned] if at_work else []

        with suppress(Superseded):  # whoever goes on with the parent settles it
            await self._gate.record_next(unless_counted)

    def _is_stopping(self) -> bool:
        return self._is_ending or self._parent_is_stopping()


class _BesideParent:
    """The `Setting` of a sub-agent: its parent's clone, which was set up before."""

    def __init__(
        self,
        place: Workplace,
        child: Agent,
        gate: BreakerGate,
        woken: str,
        parent_is_stopping: Callable[[], bool],
        wrap_up_seconds: Callable[[], float],
    ) -> None:
        """`woken`: why it goes on; empty: it begins."""
        self._place = place
        self._child = child
        self._gate = gate
        self._woken = woken
        self._parent_is_stopping = parent_is_stopping
        self._wrap_up_seconds = wrap_up_seconds
        self._files = Files(place.world, child)
        self._lost: tuple[Lost, ...] = ()
        self._below = Children(
            place,
            child,
            gate,
            lambda: stops_sub_agents(gate, self),
            lambda: wrap_up_seconds() / 2,
        )

    @property
    def wrap_up_seconds(self) -> float:
        return self._wrap_up_seconds()

    async def open(self) -> Session | CannotGoOn:
        world, child, assignment = self._place.world, self._child, self._child.assignment
        history = await world.store.log(child.id)
        lost = await self._files.claim(history, None, self._moved)
        if lost is None:
            raise Superseded
        self._lost = lost
        directory = world.agents_directory(str(child.id)) / "session"
        directory.mkdir(parents=True, exist_ok=True)
        return await world.runtime.open(
            SessionOrder(
                agent=str(child.id),
                system_prompt=prompts.sub_agent_system_prompt(child),
                model=assignment.model,
                planning_model=assignment.planning_model,
                most_output_tokens=assignment.limits.max_output_tokens_per_call,
                workspace=self._place.directory,
                session_directory=directory,
                environment=self._place.environment,
                tools=assignment.tools,
                delegate=self._below.delegate,
                runtime=assignment.runtime,
            ),
            self._gate,
        )

    async def first_prompt(self, session: Session) -> str:
        limits, now = self._child.assignment.limits, self._place.world.clock.now()
        uses = prompts.told(usage(self._gate.counters, limits, now), limits)
        lost = prompts.lost_prompt(self._lost) if self._lost else ""
        if self._woken:
            task = prompts.sub_agent_goes_on(self._child, uses, self._woken, session.is_resumed)
        else:
            task = prompts.sub_agent_prompt(self._child, uses)
        return "\n\n".join(filter(None, (lost, task)))

    async def listen(self) -> str:
        """Nobody can write to it."""
        return ""

    def must_stop(self) -> Stop | None:
        return Stop.PARENT if self._parent_is_stopping() else None

    async def look(self) -> None:
        """What it runs is the parent's."""

    async def progress(self, second: int) -> None:
        """People see the progress of the parent."""

    async def _moved(self, moved: FilesMoved) -> None:
        await self._gate.record([moved])

    async def turned(self) -> None:
        """Keep what was said."""
        await self._files.keep(None, self._gate.counters.model_calls)

    async def end(self) -> None:
        await self._below.end()


def _failed(text: str) -> ToolResult:
    return ToolResult(ok=False, exit_code=None, output=text)
