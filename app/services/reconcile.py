"""Reconciliation: compare the registry with the world, and repair. The third enforcement layer.

Everything here is decided from state, never from events (promise 10), and a second pass over an
unchanged world changes nothing. One agent's trouble with GitHub does not stop the pass.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from app.core.agent import Agent, Effect, EffectName, EffectState, Task
from app.core.counters import fold
from app.core.deadlines import overdue, review_is_over
from app.core.escalation import NEEDS_HUMAN, check_id, escalation_marker, marker
from app.core.events import Waits
from app.core.lifecycle import FINAL, LIVE, State
from app.core.messages import check_name
from app.core.plan import TRIGGER_PREFIX, RepositoryPlan
from app.core.trust import Sender
from app.ports import CheckText, GitHubFailed, Posted, Repository, Work
from app.services.closing import Closing
from app.services.plans import Plans
from app.services.publish import Publisher, extra
from app.services.routing import Routing
from app.services.starting import Order, Starting
from app.services.world import World, repository_of

IN_FLIGHT: Final = timedelta(seconds=20)
"""A request that was under way when a process died has landed after this, or never will."""
LOOKED_AT_FOR: Final = timedelta(days=1)
"""How long after its last change an agent's effects are looked at for doubles."""
WORKSPACES_KEPT_FOR: Final = timedelta(days=7)
TIDY: Final = "tidy"
"""Why a pass runs that also tidies up; once a day."""

log = logging.getLogger("squadron.reconcile")


@dataclass(slots=True)
class Repairs:
    """What one pass did, for the log and for the test that a second pass does nothing."""

    done: list[str] = field(default_factory=list)

    def note(self, what: str, agent: Agent | None = None) -> None:
        """One repair."""
        self.done.append(f"{what}: {agent.id}" if agent is not None else what)


class Reconciliation:
    """Handles `WorkKind.RECONCILIATION`."""

    def __init__(
        self,
        world: World,
        closing: Closing,
        routing: Routing,
        starting: Starting,
        publisher: Publisher,
        plans: Plans,
    ) -> None:
        self._world = world
        self._closing = closing
        self._routing = routing
        self._starting = starting
        self._publisher = publisher
        self._plans = plans

    async def handle(self, work: Work) -> None:
        """One pass, for the engine."""
        repairs = await self.run()
        if work.subject == TIDY:
            await self._tidy_up()
        log.info("reconciled", extra={"repairs": len(repairs.done), "why": work.subject})

    async def run(self) -> Repairs:
        """One pass over all live agents, all repositories, and all unfinished effects."""
        repairs = Repairs()
        for agent in await self._world.store.agents(states=LIVE):
            await self._guarded(str(agent.id), partial(self._agent, agent, repairs))
        await self._guarded("labels", partial(self._unstarted, repairs))
        now = self._world.clock.now()
        for agent_id in await self._world.store.agents_with_due_effects(now):
            await self._guarded(str(agent_id), partial(self._publisher.publish, agent_id))
            repairs.note(f"effects of {agent_id}")
        for agent in await self._world.store.agents(changed_since=now - LOOKED_AT_FOR):
            await self._guarded(str(agent.id), partial(self._unpublished, agent, repairs))
            await self._guarded(str(agent.id), partial(self._doubles, agent, repairs))
        for repair in repairs.done:
            log.info("repaired", extra={"repair": repair})
        return repairs

    async def _guarded(self, what: str, action: Callable[[], Awaitable[object]]) -> None:
        """One thing's trouble with GitHub is logged and left to the next pass."""
        try:
            await action()
        except GitHubFailed as error:
            log.warning("not reconciled: %s", error, extra={"what": what})

    async def _agent(self, agent: Agent, repairs: Repairs) -> None:
        match agent.state:
            case State.ACTIVE:
                await self._active(agent, repairs)
            case State.QUEUED:
                await self._queued(agent, repairs)
            case _:
                await self._waiting(agent, repairs)

    async def _active(self, agent: Agent, repairs: Repairs) -> None:
        pending = await self._world.engine.is_pending(Work.to_run(agent.id, agent.segment).id)
        alive = agent.worker is not None and await self._world.engine.is_alive(agent.worker)
        if not pending:
            if await self._closing.requeue(agent, "its worker is gone"):
                repairs.note("requeued", agent)
        elif not (alive and await self._overdue(agent, repairs)):
            await self._ended_by_people(agent, repairs)

    async def _queued(self, agent: Agent, repairs: Repairs) -> None:
        if await self._world.engine.is_pending(Work.to_run(agent.id, agent.segment).id):
            await self._ended_by_people(agent, repairs)
        elif await self._closing.requeue(agent, "its work was lost"):
            repairs.note("requeued", agent)

    async def _waiting(self, agent: Agent, repairs: Repairs) -> None:
        if await self._overdue(agent, repairs):
            return
        if review_is_over(agent, self._world.clock.now()):
            if await self._closing.finish(agent, "The review was waited for long enough."):
                repairs.note("review over", agent)
            return
        if await self._ended_by_people(agent, repairs):
            return
        if agent.state is not State.SLEEPING:
            return
        if agent.waits_for is Waits.BLOCKER and await self._routing.wake_if_free(agent):
            repairs.note("woken", agent)
        elif await self._routing.hear(agent):
            repairs.note("woken by a person", agent)

    async def _ended_by_people(self, agent: Agent, repairs: Repairs) -> bool:
        """Settle an agent whose pull request was merged, or whose issue was closed, unseen."""
        # The issue is read first: a merge closes it, and must not look like work taken away.
        issue = await self._world.github.issue(repository_of(agent), agent.id.issue)
        if await self._routing.review_ended(agent):
            repairs.note("review ended", agent)
            return True
        if issue is not None and issue.is_open:
            return False
        if await self._closing.cancel(agent, f"#{agent.id.issue} was closed."):
            repairs.note("cancelled", agent)
        return True

    async def _overdue(self, agent: Agent, repairs: Repairs) -> bool:
        counters = fold(await self._world.store.log(agent.id))
        trip = overdue(agent, counters, self._world.clock.now())
        if trip is None:
            return False
        if await self._closing.escalate(agent, trip, ""):
            repairs.note(f"escalated ({trip.limit})", agent)
        return True

    async def _unstarted(self, repairs: Repairs) -> None:
        """Labelled issues on which no agent of that role has ever worked."""
        for repository in await self._world.github.repositories():
            await self._guarded(
                repository.full_name, partial(self._unstarted_in, repository, repairs)
            )

    async def _unstarted_in(self, repository: Repository, repairs: Repairs) -> None:
        plan = (await self._plans.of(repository)).plan or RepositoryPlan()
        # Broken roles too: the person who set the label is told why nothing starts.
        roles = (*plan.roles, *plan.broken)
        labels = {**{f"{TRIGGER_PREFIX}{role}": role for role in roles}, **plan.labels}
        agents = await self._world.store.agents(repository=repository.full_name)
        known = {(agent.id.issue, agent.id.role) for agent in agents}
        for label, role in labels.items():
            for issue in await self._world.github.issues(repository, label=label):
                if (issue.number, role) in known:
                    continue
                login = await self._world.github.labeller(repository, issue.number, label)
                if login is None:
                    log.info("nobody set %s on #%d", label, issue.number)
                    continue
                sender = Sender(login, login.endswith("[bot]"))
                task = Task(issue.title, issue.body)
                order = Order(role, sender, f"label {label}", task)
                if await self._starting.start(repository, issue.number, order):
                    repairs.note(f"started {repository.full_name}#{issue.number}/{role}")

    async def _unpublished(self, agent: Agent, repairs: Repairs) -> None:
        """An end, or a handing over, of which GitHub does not know: its publication was lost.

        What is due later has its own time, and what GitHub refused is not asked again.
        """
        if self._world.clock.now() - agent.updated_at < IN_FLIGHT:
            return  # it is being published
        before = await self._world.store.effects(agent.id)
        no_request = agent.waits_for is Waits.REVIEW and EffectName.PULL_REQUEST not in before
        is_settled = all(effect.state is EffectState.DONE for effect in before.values())
        if is_settled and (agent.is_final or no_request):
            await self._publisher.publish(agent.id)
            if await self._world.store.effects(agent.id) != before:
                repairs.note("published", agent)

    async def _doubles(self, agent: Agent, repairs: Repairs) -> None:
        """An effect whose request was in flight when a process died may be there twice.

        Looked at once, when nothing can land any more; then the effect is marked as settled.
        """
        now = self._world.clock.now()
        for effect in (await self._world.store.effects(agent.id)).values():
            if effect.state is not EffectState.DONE or "settled" in effect.detail:
                continue
            created = effect.detail.get("at")
            if created is None or now - datetime.fromisoformat(created) < IN_FLIGHT:
                continue
            for posted in await self._extra(agent, effect):
                await self._remove(agent, effect, posted)
                repairs.note(f"removed a double {effect.name}", agent)
            settled = replace(effect, detail={**effect.detail, "settled": now.isoformat()})
            await self._world.store.save_effect(agent.id, settled)

    async def _tidy_up(self) -> None:
        """Give back the disk of agents that are long finished, if all of their work is pushed."""
        long_ago = self._world.clock.now() - WORKSPACES_KEPT_FOR
        for agent in await self._world.store.agents(states=FINAL):
            if agent.updated_at < long_ago and not await self._world.workspace.remove(
                str(agent.id)
            ):
                log.warning("workspace kept: not all is pushed", extra={"agent": str(agent.id)})

    async def _extra(self, agent: Agent, effect: Effect) -> Sequence[Posted]:
        github, repository = self._world.github, repository_of(agent)
        match effect.name:
            case EffectName.COMMENT:
                sign = marker(agent.id, EffectName.COMMENT)
                found = await github.comments(repository, agent.id.issue, sign)
                return extra(found, effect.number)
            case EffectName.ISSUE:
                sign = escalation_marker(agent.id.repository, agent.id.issue)
                issues = await github.marked_issues(repository, NEEDS_HUMAN, sign)
                return extra([issue for issue in issues if issue.is_open], effect.number)
            case EffectName.CHECK:
                head = effect.detail.get("head", "")
                name, external_id = check_name(agent.id.role), check_id(agent.id, head)
                return extra(
                    await github.checks(repository, head, name, external_id), effect.number
                )
            case EffectName.PULL_REQUEST:
                return []  # GitHub itself refuses a second one for the same head

    async def _remove(self, agent: Agent, effect: Effect, posted: Posted) -> None:
        github, repository = self._world.github, repository_of(agent)
        match effect.name:
            case EffectName.COMMENT:
                await github.delete_comment(repository, posted.number)
            case EffectName.ISSUE:
                await github.edit_issue(repository, posted.number, close=True)
            case EffectName.CHECK:
                head = effect.detail.get("head", "")
                text = CheckText(
                    name=check_name(agent.id.role),
                    external_id=f"{check_id(agent.id, head)}:double",
                    conclusion="neutral",
                    title="Superseded",
                    summary="Made twice when the service was interrupted; the other one counts.",
                )
                await github.update_check(repository, posted.number, text)
            case EffectName.PULL_REQUEST:
                return
