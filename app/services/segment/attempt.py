"""One attempt of one segment: its workspace, its setup, its session, and what it is told first."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters
from app.core.agents.events import (
    AgentEvent,
    Failed,
    FilesMoved,
    Known,
    Lost,
    ModelCalled,
    SentBack,
    SetUp,
    Verified,
    Woken,
)
from app.core.agents.stops import Cause, Failure
from app.core.breaker.verdict import usage
from app.core.github.patch import files_of
from app.core.rules.plan import RoleKind
from app.core.steering.github_away import GitHubAway
from app.core.words import prompts
from app.core.words.prompts import UnderReview
from app.ports import (
    Checkout,
    CheckoutOrder,
    GitAway,
    GitHubFailed,
    Publish,
    Session,
    SessionOrder,
    WorkspaceFailed,
)
from app.services.drain import Drain
from app.services.failures import github_away, no_access
from app.services.moves.brakes import BrakeWatch
from app.services.moves.files import Files
from app.services.moves.moves import Moves
from app.services.moves.providers import Providers
from app.services.moves.readiness import discard_clone
from app.services.segment.gate import BreakerGate, Superseded
from app.services.segment.listening import Listening
from app.services.segment.open_issue import Opening
from app.services.segment.setup import (
    SettingUp,
    SetupFailed,
    is_ready,
    made_ready,
    note_ready,
    was_cut_off,
)
from app.services.segment.sub_agent_rows import SubAgents
from app.services.segment.sub_agents import Children, Workplace
from app.services.segment.supervision import CannotGoOn, Result, Stop, Stretch, stops_sub_agents
from app.services.segment.triage import Proposals, gathered
from app.services.world import World, checkout_order, environment, segment_marker

PREPARE_BACKOFF_SECONDS: Final = (1, 2, 4)
"""Between tries of what GitHub does not answer at once; after that the agent waits in the queue."""
WRAP_UP_SECONDS: Final = 10.0
"""What a draining process gives a running turn to end by itself."""
BRAKED_WRAP_UP_SECONDS: Final = 3.0
"""The same under a brake: within 10 s it was seen, and the work is kept."""

Answer = TypeVar("Answer")
_aside: Final = asyncio.to_thread
"""Prompts quote what strangers wrote: to find out what people see of it takes a while."""

log = logging.getLogger("squadron.agents")


@dataclass(frozen=True, slots=True)
class Stops:
    """What stops an agent besides its own limits."""

    drain: Drain
    brakes: BrakeWatch

    def now(self, agent: Agent) -> Stop | None:
        """Whether the process drains, or a brake is on where the agent works."""
        if self.drain.hands_over:
            return Stop.DRAINED
        return Stop.BRAKED if self.brakes.holds(agent) else None


class Segment:
    """Runs once, in a clone of the agent's own: the `Setting` of its stretch."""

    def __init__(
        self,
        world: World,
        agent: Agent,
        gate: BreakerGate,
        history: Sequence[AgentEvent],
        moves: Moves,
        stops: "Stops",
        sub_agents: SubAgents,
        opening: Opening,
        providers: Providers,
    ) -> None:
        self._world = world
        self._agent = agent
        self._gate = gate
        self._history = history
        self._moves = moves
        self._stops = stops
        self._sub_agents = sub_agents
        self._opening = opening
        self._providers = providers
        self._order: CheckoutOrder | None = None
        self._under_review: UnderReview | None = None
        self._proposals: Proposals | None = None
        self._children: Children | None = None
        self._pulled = ""
        self._files = Files(world, agent)
        self._lost: tuple[Lost, ...] = ()
        setups = (event for event in reversed(history) if isinstance(event, SetUp))
        self._last_setup = next(setups, None)
        self._listening = Listening(world, agent, gate, history)
        gate.listens(self._listening.for_a_tool)
        self._have_answered = set[str]()
        """Providers of which everybody knows that they are there."""

    async def run(self) -> Result:
        """Work until something ends it. Nothing of the segment is left running afterwards."""
        return await Stretch(self._agent, self._gate, self._world.clock, self).run()

    @property
    def wrap_up_seconds(self) -> float:
        """What a running turn gets to end by itself, unless a limit has stopped the agent."""
        if self._gate.superseded.is_set():
            return 0.0
        is_braked = self.must_stop() is Stop.BRAKED
        return BRAKED_WRAP_UP_SECONDS if is_braked else WRAP_UP_SECONDS

    async def open(self) -> Session | CannotGoOn | GitHubAway:
        """Prepare clone and setup, then open the agent's session in it."""
        world, agent = self._world, self._agent
        try:
            self._order = order = await self._patiently(partial(checkout_order, world, agent))
            claim = partial(self._files.claim, self._history, _if_pushed(order), self._moved)
            lost = await self._patiently(claim)
            if lost is None:
                raise Superseded
            self._lost = lost
            if was_cut_off(world, agent):
                await discard_clone(world, agent)
            checkout = await self._prepare(order)
            if order.pull_request is not None:
                self._under_review = await self._looked_at(order, order.pull_request)
        except (WorkspaceFailed, GitHubFailed) as error:
            return _unprepared(error)
        await world.engine.enqueue(Publish(agent.id, f"start:{agent.segment}"))
        if agent.assignment.kind is RoleKind.TRIAGE:
            issues = await gathered(world, self._moves, agent)
            self._proposals = Proposals(world, self._gate, issues)
        try:
            problem = await self._set_up(order, checkout)
        except (WorkspaceFailed, GitHubFailed) as error:
            return _unprepared(error)
        if problem:
            return CannotGoOn(Cause.SETUP_FAILED, problem)
        return await self._open(order, checkout)

    async def first_prompt(self, session: Session) -> str:
        """What the model does not know yet; said once more if nobody knows that it was heard."""
        agent = self._agent
        limits, now = agent.assignment.limits, self._world.clock.now()
        uses = prompts.told(usage(self._gate.counters, limits, now), limits)
        later = ""
        if _is_heard(self._history):
            later = "" if self._lost else prompts.resume_prompt(uses)
        elif why := _unheard(self._history):
            later = await _aside(prompts.wake_prompt, agent, uses, why, await self._news())
        pulled = await _aside(prompts.pulled_prompt, self._pulled) if self._pulled else ""
        waiting = prompts.paused_prompt(self._gate.counters.children)
        lost = prompts.lost_prompt(self._lost) if self._lost else ""
        news = "\n\n".join(filter(None, (lost, pulled, await self.listen(), later, waiting)))
        if (lost or pulled or later) and session.is_resumed:
            return news
        is_behind = self._last_setup is not None and self._last_setup.lacks_dependencies
        lacks = prompts.lacking_prompt() if is_behind else ""
        if self._under_review is not None:
            start = await _aside(prompts.review_prompt, agent, self._under_review, uses)
        elif self._proposals is not None:
            start = await _aside(prompts.triage_prompt, agent, self._proposals.issues, uses)
        else:
            start = await _aside(prompts.start_prompt, agent, uses)
        return "\n\n".join(filter(None, (start, lacks, news)))

    async def listen(self) -> str:
        """What people have written to the agent, and the model has not answered."""
        return await self._listening.for_a_prompt()

    def must_stop(self) -> Stop | None:
        """Whether the process drains, or a brake is on."""
        return self._stops.now(self._agent)

    async def look(self) -> None:
        """Stop an agent for good that takes too much of the disk, however often it is told; let
        others on that wait for what has answered here."""
        for provider in self._gate.answered - self._have_answered:
            self._have_answered.add(provider)
            await self._providers.answered(provider)
        world, agent = self._world, self._agent
        why = world.walls.excess(segment_marker(world, agent.id, agent.segment))
        if not why or self._gate.tripped.is_set():
            return
        now = world.clock.now()
        failure = Failure(cause=Cause.DISK_FULL, at=now, reason=why)

        async def unless_stopped(counters: Counters) -> Sequence[AgentEvent]:
            return [Failed(at=now, failure=failure)] if counters.stop is None else []

        with suppress(Superseded):
            await self._gate.record_next(unless_stopped)

    async def progress(self, second: int) -> None:
        """Let people see how far the agent is."""
        agent = self._agent
        occasion = f"progress:{agent.segment}:{agent.segment_attempts}:{second}"
        await self._world.engine.enqueue(Publish(agent.id, occasion))

    async def turned(self) -> None:
        """Keep what was said and done."""
        if self._order is not None:
            await self._files.keep(_if_pushed(self._order), self._gate.counters.model_calls)

    async def end(self) -> None:
        """Stop the agent's sub-agents."""
        if self._children is not None:
            await self._children.end()

    async def _moved(self, moved: FilesMoved) -> None:
        await self._gate.record([moved])

    async def _prepare(self, order: CheckoutOrder) -> Checkout:
        checkout = await self._patiently(partial(self._world.workspace.prepare, order))
        self._gate.enter(checkout.directory)
        self._pulled = checkout.pulled or self._pulled
        await self._world.store.note_head(self._agent.id, checkout.base_sha, checkout.head_sha)
        return checkout

    async def _set_up(self, order: CheckoutOrder, checkout: Checkout) -> str:
        """The problem in words, empty if all went well."""
        world, agent = self._world, self._agent
        if is_ready(world, agent, checkout):
            return ""

        async def anew() -> Checkout:
            await discard_clone(world, agent)
            return await self._prepare(order)

        seen = environment(world, agent, order)
        setting_up = SettingUp(world, agent, checkout, seen, self._gate.record)
        made = await made_ready(setting_up, anew)
        if isinstance(made, SetupFailed):
            return made.why
        if made is not None:
            await self._note_setup()
            await self._gate.record([made])
            self._last_setup = made
        note_ready(world, agent)
        return ""

    async def _note_setup(self) -> None:
        try:
            await self._world.workspace.note_setup(str(self._agent.id))
        except WorkspaceFailed as error:  # then commits may hold what it made
            where = {"agent": str(self._agent.id)}
            log.warning("what the setup made is not known: %s", error, extra=where)

    async def _looked_at(self, order: CheckoutOrder, number: int) -> UnderReview:
        github, workspace = self._world.github, self._world.workspace
        pull = await self._patiently(partial(github.pull_request, order.repository, number))
        diff = await self._patiently(partial(workspace.change, order))
        return UnderReview(pull.head, order.default_branch, files_of(diff))

    async def _patiently(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Ask GitHub again for a few seconds, then let the failure through. git has been asked
        more than once already."""
        for pause in PREPARE_BACKOFF_SECONDS:
            try:
                return await ask()
            except (WorkspaceFailed, GitHubFailed) as error:
                if no_access(error) is not None or isinstance(error, GitAway):
                    raise
                log.warning("not ready: %s", error, extra={"agent": str(self._agent.id)})
                await self._world.clock.sleep(pause)
        return await ask()

    async def _open(self, order: CheckoutOrder, checkout: Checkout) -> Session:
        agent, assignment = self._agent, self._agent.assignment
        files = self._world.agents_directory(str(agent.id))
        for name in ("session", "home"):
            (files / name).mkdir(parents=True, exist_ok=True)
        place = Workplace(
            self._world,
            self._sub_agents,
            checkout.directory,
            environment(self._world, agent, order),
        )
        self._children = Children(
            place,
            agent,
            self._gate,
            lambda: stops_sub_agents(self._gate, self),
            lambda: min(self.wrap_up_seconds, assignment.limits.summary_wait) / 2,
        )
        return await self._world.runtime.open(
            SessionOrder(
                agent=str(agent.id),
                system_prompt=prompts.system_prompt(agent),
                model=assignment.model,
                planning_model=assignment.planning_model,
                most_output_tokens=assignment.limits.max_output_tokens_per_call,
                workspace=place.directory,
                session_directory=files / "session",
                environment=place.environment,
                tools=assignment.tools,
                delegate=self._children.delegate,
                propose=None if self._proposals is None else self._proposals.propose,
                change=None if self._under_review is None else self._under_review.files,
                open_issue=partial(self._opening.open, agent),
                runtime=assignment.runtime,
            ),
            self._gate,
        )

    async def _news(self) -> str:
        order, since = self._order, self._agent.base_sha
        if order is None or since is None:
            return ""
        return await self._patiently(partial(self._world.workspace.news, order, since))


def _if_pushed(order: CheckoutOrder) -> CheckoutOrder | None:
    """None: it is somebody else's work, of which nothing leaves the clone."""
    return order if order.pull_request is None else None


def _unprepared(error: WorkspaceFailed | GitHubFailed) -> CannotGoOn | GitHubAway:
    if (why := no_access(error)) is not None:
        return CannotGoOn(Cause.NO_ACCESS, why)
    if (away := github_away(error)) is not None:
        return away
    return CannotGoOn(Cause.WORKSPACE_FAILED, f"The workspace could not be prepared: {error}")


def _unheard(history: Sequence[AgentEvent]) -> list[Woken | Verified]:
    """Why it goes on, of what happened since the model has last answered, oldest first: a limit may
    have stopped it before it was told of what woke it first."""
    why = list[Woken | Verified]()
    for event in history:
        match event:
            case ModelCalled():
                why.clear()
            case Woken() | Verified(sound=Known.NO):
                why.append(event)
            case _:
                pass
    return why


def _is_heard(history: Sequence[AgentEvent]) -> bool:
    """Whether the model has answered since the agent was started, woken, or sent back last."""
    for event in reversed(history):
        if isinstance(event, ModelCalled | Woken | SentBack):
            return isinstance(event, ModelCalled)
    return False
