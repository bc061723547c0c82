"""Handle one delivery that concerns an agent: a hint, after which the state is read again."""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import assert_never

from app.core.agents.agent import Agent, Task
from app.core.agents.lifecycle import LIVE
from app.core.effects.check_run import RunId
from app.core.effects.retry import FailedCall, GiveUp, RetryAt, Unforeseen, after
from app.core.github.hints import (
    BranchPushed,
    ButtonPressed,
    Commented,
    CommentEdited,
    CommitFailed,
    DefaultBranchPushed,
    Heard,
    IssueAssigned,
    IssueChangedHands,
    IssueClosed,
    IssueLabelled,
    IssueOpened,
    PullRequestClosed,
    PullRequestJudged,
    PullRequestLabelled,
    PullRequestPushed,
    Signal,
    read,
)
from app.core.rules.trust import Sender
from app.core.steering.ownership import ASSIGNMENT_TRIGGER, LABEL_TRIGGER
from app.core.text.unicode import read_json
from app.ports import Delivery, GitHubFailed, HandleDelivery, Order, Repository, StoreUnavailable
from app.services.commands.answers import Hearing
from app.services.commands.hear import Commanding, Comment, Press
from app.services.configuration.broken_issue import ConfigTrouble
from app.services.configuration.pull_request_check import ConfigReviews
from app.services.effects.needs_human import NeedsHuman
from app.services.failures import failure_of
from app.services.starting.start import Starting
from app.services.starting.trust import Trusting
from app.services.steering.heads import at_its_head
from app.services.steering.look import Looking, MovesOn
from app.services.steering.missing import Missing
from app.services.world import World

log = logging.getLogger("squadron.routing")


class Routing:
    """Handles `HandleDelivery`. Repeatable: every change compares and sets."""

    def __init__(
        self,
        world: World,
        trusting: Trusting,
        starting: Starting,
        looking: Looking,
        missing: Missing,
        needs_human: NeedsHuman,
        commanding: Commanding,
        hearing: Hearing,
        config_reviews: ConfigReviews,
        config_trouble: ConfigTrouble,
    ) -> None:
        self._world = world
        self._commanding = commanding
        self._hearing = hearing
        self._trusting = trusting
        self._starting = starting
        self._looking = looking
        self._missing = missing
        self._needs_human = needs_human
        self._config_reviews = config_reviews
        self._config_trouble = config_trouble

    async def handle(self, work: HandleDelivery) -> None:
        """Route the delivery that `work` names; again later if GitHub cannot be asked now."""
        delivery = await self._world.store.delivery(work.delivery)
        if delivery is None:
            return
        try:
            await self._handle(delivery)
        except GitHubFailed as error:
            await self._later(work, failure_of(error))
        except StoreUnavailable:
            raise
        except MovesOn as moves_on:
            await self._later(work, Unforeseen(str(moves_on)))
        except Exception as error:
            if work.failures == 0:  # the others have the same traceback
                log.exception("not handled", extra={"delivery": work.delivery})
            kind = type(error).__name__
            await self._later(work, Unforeseen(f"{kind}, which nobody has foreseen: see the log"))

    async def _handle(self, delivery: Delivery) -> None:
        signal = read(delivery.event, read_json(delivery.body))
        if signal is not None and signal.sender.login != await self._world.github.bot_login():
            await self._route(signal, delivery)

    async def _later(self, work: HandleDelivery, failure: FailedCall) -> None:
        """What a person said must not be lost because something was wrong for a while."""
        failures, now = work.failures + 1, self._world.clock.now()
        where = {"delivery": work.delivery, "failures": failures}
        decision = after(failure, failures, now)
        match decision:
            case RetryAt(at=at):
                wait_seconds = (at - now) / timedelta(seconds=1)
                again = HandleDelivery(work.delivery, failures, wait_seconds)
                await self._world.engine.enqueue(again)
                log.warning("not handled, again later: %s", failure.reason, extra=where)
            case GiveUp(reason=reason):
                log.error("delivery given up: %s", reason, extra=where)
                await self._world.store.give_up(work.delivery, reason, now)
            case _:
                assert_never(decision)

    async def _route(self, signal: Signal, delivery: Delivery) -> None:
        match signal:
            case IssueLabelled():
                await self._labelled(signal, signal.issue)
            case IssueAssigned():
                await self._assigned(signal)
            case IssueOpened():
                await self._opened(signal)
            case IssueClosed():
                if signal.is_gone:
                    self._missing.told(_where(signal), signal.issue)
                await self._closed(_where(signal), signal.issue)
            case IssueChangedHands():
                await self._look_at(_where(signal), lambda one: one.id.issue == signal.issue)
            case Commented():
                await self._commented(signal)
            case CommentEdited():
                await self._edited(signal)
            case ButtonPressed():
                await self._pressed(signal, delivery)
            case PullRequestPushed():
                await self._pushed(signal)
            case PullRequestLabelled():
                await self._labelled(signal, signal.number)
            case PullRequestClosed():
                await self._closed(_where(signal), signal.number)
            case PullRequestJudged():
                if signal.words is not None:
                    await self._commanding.hear(_comment(signal.words))
                await self._look_at(_where(signal), lambda one: one.pull_request in signal.numbers)
            case CommitFailed():
                await self._look_at(_where(signal), lambda one: one.branch in signal.branches)
            case BranchPushed():
                await self._pushed_beside(_where(signal), signal.branch)
            case DefaultBranchPushed():
                await self._config_trouble.pushed(_where(signal))
            case _:
                assert_never(signal)

    async def _labelled(self, signal: IssueLabelled | PullRequestLabelled, number: int) -> None:
        role = await self._starting.role_of_label(_where(signal), signal.label)
        if role is not None:
            trigger = f"{LABEL_TRIGGER}{signal.label}"
            await self._starting.start(_order(signal, number, role, trigger))

    async def _pushed(self, signal: PullRequestPushed) -> None:
        """Whoever opened the pull request is asked about, too: what it holds is theirs."""
        repository = _where(signal)
        role = await self._starting.role_of_event(repository, signal.event)
        author = Sender(signal.author, signal.author.endswith("[bot]"))
        if role is not None and await self._trusting.is_trusted(repository, author):
            await self._starting.start(_order(signal, signal.number, role, signal.event))
        await self._config_reviews.review(repository, signal.number)

    async def _assigned(self, signal: IssueAssigned) -> None:
        repository = _where(signal)
        if signal.assignee != await self._world.github.bot_login():
            await self._look_at(repository, lambda one: one.id.issue == signal.issue)
            return
        for label in signal.labels:
            role = await self._starting.role_of_label(repository, label)
            if role is not None:
                await self._starting.start(_order(signal, signal.issue, role, ASSIGNMENT_TRIGGER))

    async def _opened(self, signal: IssueOpened) -> None:
        role = await self._starting.role_of_event(_where(signal), signal.event)
        if role is not None:
            await self._starting.start(_order(signal, signal.issue, role, signal.event))

    async def _commented(self, signal: Commented) -> None:
        await self._hearing.hear(_comment(signal))

    async def _edited(self, signal: CommentEdited) -> None:
        """An edit can add commands. It answers nobody: the words were heard when they were
        written."""
        edited = replace(_comment(signal), author=signal.author, before=signal.before)
        await self._commanding.hear(edited)

    async def _pressed(self, signal: ButtonPressed, delivery: Delivery) -> None:
        run = RunId.parse(signal.external_id)
        found = None if run is None else await self._world.store.agent(run.agent)
        if run is None or found is None or found.repository != signal.repository:
            return
        press = Press(
            repository=_where(signal),
            agent=run.agent,
            check=signal.check,
            identifier=signal.identifier,
            by=signal.sender,
            digest=hashlib.sha256(delivery.body).hexdigest(),
        )
        await self._commanding.press(press)

    async def _closed(self, repository: Repository, number: int) -> None:
        """Nobody works on what is closed, waits for it, or has to decide about it any longer."""

        def is_concerned(agent: Agent) -> bool:
            return number in (agent.id.issue, agent.pull_request, *agent.blocked_by)

        await self._look_at(repository, is_concerned)
        here = await self._world.store.agents(repository=repository.full_name, issue=number)
        if here:
            repository_id = here[0].repository_id
            await self._needs_human.look_at_original(repository, repository_id, number)
        await self._needs_human.look_at_own(repository, number)

    async def _pushed_beside(self, repository: Repository, branch: str) -> None:
        live = await self._world.store.agents(repository=repository.full_name, states=LIVE)
        for agent in live:
            if agent.branch == branch:
                await at_its_head(self._world, agent)

    async def _look_at(self, repository: Repository, is_concerned: Callable[[Agent], bool]) -> None:
        """A delivery says no more than at whom to look."""
        live = await self._world.store.agents(repository=repository.full_name, states=LIVE)
        for agent in filter(is_concerned, live):
            await self._looking.look(agent.id)


def _order(
    signal: IssueLabelled | PullRequestLabelled | PullRequestPushed | IssueAssigned | IssueOpened,
    number: int,
    role: str,
    trigger: str,
) -> Order:
    task = Task(signal.title, signal.body)
    return Order(_where(signal), number, role, signal.sender, trigger, task, signal.at)


def _where(signal: Heard) -> Repository:
    return Repository(signal.repository, signal.installation_id)


def _comment(signal: Commented | CommentEdited) -> Comment:
    return Comment(
        repository=_where(signal),
        thread=signal.issue,
        number=signal.comment,
        by=signal.sender,
        body=signal.body,
        at=signal.at,
        kind=signal.kind,
        review=signal.review,
        link=signal.link if isinstance(signal, Commented) else "",
    )
