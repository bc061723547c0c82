"""What people tell Squadron to do, by a comment or by a button of a check, is done here."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import assert_never

from app.core.agents.agent import Agent, AgentId, EffectName, Task
from app.core.agents.events import Woken
from app.core.agents.lifecycle import State
from app.core.agents.steps import TakeAway, WakeUp
from app.core.breaker.raises import NotGranted
from app.core.commands.grammar import (
    MOST_COMMANDS,
    Command,
    Explain,
    Help,
    Misread,
    Raise,
    Resume,
    Retry,
    Status,
    Stop,
    Wake,
    commands,
    says_more,
)
from app.core.commands.much import much_raised
from app.core.github.comment_kinds import CommentKind, comment_name
from app.core.rules.trust import Sender
from app.core.steering.next_step import why_it_stays
from app.core.steering.ownership import RETRY_TRIGGER
from app.core.steering.targets import (
    Obeyed,
    Waiting,
    left_over,
    of_thread,
    refused_before,
    targets,
)
from app.core.words.answers import (
    has_ended_words,
    help_words,
    never_begins_words,
    not_asleep_words,
    not_ended_words,
    not_retried_words,
    status_words,
    story_words,
)
from app.core.words.messages import state_sentence
from app.core.words.pauses import asks_back_words, capped_words
from app.core.words.refusals import CLOSED, GONE
from app.core.words.report import Report, report
from app.core.words.story import story
from app.ports import Order, Repository, TakenBack
from app.services.commands.raise_limits import NotPaused, Raising, Wish
from app.services.moves.moves import MOST_LOOKS, Moves
from app.services.starting.predecessor import when_stopped
from app.services.starting.start import Starting
from app.services.starting.taken_back import NotBegun
from app.services.starting.unheard import Unheard
from app.services.starting.verdict import NotStarted
from app.services.steering.look import Looking
from app.services.world import World, repository_of


class Way(Enum):
    """How something was told, if by no comment."""

    CHECK = "by the button of its check"
    PAGE = "on a page of Squadron"


@dataclass(frozen=True, slots=True)
class Told:
    """Something that a trusted person told Squadron."""

    repository: Repository
    thread: int
    """The issue or pull request that it is about."""
    by: Sender
    name: str
    """Tells it from everything else that was ever told, whoever heard of it."""
    note: str
    """All that the person wrote, for the agent. Untrusted text."""
    comment: int | None
    """GitHub's id of the comment; None: `way` says how."""
    at: datetime | None
    """To the second; None when nobody said."""
    kind: CommentKind = "comment"
    review: int | None = None
    """GitHub's id of the review that the comment is part of: it reaches the agent as a whole."""
    way: Way = Way.CHECK

    def how(self, verb: str) -> str:
        """How it was told, for people."""
        return self.way.value if self.comment is None else f"by `/squadron {verb}`"


@dataclass(frozen=True, slots=True)
class Said:
    """What has to be said about it; nothing when all was done as it was told."""

    refused: list[str] = field(default_factory=list)
    """What was not done, and why."""
    told: list[str] = field(default_factory=list)
    """What was asked for, or has to be known of what was done."""
    is_set_aside: bool = False
    """Nothing was done, because a line was wrong."""


class Obeying:
    """Does what it is told; who may tell, and how often it was told, is decided before."""

    def __init__(
        self,
        world: World,
        starting: Starting,
        moves: Moves,
        raising: Raising,
        not_begun: NotBegun,
        unheard: Unheard,
        looking: Looking,
    ) -> None:
        self._world = world
        self._starting = starting
        self._moves = moves
        self._raising = raising
        self._not_begun = not_begun
        self._unheard = unheard
        self._looking = looking

    async def obey(self, told: Told, agents: Sequence[Agent], read: Sequence[Command]) -> Said:
        """Do all of it in order, or nothing where one of them is unclear. May raise
        `GitHubFailed`."""
        if told.at is not None and any(isinstance(each, Stop) for each in read):
            await self._unheard.put_off(told.repository, told.thread, told.at)
        waiting = await self._not_begun.of(told.repository, told.thread)
        gone = await self._not_begun.taken_back_by(told.repository, told.thread, told.name)
        meant = targets(agents, read, {*waiting, *gone})
        unclear = [words for words in meant if isinstance(words, str)]
        unclear += await self._asks_back(told, read, meant)
        if unclear:
            return Said(list(dict.fromkeys(unclear)), is_set_aside=True)
        said = Said()
        raises: dict[AgentId, list[Raise | Resume]] = {}
        for position, command in enumerate(read):
            if not isinstance(command, Raise | Resume):
                await self._raise(told, raises, said)
            if position:  # what was obeyed before it has changed them
                agents = [await self._present(told, agent) for agent in agents]
            match command:
                case Help():
                    said.told.append(help_words())
                case Status():
                    reports = [await self._report(agent) for agent in agents]
                    waiting = await self._not_begun.of(told.repository, told.thread)
                    why = {
                        role: await self._not_begun.why(order) for role, order in waiting.items()
                    }
                    words = status_words(reports, [*map(state_sentence, reports)], why)
                    said.told.append(words)
                case Raise() | Resume():
                    agent = _chosen(meant[position], agents)
                    raises.setdefault(agent.id, []).append(command)
                case Stop() if isinstance(target := meant[position], Waiting):
                    await self._take_back(told, target.role, said)
                case Stop() | Wake() | Retry() | Explain():
                    await self._obey_one(told, _chosen(meant[position], agents), command, said)
                case _:
                    assert_never(command)
        await self._raise(told, raises, said)
        return said

    async def left_to_obey(
        self, told: Told, agents: Sequence[Agent], read: Sequence[Command | Misread]
    ) -> tuple[Sequence[Command | Misread], Sequence[int]]:
        """What no agent has obeyed yet: the process may have died in the middle of it. And the
        positions of what was refused before that."""
        obeyed = [
            (one.id, event)
            for agent in agents
            for one in (await self._in_its_place(told, agent))[-MOST_COMMANDS - 1 :]
            for event in await self._world.store.log(one.id)
            if isinstance(event, Obeyed)
            and (event.said == told.name or _has_brought_review(event, told))
        ]
        gone = await self._not_begun.taken_back_by(told.repository, told.thread, told.name)
        refused = [
            position
            for position in refused_before(read, obeyed)
            if not (gone and isinstance(read[position], Stop))  # of these no agent's log tells
        ]
        return left_over(read, obeyed), refused

    async def agents_of(self, repository: Repository, thread: int) -> Sequence[Agent]:
        """The newest agent of each role that works, or worked, on the issue or pull request, or
        that the escalation issue is about."""
        agents = await self._world.store.agents(repository=repository.full_name)
        found = of_thread(agents, thread)
        if found:
            return found
        stopped = [agent for agent in agents if agent.state is State.ESCALATED]
        called_for = [one.id for one in stopped if await self._escalation_of(one) == thread]
        return of_thread(agents, thread, called_for)

    async def _raise(
        self, told: Told, raises: dict[AgentId, list[Raise | Resume]], said: Said
    ) -> None:
        """Grant what was collected: several raises of one agent are one move."""
        for agent_id, orders in raises.items():
            try:
                grants = await self._raising.resume(agent_id, _wish(told, orders))
            except (NotPaused, NotGranted) as refused:
                said.refused.append(str(refused))
            else:
                said.told.extend(capped_words(given) for given in grants if given.is_capped)
        raises.clear()

    async def _obey_one(
        self, told: Told, agent: Agent, command: Stop | Wake | Retry | Explain, said: Said
    ) -> None:
        login = told.by.login
        match command:
            case Explain():
                history = await self._world.store.log(agent.id)
                effects = await self._world.store.effects(agent.id)
                stays = why_it_stays(agent, history, self._world.clock.now())
                report = await self._report(agent)
                said.told.append(story_words(story(report, history, effects, stays)))
            case Stop() if agent.is_final:
                said.refused.append(has_ended_words(agent))
            case Stop():
                why = f"{login} stopped it {told.how('stop')}."
                await self._stop(agent.id, why, told)
            case Wake() if agent.state is State.SLEEPING:
                if told.review is not None:
                    taken = await self._looking.look(agent.id)
                    if isinstance(taken, WakeUp):
                        return  # by what the review says besides
                why = f"{login} woke it {told.how('wake')}."
                if told.review is None and says_more(told.note):
                    why = f"{why} {login} commented:\n\n{told.note}"
                await self._moves.apply(agent, WakeUp(why, login, told.name))
            case Wake():
                said.refused.append(not_asleep_words(agent))
            case Retry():
                ended = await when_stopped(self._world, agent)
                if ended.is_final:
                    await self._retry(told, ended, command, said)
                else:
                    said.refused.append(not_ended_words(ended))
            case _:
                assert_never(command)

    async def _asks_back(
        self, told: Told, read: Sequence[Command], meant: Sequence[object]
    ) -> Sequence[str]:
        """What to ask before limits are raised by very much; what was asked once is not asked
        again."""
        asked = list[str]()
        for command, target in zip(read, meant, strict=True):
            if not isinstance(target, Agent) or not isinstance(command, Raise | Retry):
                continue
            much = much_raised(command, target.assignment.limits)
            if much and not await self._was_asked_back(told, command):
                asked += [asks_back_words(*each) for each in much]
        return asked

    async def _was_asked_back(self, told: Told, command: Raise | Retry) -> bool:
        """Whether this was said on the issue before, and set aside with nothing wrong in it."""
        if told.comment is None and told.way is Way.CHECK:  # which grants what it says
            return True
        for heard in await self._world.store.heard_commands(told.repository.full_name):
            if heard.set_aside and heard.thread == told.thread and heard.name != told.name:
                said = commands(heard.lines)
                if command in said and not any(isinstance(each, Misread) for each in said):
                    return True
        return False

    async def _take_back(self, told: Told, role: str, said: Said) -> None:
        """Who has begun meanwhile is stopped."""
        taken = TakenBack(told.name, told.at or self._world.clock.now())
        here, issue, by = told.repository, told.thread, told.by.login
        if not await self._not_begun.take_back(here, issue, role, by, taken):
            agents = await self._world.store.agents(repository=here.full_name, issue=issue)
            begun = [one for one in agents if one.id.role == role and one.parent is None]
            if begun and not begun[-1].is_final:
                await self._stop(begun[-1].id, f"{by} stopped it {told.how('stop')}.", told)
                return
        said.told.append(never_begins_words(role))

    async def _stop(self, agent_id: AgentId, why: str, told: Told) -> None:
        """An agent that moves on meanwhile is looked at again."""
        for _ in range(MOST_LOOKS):
            agent = await self._world.store.agent(agent_id)
            if agent is None or agent.has_ended:
                return
            if await self._moves.apply(agent, TakeAway(why, told.name, told.at)):
                return

    async def _retry(self, told: Told, agent: Agent, command: Retry, said: Said) -> None:
        """A fresh agent takes over; the escalation issue of the one before is answered by it."""
        here = repository_of(agent)
        issue = await self._world.github.issue(here, agent.id.issue)
        if issue is None or not issue.is_open:
            said.refused.append(not_retried_words(agent, GONE if issue is None else CLOSED))
            return
        try:
            grants = await self._starting.would_grant(here, agent.id.role, command.raises)
        except NotGranted as refused:
            said.refused.append(str(refused))
            return
        order = Order(
            here,
            issue.number,
            agent.id.role,
            told.by,
            RETRY_TRIGGER,
            Task(issue.title, issue.body) if told.at is None else None,
            told.at,
            raises=command.raises,
            said=told.name,
        )
        started = await self._starting.start(order)
        if isinstance(started, NotStarted):
            said.refused.append(not_retried_words(agent, started.why, waits=started.waits))
        said.told.extend(capped_words(given) for given in grants if given.is_capped)

    async def _report(self, agent: Agent) -> Report:
        history = await self._world.store.log(agent.id)
        return report(agent, history, self._world.clock.now())

    async def _escalation_of(self, agent: Agent) -> int | None:
        told = (await self._world.store.effects(agent.id)).get(EffectName.ISSUE)
        return None if told is None else told.number

    async def _present(self, told: Told, agent: Agent) -> Agent:
        """The agent as it is now, or who has taken over from it."""
        return (await self._in_its_place(told, agent) or [agent])[-1]

    async def _in_its_place(self, told: Told, agent: Agent) -> list[Agent]:
        """All that ever worked on the same issue in the same role, oldest first."""
        here, issue, role = told.repository.full_name, agent.id.issue, agent.id.role
        found = await self._world.store.agents(repository=here, issue=issue)
        return [one for one in found if one.id.role == role and one.parent is None]


def _chosen(target: Agent | Waiting | str | None, present: Sequence[Agent]) -> Agent:
    """The agent that a command is about, as it is by now."""
    assert isinstance(target, Agent), "what is unclear was answered before"
    post = (target.id.issue, target.id.role)
    return next(agent for agent in present if (agent.id.issue, agent.id.role) == post)


def _has_brought_review(event: Obeyed, told: Told) -> bool:
    """Whether it was woken by the review of which a command is part."""
    if told.review is None or not isinstance(event, Woken):
        return False
    return comment_name("review", told.repository.full_name, told.review) in event.feedback


def _wish(told: Told, orders: Sequence[Raise | Resume]) -> Wish:
    return Wish(
        by=told.by.login,
        note=told.note,
        raises=tuple(
            (each.limit, each.amount) if isinstance(each, Raise) else (None, None)
            for each in orders
        ),
        comment=told.comment,
        said=told.name,
        written_at=told.at,
    )
