"""What a schema demands, read apart from the library that judges by it, and broken on purpose."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, Final

Json = Any
Resolve = Callable[[Json], Json]
"""A schema → itself, or the one that it refers to."""

VALUES: Final[Mapping[str, Json]] = {
    "null": None,
    "boolean": True,
    "string": "no address, no instant, in no list",
    "integer": 7,
    "number": 0.5,
    "array": [],
    "object": {},
}
"""One value of each kind."""


def corruptions(
    schema: Json, body: Json, resolve: Resolve, depth: int
) -> Iterator[tuple[str, Json]]:
    """The body without each required field, and with each given the wrong kinds of value.

    Goes down into objects and first elements, ``depth`` fields deep. Yields what was done, and the
    corrupted body.
    """
    kind = "array" if isinstance(body, list) else "object" if isinstance(body, dict) else None
    meanings = [each for each in _meanings(schema, resolve) if kind in _kinds(each)]
    if isinstance(body, list) and body:
        elements = _either([[part.get("items", {}) for part in each] for each in meanings])
        for what, corrupted in corruptions(elements, body[0], resolve, depth):
            yield f"/0{what}", [corrupted, *body[1:]]
    if not isinstance(body, dict):
        return
    required = set.intersection(
        *({name for part in each for name in part.get("required", ())} for each in meanings)
    )
    for name in sorted(required):
        yield f"/{name} removed", {key: value for key, value in body.items() if key != name}
        field = _either(
            [[part.get("properties", {}).get(name, {}) for part in each] for each in meanings]
        )
        for wrong in _refused(field, resolve):
            yield f"/{name} is {wrong!r}", body | {name: wrong}
        if depth:
            for what, corrupted in corruptions(field, body[name], resolve, depth - 1):
                yield f"/{name}{what}", body | {name: corrupted}


def _meanings(schema: Json, resolve: Resolve) -> list[list[Json]]:
    """The alternatives of a schema, each a list of plain schemas that hold together."""
    schema = resolve(schema)
    conditions = [[[schema]]]
    conditions += [_meanings(part, resolve) for part in schema.get("allOf", ())]
    conditions += [
        [meaning for branch in schema[key] for meaning in _meanings(branch, resolve)]
        for key in ("anyOf", "oneOf")
        if key in schema
    ]
    return [[part for each in choice for part in each] for choice in product(*conditions)]


def _either(meanings: list[list[Json]]) -> Json:
    return {"anyOf": [{"allOf": parts} for parts in meanings]}


def _kinds(parts: list[Json]) -> set[str]:
    kinds = set(VALUES)
    for part in parts:
        if part.get("type") == "number":
            kinds &= {"integer", "number"}
        elif "type" in part:
            kinds &= {part["type"]}
    return kinds


def _refused(schema: Json, resolve: Resolve) -> Iterator[Json]:
    meanings = _meanings(schema, resolve)
    for kind, value in VALUES.items():
        fitting = [parts for parts in meanings if kind in _kinds(parts)]
        if all(kind == "string" and _is_narrow_text(parts) for parts in fitting):
            yield value


def _is_narrow_text(parts: list[Json]) -> bool:
    return any("enum" in part or part.get("format") in ("date-time", "uri") for part in parts)
