"""Strict models of configuration files, and their errors as mistakes with a place.

Nothing is guessed or coerced: `"5"` is not 5, `true` is not 1, an unknown key is a mistake.
A section that is there but empty (`roles:` and nothing below it) is all defaults.
"""

import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, TypeAlias, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from app.config.wording import did_you_mean, dotted, shown
from app.config.yamltree import Document, Mistake, Path

MAX_ENTRIES: Final = 200

Key = TypeVar("Key")
Value = TypeVar("Value")
AnyModel = TypeVar("AnyModel", bound="Strict")


def _empty_is_default(value: object) -> object:
    return {} if value is None else value


Several: TypeAlias = Annotated[tuple[Value, ...], Field(strict=False, max_length=MAX_ENTRIES)]
"""A YAML list, as a tuple; what stands in it is as strict as everything else."""

Named: TypeAlias = Annotated[
    dict[Key, Value], BeforeValidator(_empty_is_default), Field(max_length=MAX_ENTRIES)
]
"""A YAML mapping whose keys are names that people choose."""


class Strict(BaseModel):
    """A section of a configuration file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _empty_section_is_default(cls, value: object) -> object:
        return _empty_is_default(value)

    def written(self) -> Mapping[str, Any]:
        """The keys that the file really has, with their values."""
        return {name: getattr(self, name) for name in sorted(self.model_fields_set)}


def only(default: object) -> BeforeValidator:
    """A documented key whose default is all that this version can do."""

    def refuse_others(value: object) -> object:
        if type(value) is not type(default) or value != default:
            raise ValueError(
                f"not supported by this version: {shown(value)} "
                f"(leave it out, or write {json.dumps(default)})"
            )
        return value

    return BeforeValidator(refuse_others)


def read(model: type[AnyModel], document: Document) -> tuple[AnyModel | None, tuple[Mistake, ...]]:
    """The document as the model, and every mistake in it: of the YAML, and of what it says.

    The model may be there beside mistakes of the YAML (a key given twice): whoever reads on
    must look at the mistakes first.
    """
    if document.root is None and document.mistakes:
        return None, document.mistakes
    try:
        return model.model_validate(document.plain()), document.mistakes
    except ValidationError as refused:
        known = {mistake.path for mistake in document.mistakes}
        errors = (_mistake(each, model, document) for each in refused.errors(include_url=False))
        # An alias was already reported, and it is no surprise that nothing stands in its place.
        return None, (*document.mistakes, *(each for each in errors if each.path not in known))


def without(value: object, paths: Collection[Path]) -> object:
    """A document's plain value without what these paths lead to; a list goes as a whole."""
    if not isinstance(value, dict):
        return {}
    heads = {path[0] for path in paths if path}
    kept: dict[str, object] = {}
    for key, inner in value.items():
        below = [path[1:] for path in paths if path and path[0] == key]
        if key not in heads:
            kept[key] = inner
        elif isinstance(inner, dict) and all(below):
            kept[key] = without(inner, below)
    return kept


def _mistake(error: ErrorDetails, model: type[Strict], document: Document) -> Mistake:
    path: Path = error["loc"]
    of_key = error["type"] == "extra_forbidden"
    if path and path[-1] == "[key]":
        path, of_key = path[:-1], True
    message = _message(error, path, model)
    where = f"{dotted(path)}: " if path else ""
    return Mistake(path, document.place(path, of_key=of_key), f"{where}{message}")


_EXPECTED: Final[Mapping[str, str]] = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
}


def _message(error: ErrorDetails, path: Path, model: type[Strict]) -> str:
    details, kind = error.get("ctx", {}), error["type"]
    match kind:
        case "extra_forbidden":
            return f"unknown key{did_you_mean(str(path[-1]), _known_keys(model, path[:-1]))}"
        case "missing":
            return "must be given"
        case "value_error":
            return str(details["error"])
        case "literal_error":
            return f"must be {details['expected']}, not {shown(error['input'])}"
        case "too_long":
            return f"must have at most {details['max_length']} entries"
        case "string_too_long":
            return f"must have at most {details['max_length']} characters"
        case "greater_than_equal":
            return f"must be at least {details['ge']:g}, not {shown(error['input'])}"
        case "less_than_equal":
            return f"must be at most {details['le']:g}, not {shown(error['input'])}"
        case _ if kind in _EXPECTED:
            return f"must be {_EXPECTED[kind]}, not {shown(error['input'])}"
        case _:
            return f"{error['msg'][:1].lower()}{error['msg'][1:]}, not {shown(error['input'])}"


def _known_keys(model: type[Strict], path: Path) -> tuple[str, ...]:
    """The keys that the section at `path` may have."""
    section: Any = model
    for part in path:
        is_model = isinstance(section, type) and issubclass(section, Strict)
        section = section.model_fields[part].annotation if is_model else get_args(section)[-1]
    return tuple(section.model_fields)
