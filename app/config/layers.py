"""Layers of configuration: what each says about a role, and what it comes to.

Built-in, operator defaults, repository defaults, preset, repository role, agent file: a later
layer wins key by key. Then the operator's ceilings cap, and a `null` does not pass below a ceiling.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.config.limitkeys import DEFAULT_ACTION, SETTINGS, OnLimit
from app.config.wording import dotted
from app.config.yamltree import Document, Path
from app.core.limits import Action, LimitName, Limits
from app.core.limits.presets import PRESETS
from app.core.rules.plan import ConfigProblem, Layer, Origin

LIMIT_KEYS: Final = (*(name.value for name in LimitName), *SETTINGS, "shadow")
"""The keys that one layer says as a whole; `on_limit` is said limit by limit."""


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


def preset_said(name: str) -> Said:
    """A preset as a layer."""
    preset = PRESETS[name]
    keys: dict[str, Any] = {limit.value: value for limit, value in preset.limits.items()}
    actions = {limit.value: action.value for limit, action in preset.actions.items()}
    keys["on_limit"] = OnLimit.model_validate(actions)
    return Said(Layer.PRESET, keys, name, Document())


def effective_limits(
    said: Sequence[Said], ceilings: Mapping[LimitName, float]
) -> tuple[Limits, Mapping[str, Origin]]:
    """The limits that the layers come to below the ceilings, and where each value came from."""
    values: dict[str, Any] = {}
    origins = dict.fromkeys(LIMIT_KEYS, Origin(Layer.BUILT_IN))
    actions: dict[str, Action] = {}
    for section in said:
        if "on_limit" in section.keys:
            actions.update(section.keys["on_limit"].written())
        for key in LIMIT_KEYS:
            if key in section.keys:
                values[key] = section.keys[key]
                origins[key] = Origin(section.layer)
    values["shadow"] = frozenset(values.get("shadow", ()))
    uncapped = Limits(**values)
    for name, ceiling in ceilings.items():
        maximum = uncapped.maximum(name)
        if maximum is None or maximum > ceiling:
            values[name] = ceiling
            origins[name] = Origin(origins[name].layer, capped_by="ceiling")
    return Limits(**values, **_actions(actions), ceilings=ceilings), origins


def _actions(said: Mapping[str, Action]) -> dict[str, Any]:
    """What happens at the limits, with those named only that differ from the default."""
    default = said.get(DEFAULT_ACTION, Action.ESCALATE)
    unnamed = Limits(default_action=default)
    named = {LimitName(name): each for name, each in said.items() if name != DEFAULT_ACTION}
    differing = {name: each for name, each in named.items() if each != unnamed.action(name)}
    return {"default_action": default, "actions": differing}
