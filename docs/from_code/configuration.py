"""The keys of the configuration files, from the schema that `squadron config schema` prints."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from app.config.jsonschema import FileKind, json_schema
from app.config.limitkeys import SETTINGS
from app.core.limits import LimitName
from docs.from_code.markdown import sentence, table

_HEADS: Final = ("key", "what it takes", "default", "meaning")
_ON_LIMIT: Final = "on_limit"
_BESIDE: Final = (*SETTINGS, _ON_LIMIT, "shadow", "preset")
"""Keys that stand where limits stand."""
_KEYS_OF_LIMITS: Final = frozenset({*LimitName, *_BESIDE})


def repository_file() -> Iterator[str]:
    """`.squadron/config.yaml`."""
    return _file("config")


def agent_file() -> Iterator[str]:
    """The head of an agent file."""
    return _file("agent")


def operator_file() -> Iterator[str]:
    """The operator's file."""
    return _file("operator")


def beside_limits() -> Iterator[str]:
    """What may stand where limits stand."""
    schemas = json_schema("config")["$defs"]
    assert isinstance(schemas, Mapping)
    keys = schemas["RoleLimitKeys"]["properties"]
    return table(_HEADS, (_row(name, keys[name]) for name in _BESIDE))


def _file(kind: FileKind) -> Iterator[str]:
    described = json_schema(kind)
    schemas = described["$defs"]
    assert isinstance(schemas, Mapping)
    root = _resolved({"$ref": described["$ref"]}, schemas)
    return table(_HEADS, _rows("", root, schemas))


def _rows(above: str, section: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Any]:
    """One row a key, sections before what is in them; all limits are one row."""
    keys = section["properties"]
    limits = _KEYS_OF_LIMITS if {*LimitName} <= keys.keys() else frozenset[str]()
    if limits:
        yield f"`{above}<limit>`", "", "", _limits(keys)
    for name, key in keys.items():
        if name in limits:
            continue
        inner, place = _inside(key, schemas, f"{above}{name}")
        if inner is None:
            yield _row(place, key)
        else:
            said = key.get("description") or inner.get("description", "")
            yield f"`{place}`", "", "", sentence(said)
            yield from _rows(f"{place}.", inner, schemas)


def _limits(keys: Mapping[str, Any]) -> str:
    beside = [name for name in _BESIDE if name in keys]
    also = f", and {', '.join(f'`{name}`' for name in beside)}" if beside else ""
    return f"[every limit](limits.md){also}"


def _inside(
    key: Mapping[str, Any], schemas: Mapping[str, Any], place: str
) -> tuple[Mapping[str, Any] | None, str]:
    """The section that a key holds, itself, for each name, or for each entry; and its place."""
    if "$ref" in key:
        return _resolved(key, schemas), place
    if "patternProperties" in key:
        [value] = key["patternProperties"].values()
        return (_resolved(value, schemas) if "$ref" in value else None), f"{place}.<name>"
    if "$ref" in key.get("items", {}):
        return _resolved(key["items"], schemas), f"{place}[]"
    return None, place


def _resolved(reference: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    section = schemas[reference["$ref"].rpartition("/")[2]]
    assert isinstance(section, Mapping)
    return section


def _row(place: str, key: Mapping[str, Any]) -> tuple[str, ...]:
    return f"`{place}`", _takes(key), _default(key), sentence(key.get("description", ""))


def _default(key: Mapping[str, Any]) -> str:
    if "default" not in key:
        return ""
    value = key["default"]
    shown = (
        {None: "null", True: "true", False: "false"}.get(value, value) if _plain(value) else value
    )
    listed = f"[{', '.join(map(str, value))}]" if isinstance(value, list) else shown
    return f"`{listed}`" if listed != "" else "empty"


def _plain(value: object) -> bool:
    return value is None or isinstance(value, bool)


def _takes(key: Mapping[str, Any]) -> str:
    """What a value may be, in words."""
    if "$ref" in key:
        return "a mapping"
    if "anyOf" in key:
        return " or ".join(dict.fromkeys(_takes(each) for each in key["anyOf"]))
    if "enum" in key:
        return ", ".join(f"`{each}`" for each in key["enum"])
    kind = key.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "array" in kinds:
        return f"a list: {_takes(key['items'])}"
    if "object" in kinds:
        names = _takes(key["propertyNames"]) if "propertyNames" in key else ""
        return f"a mapping of {names}" if names else "a mapping"
    if "integer" in kinds or "number" in kinds:
        return _number(key)
    return (
        "text"
        if "string" in kinds
        else {"null": "`null`", "boolean": "`true`, `false`"}.get(str(kind), "")
    )


def _number(key: Mapping[str, Any]) -> str:
    least, most = key.get("minimum"), key.get("maximum")
    above = key.get("exclusiveMinimum")
    if above is not None:
        return f"above {above} to {most:,}"
    return f"{least:,} to {most:,.0f}" if least is not None and most is not None else "a number"
