"""Makes the files of this folder anew: ``python -m app.githubbox.data.regenerate NODE_MODULES``.

NODE_MODULES is where ``npm install @octokit/openapi@23.0.2 @octokit/webhooks-examples@7.6.1
@octokit/graphql-schema@15.26.1`` put the packages. Equal packages give equal bytes. Four files are
written: the contract (what requests, answers and webhooks must look like), the examples (templates
for the box's answers), the schema of GraphQL, and every example payload of the webhooks, for the
tests.
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from app.githubbox.data.slim_graphql import slim_schema

Json = Any
"""A parsed JSON value."""

HERE: Final = Path(__file__).parent
WEBHOOK_PAYLOADS: Final = HERE.parents[2] / "tests" / "data" / "webhooks" / "examples.json.gz"

_REPO: Final = "/repos/{owner}/{repo}"
_ISSUE: Final = f"{_REPO}/issues/{{issue_number}}"
_PULL: Final = f"{_REPO}/pulls/{{pull_number}}"

OPERATIONS: Final = {
    "/app": "GET",
    "/app-manifests/{code}/conversions": "POST",
    "/app/hook/deliveries": "GET",
    "/app/hook/deliveries/{delivery_id}": "GET",
    "/app/hook/deliveries/{delivery_id}/attempts": "POST",
    "/app/installations": "GET",
    "/app/installations/{installation_id}": "GET",
    "/app/installations/{installation_id}/access_tokens": "POST",
    "/installation/repositories": "GET",
    "/meta": "GET",
    "/orgs/{org}/teams/{team_slug}/memberships/{username}": "GET",
    "/rate_limit": "GET",
    "/users/{username}": "GET",
    _REPO: "GET",
    f"{_REPO}/assignees": "GET",
    f"{_REPO}/assignees/{{assignee}}": "GET",
    f"{_REPO}/branches/{{branch}}": "GET",
    f"{_REPO}/check-runs": "POST",
    f"{_REPO}/check-runs/{{check_run_id}}": "GET PATCH",
    f"{_REPO}/check-runs/{{check_run_id}}/annotations": "GET",
    f"{_REPO}/check-suites/{{check_suite_id}}": "GET",
    f"{_REPO}/check-suites/{{check_suite_id}}/check-runs": "GET",
    f"{_REPO}/collaborators/{{username}}": "GET",
    f"{_REPO}/collaborators/{{username}}/permission": "GET",
    f"{_REPO}/commits": "GET",
    f"{_REPO}/commits/{{ref}}": "GET",
    f"{_REPO}/commits/{{ref}}/check-runs": "GET",
    f"{_REPO}/commits/{{ref}}/check-suites": "GET",
    f"{_REPO}/commits/{{ref}}/status": "GET",
    f"{_REPO}/compare/{{basehead}}": "GET",
    f"{_REPO}/contents/{{path}}": "GET",
    f"{_REPO}/git/matching-refs/{{ref}}": "GET",
    f"{_REPO}/git/ref/{{ref}}": "GET",
    f"{_REPO}/git/refs": "POST",
    f"{_REPO}/git/refs/{{ref}}": "PATCH DELETE",
    f"{_REPO}/installation": "GET",
    f"{_REPO}/issues": "GET POST",
    f"{_REPO}/issues/comments": "GET",
    f"{_REPO}/issues/comments/{{comment_id}}": "GET PATCH DELETE",
    f"{_REPO}/issues/comments/{{comment_id}}/reactions": "POST",
    _ISSUE: "GET PATCH",
    f"{_ISSUE}/assignees": "POST DELETE",
    f"{_ISSUE}/comments": "GET POST",
    f"{_ISSUE}/dependencies/blocked_by": "GET POST",
    f"{_ISSUE}/dependencies/blocked_by/{{issue_id}}": "DELETE",
    f"{_ISSUE}/labels": "GET POST PUT DELETE",
    f"{_ISSUE}/labels/{{name}}": "DELETE",
    f"{_ISSUE}/lock": "PUT DELETE",
    f"{_ISSUE}/reactions": "POST",
    f"{_ISSUE}/sub_issues": "GET",
    f"{_ISSUE}/timeline": "GET",
    f"{_REPO}/labels": "GET POST",
    f"{_REPO}/labels/{{name}}": "GET DELETE",
    f"{_REPO}/pulls": "GET POST",
    f"{_REPO}/pulls/comments": "GET",
    f"{_REPO}/pulls/comments/{{comment_id}}": "GET PATCH",
    f"{_REPO}/pulls/comments/{{comment_id}}/reactions": "POST",
    _PULL: "GET PATCH",
    f"{_PULL}/comments": "GET POST",
    f"{_PULL}/commits": "GET",
    f"{_PULL}/files": "GET",
    f"{_PULL}/merge": "GET PUT",
    f"{_PULL}/requested_reviewers": "POST",
    f"{_PULL}/reviews": "GET POST",
    f"{_PULL}/reviews/{{review_id}}": "GET PUT DELETE",
    f"{_PULL}/reviews/{{review_id}}/comments": "GET",
    f"{_PULL}/reviews/{{review_id}}/events": "POST",
    f"{_REPO}/statuses/{{sha}}": "POST",
}
"""Path → methods that Squadron sends or the box answers."""

WEBHOOKS: Final = {
    "check_run": "completed created requested_action rerequested",
    "check_suite": "completed requested rerequested",
    "installation": "created deleted suspend unsuspend",
    "installation_repositories": "added removed",
    "issue_comment": "created deleted edited",
    "issue_dependencies": "blocked_by_added blocked_by_removed blocking_added blocking_removed",
    "issues": (
        "assigned closed deleted edited labeled locked opened reopened transferred unassigned"
        " unlabeled"
    ),
    "label": "created deleted edited",
    "ping": "",
    "pull_request": (
        "assigned closed edited labeled opened ready_for_review reopened synchronize unlabeled"
    ),
    "pull_request_review": "dismissed edited submitted",
    "pull_request_review_comment": "created edited",
    "push": "",
    "repository": "renamed transferred",
    "status": "",
    "sub_issues": ("parent_issue_added parent_issue_removed sub_issue_added sub_issue_removed"),
}
"""Event → actions that Squadron hears or the box sends; an event without actions has none."""

_SCHEMA_KEYS: Final = frozenset(
    {
        *("$ref", "type", "enum", "nullable", "allOf", "anyOf", "oneOf"),
        *("properties", "required", "additionalProperties", "maxProperties"),
        *("items", "minItems", "maxItems", "uniqueItems"),
        *("format", "pattern", "minLength", "maxLength", "minimum", "maximum"),
    }
)
"""The words of a schema that can refuse a value; all others only explain."""


def slim_contract(description: Json) -> Json:
    """The operations and webhooks above with all that they refer to, and no words for people."""
    paths = {
        path: {
            method.lower(): _slim_operation(description["paths"][path][method.lower()], description)
            for method in methods.split()
        }
        for path, methods in OPERATIONS.items()
    }
    webhooks = {}
    for event, action in _deliveries():
        name = "-".join(filter(None, (event, action))).replace("_", "-")
        body = description["x-webhooks"][name]["post"]["requestBody"]
        webhooks[name] = {"post": {"requestBody": _slim_body(body)}}
    return {
        "openapi": description["openapi"],
        "info": {"title": "GitHub", "version": description["info"]["version"]},
        "paths": paths,
        "x-webhooks": webhooks,
        "components": {"schemas": _referred_schemas([paths, webhooks], description)},
    }


def official_examples(description: Json, webhook_examples: Json) -> Json:
    """One body per answer and further ones by name, and one payload per webhook."""
    found: dict[str, Json] = {}
    for path, methods in OPERATIONS.items():
        for method in methods.split():
            responses = description["paths"][path][method.lower()]["responses"]
            bodies = {
                key: body
                for status, response in responses.items()
                for key, body in _bodies(status, response, description)
            }
            if bodies:
                found[f"{method} {path}"] = bodies
    payloads = all_payloads(webhook_examples)
    for event, action in _deliveries():
        candidates = [
            entry["payload"]
            for entry in payloads
            if entry["event"] == event and entry["payload"].get("action") == action
        ]
        if candidates:
            fullest = max(candidates, key=lambda payload: len(_canonical(payload)))
            found[f"webhook {'.'.join(filter(None, (event, action)))}"] = fullest
    return found


def all_payloads(webhook_examples: Json) -> list[Json]:
    """Every example payload as ``{"event", "payload"}``, in the order of the package."""
    return [
        {"event": entry["name"], "payload": payload}
        for entry in webhook_examples
        for payload in entry["examples"]
    ]


def _deliveries() -> Iterator[tuple[str, str | None]]:
    for event, actions in WEBHOOKS.items():
        if actions:
            yield from ((event, action) for action in actions.split())
        else:
            yield event, None


def _slim_operation(operation: Json, description: Json) -> Json:
    parameters = [_follow(parameter, description) for parameter in operation.get("parameters", ())]
    slim: dict[str, Json] = {
        "parameters": [
            {
                "name": parameter["name"],
                "in": parameter["in"],
                "required": parameter.get("required", False),
                "schema": _slim_schema(parameter["schema"]),
            }
            for parameter in parameters
        ],
        "responses": {
            status: _slim_body(_follow(response, description))
            for status, response in operation["responses"].items()
        },
    }
    if "requestBody" in operation:
        slim["requestBody"] = _slim_body(operation["requestBody"])
    return slim


def _slim_body(body: Json) -> Json:
    """Of a request's or answer's body only its JSON; an answer without a body becomes empty."""
    slim: dict[str, Json] = {"required": True} if body.get("required") else {}
    media = body.get("content", {}).get("application/json")
    if media is not None:
        slim["content"] = {"application/json": {"schema": _slim_schema(media["schema"])}}
    return slim


def _slim_schema(schema: Json) -> Json:
    if not isinstance(schema, dict):
        return schema
    slim: dict[str, Json] = {}
    for key, value in schema.items():
        if key not in _SCHEMA_KEYS:
            continue
        if key == "properties":
            slim[key] = {name: _slim_schema(inner) for name, inner in value.items()}
        elif key in ("allOf", "anyOf", "oneOf"):
            slim[key] = [_slim_schema(inner) for inner in value]
        elif key in ("items", "additionalProperties"):
            slim[key] = _slim_schema(value)
        else:
            slim[key] = value
    return slim


def _referred_schemas(roots: Json, description: Json) -> dict[str, Json]:
    found: dict[str, Json] = {}
    waiting = list(_references(roots))
    while waiting:
        reference = waiting.pop()
        name = reference.rsplit("/", 1)[-1]
        if name not in found:
            found[name] = _slim_schema(_follow({"$ref": reference}, description))
            waiting.extend(_references(found[name]))
    return found


def _references(node: Json) -> Iterator[str]:
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        yield node["$ref"]
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for value in inner:
        yield from _references(value)


def _bodies(status: str, response: Json, description: Json) -> Iterator[tuple[str, Json]]:
    media = _follow(response, description).get("content", {}).get("application/json", {})
    if "example" in media:
        yield status, media["example"]
    # GitHub calls the usual example "default"; where none is called so, the first one counts.
    named = sorted(media.get("examples", {}).items(), key=lambda item: item[0] != "default")
    for position, (name, example) in enumerate(named):
        body = _follow(example, description)["value"]
        if isinstance(body, dict) and "$ref" in body:  # it refers to a whole shared example
            body = _follow(body, description)["value"]
        yield (status if position == 0 else f"{status} {name}"), body


def _follow(node: Json, description: Json) -> Json:
    """The node itself, or what its ``$ref`` points at."""
    if not (isinstance(node, dict) and isinstance(node.get("$ref"), str)):
        return node
    target = description
    for step in node["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    return _follow(target, description)


def _canonical(value: Json) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _write(path: Path, value: Json) -> None:
    plain = _canonical(value)
    packed = gzip.compress(plain, compresslevel=9, mtime=0)
    path.write_bytes(packed)
    print(f"{path.name}: {len(plain):,} bytes, packed {len(packed):,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("node_modules", type=Path, help="directory that holds @octokit")
    octokit = parser.parse_args().node_modules / "@octokit"
    description = json.loads((octokit / "openapi/generated/api.github.com.json").read_bytes())
    webhooks = json.loads((octokit / "webhooks-examples/api.github.com/index.json").read_bytes())
    _write(HERE / "contract.json.gz", slim_contract(description))
    _write(HERE / "examples.json.gz", official_examples(description, webhooks))
    schema = slim_schema((octokit / "graphql-schema/schema.graphql").read_text())
    (HERE / "schema.graphql").write_text(schema)
    print(f"schema.graphql: {len(schema):,} bytes")
    _write(WEBHOOK_PAYLOADS, all_payloads(webhooks))


if __name__ == "__main__":
    main()
