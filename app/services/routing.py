"""Handle one delivery that concerns an agent: a hint, after which the state is read again."""

import json
import logging
from datetime import timedelta
from typing import Final, assert_never

from app.core.agent import Agent, Task
from app.core.events import Slept, Waits, Woken
from app.core.lifecycle import LIVE, State
from app.core.retry import GiveUp, RetryAt, after
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
from app.core.trust import Sender
from app.ports import Delivery, GitHubFailed, PullRequest, Repository, Work
from app.services.closing import MOST_WHY_CHARACTERS, OURSELVES, Closing
from app.services.failures import failure_of
from app.services.plans import Plans
from app.services.starting import Order, Starting
from app.services.world import World, repository_of

COMMENTED: Final = "commented"
ASKED_FOR_CHANGES: Final = "requested changes"
MOST_LOOKS: Final = 3
"""After that, reconciliation finds what is left."""

log = logging.getLogger("squadron.routing")


class Routing:
    """Handles `WorkKind.DELIVERY`. Repeatable: every change compares and sets."""

    def __init__(self, world: World, starting: Starting, closing: Closing, plans: Plans) -> None:
        self._world = world
        self._starting = starting
        self._closing = closing
        self._plans = plans

    async def handle(self, work: Work) -> None:
        """Route the delivery that `work` names; again later if GitHub cannot be asked now."""
        delivery = await self._world.store.delivery(work.subject)
        if delivery is None:
            return
        try:
            await self._handle(delivery)
        except GitHubFailed as error:
            await self._later(work, error)

    async def _handle(self, delivery: Delivery) -> None:
        signal = read(delivery.event, json.loads(delivery.body))
        if signal is not None and signal.sender.login != await self._world.github.bot_login():
            await self._route(signal)

    async def _later(self, work: Work, error: GitHubFailed) -> None:
        """What a person said must not be lost because GitHub was away for a while."""
        failures, now = work.segment + 1, self._world.clock.now()
        where = {"delivery": work.subject, "failures": failures}
        decision = after(failure_of(error), failures, now)
        match decision:
            case RetryAt(at=at):
                wait_seconds = (at - now) / timedelta(seconds=1)
                again = Work.to_handle(work.subject, failures, wait_seconds)
                await self._world.engine.enqueue(again)
                log.warning("not handled, again later: %s", error, extra=where)
            case GiveUp(reason=reason):
                log.error("delivery given up: %s", reason, extra=where)
            case _:
                assert_never(decision)

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
            trigger = f"label {signal.label}"
            order = Order(role, signal.sender, trigger, task, signal.at)
            await self._starting.start(repository, signal.issue, order)

    async def _assigned(self, signal: IssueAssigned) -> None:
        if signal.assignee != await self._world.github.bot_login():
            return
        repository = _where(signal)
        for label in signal.labels:
            role = await self._starting.role_of_label(repository, label)
            if role is not None:
                task = Task(signal.title, signal.body)
                order = Order(role, signal.sender, "assignment", task)
                await self._starting.start(repository, signal.issue, order)

    async def _opened(self, signal: IssueOpened) -> None:
        repository = _where(signal)
        reading = await self._plans.of(repository)
        role = reading.plan.events.get(signal.event) if reading.plan is not None else None
        if role is not None:
            task = Task(signal.title, signal.body)
            order = Order(role, signal.sender, signal.event, task)
            await self._starting.start(repository, signal.issue, order)

    async def issue_closed(self, repository: Repository, number: int) -> None:
        """Nobody works on a closed issue, and nobody waits for it any longer."""
        issue = await self._world.github.issue(repository, number)
        if issue is not None and issue.is_open:
            return  # opened again meanwhile
        await self._take_away(repository, number)
        sleepers = await self._world.store.agents(
            repository=repository.full_name, states=frozenset({State.SLEEPING})
        )
        for agent in sleepers:
            if agent.waits_for is Waits.BLOCKER and number in agent.blocked_by:
                await self.wake_if_free(agent)

    async def _take_away(self, repository: Repository, number: int) -> None:
        """Work is kept before it is taken away, which takes its time: agents that moved on
        meanwhile are looked at again."""
        for _ in range(MOST_LOOKS):
            agents = await self._world.store.agents(
                repository=repository.full_name, issue=number, states=LIVE
            )
            for agent in agents:
                if not await self.review_ended(agent):
                    await self._closing.cancel(agent, f"#{number} was closed.")
            if not agents:
                return

    async def wake_if_free(self, agent: Agent) -> bool:
        """Wake an agent none of whose blockers is open any more."""
        if await self._closing.open_blockers(agent):
            return False
        blockers = ", ".join(f"#{number}" for number in agent.blocked_by)
        await self._closing.wake(agent, f"Closed meanwhile: {blockers}.", OURSELVES)
        return True

    async def review_ended(self, agent: Agent) -> bool:
        """Settle an agent whose pull request was merged or closed; False while there is none,
        or it is open."""
        pull = await self._pull_request_of(agent)
        if pull is None or pull.is_open:
            return False
        if pull.is_merged:
            await self._closing.finish(agent, f"#{pull.number} was merged.")
        else:
            await self._closing.cancel(agent, f"#{pull.number} was closed without merging.")
        return True

    async def _pull_request_of(self, agent: Agent) -> PullRequest | None:
        """Also one that was merged before its number could be noted."""
        github, repository = self._world.github, repository_of(agent)
        if agent.pull_request is not None:
            return await github.pull_request(repository, agent.pull_request)
        if agent.waits_for is not Waits.REVIEW:
            return None
        pulls = await github.pull_requests(repository, agent.branch)
        merged = (pull for pull in pulls if pull.is_merged and pull.head_sha == agent.sha)
        pull = next(merged, None)
        if pull is not None:
            await self._world.store.note_pull_request(agent.id, pull.number)
        return pull

    async def _commented(self, signal: Commented) -> None:
        repository = _where(signal)
        sleepers = await self._world.store.agents(
            repository=signal.repository, issue=signal.issue, states=frozenset({State.SLEEPING})
        )
        waiting = [agent for agent in sleepers if agent.waits_for is not Waits.REVIEW]
        if waiting and await self._starting.is_trusted(repository, signal.sender):
            for agent in waiting:
                why = _words(signal.sender.login, COMMENTED, signal.body)
                await self._closing.wake(agent, why, signal.sender.login)

    async def hear(self, agent: Agent) -> bool:
        """Wake a sleeping agent by what a trusted person has written to it since it fell asleep.

        For reconciliation: the webhook that told of it may never have come.
        """
        log = await self._world.store.log(agent.id)
        slept = [event.at for event in log if isinstance(event, Slept)]
        known = {event.why for event in log if isinstance(event, Woken)}
        github, repository = self._world.github, repository_of(agent)
        if agent.waits_for is not Waits.REVIEW:
            did, said = COMMENTED, await github.replies(repository, agent.id.issue, slept[-1])
        elif agent.pull_request is not None:
            asked = await github.change_requests(repository, agent.pull_request, slept[-1])
            did, said = ASKED_FOR_CHANGES, asked
        else:
            return False
        for each in said:
            why = _words(each.author, did, each.body)
            sender = Sender(each.author, each.is_bot)
            if why not in known and await self._starting.is_trusted(repository, sender):
                return await self._closing.wake(agent, why, each.author) is not None
        return False

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
                    why = _words(signal.sender.login, ASKED_FOR_CHANGES, signal.body)
                    await self._closing.wake(agent, why, signal.sender.login)


def _words(login: str, did: str, body: str) -> str:
    """Why an agent is woken, the same whoever noticed it."""
    return f"{login} {did}: {body}"[:MOST_WHY_CHARACTERS]


def _where(signal: Heard) -> Repository:
    return Repository(signal.repository, signal.installation_id)
