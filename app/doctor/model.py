"""Does the model answer, and does somebody know what it costs?"""

import asyncio
from collections.abc import Iterator
from typing import Final

from app.adapters.clock import SystemClock
from app.adapters.pricing import price_of
from app.adapters.runtimes.embedded import why_silent
from app.config.operator import OperatorConfig
from app.config.settings import Settings
from app.config.variables import PREFIX
from app.core.limits import CATALOGUE
from app.doctor.check import Check
from app.ports import Providers

KEYS: Final = (
    f"look at {PREFIX}MODEL, {PREFIX}MODEL_API_KEY and {PREFIX}MODEL_BASE_URL, or at `providers` in"
    " the operator's file"
)


def model(settings: Settings, providers: Providers, *, is_offline: bool) -> Iterator[Check]:
    """Whether the default model answers one token; it costs next to nothing."""
    if settings.model is None:
        said = f"{PREFIX}MODEL is not set: an agent whose role names no model cannot start"
        yield Check("model", False, said, f"set {PREFIX}MODEL=provider:name")
    elif is_offline:
        yield Check("model", True, f"{settings.model}, which was not asked (--offline)")
    else:
        why = asyncio.run(why_silent(settings.model, providers))
        said = why or f"{settings.model} answers"
        yield Check("model", not why, said, KEYS if why else "")


def price(name: str, operator: OperatorConfig) -> Check:
    """Whether somebody knows what the model costs. Where money is bounded, nothing else will do."""
    known = price_of(name, SystemClock().now(), operator.pricing)
    if known is not None:
        per_million = f"${known.input.normalize():f} in and ${known.output.normalize():f} out"
        return Check("price", True, f"{name}: {per_million} per million tokens")
    said = f"nobody knows what {name} costs"
    is_bounded = any(CATALOGUE[limit].is_money for limit in operator.ceilings)
    if is_bounded or operator.budgets or operator.on_unmeasurable == "stop":
        fix = f"name it under `pricing` in the operator's file ({PREFIX}CONFIG)"
        return Check("price", False, f"{said}, so its agents are stopped", fix)
    return Check("price", True, f"{said}: its cost is not counted; `pricing` can tell it")
