"""Whether an installation does its work: when it was last told anything, when it last looked, who
works, and what keeps it from working."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.agent import EffectState
from app.core.agents.lifecycle import State
from app.core.rules.brakes import Brake
from app.core.rules.outages import Outage
from app.core.text.markdown import instant
from app.core.words.ages import age_words
from app.core.words.matters import LONG_IN_QUEUE
from app.core.words.refusals import standing_words
from app.ports import DeadDelivery, Pass, RegistryFigures, Store, Worker

PASSES_MISSED: Final = 3
"""After so many intervals without a pass, something is wrong."""


@dataclass(frozen=True, slots=True)
class Health:
    """As of one instant."""

    at: datetime
    last_delivery: datetime | None
    """When GitHub told something last; None: not in the days for which deliveries are kept."""
    last_pass: Pass | None
    pass_every: timedelta
    brakes: Sequence[Brake]
    outages: Mapping[str, Outage]
    """Providers that do not answer, by name."""
    workers: Sequence[Worker]
    registry: RegistryFigures
    dead: Sequence[DeadDelivery]
    """Deliveries that could not be handled, the latest first."""

    @property
    def queued(self) -> int:
        """How many agents are in the queue, whatever they wait for."""
        agents = self.registry.agents.items()
        return sum(count for (state, _), count in agents if state is State.QUEUED)

    @property
    def refused(self) -> int:
        """How many writes GitHub refuses."""
        unwritten = self.registry.unwritten.items()
        return sum(count for (_, state), count in unwritten if state is EffectState.REFUSED)

    @property
    def unwritten(self) -> int:
        """How many writes are not on GitHub yet, and are tried again."""
        return sum(self.registry.unwritten.values()) - self.refused

    @property
    def wrong(self) -> Sequence[str]:
        """What keeps the installation from its work, a sentence each; the worst first."""
        return [*self._of_workers(), *self._of_passes(), *self._of_others()]

    def _of_workers(self) -> Iterator[str]:
        if not any(each.takes_agents for each in self.workers):
            yield "No worker takes agents: nothing starts."
        for each in self.workers:
            if each.is_silent:
                yield f"The worker {each.name} was not heard of for {each.quiet_seconds:.0f} s."
        since = self.registry.queued_since
        if since is not None and self.at - since >= LONG_IN_QUEUE:
            yield f"An agent waits for a worker for {age_words(self.at - since)}."

    def _of_passes(self) -> Iterator[str]:
        done = self.last_pass
        if done is None:
            yield "No look at GitHub has come to its end yet."
            return
        if self.at - done.ended_at > PASSES_MISSED * self.pass_every:
            due = age_words(self.pass_every)
            since = age_words(self.at - done.ended_at)
            yield f"The last look at GitHub ended {since} ago; one is due each {due}."
        for what, why in done.failed.items():
            yield f"The last look at GitHub failed at {what}: {why}. The log has more."

    def _of_others(self) -> Iterator[str]:
        for brake in self.brakes:
            yield f"{standing_words(brake)}."
        for provider, outage in self.outages.items():
            why = outage.failure.reason
            yield f"{provider} does not answer since {instant(outage.since)}: {why}."
        if self.refused:
            yield f"GitHub refuses {_writes(self.refused)}."
        if self.dead:
            yield f"{_deliveries(len(self.dead))} could not be handled, and nothing more is tried."


async def health(store: Store, pass_every: timedelta, now: datetime) -> Health:
    """As of now. Raises `StoreUnavailable`."""
    return Health(
        at=now,
        last_delivery=await store.last_delivery(),
        last_pass=await store.last_pass(),
        pass_every=pass_every,
        brakes=await store.brakes(),
        outages=await store.outages(),
        workers=await store.workers(now),
        registry=await store.figures(),
        dead=await store.dead_deliveries(),
    )


def _deliveries(count: int) -> str:
    return "1 delivery" if count == 1 else f"{count} deliveries"


def _writes(count: int) -> str:
    return "1 write" if count == 1 else f"{count} writes"
