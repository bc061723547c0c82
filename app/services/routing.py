"""Handle one delivery that concerns an agent: a hint, after which the state is read again."""

import json
import logging
from typing import assert_never

from app.core.agent import Agent, Task
from app.core.events import Waits
from app.core.lifecycle import LIVE, State
from app.core.signals import (
    ChangesRequested,
    Commented,
    DefaultBranchPushed,
    Heard,
    IssueAssigned,
    IssueClosed,
    IssueLabelled,
    IssueOpened,
    PullRequestClosed,
    Signal,
    read,
)
from app.ports import Repository, Work
from app.services.closing import OURSELVES, Closing
from app.services.plans import Plans
from app.services.starting import Starting
from app.services.world import World, repository_of

log = logging.getLogger("squadron.routing")


class Routing:
    """Handles `WorkKind.DELIVERY`. Repeatable: every change compares and sets."""

    def __init__(self, world: World, starting: Starting, closing: Closing, plans: Plans) -> None:
        self._world = world
        self._starting = starting
        self._closing = closing
        self._plans = plans

    async def handle(self, work: Work) -> None:
        """Route the delivery that `work` names. May raise `GitHubFailed`: it is tried again."""
        delivery = await self._world.store.delivery(work.subject)
        if delivery is None:
            return
        signal = read(delivery.event, json.loads(delivery.body))
        if signal is None or signal.sender.login == await self._world.github.bot_login():
            return
        await self._route(signal)

    async def _route(self, signal: Signal) -> None:
        match signal:
            case IssueLabelled():
                await self._labelled(signal)
            case IssueAssigned():
                await self._assigned(signal)
            case IssueOpened():
                await self._opened(signal)
            case IssueClosed():
                await self.issue_closed(_where(signal), signal.issue)
            case Commented():
                await self._commented(signal)
            case PullRequestClosed():
                await self._pull_request_closed(signal)
            case ChangesRequested():
                await self._changes_requested(signal)
            case DefaultBranchPushed():
                self._plans.forget(signal.repository)
            case _:
                assert_never(signal)

    async def _labelled(self, signal: IssueLabelled) -> None:
        repository = _where(signal)
        role = await self._starting.role_of_label(repository, signal.label)
        if role is not None:
            task = Task(signal.title, signal.body)
            await self._starting.start(
                repository, signal.issue, role, signal.sender, f"label {signal.label}", task
            )

    async def _assigned(self, signal: IssueAssigned) -> None:
        if signal.assignee != await self._world.github.bot_login():
            return
        repository = _where(signal)
        for label in signal.labels:
            role = await self._starting.role_of_label(repository, label)
            if role is not None:
                task = Task(signal.title, signal.body)
                await self._starting.start(
                    repository, signal.issue, role, signal.sender, "assignment", task
                )

    async def _opened(self, signal: IssueOpened) -> None:
        repository = _where(signal)
        reading = await self._plans.of(repository)
        role = reading.plan.events.get(signal.event) if reading.plan is not None else None
        if role is not None:
            task = Task(signal.title, signal.body)
            await self._starting.start(
                repository, signal.issue, role, signal.sender, signal.event, task
            )

    async def issue_closed(self, repository: Repository, number: int) -> None:
        """Nobody works on a closed issue, and nobody waits for it any longer."""
        for agent in await self._world.store.agents(
            repository=repository.full_name, issue=number, states=LIVE
        ):
            if agent.pull_request is None or not await self.review_ended(agent):
                await self._closing.cancel(agent, f"#{number} was closed.")
        sleepers = await self._world.store.agents(
            repository=repository.full_name, states=frozenset({State.SLEEPING})
        )
        for agent in sleepers:
            if agent.waits_for is Waits.BLOCKER and number in agent.blocked_by:
                await self.wake_if_free(agent)

    async def wake_if_free(self, agent: Agent) -> bool:
        """Wake an agent none of whose blockers is open any more."""
        if await self._closing.open_blockers(agent):
            return False
        blockers = ", ".join(f"#{number}" for number in agent.blocked_by)
        await self._closing.wake(agent, f"Closed meanwhile: {blockers}.", OURSELVES)
        return True

    async def review_ended(self, agent: Agent) -> bool:
        """Settle an agent whose pull request was merged or closed; False while it is open."""
        assert agent.pull_request is not None
        pull = await self._world.github.pull_request(repository_of(agent), agent.pull_request)
        if pull.is_open:
            return False
        if pull.is_merged:
            await self._closing.finish(agent, f"#{pull.number} was merged.")
        else:
            await self._closing.cancel(agent, f"#{pull.number} was closed without merging.")
        return True

    async def _commented(self, signal: Commented) -> None:
        repository = _where(signal)
        sleepers = await self._world.store.agents(
            repository=signal.repository, issue=signal.issue, states=frozenset({State.SLEEPING})
        )
        waiting = [agent for agent in sleepers if agent.waits_for is not Waits.REVIEW]
        if waiting and await self._starting.is_trusted(repository, signal.sender):
            for agent in waiting:
                why = f"{signal.sender.login} commented: {signal.body}"
                await self._closing.wake(agent, why, signal.sender.login)

    async def _of_pull_request(self, signal: PullRequestClosed | ChangesRequested) -> list[Agent]:
        agents = await self._world.store.agents(repository=signal.repository, states=LIVE)
        return [agent for agent in agents if agent.pull_request == signal.number]

    async def _pull_request_closed(self, signal: PullRequestClosed) -> None:
        for agent in await self._of_pull_request(signal):
            await self.review_ended(agent)

    async def _changes_requested(self, signal: ChangesRequested) -> None:
        agents = await self._of_pull_request(signal)
        if agents and await self._starting.is_trusted(_where(signal), signal.sender):
            for agent in agents:
                if agent.state is State.SLEEPING:
                    why = f"{signal.sender.login} requested changes: {signal.body}"
                    await self._closing.wake(agent, why, signal.sender.login)


def _where(signal: Heard) -> Repository:
    return Repository(signal.repository, signal.installation_id)
