"""What one repository's state on GitHub asks for: agents to start, to wake, to stop; words to hear.

A look reads lists that serve all agents at once. A full one reads everything that is open; the
others read what has changed since the look before. What was seen is kept, so a repository costs
a few requests a pass, and nothing is missed while the service is away.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.agents.steps import TakeAway
from app.core.commands.grammar import may_hold_commands
from app.core.rules.plan import RepositoryPlan
from app.core.steering.asks import Trigger, in_force
from app.core.words.config_review import TROUBLE_LABEL
from app.ports import GitHubFailed, Issue, Look, Paced, RateLimited, Refused, Repository, Said
from app.services.commands.answers import Hearing
from app.services.commands.raise_limits import CLOCKS_DIFFER
from app.services.configuration.broken_issue import ConfigTrouble
from app.services.configuration.plans import Plans
from app.services.configuration.pull_request_check import ConfigReviews
from app.services.guard import Guard
from app.services.moves.moves import Moves
from app.services.reconciling.look import Place
from app.services.reconciling.repairs import Repairs
from app.services.reconciling.request_budget import Purse, Share
from app.services.reconciling.settled import Settled
from app.services.reconciling.starts import Asking
from app.services.starting.start import Starting
from app.services.steering.access import Access
from app.services.steering.blockers import Blockers, may_have_been_closed
from app.services.steering.feedback import Feedback
from app.services.steering.ownership import Overriding
from app.services.steering.pull_request_ended import PullRequestEnds
from app.services.world import World, repository_of

OVERLAP: Final = timedelta(minutes=2)
"""How much of what was seen is looked at again: GitHub's lists may lag, and what was under way
here was not seen by the look before."""
SEEN_AGAIN: Final = 3
"""So many passes in a row come back to what nobody has foreseen; then the next full look does."""
NEW_WITHIN: Final = timedelta(minutes=10)
"""What was written before a repository was seen for the first time is not meant for us."""

log = logging.getLogger("squadron.reconcile")


class Looking:
    """Looks at one repository at a time. A second look at an unchanged world changes nothing."""

    def __init__(
        self,
        world: World,
        moves: Moves,
        pull_request_ends: PullRequestEnds,
        blockers: Blockers,
        overriding: Overriding,
        starting: Starting,
        plans: Plans,
        config_trouble: ConfigTrouble,
        config_reviews: ConfigReviews,
        hearing: Hearing,
        feedback: Feedback,
        access: Access,
        guard: Guard,
    ) -> None:
        self._world = world
        self._moves = moves
        self._pull_request_ends = pull_request_ends
        self._blockers = blockers
        self._overriding = overriding
        self._plans = plans
        self._config_trouble = config_trouble
        self._config_reviews = config_reviews
        self._hearing = hearing
        self._feedback = feedback
        self._access = access
        self._guard = guard
        self._settled = Settled(world.clock)
        self._asking = Asking(world, starting, self._settled)

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
        place = Place(
            repository,
            plan or RepositoryPlan(),
            await self._agents(repository),
            None if before is None else before.threads_until - OVERLAP,
            is_full or before is None,
            repairs,
            purse,
            triggers=self._triggers(plan, before),
            heads_before={} if before is None else before.heads,
        )
        threads = await github.threads(repository, None if place.is_full else place.changed_from)
        said = await github.said(repository, self._said_from(place, before))
        place.comments = list(said)
        for thread in threads:
            what = f"reviews of #{thread.number}"
            await self._guarded(place, what, partial(self._said_in_reviews, place, thread))
        place.comments.sort(key=lambda each: each.at)
        tell = partial(self._configuration, place, tip, threads)
        await self._guarded(place, "configuration", tell)
        for thread in threads:
            await self._guarded(place, f"#{thread.number}", partial(self._thread, place, thread))
        await self._rest(place, threads)
        await self._hear_until(place, None)
        if place.is_whole:
            for name, at in place.reviewed.items():
                self._settled.note(name, at)
        await self._world.store.save_look(here, self._seen(place, before, threads, said))

    def _triggers(self, plan: RepositoryPlan | None, before: Look | None) -> Mapping[str, Trigger]:
        """One that is new may have been there since the look before; a configuration with errors
        ends none."""
        if plan is None:
            return {} if before is None else before.triggers
        now = self._world.clock.now()
        since = now - NEW_WITHIN if before is None else before.looked_at - OVERLAP
        return in_force({} if before is None else before.triggers, plan.events, since)

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
                or (agent.state is State.SLEEPING and agent.waits_for is not Waits.REVIEW)
            ]
        return min(starts)

    def _seen(
        self, place: Place, before: Look | None, threads: Sequence[Issue], said: Sequence[Said]
    ) -> Look:
        now = self._world.clock.now()
        threads_until = now - NEW_WITHIN if before is None else before.threads_until
        comments_until = now - NEW_WITHIN if before is None else before.comments_until
        if place.is_whole:
            threads_until = max([threads_until, *(each.updated_at for each in threads)])
            comments_until = max([comments_until, *(each.edited_at or each.at for each in said)])
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
            place.is_whole = place.is_whole and isinstance(error, Refused)
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
        its = [agent for agent in place.live() if agent.id.issue == thread.number]
        if any([await self._ended_by_people(place, agent, thread) for agent in its]):
            place.agents = await self._agents(place.repository)
        if not thread.is_open or (self._is_news(place, thread) and may_have_been_closed(thread)):
            for agent in place.live():
                if agent.waits_for is Waits.BLOCKER and thread.number in agent.blocked_by:
                    await self._wake_if_free(place, agent)
        if thread.is_open:
            await self._asking.look(place, thread, self._hear_until)

    def _is_news(self, place: Place, thread: Issue) -> bool:
        """Whether something may have been done to it, and undone, since the look before."""
        return place.changed_from is None or thread.updated_at >= place.changed_from

    async def _agents(self, repository: Repository) -> Sequence[Agent]:
        every = await self._world.store.agents(repository=repository.full_name)
        return [agent for agent in every if agent.parent is None]

    async def _ended_by_people(self, place: Place, agent: Agent, issue: Issue | None) -> bool:
        """Settle an agent whose pull request was merged, or whose work was taken away, unseen;
        whether it was."""
        is_gone = issue is None or not issue.is_open
        # A merge closes the issue too, and must not look like work that was taken away.
        if is_gone and await self._review_ended(place, agent):
            return True
        present = await self._present(agent)
        if present is None:
            return False
        is_news = issue is not None and self._is_news(place, issue)
        taken = await self._overriding.taken_away(present, issue, is_news=is_news)
        if taken is None:
            return False
        if not is_gone and await self._review_ended(place, agent, taken.at):
            return True
        if await self._moves.apply(present, TakeAway(taken.why, since=taken.at)):
            place.repairs.note("cancelled", agent)
            return True
        place.is_whole = False  # it moved on meanwhile
        return False

    async def _review_ended(
        self, place: Place, agent: Agent, before: datetime | None = None
    ) -> bool:
        present = await self._present(agent)
        if present is None or not await self._pull_request_ends.settle(present, before):
            return False
        place.repairs.note("review ended", agent)
        return True

    async def _wake_if_free(self, place: Place, agent: Agent) -> None:
        present = await self._present(agent)
        if present is None or present.waits_for is not Waits.BLOCKER:
            return
        if await self._blockers.wake_if_free(present):
            place.repairs.note("woken", agent)

    async def _present(self, agent: Agent) -> Agent | None:
        """The agent as it is now; None at its end, and if it was taken away already."""
        present = await self._world.store.agent(agent.id)
        return None if present is None or present.has_ended else present

    async def _rest(self, place: Place, threads: Sequence[Issue]) -> None:
        """Agents that the list does not tell enough about."""
        open_ones = {each.number for each in threads if each.is_open}
        for agent in place.live():
            what = str(agent.id)
            if agent.waits_for is Waits.REVIEW and agent.pull_request is None:
                await self._guarded(place, what, partial(self._review_ended, place, agent))
            if agent.waits_for is Waits.ACCESS:
                await self._guarded(place, what, partial(self._access_again, place, agent))
            elif place.is_full:
                await self._guarded(place, what, partial(self._not_among, place, agent, open_ones))

    async def _access_again(self, place: Place, agent: Agent) -> None:
        issue = await self._world.github.issue(repository_of(agent), agent.id.issue)
        await self._ended_by_people(place, agent, issue)
        present = await self._present(agent)
        if present is not None and await self._access.again(present):
            place.repairs.note("woken, for it has access again", agent)

    async def _not_among(self, place: Place, agent: Agent, open_ones: set[int]) -> None:
        """What an agent depends on and is not open: closed, deleted or transferred."""
        if agent.id.issue not in open_ones:
            here = repository_of(agent)
            issue = await self._world.github.issue(here, agent.id.issue)
            await self._ended_by_people(place, agent, issue)
        elif agent.pull_request is not None and agent.pull_request not in open_ones:
            await self._review_ended(place, agent)
        if agent.waits_for is Waits.BLOCKER and not open_ones & set(agent.blocked_by):
            await self._wake_if_free(place, agent)

    # --- pull requests -----------------------------------------------------------------------

    async def _pull_request(self, place: Place, thread: Issue) -> None:
        for agent in place.live():
            if agent.pull_request != thread.number:
                continue
            if not thread.is_open:
                await self._review_ended(place, agent)
            else:
                await self._reviewed(place, agent, thread)
        is_news = place.changed_from is not None and thread.updated_at >= place.changed_from
        name = f"config {thread.url}"
        if thread.is_open and is_news and not self._settled.has(name, thread.updated_at):
            if await self._config_reviews.review(place.repository, thread.number):
                place.repairs.note(f"checked the configuration of {thread.url}")
            self._settled.note(name, thread.updated_at)

    async def _reviewed(self, place: Place, agent: Agent, thread: Issue) -> None:
        """A review moves its pull request; what does not is looked for in turn."""
        name, news_from = f"review {agent.id} {agent.segment}", agent.updated_at - CLOCKS_DIFFER
        if thread.updated_at < news_from or self._settled.has(name, thread.updated_at):
            return
        if await self._feedback.look(agent):
            place.repairs.note("told of its pull request", agent)
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
