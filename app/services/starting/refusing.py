"""Orders for which no agent starts: who asked reads why, and it is remembered."""

import hashlib
import logging
from datetime import datetime
from typing import Final

from app.core.budgets.ledger import Insufficient
from app.core.rules.brakes import Brake, Scope
from app.core.steering.ownership import RETRY_TRIGGER
from app.core.words.messages import cannot_start
from app.core.words.refusals import (
    STOPPING,
    brake_words,
    budget_refused,
    budget_words,
    many_found,
    never,
    not_yet,
    paused_words,
    rate_words,
    text_changed,
)
from app.ports import Order, StartRefused, WaitingStart
from app.services.starting.answers import Answers
from app.services.starting.predecessor import CannotStart
from app.services.starting.verdict import NotStarted, Refusal
from app.services.world import World

MOST_REASON_CHARACTERS: Final = 1_000

log = logging.getLogger("squadron.starts")


class Refusing:
    """Says why, keeps why, and puts off what starts by itself later. All may raise
    `GitHubFailed`."""

    def __init__(self, world: World, answers: Answers) -> None:
        self._world = world
        self._answers = answers

    async def was_for_good(self, order: Order) -> bool:
        """Whether this was asked for, by whom it is, and refused for good before: what was in its
        way may be gone, and starts nothing by that."""
        if not order.is_found or order.at is None or order.trigger == RETRY_TRIGGER:
            return False
        asked = (order.repository.full_name, order.issue, order.role, order.by.login)
        return any(
            one.is_final and (one.repository, one.issue, one.role, one.by) == asked
            for one in await self._world.store.refused_starts(order.at)
        )

    async def untrusted(self, order: Order, why: str) -> NotStarted:
        """Who may start nothing is not answered either."""
        await self._keep(order, why, "sender not trusted", is_final=True)
        return NotStarted(Refusal.NEVER, why)

    async def never(self, order: Order, why: str, escalation: int | None = None) -> NotStarted:
        """Only who asks anew is answered anew; `escalation`: the open needs-human issue of the
        agent before."""
        await self._say(order, "never", never(order.role, why, escalation))
        await self._keep(order, why, is_final=True)
        return NotStarted(Refusal.NEVER, why)

    async def not_now(self, order: Order, why: str) -> NotStarted:
        """What people see by themselves needs no answer."""
        await self._keep(order, why)
        return NotStarted(Refusal.NOT_NOW, why)

    async def changed_by(self, order: Order, login: str) -> NotStarted:
        """Somebody without permission edited the issue after it was asked for."""
        await self._say(order, "changed", text_changed(order.role, order.by.login, login))
        return await self.not_now(order, f"{login} has changed the text")

    async def cannot(self, order: Order, why: CannotStart) -> NotStarted:
        """Another problem is another answer; the same is not said again."""
        places = "".join(f" {problem}" for problem in why.problems[:1])
        text = cannot_start(order.role, why.problems, why.reason)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        await self._say(order, f"cannot-start:{digest}", text, is_of_ask=False)
        return await self.not_now(order, f"{why.reason}{places}")

    async def stopping(self, order: Order) -> NotStarted:
        """The agent before it is still being stopped."""
        await self._say(order, "stopping", not_yet(order.role, STOPPING))
        await self._keep(order, STOPPING)
        await self.put_off(order, self._world.clock.now())
        return NotStarted(Refusal.WAITS, STOPPING)

    async def under(self, brake: Brake, order: Order) -> NotStarted:
        """Whoever asks while somebody has paused everything wonders, so it is said; a repository
        that switched itself off knows."""
        if brake.place.scope is not Scope.CONFIGURATION:
            key = f"paused:{brake.since:%Y%m%d%H%M%S}"
            await self._say(order, key, paused_words(order.role, brake))
        why = brake_words(brake)
        await self._keep(order, why)
        await self.put_off(order, self._world.clock.now())
        return NotStarted(Refusal.WAITS, why)

    async def later(self, order: Order) -> None:
        """A pass has started as many as it may: a later one starts it."""
        why = many_found(self._world.house.max_starts_per_pass)
        await self._say(order, "later", not_yet(order.role, why))
        await self._keep(order, why)

    async def too_many(self, order: Order, until: datetime) -> NotStarted:
        """The user has asked for too much; `UserRates` says that."""
        why = rate_words(order.by.login, until)
        await self._keep(order, why)
        await self.put_off(order, until)
        return NotStarted(Refusal.WAITS, why)

    async def too_poor(self, order: Order, short: Insufficient) -> NotStarted:
        """A budget has too little left; the order was put off."""
        assert short.account is not None, "an agent without a parent is paid from accounts"
        await self._say(order, f"budget:{short.account.id}", budget_refused(order.role, short))
        why = budget_words(short)
        await self._keep(order, why)
        return NotStarted(Refusal.WAITS, why)

    async def put_off(self, order: Order, due_at: datetime, budget: str = "") -> None:
        """Keep the order until then: `WaitingStarts` makes the start."""
        waiting = WaitingStart.of(order, self._world.clock.now(), due_at, budget)
        if await self._world.store.put_off_start(waiting):
            log.info("put off", extra={**order.where(), "budget": budget})

    async def _keep(
        self, order: Order, why: str, in_short: str = "", *, is_final: bool = False
    ) -> None:
        """Log and keep why it is not started."""
        name, login = order.repository.full_name, order.by.login
        at = order.at or self._world.clock.now()
        why = self._world.redact(why, MOST_REASON_CHARACTERS)
        start = StartRefused(name, order.issue, order.role, why, login, at, at, 1, is_final)
        is_news = await self._world.store.note_refused(start, is_asked=not order.is_found)
        log.log(
            logging.INFO if is_news else logging.DEBUG,
            "not started: %s",
            in_short or why,
            extra={**order.where(), "by": login, "why": why},
        )

    async def _say(self, order: Order, what: str, text: str, *, is_of_ask: bool = True) -> None:
        """Answer whoever asked; `is_of_ask`: who asks again is answered again."""
        at = f":{order.at:%Y%m%d%H%M%S}" if is_of_ask and order.at is not None else ""
        key = f"{what}:{order.role}{at}"
        await self._answers.give(order.repository, order.issue, order.role, key, text)
