"""Reconciliation: compare the registry with the world, and repair. The third enforcement layer.

Everything here is decided from state, never from events (promise 10), and a second pass over an
unchanged world changes nothing. One agent's trouble with GitHub does not stop the pass.
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Waits
from app.core.agents.lifecycle import LIVE, State
from app.core.agents.work import ACCESS
from app.core.steering.seen import AS_IT_WAS
from app.core.words.alerts import A_DAY, unseen
from app.ports import (
    GitHubFailed,
    Look,
    NoAccess,
    Pass,
    Publish,
    RateLimited,
    Reconcile,
    Repository,
    RunSegment,
)
from app.services.configuration.adapting import Adapting
from app.services.configuration.moved_repositories import Moving
from app.services.drain import Drain
from app.services.guard import Guard
from app.services.money.alerts import Alerting
from app.services.money.funding import Money
from app.services.moves.brakes import LIFTED, Braking
from app.services.moves.capping import Capping
from app.services.moves.funds import Funds
from app.services.moves.glances import catch_up
from app.services.moves.providers import Providers
from app.services.moves.room import Room
from app.services.reconciling.doubles import IN_FLIGHT
from app.services.reconciling.housekeeping import SESSIONS_KEPT_FOR
from app.services.reconciling.needs_human import NeedsHumanTurns
from app.services.reconciling.publications import Publications
from app.services.reconciling.repairs import Repairs
from app.services.reconciling.repository import RepositoryLooks
from app.services.reconciling.request_budget import Purse, Share
from app.services.reconciling.reviews import Judging
from app.services.segment.sub_agent_rows import SubAgents
from app.services.starting.put_off import WaitingStarts
from app.services.steering.access import Access
from app.services.steering.look import Looking
from app.services.world import World

MOST_TOLD_OF_THE_QUEUE: Final = 100
"""Agents at the front of the queue that keep saying where they stand."""
COMMANDS_KEPT_FOR: Final = timedelta(days=90)
"""Who told Squadron what: for audit, and so that an edited comment runs nothing twice."""
START: Final = "start"
"""Why a pass runs when a process has started."""
TIDY: Final = "tidy"
"""Why a pass runs that also forgets what is long over; once a day."""
ADAPT: Final = "adapt"
"""Why a pass runs that looks at what limits should be instead; once a week."""

FULL_LOOKS_REQUESTS: Final = 40
"""What a pass spends on full looks, one after the other, besides those at new repositories. So
what only they find (an issue that was deleted) is found within some passes."""

log = logging.getLogger("squadron.reconcile")


@dataclass(slots=True)
class _Looked:
    """What one pass has looked at."""

    full_looks_requests: int
    fully: int = 0
    briefly: int = 0
    tips: Mapping[str, str] = field(default_factory=dict)
    archived: frozenset[str] = frozenset()
    """Both as `Listed` has them."""
    limited: set[int] = field(default_factory=set)
    """Installations that GitHub lets us ask nothing for a while."""


class Reconciliation:
    """Handles `Reconcile`."""

    def __init__(
        self,
        world: World,
        looking: Looking,
        waiting_starts: WaitingStarts,
        publications: Publications,
        money: Money,
        alerting: Alerting,
        sub_agents: SubAgents,
        adapting: Adapting,
        needs_human: NeedsHumanTurns,
        judging: Judging,
        access: Access,
        repositories: RepositoryLooks,
        braking: Braking,
        room: Room,
        capping: Capping,
        funds: Funds,
        providers: Providers,
        moving: Moving,
        drain: Drain,
        guard: Guard,
    ) -> None:
        self._world = world
        self._looking = looking
        self._waiting_starts = waiting_starts
        self._publications = publications
        self._money = money
        self._alerting = alerting
        self._sub_agents = sub_agents
        self._adapting = adapting
        self._needs_human = needs_human
        self._judging = judging
        self._access = access
        self._repositories = repositories
        self._braking = braking
        self._room = room
        self._capping = capping
        self._funds = funds
        self._providers = providers
        self._moving = moving
        self._drain = drain
        self._guard = guard
        self._away: set[str] = set()
        """Repositories that could not be looked at, since GitHub did not answer."""
        self._archived: set[str] = set()
        """Repositories that were archived as of the pass before."""

    async def handle(self, work: Reconcile) -> None:
        """One pass, for the engine."""
        if work.why == ADAPT:
            await self._adapting.week()
            return
        begun_at, looked, repairs = self._world.clock.now(), _Looked(FULL_LOOKS_REQUESTS), Repairs()
        self._guard.begin()
        if work.why == START:
            await self._providers.ask_at_once()
        if work.why in (START, ACCESS):
            await self._world.store.ask_effects_again(begun_at)
        if work.why == LIFTED:  # what was refused under the brake is wanted still
            looked.full_looks_requests = Share.LOOKS
            self._repositories.forget()
        with self._world.github.counted() as spent:
            purse = Purse(spent, self._drain, self._world.house.max_starts_per_pass)
            await self._run(looked, repairs, purse)
        if work.why == TIDY:
            await self._forget()
        now = self._world.clock.now()
        done = Pass(
            why=work.why,
            ended_at=now,
            seconds=round((now - begun_at).total_seconds(), 3),
            agents=await self._live(),
            repositories=looked.fully + looked.briefly,
            looked_at_fully=looked.fully,
            repairs=len(repairs.done),
            requests=spent.requests,
            unchanged=spent.unchanged,
            token_requests=spent.for_tokens,
            put_off=dict(purse.put_off),
            failed=self._guard.failed,
        )
        await self._world.store.save_pass(done)
        log.info("reconciled", extra=asdict(done))

    async def _run(self, looked: "_Looked", repairs: Repairs, purse: Purse) -> None:
        """One pass over all live agents, all repositories, and all unfinished effects."""
        for agent in await self._world.store.agents(states=LIVE - {State.SLEEPING}):
            if not purse.holds(Share.AGENTS):
                purse.leave(Share.AGENTS)
                continue
            await self._guard.attempt(str(agent.id), partial(self._agent, agent, repairs))
        await self._guard.attempt("caps", partial(self._capped, repairs))
        await self._guard.attempt("budgets", partial(self._budgets, repairs, purse))
        await self._guard.attempt(
            "repositories", partial(self._look_around, looked, repairs, purse)
        )
        await self._guard.attempt("reminders", self._remind)
        await self._guard.attempt("pull requests", partial(self._judged, looked, repairs, purse))
        await self._guard.attempt("needs-human issues", partial(self._decided, repairs, purse))
        await self._guard.attempt("effects", partial(self._publications.look, repairs, purse))
        await self._guard.attempt("queue", self._tell_queue)
        await self._guard.attempt("lists", self._glances)
        for repair in repairs.done:
            log.info("repaired", extra={"repair": repair})

    async def _live(self) -> int:
        figures = await self._world.store.figures()
        return sum(times for (state, _), times in figures.agents.items() if state in LIVE)

    async def _tell_queue(self) -> None:
        """Those that wait for a worker say where they stand, when that has changed."""
        queue = await self._world.store.places_in_queue()
        for agent_id, stands in list(queue.items())[:MOST_TOLD_OF_THE_QUEUE]:
            agent = await self._world.store.agent(agent_id)
            if agent is None or self._world.clock.now() - agent.updated_at < IN_FLIGHT:
                continue
            told = Publish.in_queue(agent_id, f"{agent.segment}:{stands.place}")
            await self._world.engine.enqueue(told)

    async def _glances(self) -> None:
        """A process that died after a move has not told lists of it."""
        if done := await catch_up(self._world.store, self._world.clock.now()):
            log.info("lists were behind", extra={"agents": done})

    async def _capped(self, repairs: Repairs) -> None:
        """A worker that died had let nobody on, and the caps may be others since a start."""
        for agent in await self._capping.let_on():
            repairs.note("let on", agent)

    async def _budgets(self, repairs: Repairs, purse: Purse) -> None:
        """Free what ended agents still hold, start what waited for it, tell what is unusual."""
        settled = 0
        for agent_id in await self._money.open_reservations():
            with self._guard.over(f"money of {agent_id}"):
                settled += await self._money.settle_open(agent_id)
        if settled:
            repairs.note(f"settled {settled} agents with the ledger")
        with self._guard.over("starts that were put off"):
            if started := await self._waiting_starts.look(lambda: purse.holds(Share.AGENTS)):
                repairs.note(f"started {started} agents that were put off")
        await self._alerting.look()

    async def _judged(self, looked: "_Looked", repairs: Repairs, purse: Purse) -> None:
        for agent in await self._judging.in_turn(purse, looked.limited):
            repairs.note("told of its pull request", agent)

    async def _decided(self, repairs: Repairs, purse: Purse) -> None:
        if closed := await self._needs_human.look(purse):
            repairs.note(f"closed {closed} needs-human issues with their originals")

    async def _agent(self, agent: Agent, repairs: Repairs) -> None:
        if agent.parent is not None:
            await self._sub_agent(agent, AgentId.parse(agent.parent), repairs)
            return
        if agent.state is State.PAUSED:
            return  # as for who sleeps, GitHub is asked first
        if agent.state is State.QUEUED and await self._is_held_back(agent, repairs):
            return
        repairs.took(await self._looking.look(agent.id, AS_IT_WAS), agent)

    async def _sub_agent(self, child: Agent, parent_id: AgentId, repairs: Repairs) -> None:
        """Its parent ends it, in this segment or at the start of the next; who neither works nor
        will, has forgotten it. Who is paused waits as long as its parent is."""
        parent = await self._world.store.agent(parent_id)
        if parent is not None:
            if parent.state is State.PAUSED and child.state is State.PAUSED:
                return
            is_at_work = parent.state in (State.ACTIVE, State.QUEUED)
            if is_at_work or self._world.clock.now() - parent.updated_at < IN_FLIGHT:
                return
        if await self._sub_agents.abandon(child, "its process died"):
            repairs.note("ended a sub-agent that nobody runs", child)

    async def _is_held_back(self, agent: Agent, repairs: Repairs) -> bool:
        """Whether a queued agent has work to come, waits for something that is to be had by other
        means than a worker, or was just let on."""
        if await self._providers.let_on(agent) or await self._funds.let_on(agent):
            repairs.note("let on", agent)
            return True
        if await self._world.engine.is_pending(RunSegment(agent.id, agent.segment).id):
            return True
        if await self._braking.hold_back(agent.id, agent.segment):
            return True
        if await self._room.hold_up(agent.id, agent.segment):
            return True
        if await self._braking.let_on(agent) or await self._room.let_on(agent):
            repairs.note("let on", agent)
            return True
        if agent.waits_for is Waits.CAP:
            return True
        if agent.waits_for in (Waits.PROVIDER, Waits.GIT):
            if await self._providers.go_on(agent):
                repairs.note("let on to look", agent)
            return True
        return False

    async def _look_around(self, looked: "_Looked", repairs: Repairs, purse: Purse) -> None:
        """Every repository, within a bound: what is left has its turn in the next pass.

        Some are looked at fully, those that were not for longest; the others for what is new.
        """
        spent = purse.spent
        seen = await self._world.store.looks()
        try:
            listed = await self._world.github.repositories()
        except GitHubFailed:
            self._away |= seen.keys()
            raise
        looked.tips, looked.archived = listed.tips, listed.archived
        if listed.unlisted:
            self._away |= seen.keys() - {each.full_name for each in listed.repositories.values()}
        for installation, error in listed.unlisted.items():
            log.warning("not reconciled: %s", error, extra={"installation": installation})
        self._away &= seen.keys()
        with self._guard.over("repositories that moved"):
            for moved in await self._moving.follow(listed.repositories):
                repairs.note(f"followed {moved}")
        with self._guard.over("access to repositories"):
            for agent in await self._access.lost(listed):
                repairs.note("stopped, for it lost access", agent)
        left = [*listed.repositories.values()]
        begun_at = spent.requests
        for repository in sorted(left, key=lambda one: _last(seen, one, fully=True)):
            is_new = repository.full_name not in seen
            if not is_new and spent.requests - begun_at >= looked.full_looks_requests:
                break
            if not purse.holds(Share.LOOKS):
                break
            left.remove(repository)
            looked.fully += await self._look(repository, seen, looked, repairs, purse, is_full=True)
        left.sort(key=lambda one: _last(seen, one, fully=False))
        while left and purse.holds(Share.LOOKS):
            repository = left.pop(0)
            looked.briefly += await self._look(
                repository, seen, looked, repairs, purse, is_full=False
            )
        purse.leave(Share.LOOKS, len(left))

    async def _look(
        self,
        repository: Repository,
        seen: Mapping[str, Look],
        looked: "_Looked",
        repairs: Repairs,
        purse: Purse,
        *,
        is_full: bool,
    ) -> bool:
        """Look at one; False if GitHub did not let us. At a limit the others of the same
        installation are left alone."""
        name = repository.full_name
        if repository.installation_id not in looked.limited:
            tip = looked.tips.get(name, "")
            try:
                with self._guard.over(name):
                    await self._repositories.look(
                        repository,
                        seen.get(name),
                        tip=tip,
                        is_full=is_full,
                        repairs=repairs,
                        purse=purse,
                    )
            except NoAccess as why:
                with self._guard.over(name):
                    for agent in await self._access.stop(repository, why):
                        repairs.note("stopped, for it lost access", agent)
            except RateLimited as limited:
                looked.limited.add(repository.installation_id)
                log.warning("not reconciled: %s", limited, extra={"what": name})
            except GitHubFailed as error:
                self._away.add(name)
                log.warning("not reconciled: %s", error, extra={"what": name})
            else:
                if name in looked.archived:
                    self._archived.add(name)
                else:
                    await self._is_back(name)
                return not self._guard.passes(name)
        purse.leave(Share.LOOKS)
        return False

    async def _remind(self) -> None:
        """Tell of repositories about which GitHub has not answered for a day."""
        now, looks = self._world.clock.now(), await self._world.store.looks()
        away = {name: looks[name].looked_at for name in self._away if name in looks}
        since = self._repositories.unanswered | away
        late = {name: at for name, at in since.items() if now - at >= A_DAY}
        await self._alerting.tell(unseen(late, now))

    async def _is_back(self, name: str) -> None:
        """What could not be written while GitHub was away, or took nothing, is written in this
        pass, and who could not begin begins."""
        if name not in self._away | self._archived:
            return
        store = self._world.store
        await store.ask_effects_again(self._world.clock.now(), name)
        for agent in await store.agents(repository=name, states=frozenset({State.QUEUED})):
            if agent.waits_for is Waits.GIT:
                await self._providers.go_on(agent)
        self._away.discard(name)
        self._archived.discard(name)

    async def _forget(self) -> None:
        """Give back what all workers keep together of what is long over; each tidies its own
        directory itself."""
        now, store = self._world.clock.now(), self._world.store
        await store.forget_commands(now - COMMANDS_KEPT_FOR)
        await store.forget_written(now - COMMANDS_KEPT_FOR)
        for agent_id in await store.ended_with_artifacts(now - SESSIONS_KEPT_FOR):
            with self._guard.over(f"kept files of {agent_id}"):
                await self._world.artifacts.forget_artifacts(agent_id)


def _last(seen: Mapping[str, Look], repository: Repository, *, fully: bool) -> datetime:
    """When a repository was looked at last; longest ago if it never was."""
    look = seen.get(repository.full_name)
    if look is None:
        return datetime.min.replace(tzinfo=UTC)
    return look.fully_at if fully else look.looked_at
