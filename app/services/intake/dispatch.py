"""The dispatcher: drains the inbox in batches, enqueues work only for what concerns an agent."""

import asyncio
import logging
from collections.abc import Collection
from typing import Final

from app.core.agents.lifecycle import LIVE
from app.core.github.hints import read
from app.core.steering.concerns import concerns
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
IDLE_SECONDS: Final = 1.0
"""How long the dispatcher waits when nobody tells it that something came."""
UNAVAILABLE_SECONDS: Final = 2.0

log = logging.getLogger("squadron.dispatch")


class Dispatcher:
    """One loop for the whole cluster at a time; a batch that was cut off is looked at again."""

    def __init__(self, store: Store, exclusive: Exclusive, clock: Clock) -> None:
        self._store = store
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
            ignored, concerning = await asyncio.to_thread(_sorted, deliveries, at_work)
            await self._store.dispatch(ignored, concerning)
            return len(deliveries)

    async def _wait(self) -> None:
        try:
            async with self._clock.timeout(IDLE_SECONDS):
                await self._came.wait()
        except TimeoutError:
            return
        await self._clock.sleep(GATHER_SECONDS)


def _sorted(
    deliveries: Collection[Delivery], at_work: Collection[str]
) -> tuple[list[str], dict[str, Work]]:
    ignored: list[str] = []
    concerning: dict[str, Work] = {}
    for delivery in deliveries:
        if delivery.event in ACCESS_EVENTS:
            concerning[delivery.id] = Reconcile.after(delivery.id)
            continue
        if _concerns(delivery, at_work):
            concerning[delivery.id] = HandleDelivery(delivery.id)
        else:
            ignored.append(delivery.id)
    return ignored, concerning


def _concerns(delivery: Delivery, at_work: Collection[str]) -> bool:
    try:
        signal = read(delivery.event, read_json(delivery.body))
    except Exception:  # whoever handles it says what is wrong with it, and lists it
        return True
    return signal is not None and concerns(signal, at_work)
