"""What people write to agents that wait: it wakes them, once, whoever noticed it first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, Waits, Woken
from app.core.agents.lifecycle import State
from app.core.budgets.rates import Allowed
from app.core.rules.trust import Sender
from app.ports import Repository, Said
from app.services.commands.hear import Commanding, Comment
from app.services.moves.closing import Closing
from app.services.starting.start import Starting
from app.services.world import World, repository_of


class Hearing:
    """Wakes sleeping agents by words, and finds words that no webhook told of."""

    def __init__(
        self, world: World, starting: Starting, closing: Closing, commanding: Commanding
    ) -> None:
        self._world = world
        self._starting = starting
        self._closing = closing
        self._commanding = commanding

    async def is_an_answer(self, comment: Comment) -> bool:
        """Whether it was written to the agents, only by people who are trusted, and is no command
        to Squadron."""
        if not await self._commanding.is_trusted(comment):
            return False
        return not self._commanding.has_commands(comment)

    async def answered(self, agents: Sequence[Agent], words: "Words") -> bool:
        """Wake agents of one issue by a person's words, which count if they wake one.

        A webhook and reconciliation may hear of them at once, so one at a time for each issue.
        """
        issue = agents[0].id
        async with self._world.exclusive(f"answers:{issue.repository}#{issue.issue}"):
            asleep = [agent for agent in agents if await self._can_be_woken(agent, words)]
            if not asleep:
                return False
            rate = await self._starting.is_within_rate(words.by, words.name)
            if isinstance(rate, Allowed):
                for agent in asleep:
                    await self._closing.wake(agent, words.why, words.by, words.name)
                return True
        here = repository_of(agents[0])
        await self._starting.say_too_many(here, words.thread, words.by, rate)
        return False

    async def _can_be_woken(self, agent: Agent, words: "Words") -> bool:
        """Whether it sleeps as it did, and these words, told of late, have not woken it before."""
        present = await self._world.store.agent(agent.id)
        if present is None or present.state is not State.SLEEPING:
            return False
        if present.segment != agent.segment:
            return False
        return not words.are_in(await self._world.store.log(agent.id))

    async def hear_said(self, repository: Repository, said: Said) -> bool:
        """Let a comment reach whoever waits for an answer where it stands, or obey it; whether
        anything came of it. For reconciliation: the webhook of it may never have come."""
        comment = comment_of(repository, said)
        if comment.kind != "comment":  # as an answer it is part of its review
            return await self._commanding.hear(comment)
        waiting = [agent for agent in await self.waiting_at(comment) if _slept_by_then(agent, said)]
        if waiting and await self.is_an_answer(comment):
            return await self.answered(waiting, Words.of_comment(comment))
        return await self._commanding.hear(comment)

    async def waiting_at(self, comment: Comment) -> Sequence[Agent]:
        """The sleeping agents that a comment may be an answer to: on their issue, or on their
        pull request. While that waits for a review, ordinary comments are people's talk."""
        sleepers = await self._world.store.agents(
            repository=comment.repository.full_name, states=frozenset({State.SLEEPING})
        )
        return [
            agent
            for agent in sleepers
            if agent.waits_for is not Waits.REVIEW
            and comment.thread in (agent.id.issue, agent.pull_request)
        ]


@dataclass(frozen=True, slots=True)
class Words:
    """What a person said to agents, the same whoever noticed it."""

    thread: int
    """The issue or pull request that it stands under."""
    by: str
    why: str
    """For the agent. Untrusted text."""
    name: str | None
    """Tells it from everything else that was said; None if GitHub's id of it is not known."""

    @classmethod
    def of_comment(cls, comment: Comment) -> Self:
        """A comment on the issue."""
        login = comment.by.login
        return cls(comment.thread, login, f"{login} commented:\n\n{comment.body}", comment.name)

    def are_in(self, log: Sequence[AgentEvent]) -> bool:
        """Whether they have woken the agent of that log."""
        woken = (event.said for event in log if isinstance(event, Woken))
        return self.name is not None and self.name in woken


def _slept_by_then(agent: Agent, said: Said) -> bool:
    """What was said before it fell asleep is no answer to its question, nor is an edit of it."""
    return said.at >= agent.updated_at.replace(microsecond=0)


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
    )
