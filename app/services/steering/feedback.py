"""What comes to an agent's pull request: reviews, failing checks, a conflict with its base.

Read from GitHub as it is now, whoever gave the hint: a webhook or reconciliation.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import AgentEvent, Waits
from app.core.agents.lifecycle import State
from app.core.agents.steps import OURSELVES, WakeUp, escalation
from app.core.agents.stops import Cause, Failure
from app.core.budgets.rates import Allowed
from app.core.rules.trust import Permission, Sender
from app.core.steering import feedback as words_of
from app.core.steering.feedback import Review
from app.ports import GitHubFailed, PullRequest, Repository
from app.services.moves.moves import Moves
from app.services.starting.start import Starting
from app.services.world import World, repository_of

log = logging.getLogger("squadron.reviews")


@dataclass(frozen=True, slots=True)
class _News:
    """What an agent has not been told of yet."""

    words: tuple[str, ...]
    names: tuple[str, ...]
    by: str


class Feedback:
    """Wakes agents that have handed over."""

    def __init__(self, world: World, starting: Starting, moves: Moves) -> None:
        self._world = world
        self._starting = starting
        self._moves = moves

    async def judged(self, repository: Repository, numbers: Sequence[int]) -> None:
        """A webhook says that something came to these pull requests."""
        for agent in await self._asleep(repository):
            if agent.pull_request in numbers:
                await self.look(agent)

    async def failed(self, repository: Repository, branches: Sequence[str]) -> None:
        """A webhook says that a status failed on a commit of these branches."""
        for agent in await self._asleep(repository):
            if agent.branch in branches:
                await self.look(agent)

    async def _asleep(self, repository: Repository) -> Sequence[Agent]:
        return await self._world.store.agents(
            repository=repository.full_name, states=frozenset({State.SLEEPING})
        )

    async def fell_asleep(self, agent_id: AgentId) -> None:
        """Wake an agent by what came to its pull request while it was awake. What GitHub does not
        tell now reconciliation asks for again."""
        agent = await self._world.store.agent(agent_id)
        if agent is None:
            return
        try:
            await self._if_asleep(agent, self._look_at_once)
        except GitHubFailed as error:
            log.info("not looked for feedback: %s", error, extra={"agent": str(agent_id)})

    async def look(self, agent: Agent) -> bool:
        """Wake a sleeping agent by all that has come to its pull request since it was told last;
        whether anything was done. May raise `GitHubFailed`."""
        return await self._if_asleep(agent, self._look)

    async def _if_asleep(
        self, agent: Agent, look: Callable[[Agent, PullRequest], Awaitable[bool]]
    ) -> bool:
        """Look at its pull request, while that is open, one at a time for each issue."""
        if agent.pull_request is None or agent.waits_for not in (Waits.REVIEW, Waits.ANSWER):
            return False
        issue = agent.id
        async with self._world.exclusive(f"answers:{issue.repository}#{issue.issue}"):
            present = await self._world.store.agent(agent.id)
            if present is None or present.state is not State.SLEEPING:
                return False
            if present.segment != agent.segment:
                return False
            here = repository_of(agent)
            pull = await self._world.github.pull_request(here, agent.pull_request)
            return pull.is_open and await look(present, pull)  # else it is settled elsewhere

    async def _look_at_once(self, agent: Agent, pull: PullRequest) -> bool:
        """GitHub may not have seen the last push yet: then what judges the head is about an old
        one."""
        look = self._look if pull.head_sha == agent.sha else self._look_at_reviews
        return await look(agent, pull)

    async def _look_at_reviews(self, agent: Agent, pull: PullRequest) -> bool:
        history = await self._world.store.log(agent.id)
        news = await self._reviewed(agent, pull.number, history, words_of.told(history))
        return bool(news.names) and await self._wake(agent, news, None)

    async def _look(self, agent: Agent, pull: PullRequest) -> bool:
        if agent.waits_for is not Waits.REVIEW:
            return await self._look_at_reviews(agent, pull)
        history = await self._world.store.log(agent.id)
        told = words_of.told(history)
        news = await self._reviewed(agent, pull.number, history, told)
        checks = await self._checks(agent, pull, told)
        conflict = words_of.conflict_name(agent.id.repository, pull.head_sha)
        if pull.is_mergeable is not False:
            conflict = ""
        elif conflict in told:
            return await self._escalate(agent)
        words = (*news.words, *checks.words)
        if conflict:
            words = (*words, words_of.conflict_words(pull.number, agent.default_branch))
        if not words:
            return False
        both = _News(words, (*news.names, *checks.names), news.by)
        return await self._wake(agent, both, conflict or None)

    async def _wake(self, agent: Agent, news: _News, conflict: str | None) -> bool:
        why = "\n\n".join(news.words)
        step = WakeUp(why, news.by, conflict, news.names)
        return await self._moves.apply(agent, step) is not None

    async def _reviewed(
        self, agent: Agent, number: int, history: Sequence[AgentEvent], told: frozenset[str]
    ) -> _News:
        """Reviews by people who may steer agents; what others wrote is left out."""
        here = repository_of(agent)
        reviews = [
            await asyncio.to_thread(words_of.for_the_agent, each, self._world.visible_lines)
            for each in await self._world.github.reviews_by_others(here, number, history[0].at)
        ]
        words, names, by = list[str](), list[str](), OURSELVES
        for review in words_of.asking(reviews):
            name = words_of.review_name(agent.id.repository, review)
            if name in told or not await self._may_speak(here, number, review, name):
                continue
            by = review.author if by == OURSELVES else by
            words.append(words_of.review_words(review))
            names.append(name)
        return _News(tuple(words), tuple(names), by)

    async def _may_speak(self, here: Repository, number: int, review: Review, name: str) -> bool:
        """Whether the author's permission, and his rate, let him steer an agent now."""
        if review.author == await self._world.github.bot_login():
            return False
        if not await self._starting.is_trusted(here, Sender(review.author, review.is_bot)):
            log.info("review left out: its author is not trusted", extra={"by": review.author})
            return False
        rate = await self._starting.is_within_rate(review.author, name)
        if isinstance(rate, Allowed):
            return True
        await self._starting.say_too_many(here, number, review.author, rate)
        return False

    async def _checks(self, agent: Agent, pull: PullRequest, told: frozenset[str]) -> _News:
        """Check runs of other Apps and statuses: only Apps that the repository's owners installed
        make check runs. Only who may push sets a status, and GitHub does not say here who it was:
        statuses count where whoever may push is trusted."""
        here = repository_of(agent)
        failed = await self._world.github.failed_checks(here, pull.head_sha)
        has_statuses = any(each.is_status for each in failed)
        if has_statuses and not await self._starting.trusts(here, Permission.WRITE):
            failed = [each for each in failed if not each.is_status]
        new = {
            name: each
            for each in failed
            if (name := words_of.check_name(agent.id.repository, pull.head_sha, each)) not in told
        }
        words = (words_of.checks_words([*new.values()]),) if new else ()
        return _News(words, tuple(new), OURSELVES)

    async def _escalate(self, agent: Agent) -> bool:
        """It was told of the conflict, and left this very head."""
        words = words_of.conflict_stays_words(agent.default_branch)
        failure = Failure(cause=Cause.CONFLICT, at=self._world.clock.now(), reason=words)
        step = escalation(await self._world.store.log(agent.id), failure)
        return await self._moves.apply(agent, step) is not None
