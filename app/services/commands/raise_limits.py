"""How a paused agent goes on: in one move, the raises and the waking, or nothing."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.agents.counters import after, fold
from app.core.agents.events import Raised
from app.core.agents.lifecycle import State
from app.core.agents.steps import RaiseLimits
from app.core.agents.stops import Hold
from app.core.breaker.raises import Grant, NotGranted, grant
from app.core.budgets.rates import Allowed
from app.core.budgets.rates import Refused as TooMany
from app.core.limits import LimitName
from app.core.words.pauses import (
    asks_its_parent_words,
    held_by_another,
    not_paused_words,
    raised_words,
    unfunded_words,
    written_before_words,
)
from app.services.money.funding import Money, Unmeasurable
from app.services.moves.moves import MOST_LOOKS, Moves
from app.services.starting.rates import UserRates
from app.services.world import World

CLOCKS_DIFFER: Final = timedelta(minutes=1)
"""How far GitHub's clock may be behind ours: what was written before a pause is not about it."""

log = logging.getLogger("squadron.limits")


@dataclass(frozen=True, slots=True)
class Wish:
    """How one paused agent is to go on."""

    by: str
    note: str
    """What the person wrote, for the agent. Untrusted text."""
    raises: tuple[tuple[LimitName | None, float | None], ...]
    """How much of which limits. No limit: the one that holds it; no amount: its own once more."""
    comment: int | None = None
    """GitHub's id of it."""
    said: str = ""
    """Its name, by which it is known when it is told again."""
    written_at: datetime | None = None


class NotPaused(Exception):
    """The agent does not wait for a raise; the text says what it does, and what would help."""


class Raising:
    """Lets paused agents go on."""

    def __init__(self, world: World, rates: UserRates, money: Money, moves: Moves) -> None:
        self._world = world
        self._rates = rates
        self._money = money
        self._moves = moves

    async def is_within_rate(self, login: str) -> Allowed | TooMany:
        """Count one wish of a user who does not ask on GitHub."""
        return await self._rates.is_within(f"elsewhere:{login}")  # no login on GitHub

    async def resume(self, agent_id: AgentId, wish: Wish) -> tuple[Grant, ...]:
        """Raise limits of a paused agent and queue it; what was granted.

        Raises `NotPaused` and `NotGranted`; then nothing was changed. May raise `GitHubFailed`.
        """
        for _ in range(MOST_LOOKS):
            agent = await self._world.store.agent(agent_id)
            if agent is None or agent.state is not State.PAUSED:
                raise NotPaused(not_paused_words(agent) if agent else f"No agent {agent_id}.")
            if agent.parent is not None:
                raise NotPaused(asks_its_parent_words(agent))
            grants = await self._raise(agent, wish)
            if grants:
                return grants
        raise NotPaused(f"{agent_id} is just being moved on; look again.")

    async def _raise(self, agent: Agent, wish: Wish) -> tuple[Grant, ...]:
        """Empty if somebody else moved the agent on meanwhile."""
        world, now = self._world, self._world.clock.now()
        counters = fold(await world.store.log(agent.id))
        hold = counters.hold
        if hold is None:
            return ()
        grants, raises = [], list[Raised]()
        for name, amount in _wanted(agent, hold, wish):
            given = grant(agent.assignment.limits, counters, name, amount, now)
            raised = Raised(
                at=now,
                limit=name,
                amount=given.amount,
                maximum=given.maximum,
                by=wish.by,
                comment=wish.comment,
                said=wish.said,
            )
            counters = after(counters, raised)
            grants.append(given)
            raises.append(raised)
        if counters.hold is not None:
            raise NotGranted(held_by_another(agent, hold))
        await self._fund(agent, grants)
        why = raised_words(wish.by, grants, wish.note)
        if await self._moves.apply(agent, RaiseLimits(tuple(raises), why, wish.by)) is None:
            return ()
        for given in grants:
            log.info(
                "limit raised",
                extra={
                    "agent": str(agent.id),
                    "limit": given.limit.value,
                    "amount": given.amount,
                    "maximum": given.maximum,
                    "by": wish.by,
                },
            )
        return tuple(grants)

    async def _fund(self, agent: Agent, grants: Sequence[Grant]) -> None:
        """More money for the agent is less for everybody else who shares its budgets."""
        wanted = [each.maximum for each in grants if each.limit is LimitName.MAX_COST_USD]
        if not wanted:
            return
        try:
            short = await self._money.raised(agent, max(wanted))
        except Unmeasurable as error:
            raise NotGranted(f"It cannot be paid for: {error}") from error
        if short is not None:
            raise NotGranted(unfunded_words(short))


def _wanted(agent: Agent, hold: Hold, wish: Wish) -> Sequence[tuple[LimitName, float | None]]:
    """The raises of a wish, with what `resume` adds to them. Raises `NotGranted` if it is stale."""
    if wish.written_at is not None and wish.written_at < hold.at - CLOCKS_DIFFER:
        raise NotGranted(written_before_words(agent))
    just_resume = (None, None)
    named = [(each[0] or hold.limit, each[1]) for each in wish.raises if each != just_resume]
    is_named = any(name is hold.limit for name, _ in named)
    return named if is_named or just_resume not in wish.raises else [*named, (hold.limit, None)]
