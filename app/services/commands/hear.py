"""The commands of people's comments and of the buttons of checks: each is obeyed or answered once,
whoever noticed it, and however often.

A comment is a text that changes: what was heard of it is remembered line by line, so an edit runs
what it added and nothing else. What was set aside for a wrong line is heard anew once that is put
right.
"""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.core.agents.agent import Agent, AgentId, EffectName
from app.core.agents.counters import fold
from app.core.commands.buttons import command_of
from app.core.commands.grammar import (
    Command,
    Misread,
    Stop,
    command_lines,
    commands,
    may_hold_commands,
    new_lines,
)
from app.core.github.comment_kinds import CommentKind, comment_name
from app.core.rules.trust import Permission, Sender
from app.core.words.answers import interrupted_words
from app.core.words.pauses import answer_marker, answered_marker, command_answer, misread_words
from app.ports import HeardCommands, Posted, Reaction, Refused, Repository
from app.services.commands.obey import Obeying, Said, Told
from app.services.starting.rates import UserRates
from app.services.starting.trust import Trusting
from app.services.world import World

log = logging.getLogger("squadron.commands")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment as it was written, or edited. Untrusted text."""

    repository: Repository
    thread: int
    """The issue or pull request that it stands under."""
    number: int
    """GitHub's id of it."""
    by: Sender
    """Who wrote it; of an edit that was told: who edited it."""
    body: str
    at: datetime | None
    """When this text was written, to the second; None when nobody told."""
    author: Sender | None = None
    """Who wrote it first, if `by` has edited it."""
    before: str = ""
    """What `by` has edited, as far as that was told."""
    is_edited_by_somebody: bool = False
    """It was edited, or may have been, and nobody told by whom."""
    kind: CommentKind = "comment"
    review: int | None = None
    """GitHub's id of the review that it is part of."""
    link: str = ""
    """To the comment."""

    @property
    def name(self) -> str:
        """Its name for the rate of its author, whoever heard of it."""
        return comment_name(self.kind, self.repository.full_name, self.number)


@dataclass(frozen=True, slots=True)
class Press:
    """Somebody pressed a button of a check run of ours."""

    repository: Repository
    agent: AgentId
    """Whose check it is, as the check says."""
    check: int
    """GitHub's id of the check run."""
    identifier: str
    by: Sender
    digest: str
    """SHA-256 of the body that GitHub has signed: a press has no other trace. The id of a delivery
    is not signed: whoever has the body can bring it again under another."""

    @property
    def name(self) -> str:
        """Tells it from everything else that was ever told."""
        return f"button:{self.digest[:32]}"


class Commanding:
    """Obeys what trusted people write at the start of a line, and the buttons that they press."""

    def __init__(
        self, world: World, trusting: Trusting, rates: UserRates, obeying: Obeying
    ) -> None:
        self._world = world
        self._trusting = trusting
        self._rates = rates
        self._obeying = obeying

    async def has_commands(self, comment: Comment) -> bool:
        """Whether a comment is meant for Squadron, rather than for an agent."""
        return bool(await self._lines(comment.body))

    async def is_trusted(self, comment: Comment) -> bool:
        """Everybody who had a hand in the text has to be trusted: an edit by somebody trusted
        does not make commands of a stranger's words, nor the other way round.

        GitHub lets people edit their own comments, and others' with write access. Nobody tells who
        it was when the webhook is lost: then write access has to be enough here. May raise
        `GitHubFailed`.
        """
        people = filter(None, (comment.by, comment.author))
        for who in people:
            if not await self._trusting.is_trusted(comment.repository, who):
                return False
        if not comment.is_edited_by_somebody:
            return True
        return await self._trusting.trusts(comment.repository, Permission.WRITE)

    async def hear(self, comment: Comment) -> bool:
        """Obey and answer the commands of a comment; False if there was nothing left to do.

        May raise `GitHubFailed`; then it can be told once more.
        """
        if not await self._new_lines(comment):
            return False
        if not await self.is_trusted(comment):
            log.info("command ignored: sender not trusted", extra={"by": comment.by.login})
            return False
        place = f"{comment.repository.full_name}#{comment.thread}"
        async with self._world.exclusive(f"commands:{place}"):
            lines = await self._new_lines(comment)  # somebody else may have heard it meanwhile
            return bool(lines) and await self._hear(comment, lines)

    async def press(self, press: Press) -> None:
        """Obey a button. May raise `GitHubFailed`; then it can be told once more."""
        store, where = self._world.store, {"by": press.by.login, "agent": str(press.agent)}
        if not await self._trusting.is_trusted(press.repository, press.by):
            log.info("button ignored: sender not trusted", extra=where)
            return
        place = f"{press.repository.full_name}#{press.agent.issue}"
        async with self._world.exclusive(f"commands:{place}"):
            agent = await store.agent(press.agent)
            check = (await store.effects(press.agent)).get(EffectName.CHECK)
            if agent is None or check is None or check.number != press.check:
                log.info("button ignored: it is not on the agent's present check", extra=where)
                return
            command = command_of(press.identifier, agent, fold(await store.log(agent.id)))
            if command is None:
                log.info("button ignored: there is no such button", extra=where)
                return
            told = Told(
                press.repository,
                press.agent.issue,
                press.by,
                press.name,
                note="",
                comment=None,
                at=None,
            )
            await self._once(told, [press.identifier], [agent], [command])

    async def _lines(self, body: str) -> Sequence[str]:
        if not may_hold_commands(body):
            return ()
        return command_lines(await asyncio.to_thread(self._world.visible_lines, body))

    async def _new_lines(self, comment: Comment) -> Sequence[str]:
        """Its command lines that are new in it, and that nobody has heard."""
        lines = await self._lines(comment.body)
        if not lines:
            return ()
        name, number = comment.repository.full_name, comment.number
        heard = await self._world.store.heard_commands(name, number, comment.kind)
        before = await self._lines(comment.before)
        obeyed = [line for each in heard if not each.set_aside for line in each.lines]
        return new_lines(lines, before, obeyed, [each.lines for each in heard if each.set_aside])

    async def _hear(self, comment: Comment, lines: Sequence[str]) -> bool:
        key = hashlib.sha256("\n".join(lines).casefold().encode(errors="replace")).hexdigest()[:12]
        told = Told(
            comment.repository,
            comment.thread,
            comment.by,
            f"{comment.name} {key}",
            comment.body,
            comment.number,
            comment.at,
            comment.kind,
            comment.review,
        )
        agents = await self._obeying.agents_of(comment.repository, comment.thread)
        return await self._once(told, lines, agents, commands(lines))

    async def _once(
        self,
        told: Told,
        lines: Sequence[str],
        agents: Sequence[Agent],
        read: Sequence[Command | Misread],
    ) -> bool:
        """Obey, answer and remember; False if all of it was done before."""
        store, here = self._world.store, told.repository
        heard = HeardCommands(
            repository=here.full_name,
            name=told.name,
            comment=told.comment,
            kind=told.kind,
            thread=told.thread,
            by=told.by.login,
            lines=tuple(lines),
            refused=False,
            at=self._world.clock.now(),
            set_aside=any(isinstance(each, Misread) for each in read),
        )
        answer = await self._answer_to(told)
        if answer is not None and answered_marker(told.name) in answer.body:
            await store.hear_commands(heard)
            return False
        left, refused = await self._obeying.left_to_obey(told, agents, read)
        if not left and not refused:  # all was obeyed, and the process died before it could say so
            await self._react(told, "rocket")
            await store.hear_commands(heard)
            return False
        may_reach = self._rates.may_reach
        if left and not await may_reach(here, told.thread, told.by.login, told.name):
            left = [each for each in left if isinstance(each, Stop)]  # nobody is too late for that
            if not left:
                return False
        await self._react(told, "eyes")
        misread = [misread_words(each) for each in left if isinstance(each, Misread)]
        sound = [each for each in left if not isinstance(each, Misread)]
        said = (
            Said(misread, is_set_aside=True)
            if misread
            else await self._obeying.obey(told, agents, sound)
        )
        said.refused[:0] = [interrupted_words(lines[position]) for position in refused]
        await self._answer(told, answer, said)
        await self._react(told, "confused" if said.refused else "rocket")
        done = replace(heard, refused=bool(said.refused), set_aside=said.is_set_aside)
        await store.hear_commands(done)
        log.info(
            "command",
            extra={
                "by": told.by.login,
                "issue": f"{here.full_name}#{told.thread}",
                "said": [line[:200] for line in lines],
                "refused": said.refused,
            },
        )
        return True

    async def _answer_to(self, told: Told) -> Posted | None:
        sign = answer_marker(_mark(told))
        found = await self._world.github.comments(told.repository, told.thread, sign)
        return found[0] if found else None

    async def _answer(self, told: Told, answer: Posted | None, said: Said) -> None:
        """At most one answer to a comment: what an edit adds is answered in its place."""
        words, github = [*said.refused, *said.told], self._world.github
        if not words:
            return
        before = "" if answer is None else answer.body
        text = command_answer(_mark(told), told.name, words, before)
        if answer is None:
            await github.comment(told.repository, told.thread, text)
        else:
            await github.edit_comment(told.repository, answer.number, text)

    async def _react(self, told: Told, reaction: Reaction) -> None:
        if told.comment is None or told.kind == "review":  # which GitHub lets nobody react to
            return
        try:
            await self._world.github.react(
                told.repository,
                told.comment,
                reaction,
                is_on_lines=told.kind == "review_comment",
            )
        except Refused as error:  # deleted, or the App may not: what was told is done all the same
            log.info("no reaction: %s", error, extra={"comment": told.comment})


def _mark(told: Told) -> int | str:
    if told.comment is None:
        return told.name
    return told.comment if told.kind == "comment" else f"{told.kind}:{told.comment}"
