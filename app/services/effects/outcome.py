"""An effect after a write: what of it is remembered, and how often it was tried."""

import hashlib
from dataclasses import replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import MADE_AT, Effect, EffectState
from app.core.effects.retry import FAILING_SINCE
from app.ports import Posted

REFUSALS: Final = "refusals"
"""In the detail of an effect: how often GitHub has refused it in a row."""


def as_written(effect: Effect) -> Effect:
    """What was last written is what is wanted now, whatever was wanted meanwhile."""
    of_failures = (REFUSALS, FAILING_SINCE)
    kept = {key: value for key, value in effect.detail.items() if key not in of_failures}
    return replace(effect, state=EffectState.DONE, error="", due_at=None, detail=kept)


def done(
    effect: Effect, posted: Posted, content: str, now: datetime, head: str | None = None
) -> Effect:
    """The effect after a write; a new item has to be looked at for doubles once more."""
    detail = dict(as_written(effect).detail)
    if posted.number != effect.number:
        detail = {MADE_AT: now.isoformat()}
    if head is not None:
        detail["head"] = head
    return replace(
        effect,
        state=EffectState.DONE,
        url=posted.url,
        number=posted.number,
        content=content,
        attempts=attempts_of(effect),
        error="",
        due_at=None,
        detail=detail,
    )


def refusals_of(effect: Effect) -> int:
    """How often GitHub has refused the effect in a row."""
    return int(effect.detail.get(REFUSALS, "0"))


def attempts_of(effect: Effect) -> int:
    """At the present write, with the one just made; what is done begins anew."""
    return 1 if effect.state is EffectState.DONE else effect.attempts + 1


def digest(*parts: str) -> str:
    """What was written, in 32 characters: the same text is not written twice."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
