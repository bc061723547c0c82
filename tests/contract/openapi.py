"""GitHub's own description as a judge of everything that is said to GitHub, and by the box.

``Contract.load()`` reads the committed slice of GitHub's OpenAPI description. It is stricter than
GitHub in one thing: what a request says and GitHub would silently ignore is an error here too. It
judges JSON bodies, paths and queries; not headers, other media types, or fields that GitHub demands
only in its prose.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Self
from urllib.parse import unquote

from jsonschema_rs import Draft202012, Draft202012Validator, Registry, ValidationError

from app.githubbox.data import contract as read_contract

Json = Any
"""A parsed JSON value; as a whole body, ``None`` means that there is no body."""

UNDECLARED_STATUSES: Final[Mapping[int, str]] = {
    304: "every GET that carries If-None-Match may be answered so",
    401: "the token is wrong or has expired, whatever the operation",
    403: "a permission is missing, or a rate limit was hit",
    404: "GitHub hides what the token may not see",
    409: "the repository is empty or busy",
    410: "the issue was deleted, or issues are switched off",
    422: "every operation with a body validates it",
    429: "rate limits come as 403 or as 429",
    500: "GitHub fails now and then",
    502: "GitHub's proxies fail now and then",
    503: "GitHub is overloaded now and then",
    504: "GitHub's proxies time out now and then",
}
"""Statuses that GitHub gives for any operation, though it declares them for few; with the reason.
The body of an error is then an object with a ``message``."""

CORRECTED_ANSWERS: Final[Mapping[tuple[str, int], tuple[Json, str]]] = {
    ("GET /app/installations", 200): (
        {"type": "array", "items": {"$ref": "#/components/schemas/installation"}},
        "the list's own schema wants each account to be a user and an enterprise at once;"
        " one installation is described rightly",
    ),
}
"""Answers that GitHub describes wrongly: the schema that holds instead, and why."""

GRAPHQL: Final = "/graphql"
"""Described by a schema of its own."""
MAX_PROBLEMS_SHOWN: Final = 6

_ROOT: Final = "urn:github"
_ASSERTED_FORMATS: Final = frozenset({"date-time", "uri"})
_MAY_HOLD_SLASHES: Final = frozenset({"path", "ref", "basehead", "branch"})
_ON_THE_WIRE: Final = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
_ERROR_SCHEMA: Final = {
    "type": "object",
    "required": ["message"],
    "properties": {"message": {"type": "string"}},
}


class ContractBroken(AssertionError):
    """A request, an answer or a webhook that GitHub would not make or not take."""

    def __init__(self, subject: str, problems: Iterable[str]) -> None:
        found = list(problems)
        shown = found[:MAX_PROBLEMS_SHOWN]
        if len(found) > len(shown):
            shown.append(f"and {len(found) - len(shown)} more")
        super().__init__("\n  ".join([f"{subject} breaks GitHub's contract:", *shown]))


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One method on one path template, with schemas translated to JSON Schema 2020-12."""

    method: str
    template: str
    pattern: re.Pattern[str]
    path_parameters: Mapping[str, Json]
    query_parameters: Mapping[str, Json]
    request_schema: Json | None
    request_required: bool
    answers: Mapping[int, Json | None]
    """Declared status → schema of the body, None where the answer has no body."""

    def __str__(self) -> str:
        return f"{self.method} {self.template}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contract:
    """What GitHub says that requests, answers and webhooks look like. Get it by `load`."""

    operations: tuple[Operation, ...]
    """Most specific first: the first that matches is meant."""
    webhooks: Mapping[str, Json]
    """GitHub's name (`issues-opened`, `push`) → schema of the payload."""
    schemas: Mapping[str, Json]
    _registry: Registry
    _validators: dict[int, Draft202012Validator] = field(default_factory=dict)

    @classmethod
    @cache
    def load(cls) -> Self:
        """The committed contract; read once per process, validators are made when first used."""
        document = read_contract()
        schemas = {
            name: _translated(schema) for name, schema in document["components"]["schemas"].items()
        }
        operations = [
            _operation(method.upper(), template, description)
            for template, methods in document["paths"].items()
            for method, description in methods.items()
        ]
        registry = Registry([(_ROOT, {"components": {"schemas": schemas}})], draft=Draft202012)
        return cls(
            operations=tuple(sorted(operations, key=_least_specific_last)),
            webhooks={
                name: _translated(_json_schema_of(description["post"]["requestBody"]))
                for name, description in document["x-webhooks"].items()
            },
            schemas=schemas,
            _registry=registry,
        )

    def operation(self, method: str, path: str) -> Operation:
        """The operation that a path, percent-encoded as on the wire, belongs to.

        The path starts at GitHub's root (``/repos/…``): no base path, no query.
        """
        if not _ON_THE_WIRE.fullmatch(path):
            raise ContractBroken(f"{method} {path}", ["the path is not percent-encoded"])
        matching = [known for known in self.operations if known.pattern.fullmatch(path)]
        for known in matching:
            if known.method == method and known.template == matching[0].template:
                return known
        others = ", ".join(f"{known}" for known in matching) or "none at this path"
        raise ContractBroken(f"{method} {path}", [f"unknown operation; known are: {others}"])

    def check_exchange(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        request_body: Json,
        status: int,
        response_body: Json,
    ) -> None:
        """Raises `ContractBroken` unless GitHub could have been asked and could answer so."""
        self.check_request(method, path, query, request_body)
        self.check_answer(method, path, status, response_body)

    def check_request(self, method: str, path: str, query: Mapping[str, str], body: Json) -> None:
        """Raises `ContractBroken` if GitHub would refuse the request or ignore a part of it."""
        operation = self.operation(method, path)
        problems = [
            *self._parameter_problems(operation, path, query),
            *self._request_body_problems(operation, body),
        ]
        if problems:
            raise ContractBroken(f"the request {operation}", problems)

    def check_answer(self, method: str, path: str, status: int, body: Json) -> None:
        """Raises `ContractBroken` if GitHub does not answer this operation so."""
        operation = self.operation(method, path)
        subject = f"the answer {status} to {operation}"
        declared = status in operation.answers
        if not declared and status not in UNDECLARED_STATUSES:
            known = ", ".join(map(str, sorted(operation.answers)))
            raise ContractBroken(subject, [f"unknown status; known are: {known}"])
        if status >= 400 and (problems := list(self._problems(_ERROR_SCHEMA, body))):
            raise ContractBroken(subject, problems)
        schema = operation.answers[status] if declared else None
        if schema is not None:
            problems = list(self._problems(schema, body))
        elif status < 400 and body is not None:
            problems = ["the root: a body, where GitHub sends none"]
        else:
            problems = []
        if problems:
            raise ContractBroken(subject, problems)

    def check_webhook(self, event: str, action: str | None, payload: Json) -> None:
        """Raises `ContractBroken` unless GitHub sends such a payload for the event and action."""
        parts = [event] if action is None else [event, action]
        subject = f"the webhook {'.'.join(parts)}"
        schema = self.webhooks.get("-".join(parts).replace("_", "-"))
        if schema is None:
            raise ContractBroken(subject, ["unknown event or action"])
        if problems := list(self._problems(schema, payload)):
            raise ContractBroken(subject, problems)

    def _parameter_problems(
        self, operation: Operation, path: str, query: Mapping[str, str]
    ) -> Iterator[str]:
        values = operation.pattern.fullmatch(path)
        assert values is not None
        for name, text in values.groupdict().items():
            schema = operation.path_parameters[name]
            for problem in self._problems(schema, _parameter_value(unquote(text), schema)):
                yield f"path parameter {name}: {problem}"
        for name, text in query.items():
            if name not in operation.query_parameters:
                known = ", ".join(sorted(operation.query_parameters)) or "none"
                yield f"query parameter {name}: unknown; known are: {known}"
                continue
            schema = operation.query_parameters[name]
            for problem in self._problems(schema, _parameter_value(text, schema)):
                yield f"query parameter {name}: {problem}"

    def _request_body_problems(self, operation: Operation, body: Json) -> Iterator[str]:
        schema = operation.request_schema
        if body is None:
            if operation.request_required:
                yield "the root: no body, where GitHub requires one"
            return
        if schema is None:
            yield "the root: a body, where GitHub reads none"
            return
        yield from self._problems(schema, body)
        if isinstance(body, dict):
            known_keys = self._property_names(schema)
            for key in sorted(set(body) - known_keys):
                yield f"/{key}: unknown key; known are: {', '.join(sorted(known_keys))}"

    def _property_names(self, schema: Json) -> set[str]:
        names = set(schema.get("properties", ()))
        if "$ref" in schema:
            names |= self._property_names(self.resolved(schema))
        for combined in ("allOf", "anyOf", "oneOf"):
            for branch in schema.get(combined, ()):
                names |= self._property_names(branch)
        return names

    def resolved(self, schema: Json) -> Json:
        """The schema itself, or the one that its ``$ref`` names."""
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].rsplit("/", 1)[-1]]
        return schema

    def _problems(self, schema: Json, value: Json) -> Iterator[str]:
        validator = self._validators.get(id(schema))
        if validator is None:
            # Keyed by identity: all schemas live exactly as long as this contract.
            validator = Draft202012Validator(
                schema, registry=self._registry, validate_formats=True, mask="the value"
            )
            self._validators[id(schema)] = validator
        for error in validator.iter_errors(value):
            for cause in _probable_causes(error):
                pointer = "".join(f"/{_escaped(step)}" for step in cause.instance_path)
                yield f"{pointer or 'the root'}: {cause.message}"


def _operation(method: str, template: str, description: Json) -> Operation:
    by_place: dict[str, dict[str, Json]] = {"path": {}, "query": {}}
    for parameter in description["parameters"]:
        by_place[parameter["in"]][parameter["name"]] = _translated(parameter["schema"])
    request = description.get("requestBody")
    request_schema = None if request is None else _json_schema_of(request)
    answers: dict[int, Json | None] = {}
    for name, response in description["responses"].items():
        status = int(name)
        schema, _ = CORRECTED_ANSWERS.get(
            (f"{method} {template}", status), (_json_schema_of(response), "as GitHub describes it")
        )
        answers[status] = None if schema is None else _translated(schema)
    return Operation(
        method=method,
        template=template,
        pattern=_pattern(template),
        path_parameters=by_place["path"],
        query_parameters=by_place["query"],
        request_schema=None if request_schema is None else _translated(request_schema),
        request_required=request is not None and request.get("required", False),
        answers=answers,
    )


def _json_schema_of(body: Json) -> Json | None:
    media = body.get("content", {}).get("application/json")
    return None if media is None else media["schema"]


def _least_specific_last(operation: Operation) -> tuple[int, int, str, str]:
    # `commits/{ref}` also matches `commits/main/status`: with as many parameters, the longer
    # literal text is the more specific one.
    literal = re.sub(r"\{.*?\}", "", operation.template)
    parameters = operation.template.count("{")
    return parameters, -len(literal), operation.template, operation.method


def _pattern(template: str) -> re.Pattern[str]:
    def group(match: re.Match[str]) -> str:
        name = match[1]
        if name == "path":
            return f"(?P<{name}>.*)"  # empty: the repository's root directory
        return f"(?P<{name}>.+)" if name in _MAY_HOLD_SLASHES else f"(?P<{name}>[^/]+)"

    return re.compile(re.sub(r"\\\{(\w+)\\\}", group, re.escape(template)))


def _parameter_value(text: str, schema: Json) -> Json:
    """A parameter's text as the JSON value it stands for; the text itself if it stands for none."""
    if schema.get("type") == "integer" and re.fullmatch(r"-?\d{1,19}", text, re.ASCII):
        return int(text)
    return text


def _translated(schema: Json) -> Json:
    """OpenAPI 3.0 as JSON Schema 2020-12: ``nullable`` is the difference that matters.

    References become absolute, so that one registry serves all validators.
    """
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Json] = {}
    for key, value in schema.items():
        if key == "properties":
            result[key] = {name: _translated(inner) for name, inner in value.items()}
        elif key in ("allOf", "anyOf", "oneOf"):
            result[key] = [_translated(inner) for inner in value]
        elif key in ("items", "additionalProperties"):
            result[key] = _translated(value)
        elif key == "$ref":
            result[key] = f"{_ROOT}{value}"
        elif key == "format" and value not in _ASSERTED_FORMATS:
            continue
        else:
            result[key] = value
    if result.pop("nullable", False):
        return {"anyOf": [{"type": "null"}, result]}
    return result


def _probable_causes(error: ValidationError) -> Iterator[ValidationError]:
    """The error itself, or what is wrong inside the alternative that was probably meant."""
    alternatives: list[list[ValidationError]] = getattr(error.kind, "context", [])

    def improbability(causes: list[ValidationError]) -> tuple[bool, int]:
        another_kind_of_value = any(
            cause.kind.name == "type" and cause.instance_path == error.instance_path
            for cause in causes
        )
        return another_kind_of_value, len(causes)

    meant = min(alternatives, key=improbability, default=[])
    if not meant:
        yield error
    for cause in meant:
        yield from _probable_causes(cause)


def _escaped(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")
