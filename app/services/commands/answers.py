"""What people write to agents: it wakes those that wait for an answer, and is in the next prompt of
all others, once, whoever noticed it first."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, SpokenTo, Waits, Woken
from app.core.agents.lifecycle import LIVE, State
from app.core.agents.steps import WakeUp
from app.core.budgets.rates import Allowed
from app.core.rules.trust import Sender
from app.ports import Repository, Said, Written
from app.services.commands.hear import Commanding, Comment
from app.services.moves.moves import Moves
from app.services.starting.start import Starting
from app.services.world import World, repository_of

MOST_KEPT_CHARACTERS: Final = 65_536
"""Of one comment: as long as GitHub lets them be."""


class Hearing:
    """Lets the words of people reach agents, told by a webhook or found."""

    def __init__(
        self, world: World, starting: Starting, moves: Moves, commanding: Commanding
    ) -> None:
        self._world = world
        self._starting = starting
        self._moves = moves
        self._commanding = commanding

    async def hear(self, comment: Comment) -> bool:
        """Let a comment that a webhook told of reach the agents where it stands, or obey it;
        whether anything came of it. May raise `GitHubFailed`."""
        listeners = await self._listeners(comment, comment.at)
        return await self._hear(comment, listeners, [*filter(_waits, listeners)])

    async def hear_said(self, repository: Repository, said: Said) -> bool:
        """As `hear`. For reconciliation: the webhook of it may never have come."""
        comment = comment_of(repository, said)
        listeners = await self._listeners(comment, said.at)
        waiting = [each for each in listeners if _waits(each) and not _was_awake(each, said.at)]
        return await self._hear(comment, listeners, waiting)

    async def _hear(
        self, comment: Comment, listeners: Sequence[Agent], waiting: Sequence[Agent]
    ) -> bool:
        """Wake those of the listeners that wait for it; it is in the next prompt of the others."""
        if not listeners or not await self._is_an_answer(comment):
            return await self._commanding.hear(comment)
        others = [each for each in listeners if each not in waiting]
        told = [await self._write_to(each, comment) for each in others]
        woken = bool(waiting) and await self._answered(waiting, comment)
        return woken or any(told)

    async def _is_an_answer(self, comment: Comment) -> bool:
        """Whether it was written to the agents, only by people who are trusted, and is no command
        to Squadron."""
        if not await self._commanding.is_trusted(comment):
            return False
        return not await self._commanding.has_commands(comment)

    async def _listeners(self, comment: Comment, written_at: datetime | None) -> Sequence[Agent]:
        """The agents that a comment may be meant for: on their issue, or on their pull request.
        What is written while they wait for a review is people's talk."""
        if comment.kind != "comment":  # as an answer it is part of its review
            return []
        live = await self._world.store.agents(repository=comment.repository.full_name, states=LIVE)
        return [agent for agent in live if _listens(agent, comment.thread, written_at)]

    async def _answered(self, agents: Sequence[Agent], comment: Comment) -> bool:
        """Wake agents of one issue by a person's words, which count if they wake one.

        A webhook and reconciliation may hear of them at once, so one at a time for each issue.
        """
        issue, login = agents[0].id, comment.by.login
        async with self._world.exclusive(f"answers:{issue.repository}#{issue.issue}"):
            asleep = [agent for agent in agents if await self._can_be_woken(agent, comment)]
            moved_on = [agent for agent in agents if agent not in asleep]
            told = [await self._write_to(agent, comment) for agent in moved_on]
            if not asleep:
                return any(told)
            rate = await self._starting.is_within_rate(login, comment.name)
            if isinstance(rate, Allowed):
                why = f"{login} commented:\n\n{comment.body}"
                for agent in asleep:
                    await self._moves.apply(agent, WakeUp(why, login, comment.name))
                return True
        here = repository_of(agents[0])
        await self._starting.say_too_many(here, comment.thread, login, rate)
        return False

    async def _can_be_woken(self, agent: Agent, comment: Comment) -> bool:
        """Whether it sleeps as it did, and these words, told of late, have not woken it before."""
        present = await self._world.store.agent(agent.id)
        if present is None or present.state is not State.SLEEPING:
            return False
        if present.segment != agent.segment:
            return False
        return not _is_told(comment, await self._world.store.log(agent.id))

    async def _write_to(self, agent: Agent, comment: Comment) -> bool:
        """Keep it for the agent's next prompt; False if it knows."""
        if _is_told(comment, await self._world.store.log(agent.id)):
            return False
        written = Written(
            said=comment.name,
            at=comment.at or self._world.clock.now(),
            comment=comment.number,
            by=comment.by.login,
            text=comment.body[:MOST_KEPT_CHARACTERS],
            link=comment.link,
        )
        return await self._world.store.write_to(agent.id, written)


def _listens(agent: Agent, thread: int, written_at: datetime | None) -> bool:
    if agent.parent is not None or agent.has_ended:
        return False
    if thread not in (agent.id.issue, agent.pull_request):
        return False
    if written_at is not None and written_at < _to_the_second(agent.created_at):
        return False  # before it was there
    if agent.state is State.SLEEPING and agent.waits_for is Waits.REVIEW:
        return written_at is not None and _was_awake(agent, written_at)
    return True


def _waits(agent: Agent) -> bool:
    """Whether words wake it."""
    return agent.state is State.SLEEPING and agent.waits_for is not Waits.REVIEW


def _was_awake(agent: Agent, at: datetime) -> bool:
    """Whether a sleeping agent was not asleep yet. What was said then is no answer to its
    question, nor is an edit of it."""
    return at < _to_the_second(agent.updated_at)


def _to_the_second(at: datetime) -> datetime:
    return at.replace(microsecond=0)


def _is_told(comment: Comment, log: Sequence[AgentEvent]) -> bool:
    """Whether the words have woken the agent of that log, or were in a prompt of it."""
    return any(event.said == comment.name for event in log if isinstance(event, Woken | SpokenTo))


def comment_of(repository: Repository, said: Said) -> Comment:
    """What was read on GitHub, as if a webhook had told it."""
    return Comment(
        repository=repository,
        thread=said.thread,
        number=said.number,
        by=Sender(said.author, said.is_bot),
        body=said.body,
        at=said.edited_at or said.at,
        is_edited_by_somebody=said.is_edited,
        kind=said.kind,
        review=said.review,
        link=said.link,
    )
