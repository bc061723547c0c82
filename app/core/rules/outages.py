"""A model's provider that is away: who asks it again, and when.

Whoever finds that it does not answer goes back to the queue. One agent at a time asks it again,
after a pause that grows; all others wait until that one has had an answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

FIRST_PAUSE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = timedelta(hours=1)
PROBE_FOR: Final = timedelta(minutes=10)
"""How long the others wait for whoever asks: a clone and a setup may come before its question."""
UNAUTHORIZED: Final = 401
REFUSED_STATUSES: Final = frozenset({UNAUTHORIZED, 403})
"""The provider does not take the key: people have to mend that."""
PASSING_STATUSES: Final = frozenset({408, 409, 425, 429})
"""What may be otherwise in a moment."""
AWAY_STATUSES: Final = frozenset({*REFUSED_STATUSES, 402, *PASSING_STATUSES})
"""With these, and with 500 and above, it is the provider that fails, and not what it is asked."""


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """A provider was asked in vain."""

    provider: str
    """As models name it: `openai`."""
    reason: str
    """For people; it never quotes what the provider said."""
    is_refused: bool = False
    """It does not take the key, or there is none."""
    retry_after_seconds: float | None = None
    """What it asked for."""


@dataclass(frozen=True, slots=True)
class Outage:
    """Since when a provider does not answer, and who asks it next."""

    failure: ProviderFailure
    """The last one."""
    since: datetime
    tries: int
    """How often it was asked in vain, with a pause before each time."""
    retry_at: datetime
    probe: str = ""
    """Id of the agent that asks it now; empty: nobody does."""
    probe_until: datetime | None = None
    """When somebody else may ask instead."""


def no_key(provider: str) -> ProviderFailure:
    """There is none to ask a provider's own endpoint with."""
    words = (
        f"there is no key for {provider}: SQUADRON_MODEL_API_KEY is the one for SQUADRON_MODEL,"
        f" `providers.{provider}` in the operator's file names others"
    )
    return ProviderFailure(provider, words, is_refused=True)


def is_away(status: int) -> bool:
    """Whether a provider that answers with this HTTP status is away."""
    return status in AWAY_STATUSES or status >= 500


def provider_of(model: str) -> str:
    """Of `provider:name`."""
    return model.partition(":")[0]


def providers_of(*models: str | None) -> frozenset[str]:
    """Whom an agent needs that works with these."""
    return frozenset(map(provider_of, filter(None, models)))


def after_failure(
    before: Outage | None, failure: ProviderFailure, by: str, now: datetime
) -> Outage:
    """`by`: the agent that asked. Whoever was asking when the provider went away tells nothing
    new of it."""
    if before is None:
        return Outage(failure, now, 1, now + _pause(1, failure))
    if by != before.probe and now < before.retry_at:
        return before
    tries = before.tries + 1
    return Outage(failure, before.since, tries, now + _pause(tries, failure))


def may_ask(outage: Outage, by: str, now: datetime) -> bool:
    """Whether an agent may ask now whether the provider is back."""
    if outage.probe == by:
        return True
    is_asked = outage.probe_until is not None and now < outage.probe_until
    return now >= outage.retry_at and not is_asked


def asked(outage: Outage, by: str, now: datetime) -> Outage:
    """While that agent asks, nobody else does."""
    return replace(outage, probe=by, probe_until=now + PROBE_FOR)


def look_again_at(outages: Iterable[Outage], now: datetime) -> datetime:
    """When an agent that may not ask now looks whether it may: at the next try, or some time after
    the present one."""
    return max(
        outage.retry_at if outage.retry_at > now else now + _pause(outage.tries, outage.failure)
        for outage in outages
    )


def _pause(tries: int, failure: ProviderFailure) -> timedelta:
    grown = FIRST_PAUSE * (1 << min(tries - 1, 10))
    asked_for = timedelta(seconds=failure.retry_after_seconds or 0)
    return min(max(grown, asked_for), LONGEST_PAUSE)
