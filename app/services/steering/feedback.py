"""What comes to an agent's pull request: reviews, failing checks, a conflict with its base.

Read from GitHub as it is now, whoever gave the hint: a webhook or reconciliation.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, Waits
from app.core.agents.steps import OURSELVES
from app.core.budgets.rates import Allowed
from app.core.rules.trust import Permission, Sender
from app.core.steering import feedback as words_of
from app.core.steering.feedback import Review
from app.core.steering.seen import FeedbackSeen
from app.ports import PullRequest, Repository, Written
from app.services.starting.rates import UserRates
from app.services.starting.trust import Trusting
from app.services.world import World, repository_of

PUSH_IS_SEEN_WITHIN: Final = timedelta(minutes=1)
"""How long after a push GitHub may still show the head before it."""

log = logging.getLogger("squadron.reviews")


class Feedback:
    """Asks GitHub what an agent that has handed over was not told of yet."""

    def __init__(self, world: World, trusting: Trusting, rates: UserRates) -> None:
        self._world = world
        self._trusting = trusting
        self._rates = rates

    async def of(
        self, agent: Agent, pull: PullRequest, history: Sequence[AgentEvent], now: datetime
    ) -> FeedbackSeen | None:
        """What has come to its open pull request since it was told last; None: nothing. May raise
        `GitHubFailed`."""
        told = words_of.told(history)
        reviews = await self._reviews(agent, pull.number, history)
        words, names = [words_of.review_words(each) for each in reviews.values()], [*reviews]
        by = next((each.author for each in reviews.values()), OURSELVES)
        is_an_old_head = pull.head_sha != agent.sha and now - agent.updated_at < PUSH_IS_SEEN_WITHIN
        if agent.waits_for is not Waits.REVIEW or is_an_old_head:
            return FeedbackSeen(tuple(words), tuple(names), by) if words else None
        if failed := await self._failed(agent, pull, told):
            names += failed[0]
            words.append(failed[1])
        conflict = words_of.conflict_name(agent.id.repository, pull.head_sha)
        if pull.is_mergeable is not False:
            conflict = ""
        elif conflict in told:
            return FeedbackSeen((), (), OURSELVES, conflict, conflict_stays=True)
        else:
            words.append(words_of.conflict_words(pull.number, agent.default_branch))
        return FeedbackSeen(tuple(words), tuple(names), by, conflict) if words else None

    async def write_down(self, agent: Agent, history: Sequence[AgentEvent]) -> None:
        """Keep the reviews of its pull request for what the agent reads next: they do not wake
        it as it is now. May raise `GitHubFailed`."""
        if agent.pull_request is None or agent.has_ended or agent.is_woken_by_reviews:
            return
        for name, review in (await self._reviews(agent, agent.pull_request, history)).items():
            written = Written(
                said=name,
                at=review.at,
                comment=review.number,
                by=review.author,
                text=words_of.review_words(review),
                link=review.link,
            )
            await self._world.store.write_to(agent.id, written)

    async def _reviews(
        self, agent: Agent, number: int, history: Sequence[AgentEvent]
    ) -> Mapping[str, Review]:
        """Reviews by people who may steer agents, by name; what others wrote is left out."""
        here, told = repository_of(agent), words_of.told(history)
        reviews = [
            await asyncio.to_thread(words_of.for_the_agent, each, self._world.visible_lines)
            for each in await self._world.github.reviews_by_others(here, number, history[0].at)
        ]
        found = dict[str, Review]()
        for review in words_of.asking(reviews):
            name = words_of.review_name(agent.id.repository, review)
            if name not in told and await self._may_speak(here, number, review, name):
                found[name] = review
        return found

    async def _may_speak(self, here: Repository, number: int, review: Review, name: str) -> bool:
        """Whether the author's permission, and his rate, let him steer an agent now."""
        if review.author == await self._world.github.bot_login():
            return False
        if not await self._trusting.is_trusted(here, Sender(review.author, review.is_bot)):
            log.info("review left out: its author is not trusted", extra={"by": review.author})
            return False
        rate = await self._rates.is_within(review.author, name)
        if isinstance(rate, Allowed):
            return True
        await self._rates.say_too_many(here, number, review.author, rate)
        return False

    async def _failed(
        self, agent: Agent, pull: PullRequest, told: frozenset[str]
    ) -> tuple[Sequence[str], str] | None:
        """Names and words of check runs of other Apps, and of statuses: only Apps that the
        repository's owners installed make check runs. Only who may push sets a status, and GitHub
        does not say here who it was: statuses count where whoever may push is trusted."""
        here = repository_of(agent)
        failed = await self._world.github.failed_checks(here, pull.head_sha)
        has_statuses = any(each.is_status for each in failed)
        if has_statuses and not await self._trusting.trusts(here, Permission.WRITE):
            failed = [each for each in failed if not each.is_status]
        new = {
            name: each
            for each in failed
            if (name := words_of.check_name(agent.id.repository, pull.head_sha, each)) not in told
        }
        return ([*new], words_of.checks_words([*new.values()])) if new else None
