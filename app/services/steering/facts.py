"""How each fact about an agent is asked of the world, each thing once for a look."""

from dataclasses import dataclass, replace
from typing import Final, Literal, assert_never

from app.core.agents.agent import Agent
from app.core.agents.events import HandedOver
from app.core.agents.lifecycle import LIVE
from app.core.steering.blockers import closed_circle, was_free
from app.core.steering.ownership import Taken
from app.core.steering.seen import UNKNOWN, Fact, Facts, LifeSeen, PullSeen, Seen, Unknown
from app.ports import Issue, PullRequest, RunSegment
from app.services.steering.feedback import Feedback
from app.services.steering.heads import at_its_head
from app.services.steering.missing import Missing
from app.services.steering.ownership import Overriding
from app.services.world import World, repository_of


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list of GitHub's has told already about an agent's issue."""

    issue: Issue | Literal[Unknown.UNKNOWN] = UNKNOWN
    is_news: bool = True
    """Whether something may have been done to it, and undone, since the look before."""


NOTHING_LISTED: Final = Listed()


class Inquiry:
    """Asks about one agent as it was seen. May raise `GitHubFailed`."""

    def __init__(
        self,
        world: World,
        ownership: Overriding,
        feedback: Feedback,
        missing: Missing,
        agent: Agent,
        listed: Listed,
    ) -> None:
        self._world = world
        self._ownership = ownership
        self._feedback = feedback
        self._missing = missing
        self._agent = agent
        self._listed = listed
        self._pull: PullRequest | Literal[Unknown.UNKNOWN] | None = UNKNOWN

    async def ask(self, fact: Fact, seen: Seen) -> Facts:
        """The facts with this one among them."""
        facts, agent = seen.facts, self._agent
        match fact:
            case Fact.OWNERSHIP:
                taken = await self._taken(seen)
                # GitHub has answered for the repository, so it lets us in.
                return replace(facts, taken=taken, lost_access=facts.lost_access or "")
            case Fact.PULL_REQUEST:
                return replace(facts, pull=_seen(await self._pull_request()))
            case Fact.BLOCKERS:
                return replace(facts, blockers_free=await self._are_free())
            case Fact.CIRCLE:
                here = await self._world.store.agents(repository=agent.repository, states=LIVE)
                return replace(facts, circle=closed_circle(agent, here))
            case Fact.FEEDBACK:
                pull = await self._pull_request()
                if pull is None or not pull.is_open:
                    return replace(facts, feedback=None)
                came = await self._feedback.of(self._agent, pull, seen.history, seen.now)
                return replace(facts, feedback=came)
            case Fact.LIFE:
                work, worker = RunSegment(agent.id, agent.segment), agent.worker
                life = LifeSeen(
                    await self._world.engine.is_pending(work.id),
                    worker is not None and await self._world.engine.is_at_work(worker),
                )
                return replace(facts, life=life)
            case _:
                assert_never(fact)

    async def _taken(self, seen: Seen) -> Taken | None:
        """Whether its work was taken away; not as long as GitHub may have missed its issue."""
        here, agent = repository_of(self._agent), self._agent
        issue: Issue | Literal[Unknown.UNKNOWN] | None = self._listed.issue
        if issue is UNKNOWN:
            issue = await self._world.github.issue(here, agent.id.issue)
        if not self._missing.is_gone(here, agent.id.issue, issue) and issue is None:
            return None
        return await self._ownership.taken_away(
            agent, seen.history, issue, is_news=self._listed.is_news
        )

    async def _pull_request(self) -> PullRequest | None:
        """Also one that was merged before its number could be noted."""
        if self._pull is not UNKNOWN:
            return self._pull
        github, agent, here = self._world.github, self._agent, repository_of(self._agent)
        if agent.pull_request is not None:
            found: PullRequest | None = await github.pull_request(here, agent.pull_request)
        else:
            pulls = await github.pull_requests(here, agent.branch)
            merged = (pull for pull in pulls if pull.is_merged and pull.head_sha == agent.sha)
            found = next(merged, None)
            if found is not None:
                now = self._world.clock.now()
                told = HandedOver(at=now, pull_request=found.number)
                await self._world.store.note_handed_over(agent, told)
        if found is not None and found.is_open and found.head_sha != agent.sha:
            self._agent = await at_its_head(self._world, agent)
        self._pull = found
        return found

    async def _are_free(self) -> bool:
        """Whether no blocker is open, or all were closed at one time since the agent fell asleep.
        Asked until the first that was open all the time. Nobody tells since when one is gone."""
        here, agent = repository_of(self._agent), self._agent
        blockers = []
        for number in agent.blocked_by:
            issue = await self._world.github.issue(here, number)
            if self._missing.is_gone(here, number, issue):
                continue
            if issue is None or not may_have_been_closed(issue):
                return False
            blockers.append(issue)
        if not any(each.is_open for each in blockers):
            return True
        marks = [await self._world.github.marks(here, each.number) for each in blockers]
        return was_free(marks, agent.updated_at)


def may_have_been_closed(issue: Issue) -> bool:
    """Whether it is closed, or may have been: of pull requests GitHub does not say."""
    return not issue.is_open or issue.was_reopened or issue.is_pull_request


def _seen(pull: PullRequest | None) -> PullSeen | None:
    if pull is None:
        return None
    return PullSeen(pull.number, pull.is_open, pull.is_merged, pull.closed_at)
