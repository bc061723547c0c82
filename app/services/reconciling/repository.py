"""What one repository's state on GitHub asks for: agents to start, to wake, to stop; words to hear.

A look reads lists that serve all agents at once. A full one reads everything that is open; the
others read what has changed since the look before. What was seen is kept, so a repository costs
a few requests a pass, and nothing is missed while the service is away.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import Waits
from app.core.agents.lifecycle import LIVE, State
from app.core.breaker.clocks import may_be_late
from app.core.commands.grammar import may_hold_commands
from app.core.rules.plan import RepositoryPlan
from app.core.steering.seen import AS_IT_WAS, UNKNOWN, Facts
from app.core.words.config_review import TROUBLE_LABEL
from app.ports import GitHubFailed, Issue, Look, Paced, RateLimited, Refused, Repository, Said
from app.services.commands.answers import Hearing
from app.services.commands.raise_limits import CLOCKS_DIFFER
from app.services.configuration.broken_issue import ConfigTrouble
from app.services.configuration.plans import Plans
from app.services.configuration.pull_request_check import ConfigReviews
from app.services.configuration.triggers import NEW_WITHIN, OVERLAP, Triggers
from app.services.guard import Guard
from app.services.reconciling.look import Place
from app.services.reconciling.repairs import Repairs
from app.services.reconciling.request_budget import Purse, Share
from app.services.reconciling.settled import Settled
from app.services.reconciling.starts import Asking
from app.services.starting.start import Starting
from app.services.starting.trust import Trusting
from app.services.steering.facts import Listed, may_have_been_closed
from app.services.steering.heads import at_their_heads
from app.services.steering.look import Looking
from app.services.steering.missing import Missing
from app.services.world import World

SEEN_AGAIN: Final = 3
"""So many passes in a row come back to what nobody has foreseen; then the next full look does."""
BLIND_FOR: Final = timedelta(hours=1)
"""So long the clocks of those that wait stand still where we have not asked for all. Where GitHub
does not answer, they stand still for as long as that lasts."""

log = logging.getLogger("squadron.reconcile")


class RepositoryLooks:
    """Looks at one repository at a time. A second look at an unchanged world changes nothing."""

    def __init__(
        self,
        world: World,
        looking: Looking,
        missing: Missing,
        trusting: Trusting,
        starting: Starting,
        triggers: Triggers,
        plans: Plans,
        config_trouble: ConfigTrouble,
        config_reviews: ConfigReviews,
        hearing: Hearing,
        guard: Guard,
    ) -> None:
        self._world = world
        self._looking = looking
        self._missing = missing
        self._plans = plans
        self._config_trouble = config_trouble
        self._config_reviews = config_reviews
        self._hearing = hearing
        self._guard = guard
        self._settled = Settled(world.clock)
        self._blind_since: dict[str, datetime] = {}
        self.unanswered: dict[str, datetime] = {}
        """Since when GitHub does not answer all that is asked about a repository."""
        self._triggers = triggers
        self._asking = Asking(world, trusting, starting, self._settled)

    def forget(self) -> None:
        """Something else than GitHub has changed: look again at what was settled."""
        self._settled.forget()

    async def look(
        self,
        repository: Repository,
        before: Look | None,
        *,
        tip: str,
        is_full: bool,
        repairs: Repairs,
        purse: Purse,
    ) -> None:
        """Look once, and keep how far was seen: what the purse has nothing left for is seen again
        by the next look. `tip`: as `Listed.tips` has it. Raises `GitHubFailed`: then nothing was
        seen."""
        github, here = self._world.github, repository.full_name
        plan = (await self._plans.of(repository, tip)).plan
        changed_from = None if before is None else before.threads_until - OVERLAP
        threads = await github.threads(repository, None if is_full else changed_from)
        place = Place(
            repository,
            plan or RepositoryPlan(),
            await self._agents(repository, None if is_full or threads else LIVE),
            changed_from,
            is_full or before is None,
            repairs,
            purse,
            triggers=await self._triggers.of(repository, plan, before),
            heads_before={} if before is None else before.heads,
        )
        heard_until = None
        if _may_be_said(place, before, threads):
            asked_at = self._world.clock.now()
            place.comments += await github.said(repository, self._said_from(place, before))
            heard_until = _heard_until(place.comments, asked_at)
        for thread in threads:
            what = f"reviews of #{thread.number}"
            await self._guarded(place, what, partial(self._said_in_reviews, place, thread))
        place.comments.sort(key=lambda each: each.at)
        tell = partial(self._configuration, place, tip, threads)
        await self._guarded(place, "configuration", tell)
        listed = {thread.number: thread for thread in threads}
        for agent in place.live():
            await self._guarded(place, str(agent.id), partial(self._agent, place, agent, listed))
        if place.is_full:
            await self._guarded(place, "branches", partial(self._heads, place))
        if threads:
            place.agents = await self._agents(repository)
        for thread in threads:
            await self._guarded(place, f"#{thread.number}", partial(self._thread, place, thread))
        await self._hear_until(place, None)
        if place.is_whole:
            self._blind_since.pop(here, None)
            for name, at in place.reviewed.items():
                self._settled.note(name, at)
        if place.is_answered:
            self.unanswered.pop(here, None)
        else:
            self.unanswered.setdefault(here, self._world.clock.now())
        if place.is_whole or (place.is_answered and self._is_blind_for_long(here)):
            await self._clocks(place)
        await self._world.store.save_look(here, self._seen(place, before, threads, heard_until))

    def _said_from(self, place: Place, before: Look | None) -> datetime:
        """A full look hears again what was said to those that wait: it may count by now."""
        starts = [
            self._world.clock.now() - NEW_WITHIN
            if before is None
            else before.comments_until - OVERLAP
        ]
        if place.is_full:
            starts += [
                agent.updated_at - CLOCKS_DIFFER
                for agent in place.live()
                if agent.state is State.PAUSED
                or (agent.state is State.SLEEPING and not agent.is_under_review)
            ]
        return min(starts)

    def _seen(
        self,
        place: Place,
        before: Look | None,
        threads: Sequence[Issue],
        heard_until: datetime | None,
    ) -> Look:
        """What is kept of it. `heard_until`: how far comments are known; None: as before."""
        now = self._world.clock.now()
        threads_until = now - NEW_WITHIN if before is None else before.threads_until
        comments_until = now - NEW_WITHIN if before is None else before.comments_until
        if place.is_whole:
            threads_until = max([threads_until, *(each.updated_at for each in threads)])
            comments_until = max(comments_until, heard_until or comments_until)
        if place.left_from is not None:
            threads_until = min(threads_until, place.left_from)
        fully_at = now if place.is_full or before is None else before.fully_at
        return Look(
            threads_until,
            comments_until,
            looked_at=now,
            fully_at=fully_at,
            triggers=place.triggers,
            heads=place.heads_after(threads),
        )

    async def _guarded(
        self, place: Place, what: str, action: Callable[[], Awaitable[object]]
    ) -> None:
        """One thing's trouble does not keep the others waiting. Raises `RateLimited`."""
        if not place.purse.holds(Share.LOOKS):
            place.is_whole = False
            return
        name = f"{place.repository.full_name}: {what}"
        try:
            with self._guard.over(name):
                await action()
            if 0 < self._guard.passes(name) < SEEN_AGAIN:
                place.is_whole = False
        except Paced as error:
            place.is_whole = False
            log.info("not yet: %s", error, extra={"what": what})
        except RateLimited:
            raise
        except GitHubFailed as error:
            # What GitHub refuses it will refuse again: the next full look is soon enough.
            if not isinstance(error, Refused):
                place.is_whole, place.is_answered = False, False
            where = {"repository": place.repository.full_name, "what": what}
            log.warning("not reconciled: %s", error, extra=where)

    async def _configuration(self, place: Place, tip: str, threads: Sequence[Issue]) -> None:
        is_open = any(each.is_open and TROUBLE_LABEL in each.labels for each in threads)
        if await self._config_trouble.look(place.repository, tip, is_open=is_open):
            place.repairs.note(f"told of the configuration of {place.repository.full_name}")

    # --- issues ------------------------------------------------------------------------------

    async def _thread(self, place: Place, thread: Issue) -> None:
        if thread.is_pull_request:
            await self._pull_request(place, thread)
        if thread.is_open:
            await self._asking.look(place, thread, self._hear_until)

    def _is_news(self, place: Place, thread: Issue) -> bool:
        """Whether something may have been done to it, and undone, since the look before."""
        return place.changed_from is None or thread.updated_at >= place.changed_from

    async def _agents(
        self, repository: Repository, states: frozenset[State] | None = None
    ) -> Sequence[Agent]:
        every = await self._world.store.agents(repository=repository.full_name, states=states)
        return [agent for agent in every if agent.parent is None]

    # --- agents ------------------------------------------------------------------------------

    async def _agent(self, place: Place, agent: Agent, threads: Mapping[int, Issue]) -> None:
        """Look at one of whom the lists tell something new. A list of all that is open tells of
        what is not in it, too: it was closed, deleted or transferred."""
        issue = threads.get(agent.id.issue)
        name = f"had {agent.id} {agent.segment} {agent.state}"
        is_news = issue is not None and not self._settled.has(name, issue.updated_at)
        known = self._known(place, agent, threads, is_news=is_news)
        if known == replace(AS_IT_WAS, lost_access=""):
            return
        is_news = issue is not None and is_news and self._is_news(place, issue)
        listed = Listed() if issue is None else Listed(issue, is_news)
        step = await self._looking.look(agent.id, known, listed)
        place.repairs.took(step, agent)
        if step is None and issue is not None:
            self._settled.note(name, issue.updated_at)
        pull = threads.get(agent.pull_request or 0)
        if known.feedback is UNKNOWN and pull is not None:
            self._settled.note(_review_name(agent), pull.updated_at)

    async def _heads(self, place: Place) -> None:
        """Pull requests move when somebody pushes to them; other branches have no list of their
        own."""
        without = [agent for agent in place.live() if agent.pull_request is None]
        await at_their_heads(self._world, place.repository, without)

    def _known(
        self, place: Place, agent: Agent, threads: Mapping[int, Issue], *, is_news: bool
    ) -> Facts:
        """What of the agent's world is as it was, as far as the lists tell. `is_news`: its issue
        is listed, and as nobody has looked at it yet."""
        known = replace(AS_IT_WAS, lost_access="")
        is_back = agent.waits_for is Waits.ACCESS  # nobody saw what happened meanwhile
        is_doubted = self._missing.is_doubted(place.repository, agent.id.issue)
        if is_news or place.is_full or is_back or is_doubted:
            known = replace(known, taken=UNKNOWN)
        pull = threads.get(agent.pull_request or 0)
        if pull is not None and pull.is_open:
            is_new = pull.updated_at >= agent.updated_at - CLOCKS_DIFFER
            if is_new and not self._settled.has(_review_name(agent), pull.updated_at):
                known = replace(known, feedback=UNKNOWN)
        elif pull is not None or place.is_full or _may_have_one(agent):
            known = replace(known, pull=UNKNOWN)
        blockers = [threads.get(number) for number in agent.blocked_by]
        is_any_free = any(
            not each.is_open or (self._is_news(place, each) and may_have_been_closed(each))
            for each in blockers
            if each is not None
        )
        are_doubted = any(
            self._missing.is_doubted(place.repository, number) for number in agent.blocked_by
        )
        if is_any_free or are_doubted or (place.is_full and not any(blockers)):
            known = replace(known, blockers_free=UNKNOWN)
        if place.is_full:
            known = replace(known, circle=UNKNOWN)
        return known

    def _is_blind_for_long(self, repository: str) -> bool:
        """Whether something there, for which each pass has nothing left, would keep who waits from
        ever being late."""
        now = self._world.clock.now()
        return now - self._blind_since.setdefault(repository, now) > BLIND_FOR

    async def _clocks(self, place: Place) -> None:
        """Who waits is late only once all is dealt with that people did meanwhile. Who began to
        wait meanwhile is not late yet."""
        for agent in place.agents:
            if may_be_late(agent, self._world.clock.now()):
                what = f"clock of {agent.id}"
                await self._guarded(place, what, partial(self._clock, place, agent))

    async def _clock(self, place: Place, agent: Agent) -> None:
        step = await self._looking.look(agent.id, replace(AS_IT_WAS, is_current=True))
        place.repairs.took(step, agent)

    # --- pull requests -----------------------------------------------------------------------

    async def _pull_request(self, place: Place, thread: Issue) -> None:
        is_news = place.changed_from is not None and thread.updated_at >= place.changed_from
        name = f"config {thread.url}"
        if thread.is_open and is_news and not self._settled.has(name, thread.updated_at):
            if await self._config_reviews.review(place.repository, thread.number):
                place.repairs.note(f"checked the configuration of {thread.url}")
            self._settled.note(name, thread.updated_at)

    async def _said_in_reviews(self, place: Place, thread: Issue) -> None:
        """Commands may stand in reviews of what agents hand over, and on its lines; these move
        their pull request."""
        since = place.changed_from or self._world.clock.now() - NEW_WITHIN
        is_ours = any(agent.pull_request == thread.number for agent in place.agents)
        name = f"said in reviews {thread.url}"
        if not is_ours or thread.updated_at < since or self._settled.has(name, thread.updated_at):
            return
        github = self._world.github
        said = await github.said_in_reviews(place.repository, thread.number, since)
        place.comments += [each for each in said if may_hold_commands(each.body)]
        place.reviewed[name] = thread.updated_at

    # --- words -------------------------------------------------------------------------------

    async def _hear_until(
        self, place: Place, until: datetime | None, thread: int | None = None
    ) -> None:
        """Hear what was said, as far as that instant and below that issue: what somebody said
        before an agent was asked for is not about it."""

        def is_due(said: Said) -> bool:
            return thread in (None, said.thread) and (until is None or said.at < until)

        due = [said for said in place.comments if is_due(said)]
        place.comments = [said for said in place.comments if not is_due(said)]
        for said in due:
            await self._guarded(place, f"comment {said.number}", partial(self._hear, place, said))

    async def _hear(self, place: Place, said: Said) -> None:
        name = f"said {place.repository.full_name} {said.kind} {said.number}"
        may_count_now = place.is_full and (
            may_hold_commands(said.body)
            or any(agent.id.issue == said.thread for agent in place.live())
        )
        if not may_count_now and self._settled.has(name, said.edited_at or said.at):
            return
        if await self._hearing.hear_said(place.repository, said):
            place.repairs.note(f"heard {said.author} on #{said.thread}")
        self._settled.note(name, said.edited_at or said.at)


def _may_be_said(place: Place, before: Look | None, threads: Sequence[Issue]) -> bool:
    """Whether comments can have come that nobody has heard: each moves its thread. One that was
    edited may not, and full looks ask in any case."""
    if before is None or place.is_full:
        return True
    since = before.comments_until - OVERLAP
    return any(each.updated_at >= since for each in threads)


def _heard_until(said: Sequence[Said], asked_at: datetime) -> datetime:
    """How far comments are known by a list of them; GitHub's clock is another."""
    return max([asked_at - OVERLAP, *(each.edited_at or each.at for each in said)])


def _review_name(agent: Agent) -> str:
    """Tells what came to the pull request of one sleep from all else that is settled."""
    return f"review {agent.id} {agent.segment}"


def _may_have_one(agent: Agent) -> bool:
    """Whether its pull request may have been opened, and merged, before its number was noted."""
    return agent.waits_for is Waits.REVIEW and agent.pull_request is None
