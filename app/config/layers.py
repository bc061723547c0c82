"""Layers of configuration: what each says about a role, and what it comes to.

Built-in, operator defaults, repository defaults, repository role, agent file: a later layer wins
key by key. Then the operator's ceilings cap, and a `null` does not pass below a ceiling.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from app.config.wording import dotted
from app.config.yamltree import Document, Path
from app.core.limits import LimitName, Limits
from app.core.plan import ConfigProblem, Layer, Origin

LIMIT_KEYS: Final = tuple(field.name for field in fields(Limits))


@dataclass(frozen=True, slots=True)
class Said:
    """What one section of one file says: only the keys that are written there."""

    layer: Layer
    keys: Mapping[str, Any]
    file: str
    document: Document
    path: Path = ()

    def problem(self, key: str, message: str) -> ConfigProblem:
        """A problem with what this section says about `key`."""
        path = (*self.path, key)
        place = self.document.place(path)
        return ConfigProblem(self.file, place.line, place.column, f"{dotted(path)}: {message}")


def last_word(said: Sequence[Said], key: str, default: Any) -> tuple[Any, Said | None]:
    """What the last layer that does not leave it open (`null`) says about `key`, and who that is.

    For the settings of a role; in limits, `null` is an answer.
    """
    for section in reversed(said):
        if section.keys.get(key) is not None:
            return section.keys[key], section
    return default, None


def effective_limits(
    said: Sequence[Said], ceilings: Mapping[LimitName, int]
) -> tuple[Limits, Mapping[str, Origin]]:
    """The limits that the layers come to below the ceilings, and where each value came from."""
    values: dict[str, Any] = {}
    origins = dict.fromkeys(LIMIT_KEYS, Origin(Layer.BUILT_IN))
    for section in said:
        for key in LIMIT_KEYS:
            if key in section.keys:
                values[key] = section.keys[key]
                origins[key] = Origin(section.layer)
    uncapped = Limits(**values)
    for name, ceiling in ceilings.items():
        maximum = uncapped.maximum(name)
        if maximum is None or maximum > ceiling:
            values[name] = ceiling
            origins[name] = Origin(origins[name].layer, capped_by="ceiling")
    return Limits(**values), origins
