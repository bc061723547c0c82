"""Strict models of configuration files, and their errors as mistakes with a place.

Nothing is guessed or coerced: `"5"` is not 5, `true` is not 1, an unknown key is a mistake.
A section that is there but empty (`roles:` and nothing below it) is all defaults.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, ClassVar, Final, TypeAlias, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from app.config.wording import as_number, did_you_mean, dotted, shown
from app.config.yamltree import Document, Mistake, Path

MAX_ENTRIES: Final = 200
MOST_READINGS: Final = 10
"""So often what is left without its mistakes is read again."""

Key = TypeVar("Key")
Value = TypeVar("Value")
AnyModel = TypeVar("AnyModel", bound="Strict")


def _empty_is_default(value: object) -> object:
    return {} if value is None else value


Several: TypeAlias = Annotated[tuple[Value, ...], Field(strict=False, max_length=MAX_ENTRIES)]
"""A YAML list, as a tuple; what stands in it is as strict as everything else."""


class _OrNull:
    """For the JSON Schema: what `_empty_is_default` lets through, and no key of another pattern."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = handler(schema)
        described["type"] = ["object", "null"]
        if "patternProperties" in described:
            described["additionalProperties"] = False
        return described


Named: TypeAlias = Annotated[
    dict[Key, Value], Field(max_length=MAX_ENTRIES), BeforeValidator(_empty_is_default), _OrNull
]
"""A YAML mapping whose keys are names that people choose."""


class Strict(BaseModel):
    """A section of a configuration file."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    other_names: ClassVar[Mapping[str, str]] = {}
    """What people may write instead of a key, and what to write."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = handler(schema)
        section = handler.resolve_ref_schema(described)
        if "required" not in section:
            section["type"] = ["object", "null"]
        return described

    @model_validator(mode="before")
    @classmethod
    def _empty_section_is_default(cls, value: object) -> object:
        return _empty_is_default(value)

    def written(self) -> Mapping[str, Any]:
        """The keys that the file really has, with their values."""
        return {name: getattr(self, name) for name in sorted(self.model_fields_set)}


@dataclass(frozen=True, slots=True)
class _Only:
    default: object

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._refuse_others, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"const": self.default}

    def _refuse_others(self, value: object) -> object:
        if type(value) is not type(self.default) or value != self.default:
            raise ValueError(
                f"not supported by this version: {shown(value)} "
                f"(leave it out, or write {json.dumps(self.default)})"
            )
        return value


def only(default: object) -> _Only:
    """A documented key whose default is all that this version can do."""
    return _Only(default)


def read(model: type[AnyModel], document: Document) -> tuple[AnyModel | None, tuple[Mistake, ...]]:
    """The document as the model, and every mistake in it: of the YAML, and of what it says.

    The model may be there beside mistakes of the YAML (a key given twice): whoever reads on
    must look at the mistakes first.
    """
    if document.root is None and document.mistakes:
        return None, document.mistakes
    found, more = _validated(model, document, document.plain())
    return found, (*document.mistakes, *_news(more, document.mistakes))


def read_most(model: type[AnyModel], document: Document) -> tuple[AnyModel, tuple[Mistake, ...]]:
    """What is right in the document, so that the rest can be judged too, and every mistake in it.
    The model's keys have defaults.

    What is left without the mistakes may show others: a list that is too long shows only when all
    that stands in it is right.
    """
    if document.root is None and document.mistakes:
        return model(), document.mistakes
    mistakes, rest = document.mistakes, document.plain()
    for _ in range(MOST_READINGS):
        found, more = _validated(model, document, rest)
        mistakes += _news(more, mistakes)
        if found is not None:
            return found, mistakes
        rest = without(rest, [each.path for each in more])
    return model(), mistakes


def _validated(
    model: type[AnyModel], document: Document, value: object
) -> tuple[AnyModel | None, tuple[Mistake, ...]]:
    try:
        return model.model_validate(value), ()
    except ValidationError as refused:
        errors = refused.errors(include_url=False)
        return None, tuple(_mistake(each, model, document) for each in errors)


def _news(mistakes: Sequence[Mistake], known: Sequence[Mistake]) -> tuple[Mistake, ...]:
    """Those of places that nothing is known of: an alias was already reported, and it is no
    surprise that nothing stands in its place."""
    paths = {each.path for each in known}
    return tuple(each for each in mistakes if each.path not in paths)


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


_NUMBERS: Final = ("int_type", "float_type")
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
            return f"unknown key{_instead(str(path[-1]), _section(model, path[:-1]))}"
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
            return f"must be at least {details['ge']:.15g}, not {shown(error['input'])}"
        case "less_than_equal":
            return f"must be at most {details['le']:.15g}, not {shown(error['input'])}"
        case _ if kind in _EXPECTED:
            is_number, is_whole = kind in _NUMBERS, kind == "int_type"
            hint = as_number(error["input"], is_whole=is_whole) if is_number else ""
            return f"must be {_EXPECTED[kind]}, not {shown(error['input'])}{hint}"
        case _:
            return f"{error['msg'][:1].lower()}{error['msg'][1:]}, not {shown(error['input'])}"


def _instead(key: str, section: type[Strict]) -> str:
    """What to write in this section for a key that it does not know."""
    if key in section.other_names:
        return f": write {section.other_names[key]}"
    return did_you_mean(key, section.model_fields)


def _section(model: type[Strict], path: Path) -> type[Strict]:
    """The model of the section at `path`."""
    section: Any = model
    for part in path:
        if isinstance(section, type) and issubclass(section, Strict):
            section = section.model_fields[str(part)].annotation
        else:
            section = next(each for each in reversed(get_args(section)) if each is not Ellipsis)
        if isinstance(section, UnionType):  # a section, or null
            section = get_args(section)[0]
    found: type[Strict] = section
    return found
