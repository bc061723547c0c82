"""The catalogue of limits, and the presets."""

from collections.abc import Iterator, Mapping
from typing import Final

from app.core.limits import CATALOGUE, LimitInfo, Trips
from app.core.limits.presets import PRESETS, Preset
from docs.from_code.markdown import table

_STOPS: Final[Mapping[Trips, str]] = {
    Trips.BEYOND: "N may happen; the next one is refused",
    Trips.REACHED: "when the amount has reached it",
    Trips.REPEATED: "N may happen; asking for the same again is refused",
    Trips.SENT: "never: the provider is asked to keep to it",
}


def catalogue() -> Iterator[str]:
    """Every limit."""
    heads = ("limit", "default", "what is counted", "what is not", "when it stops", "may be", "why")
    return table(heads, map(_row, CATALOGUE.values()))


def _row(info: LimitInfo) -> tuple[str, ...]:
    name = f'<a id="{info.name}"></a>`{info.name}`'
    stops = _STOPS[info.trips]
    return name, _default(info), info.counted, info.not_counted, stops, _range(info), info.why


def _default(info: LimitInfo) -> str:
    return f"off ({info.unit})" if info.default is None else f"{info.default:,} {info.unit}"


def _range(info: LimitInfo) -> str:
    return f"{info.least:,} to {info.most:,.0f}" + (", `null`: off" if info.optional else "")


def presets() -> Iterator[str]:
    """Every preset with what it sets."""
    rows = ((f"`{name}`", _settings(preset)) for name, preset in PRESETS.items())
    return table(("preset", "what it sets"), rows)


def _settings(preset: Preset) -> str:
    values = (f"`{name}: {value:g}`" for name, value in preset.limits.items())
    actions = {f"`{action}`" for action in preset.actions.values()}
    return ", ".join(values) + "".join(f"; at them: {action}" for action in sorted(actions))
