"""What issues and pull requests ask for, as their state tells it: agents to start."""

import logging
from collections.abc import Awaitable, Mapping
from datetime import datetime
from enum import Enum, auto
from typing import Protocol

from app.core.agents.agent import Agent
from app.core.rules.trust import Permission, Sender
from app.core.steering.asks import (
    PUSHED,
    Ask,
    Push,
    Trigger,
    asked_by_events,
    asked_by_opening,
    asked_by_push,
    asks,
    is_answered,
    told_by_marks,
)
from app.ports import Head, Issue, Order
from app.services.reconciling.look import Place
from app.services.reconciling.settled import Settled
from app.services.starting.predecessor import ended_at
from app.services.starting.start import Starting
from app.services.starting.trust import Trusting
from app.services.starting.verdict import NotStarted, Refusal
from app.services.world import World

log = logging.getLogger("squadron.reconcile")


class _Dealt(Enum):
    """What became of something that asks for an agent."""

    FOR_GOOD = auto()
    """Only what is asked anew counts."""
    FOR_NOW = auto()
    """What speaks against it may change."""
    NOT_YET = auto()
    """It has to wait for a later pass."""


class HearUntil(Protocol):
    """Hears what was said below an issue before an instant."""

    def __call__(self, place: Place, until: datetime, thread: int) -> Awaitable[None]: ...


class Asking:
    """Starts what labels, assignments and events ask for, each once, whoever was told of it."""

    def __init__(
        self, world: World, trusting: Trusting, starting: Starting, settled: Settled
    ) -> None:
        self._world = world
        self._trusting = trusting
        self._starting = starting
        self._settled = settled

    async def look(self, place: Place, thread: Issue, hear_until: HearUntil) -> None:
        """Start what an open issue or pull request asks for. May raise `GitHubFailed`; then it
        has to be looked at once more."""
        opened = f"opened {thread.url}"
        is_known = self._settled.has(opened, thread.created_at)
        if not is_known and await self._opened(place, thread, hear_until):
            self._settled.note(opened, thread.created_at)
        await self._marked(place, thread, hear_until)
        if thread.is_pull_request and PUSHED in place.triggers:
            await self._pushed(place, thread, place.triggers[PUSHED], hear_until)

    async def _opened(self, place: Place, thread: Issue, hear_until: HearUntil) -> bool:
        """It was opened once, so it is asked about once, whatever its author may do later; False if
        that has to wait."""
        ask = asked_by_opening(
            place.triggers, thread.is_pull_request, thread.author, thread.created_at
        )
        if ask is None or place.newest(thread.number, ask.role) is not None:
            return True
        return await self._start(place, thread, ask, hear_until) is not _Dealt.NOT_YET

    async def _marked(self, place: Place, thread: Issue, hear_until: HearUntil) -> None:
        """What its timeline tells, which is one more request: asked for only if it can tell of
        something new."""
        role_of, bot = place.plan.role_of_label, await self._world.github.bot_login()
        counting = [label for label in thread.labels if place.counts(label, thread.updated_at)]
        labelled = {role_of(label) for label in counting} - {None}
        posts = [place.newest(thread.number, role) for role in labelled if role is not None]
        is_all_at_work = all(agent is not None and not agent.has_ended for agent in posts)
        events = told_by_marks(place.triggers, thread.is_pull_request, thread.updated_at)
        if is_all_at_work and not events:
            return
        # A start that was refused may be allowed by now; after an end only a new mark counts.
        name, for_good = f"asks {thread.url}", f"asked {thread.url}"
        is_new = not self._settled.has(for_good, thread.updated_at)
        is_open_yet = place.is_full and None in posts and is_new
        if not is_open_yet and self._settled.has(name, thread.updated_at):
            return
        if events and thread.is_pull_request and not await self._is_of_trusted(place, thread):
            events = {}
        marks = await self._world.github.marks(place.repository, thread.number)
        is_ours = bot in thread.assignees
        found = asks(thread.labels, role_of, is_ours, bot, marks, place.triggers)
        every = [*found, *asked_by_events(events, marks)]
        dealt = [await self._start(place, thread, ask, hear_until) for ask in every]
        if _Dealt.NOT_YET not in dealt:
            self._settled.note(name, thread.updated_at)
        if all(each is _Dealt.FOR_GOOD for each in dealt):
            self._settled.note(for_good, thread.updated_at)

    async def _pushed(
        self, place: Place, thread: Issue, trigger: Trigger, hear_until: HearUntil
    ) -> None:
        """GitHub keeps no trace of who pushed: whoever can has to be trusted, and the author."""
        head = (await self._open_heads(place)).get(thread.number)
        if head is None:
            return
        newest = await self._newest(place, thread.number, trigger.role)
        push = asked_by_push(
            place.heads_before.get(thread.number),
            head.sha,
            None if newest is None else newest.sha,
            is_at_work=newest is not None and not newest.is_final,
        )
        if push is Push.LATER:
            return
        if push is Push.REVIEW:
            here = place.repository
            if head.is_here and await self._trusting.trusts(here, Permission.WRITE):
                ask = Ask(trigger.role, thread.author, PUSHED, self._world.clock.now())
                if await self._start(place, thread, ask, hear_until) is _Dealt.NOT_YET:
                    return
            else:
                log.info("a push is not reviewed: nobody tells whose", extra={"what": thread.url})
        place.heads[thread.number] = head.sha

    async def _open_heads(self, place: Place) -> Mapping[int, Head]:
        if place.open_heads is None:
            found = await self._world.github.open_heads(place.repository)
            place.open_heads = {head.pull_request: head for head in found}
        return place.open_heads

    async def _is_of_trusted(self, place: Place, thread: Issue) -> bool:
        """Whoever opened a pull request is asked about, too: what it holds is theirs."""
        author = Sender(thread.author, thread.author.endswith("[bot]"))
        return await self._trusting.is_trusted(place.repository, author)

    async def _start(self, place: Place, thread: Issue, ask: Ask, hear_until: HearUntil) -> _Dealt:
        """Start it if it may start."""
        here = place.repository
        earlier = await self._newest(place, thread.number, ask.role)
        if earlier is not None:
            ended = await ended_at(self._world, earlier)
            if is_answered(ask.at, earlier.created_at, ended):
                return _Dealt.FOR_GOOD
        if await self._waits_already(place, thread.number, ask.role):
            return _Dealt.FOR_NOW
        await hear_until(place, ask.at, thread.number)
        order = Order.of_ask(here, thread.number, ask)
        if not place.purse.starts_left:
            place.leave(thread)
            place.purse.put_off["starts"] += 1
            await self._starting.leave(order)
            return _Dealt.NOT_YET
        started = await self._starting.start(order)
        match started:
            case Agent():
                place.purse.starts_left -= 1
                place.repairs.note(f"started {here.full_name}#{thread.number}/{ask.role}")
                return _Dealt.FOR_GOOD
            case NotStarted(refusal=refusal):
                is_over = refusal in (Refusal.ANSWERED, Refusal.NEVER)
                return _Dealt.FOR_GOOD if is_over else _Dealt.FOR_NOW

    async def _newest(self, place: Place, issue: int, role: str) -> Agent | None:
        """As of now: an ask before this one may have started it."""
        agents = await self._world.store.agents(repository=place.repository.full_name, issue=issue)
        own = [agent for agent in agents if agent.parent is None and agent.id.role == role]
        return own[-1] if own else None

    async def _waits_already(self, place: Place, issue: int, role: str) -> bool:
        """Those have their own turn."""
        waiting = await self._world.store.waiting_starts(self._world.clock.now())
        return any(
            (start.order.repository.full_name, start.order.issue, start.order.role)
            == (place.repository.full_name, issue, role)
            for start in waiting
        )
