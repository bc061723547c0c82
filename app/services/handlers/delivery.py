"""Handle one delivery that concerns an agent: a hint, after which the state is read again."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, assert_never

from app.core.agent import Agent, Task
from app.core.blocking import was_free
from app.core.escalation import agent_of_check
from app.core.events import Waits
from app.core.lifecycle import LIVE, State
from app.core.override import ASSIGNMENT_TRIGGER, LABEL_TRIGGER, Taken
from app.core.retry import GiveUp, RetryAt, after
from app.core.signals import (
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
from app.core.trust import Sender
from app.ports import Delivery, GitHubFailed, Issue, PullRequest, Repository, Work
from app.services.commands.answers import Hearing, Words
from app.services.commands.hear import Commanding, Comment, Press
from app.services.configuration.broken_issue import ConfigTrouble
from app.services.configuration.pull_request_check import ConfigReviews
from app.services.effects.needs_human import NeedsHuman
from app.services.failures import failure_of
from app.services.moves.closing import OURSELVES, Closing
from app.services.starting.start import Order, Starting
from app.services.steering.feedback import Feedback
from app.services.steering.ownership import Overriding
from app.services.world import World, repository_of

MOST_LOOKS: Final = 3
"""After that, reconciliation finds what is left."""

log = logging.getLogger("squadron.routing")


class Routing:
    """Handles `WorkKind.DELIVERY`. Repeatable: every change compares and sets."""

    def __init__(
        self,
        world: World,
        starting: Starting,
        closing: Closing,
        overriding: Overriding,
        commanding: Commanding,
        hearing: Hearing,
        feedback: Feedback,
        config_reviews: ConfigReviews,
        config_trouble: ConfigTrouble,
        needs_human: NeedsHuman,
    ) -> None:
        self._world = world
        self._needs_human = needs_human
        self._commanding = commanding
        self._hearing = hearing
        self._feedback = feedback
        self._starting = starting
        self._closing = closing
        self._overriding = overriding
        self._config_reviews = config_reviews
        self._config_trouble = config_trouble

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
            await self._route(signal, delivery.id)

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
                await self._world.store.give_up(work.subject, reason, now)
            case _:
                assert_never(decision)

    async def _route(self, signal: Signal, delivery: str) -> None:
        match signal:
            case IssueLabelled():
                await self._labelled(signal, signal.issue)
            case IssueAssigned():
                await self._assigned(signal)
            case IssueOpened():
                await self._opened(signal)
            case IssueClosed():
                await self.issue_closed(_where(signal), signal.issue)
            case IssueChangedHands():
                await self.changed_hands(_where(signal), signal.issue)
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
                await self._pull_request_closed(signal)
            case PullRequestJudged():
                if signal.words is not None:
                    await self._commanding.hear(_comment(signal.words))
                await self._feedback.judged(_where(signal), signal.numbers)
            case CommitFailed():
                await self._feedback.failed(_where(signal), signal.branches)
            case DefaultBranchPushed():
                await self._config_trouble.pushed(_where(signal))
            case _:
                assert_never(signal)

    async def _labelled(self, signal: IssueLabelled | PullRequestLabelled, number: int) -> None:
        repository = _where(signal)
        role = await self._starting.role_of_label(repository, signal.label)
        if role is not None:
            task = Task(signal.title, signal.body)
            trigger = f"{LABEL_TRIGGER}{signal.label}"
            order = Order(role, signal.sender, trigger, task, signal.at)
            await self._starting.start(repository, number, order)

    async def _pushed(self, signal: PullRequestPushed) -> None:
        """Whoever opened the pull request is asked about, too: what it holds is theirs."""
        repository = _where(signal)
        role = await self._starting.role_of_event(repository, signal.event)
        author = Sender(signal.author, signal.author.endswith("[bot]"))
        if role is not None and await self._starting.is_trusted(repository, author):
            task = Task(signal.title, signal.body)
            order = Order(role, signal.sender, signal.event, task, signal.at)
            await self._starting.start(repository, signal.number, order)
        await self._config_reviews.review(repository, signal.number)

    async def _assigned(self, signal: IssueAssigned) -> None:
        repository = _where(signal)
        if signal.assignee != await self._world.github.bot_login():
            await self.changed_hands(repository, signal.issue)
            return
        for label in signal.labels:
            role = await self._starting.role_of_label(repository, label)
            if role is not None:
                task = Task(signal.title, signal.body)
                order = Order(role, signal.sender, ASSIGNMENT_TRIGGER, task, signal.at)
                await self._starting.start(repository, signal.issue, order)

    async def _opened(self, signal: IssueOpened) -> None:
        repository = _where(signal)
        role = await self._starting.role_of_event(repository, signal.event)
        if role is not None:
            task = Task(signal.title, signal.body)
            order = Order(role, signal.sender, signal.event, task, signal.at)
            await self._starting.start(repository, signal.issue, order)

    async def issue_closed(self, repository: Repository, number: int) -> None:
        """Nobody works on a closed issue, waits for it, or has to decide about it any longer."""
        here = await self._world.store.agents(repository=repository.full_name)
        if not any(agent.id.issue == number or number in agent.blocked_by for agent in here):
            return
        issue = await self._world.github.issue(repository, number)
        if issue is not None and issue.is_open:  # opened again meanwhile
            await self.changed_hands(repository, number)
            repository_id = here[0].repository_id
            await self._needs_human.look_at_original(repository, repository_id, number)
        else:
            await self._take_away(repository, number, issue)
            await self.close_escalations(repository, number)
        sleepers = await self._world.store.agents(
            repository=repository.full_name, states=frozenset({State.SLEEPING})
        )
        for agent in sleepers:
            if agent.waits_for is Waits.BLOCKER and number in agent.blocked_by:
                await self.wake_if_free(agent)

    async def close_escalations(self, repository: Repository, number: int) -> bool:
        """Nobody has to decide about an issue that is closed; whether somebody still had to. May
        raise `GitHubFailed`."""
        agents = await self._world.store.agents(repository=repository.full_name, issue=number)
        if not agents:
            return False
        repository_id = agents[0].repository_id
        return await self._needs_human.original_closed(repository, repository_id, number)

    async def changed_hands(self, repository: Repository, number: int) -> None:
        """A label was removed or somebody assigned: does the work still belong to its agents?"""
        if not await self._at_work(repository, number):
            return
        issue = await self._world.github.issue(repository, number)
        if issue is not None and issue.is_open:
            await self._take_away(repository, number, issue)

    async def _take_away(self, repository: Repository, number: int, issue: Issue | None) -> None:
        """An agent that moves on just then is looked at again."""
        for _ in range(MOST_LOOKS):
            agents = await self._at_work(repository, number)
            lost = [
                (one, taken)
                for one in agents
                if (taken := await self._overriding.taken_away(one, issue))
            ]
            for agent, taken in lost:
                if not await self.review_ended(agent, _before(taken, issue)):
                    await self._closing.cancel(agent, taken.why, since=taken.at)
            if not lost:
                return

    async def _at_work(self, repository: Repository, number: int) -> Sequence[Agent]:
        """The agents on an issue that people can take away; others end with theirs."""
        live = await self._world.store.agents(
            repository=repository.full_name, issue=number, states=LIVE
        )
        return [agent for agent in live if agent.parent is None and agent.taken_away_at is None]

    async def wake_if_free(self, agent: Agent) -> bool:
        """Wake an agent none of whose blockers is open any more, or was since it fell asleep."""
        here, blockers = repository_of(agent), dict[int, Issue | None]()
        for number in agent.blocked_by:
            blockers[number] = await self._world.github.issue(here, number)
        still_open = [each for each in blockers.values() if each is not None and each.is_open]
        if still_open and not await self._was_free(agent, blockers):
            return False
        names = ", ".join(f"#{number}" for number in agent.blocked_by)
        await self._closing.wake(agent, f"Closed meanwhile: {names}.", OURSELVES)
        return True

    async def _was_free(self, agent: Agent, blockers: Mapping[int, Issue | None]) -> bool:
        """Whether the blockers, some of which are open, were all closed at one time. Nobody tells
        since when one is gone."""
        if not all(each is not None and may_have_been_closed(each) for each in blockers.values()):
            return False
        here = repository_of(agent)
        marks = [await self._world.github.marks(here, number) for number in blockers]
        return was_free(marks, agent.updated_at)

    async def review_ended(self, agent: Agent, before: datetime | None = None) -> bool:
        """Settle an agent whose pull request was merged or closed; False while there is none,
        it is open, or that came only after `before`."""
        pull = await self._pull_request_of(agent)
        if pull is None or pull.is_open:
            return False
        if before is not None and pull.closed_at is not None and pull.closed_at > before:
            return False
        number, at = pull.number, pull.closed_at
        if pull.is_merged:
            await self._closing.finish(agent, f"#{number} was merged.", at)
        else:
            await self._closing.cancel(agent, f"#{number} was closed without merging.", since=at)
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
        comment = _comment(signal)
        waiting = await self._hearing.waiting_at(comment)
        if waiting and await self._hearing.is_an_answer(comment):
            await self._hearing.answered(waiting, Words.of_comment(comment))
        else:
            await self._commanding.hear(comment)

    async def _edited(self, signal: CommentEdited) -> None:
        """An edit can add commands. It answers nobody: the words were heard when they were
        written."""
        edited = replace(_comment(signal), author=signal.author, before=signal.before)
        await self._commanding.hear(edited)

    async def _pressed(self, signal: ButtonPressed, delivery: str) -> None:
        agent = agent_of_check(signal.external_id)
        found = None if agent is None else await self._world.store.agent(agent)
        if agent is None or found is None or found.repository != signal.repository:
            return
        press = Press(
            repository=_where(signal),
            agent=agent,
            check=signal.check,
            identifier=signal.identifier,
            by=signal.sender,
            delivery=delivery,
        )
        await self._commanding.press(press)

    async def _pull_request_closed(self, signal: PullRequestClosed) -> None:
        agents = await self._world.store.agents(repository=signal.repository, states=LIVE)
        for agent in agents:
            if agent.pull_request == signal.number:
                await self.changed_hands(_where(signal), agent.id.issue)  # that came first
                await self.review_ended(agent)
        await self.issue_closed(_where(signal), signal.number)  # nobody reviews it any longer


def may_have_been_closed(issue: Issue) -> bool:
    """Whether it is closed, or may have been: of pull requests GitHub does not say."""
    return not issue.is_open or issue.was_reopened or issue.is_pull_request


def _before(taken: Taken, issue: Issue | None) -> datetime | None:
    """By when a pull request must have ended to be what ended its agent. A merge closes the
    issue, too: while that is closed, the merge was first."""
    return taken.at if issue is not None and issue.is_open else None


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
    )
