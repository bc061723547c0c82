"""What people write to agents: it wakes those that wait for an answer. Those that work read it
before their next tool call, all others in their next prompt; once, whoever noticed it first."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, SpokenTo, Woken
from app.core.agents.lifecycle import LIVE
from app.core.agents.steps import WakeUp
from app.core.budgets.rates import Allowed
from app.core.rules.trust import Sender
from app.core.steering.next_step import is_answered
from app.core.steering.seen import AS_IT_WAS, Answer, Facts
from app.ports import GitHubFailed, Repository, Said, Written
from app.services.commands.hear import Commanding, Comment
from app.services.starting.rates import UserRates
from app.services.steering.look import Looking
from app.services.world import World

log = logging.getLogger("squadron.answers")

MOST_KEPT_CHARACTERS: Final = 65_536
"""Of one comment: as long as GitHub lets them be."""


class Hearing:
    """Lets the words of people reach agents, told by a webhook or found."""

    def __init__(
        self, world: World, rates: UserRates, looking: Looking, commanding: Commanding
    ) -> None:
        self._world = world
        self._rates = rates
        self._looking = looking
        self._commanding = commanding

    async def hear(self, comment: Comment) -> bool:
        """Let a comment that a webhook told of reach the agents where it stands, or obey it;
        whether anything came of it. May raise `GitHubFailed`."""
        return await self._hear(comment, comment.at, Facts())

    async def hear_said(self, repository: Repository, said: Said) -> bool:
        """As `hear`. For reconciliation: the webhook of it may never have come."""
        return await self._hear(comment_of(repository, said), said.at, AS_IT_WAS)

    async def _hear(self, comment: Comment, written_at: datetime | None, known: Facts) -> bool:
        """An edit answers nobody that the words themselves did not answer: `written_at` counts."""
        listeners = await self._listeners(comment, written_at)
        if not listeners or not await self._is_an_answer(comment):
            return await self._commanding.hear(comment)
        login = comment.by.login
        why = f"{login} commented:\n\n{comment.body}"
        answer = Answer(why, login, comment.name, written_at)
        place, too_many = f"{comment.repository.full_name}#{comment.thread}", None
        # A webhook and reconciliation may hear of it at once.
        async with self._world.exclusive(f"answers:{place}"):
            reached = False
            for agent in listeners:
                is_answered = await self._is_answered(agent, answer)
                if is_answered and too_many is None:
                    rate = await self._rates.is_within(login, comment.name)
                    too_many = None if isinstance(rate, Allowed) else rate
                if is_answered and too_many is not None:
                    continue
                reached |= await self._reach(agent, comment, answer, known)
        if too_many is not None:
            here = comment.repository
            await self._rates.say_too_many(here, comment.thread, login, too_many)
        return reached

    async def _is_answered(self, agent: Agent, answer: Answer) -> bool:
        return is_answered(agent, answer, await self._world.store.log(agent.id))

    async def _reach(self, agent: Agent, comment: Comment, answer: Answer, known: Facts) -> bool:
        """It wakes the agent, or is kept for it; whether the agent did not know of it."""
        if await self._is_answered(agent, answer):
            step = await self._looking.look(agent.id, replace(known, answer=answer))
            if isinstance(step, WakeUp) and step.said == answer.said:
                return True
        present = await self._world.store.agent(agent.id)
        if present is None or present.has_ended:
            return False
        return await self._write_to(present, comment)

    async def _is_an_answer(self, comment: Comment) -> bool:
        """Whether it was written to the agents, only by people who are trusted, and is no command
        to Squadron."""
        if not await self._commanding.is_trusted(comment):
            return False
        return not await self._commanding.has_commands(comment)

    async def _listeners(self, comment: Comment, written_at: datetime | None) -> Sequence[Agent]:
        """The agents that a comment may be meant for: on their issue, or on their pull request."""
        if comment.kind != "comment":  # as an answer it is part of its review
            return []
        live = await self._world.store.agents(repository=comment.repository.full_name, states=LIVE)
        return [agent for agent in live if _listens(agent, comment.thread, written_at)]

    async def _write_to(self, agent: Agent, comment: Comment) -> bool:
        """Keep it for what the agent reads next; False if it knows. Its author sees that it was
        heard: before it is kept, so that whoever dies in between does both again."""
        kept = await self._world.store.written_to(agent.id)
        is_kept = any(each.said == comment.name for each in kept)
        if is_kept or _is_told(comment, await self._world.store.log(agent.id)):
            return False
        await self._react(comment)
        written = Written(
            said=comment.name,
            at=comment.at or self._world.clock.now(),
            comment=comment.number,
            by=comment.by.login,
            text=comment.body[:MOST_KEPT_CHARACTERS],
            link=comment.link,
        )
        return await self._world.store.write_to(agent.id, written)

    async def _react(self, comment: Comment) -> None:
        """Words count whether GitHub takes the reaction or not."""
        try:
            await self._world.github.react(comment.repository, comment.number, "eyes")
        except GitHubFailed as error:
            log.info("no reaction: %s", error, extra={"comment": comment.number})


def _listens(agent: Agent, thread: int, written_at: datetime | None) -> bool:
    if agent.parent is not None or agent.has_ended:
        return False
    if thread not in (agent.id.issue, agent.pull_request):
        return False
    is_from_before = written_at is not None and written_at < _to_the_second(agent.created_at)
    return not is_from_before


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
