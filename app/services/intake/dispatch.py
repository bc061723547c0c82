"""The dispatcher: drains the inbox in batches, enqueues work only for what concerns an agent."""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Protocol

from app.core.agents.lifecycle import LIVE
from app.core.github.hints import DefaultBranchPushed, Signal, read
from app.core.rules.plan import RepositoryPlan
from app.core.steering.concerns import BY_PLAN, concerns
from app.core.text.unicode import read_json
from app.ports import (
    Clock,
    Delivery,
    Exclusive,
    HandleDelivery,
    Reconcile,
    Store,
    StoreUnavailable,
    Work,
)

ACCESS_EVENTS: Final = frozenset({"installation", "installation_repositories", "repository"})
"""The App is let in somewhere, or is not any more, or a repository has moved: who may work, and
where, is found by comparing."""
BATCH: Final = 500
GATHER_SECONDS: Final = 0.05
"""Deliveries come in bursts: looked at together, they hold intake up least."""
IDLE_SECONDS: Final = 5.0
"""How long the dispatcher waits when nobody tells it that something came. Whoever accepts a
delivery tells it: what is found without that was accepted by a process that has died since."""
UNAVAILABLE_SECONDS: Final = 2.0

log = logging.getLogger("squadron.dispatch")


class KnownPlans(Protocol):
    """What is known of repositories' configurations without asking GitHub, by full name."""

    async def last(self, full_name: str) -> RepositoryPlan | None:
        """What was in force of late; None: nobody here knows."""
        ...

    def forget(self, full_name: str) -> None:
        """It may have changed."""
        ...


class Unreadable:
    """A delivery of which nobody knows what it says."""


class Dispatcher:
    """One loop for the whole cluster at a time; a batch that was cut off is looked at again."""

    def __init__(self, store: Store, exclusive: Exclusive, clock: Clock, known: KnownPlans) -> None:
        self._store = store
        self._known = known
        self._exclusive = exclusive
        self._clock = clock
        self._came = asyncio.Event()

    def notify(self) -> None:
        """Something was accepted. Call it on the dispatcher's own loop."""
        self._came.set()

    async def run(self) -> None:
        """For ever, until cancelled."""
        while True:
            self._came.clear()
            try:
                looked_at = await self.drain()
            except StoreUnavailable as error:
                log.error("inbox unavailable: %s", error)
                await self._clock.sleep(UNAVAILABLE_SECONDS)
                continue
            except Exception:  # whatever it is: a dispatcher that ends would strand every delivery
                log.exception("the inbox could not be drained; trying again")
                await self._clock.sleep(UNAVAILABLE_SECONDS)
                continue
            if looked_at < BATCH:
                await self._wait()

    async def drain(self) -> int:
        """Look at one batch; how many deliveries that was."""
        async with self._exclusive("dispatch"):
            deliveries = await self._store.undispatched(BATCH)
            if not deliveries:
                return 0
            at_work = {agent.repository for agent in await self._store.agents(states=LIVE)}
            signals = await asyncio.to_thread(_signals, deliveries)
            plans = await self._plans(signals)
            ignored, concerning = list[str](), dict[str, Work]()
            for delivery, signal in zip(deliveries, signals, strict=True):
                if (work := _work(delivery, signal, at_work, plans)) is None:
                    ignored.append(delivery.id)
                else:
                    concerning[delivery.id] = work
            await self._store.dispatch(ignored, concerning)
            return len(deliveries)

    async def _plans(
        self, signals: Iterable[Signal | Unreadable | None]
    ) -> Mapping[str, RepositoryPlan]:
        """By repository, where they decide. What may have changed in this very batch is forgotten
        before anybody handles the rest of it."""
        heard = [each for each in signals if not isinstance(each, Unreadable | None)]
        for name in {each.repository for each in heard if isinstance(each, DefaultBranchPushed)}:
            self._known.forget(name)
        wanted = {each.repository for each in heard if isinstance(each, BY_PLAN)}
        found = {name: await self._known.last(name) for name in sorted(wanted)}
        return {name: plan for name, plan in found.items() if plan is not None}

    async def _wait(self) -> None:
        try:
            async with self._clock.timeout(IDLE_SECONDS):
                await self._came.wait()
        except TimeoutError:
            return
        await self._clock.sleep(GATHER_SECONDS)


def _signals(deliveries: Iterable[Delivery]) -> Sequence[Signal | Unreadable | None]:
    return [_signal(each) for each in deliveries]


def _signal(delivery: Delivery) -> Signal | Unreadable | None:
    try:
        return read(delivery.event, read_json(delivery.body))
    except Exception:  # whoever handles it says what is wrong with it, and lists it
        return Unreadable()


def _work(
    delivery: Delivery,
    signal: Signal | Unreadable | None,
    at_work: Collection[str],
    plans: Mapping[str, RepositoryPlan],
) -> Work | None:
    if delivery.event in ACCESS_EVENTS:
        return Reconcile.after(delivery.id)
    if signal is None:
        return None
    if isinstance(signal, Unreadable) or concerns(signal, at_work, plans.get(signal.repository)):
        return HandleDelivery(delivery.id)
    return None
