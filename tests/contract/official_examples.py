"""GitHub's own examples of answers and webhooks, and which of them break GitHub's own schemas."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app.githubbox.data import examples
from app.githubbox.data.regenerate import WEBHOOKS

Json = Any

PAYLOADS: Final = Path(__file__).parents[1] / "data" / "webhooks" / "examples.json.gz"


@dataclass(frozen=True, slots=True)
class Answer:
    """An example of an answer; the name reads `GET /repos/{owner}/{repo} 200`."""

    name: str
    method: str
    path: str
    status: int
    body: Json


@dataclass(frozen=True, slots=True)
class Webhook:
    """An example payload; the name reads `issues.opened`, and the position counts per name."""

    name: str
    position: int
    event: str
    action: str | None
    payload: Json


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why an official example breaks its own schema, and the values that mend it."""

    reason: str
    mended_by: Mapping[str, Json]
    """JSON pointer → value."""
    positions: tuple[int, ...] = (0,)
    """Which examples of a webhook break; they may lack different ones of these values."""


_OLD: Final = "the example is older than a required field"
_TEAM: Final = "the example's team has no type"
_OLD_REPOSITORIES: Final = {
    f"/pull_request/{side}/repo/has_discussions": False for side in ("base", "head")
}
_OLD_PULL: Final[dict[str, object]] = {
    **_OLD_REPOSITORIES,
    "/pull_request/draft": False,
    "/pull_request/auto_merge": None,
    "/pull_request/active_lock_reason": None,
    "/pull_request/base/repo/topics": [],
    "/pull_request/head/repo/topics": [],
    "/pull_request/base/repo/visibility": "public",
    "/pull_request/head/repo/visibility": "public",
}
_OLD_INSTALLATION: Final = {
    "/installation/app_slug": "squadron",
    "/installation/created_at": "2026-01-01T00:00:00Z",
    "/installation/updated_at": "2026-01-01T00:00:00Z",
    "/installation/suspended_at": None,
    "/installation/suspended_by": None,
}
_NO_REACTIONS: Final = {
    "url": "https://api.github.com/",
    **dict.fromkeys(("+1", "-1", "confused", "eyes", "heart", "hooray", "laugh", "rocket"), 0),
    "total_count": 0,
}
_OLD_ISSUE: Final = {
    "/issue/active_lock_reason": None,
    "/issue/labels/0/description": None,
    "/issue/reactions": _NO_REACTIONS,
}
_OLD_APPS: Final = {
    f"/check_run/{app}/{key}": value
    for app in ("app", "check_suite/app")
    for key, value in {
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "events": [],
        "permissions": {},
    }.items()
}

FLAWED_ANSWERS: Final = {
    "GET /meta 200": Flaw(
        "the example gives fingerprints as numbers",
        {f"/ssh_key_fingerprints/SHA256_{key}": "x" for key in ("RSA", "DSA", "ECDSA", "ED25519")},
    ),
    "GET /repos/{owner}/{repo} 200": Flaw(
        "the example lost its language", {"/language": None, "/source/language": None}
    ),
    "GET /repos/{owner}/{repo}/collaborators/{username}/permission 200": Flaw(
        _OLD, {"/user/role_name": "admin"}
    ),
    "GET /repos/{owner}/{repo}/commits/{ref} 200": Flaw(
        "the example's file has no blob",
        {"/files/0/sha": None, "/files/0/contents_url": "https://api.github.com/"},
    ),
    "GET /repos/{owner}/{repo}/pulls 200": Flaw(_TEAM, {"/0/requested_teams/0/type": "enterprise"}),
    **{
        answer: Flaw(_TEAM, {"/requested_teams/0/type": "enterprise"})
        for answer in (
            "POST /repos/{owner}/{repo}/pulls 201",
            "GET /repos/{owner}/{repo}/pulls/{pull_number} 200",
            "PATCH /repos/{owner}/{repo}/pulls/{pull_number} 200",
            "POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers 201",
        )
    },
    "POST /app/hook/deliveries/{delivery_id}/attempts 202": Flaw(
        "the example is null where an object is answered", {"": {}}
    ),
}

FLAWED_WEBHOOKS: Final = {
    "check_run.rerequested": Flaw(
        "the example is from 2018",
        {
            "/check_run/node_id": "x",
            "/check_run/details_url": "https://example.com",
            "/repository/disabled": False,
            **_OLD_APPS,
        },
        (0, 1),
    ),
    "installation.created": Flaw("its instants are numbers", _OLD_INSTALLATION, (0, 1)),
    "installation.deleted": Flaw("its instants are numbers", _OLD_INSTALLATION, (0, 1)),
    "installation_repositories.added": Flaw(
        "its instants are numbers", {**_OLD_INSTALLATION, "/requester": None}, (0, 1)
    ),
    "installation_repositories.removed": Flaw("its instants are numbers", _OLD_INSTALLATION),
    "issue_comment.created": Flaw(
        _OLD,
        {
            **_OLD_ISSUE,
            "/comment/performed_via_github_app": None,
            "/comment/reactions": _NO_REACTIONS,
        },
    ),
    "issues.edited": Flaw(_OLD, _OLD_ISSUE),
    "issues.transferred": Flaw(
        "an empty homepage is no address",
        {"/changes/new_repository/has_discussions": False, "/repository/homepage": None},
    ),
    "label.created": Flaw("an empty homepage is no address", {"/repository/homepage": None}),
    "label.deleted": Flaw(_OLD, {"/label/description": None}),
    "pull_request.opened": Flaw(_OLD, {"/pull_request/auto_merge": None}),
    "pull_request.assigned": Flaw(_OLD, _OLD_REPOSITORIES, (0, 1)),
    "pull_request.labeled": Flaw(_OLD, _OLD_REPOSITORIES, (0, 1)),
    "pull_request.synchronize": Flaw(_OLD, _OLD_REPOSITORIES),
    "pull_request.unlabeled": Flaw(_OLD, _OLD_REPOSITORIES, (0, 1)),
    "pull_request_review.dismissed": Flaw(_OLD, _OLD_REPOSITORIES),
    "pull_request_review.submitted": Flaw(_OLD, _OLD_PULL, (0, 1, 2)),
    "pull_request_review_comment.created": Flaw(
        _OLD,
        {
            **_OLD_PULL,
            "/comment/line": 1,
            "/comment/original_line": 1,
            "/comment/side": "RIGHT",
            "/comment/start_line": None,
            "/comment/original_start_line": None,
            "/comment/start_side": None,
            "/comment/reactions": _NO_REACTIONS,
        },
        (0, 1, 2),
    ),
    "pull_request_review_comment.edited": Flaw(_OLD, _OLD_REPOSITORIES),
    "push": Flaw(
        _OLD,
        {
            "/repository/has_discussions": False,
            "/repository/topics": [],
            "/repository/visibility": "public",
        },
        (0, 1, 2, 3, 4, 5, 6),
    ),
    "status": Flaw(_OLD, {"/commit/commit/verification/verified_at": None}, (0, 1, 2, 3)),
}


def path_of(template: str) -> str:
    """A path that belongs to the template."""
    return re.sub(r"\{\w+\}", "1", template)


def answers() -> Iterator[Answer]:
    """Every example of an answer that is committed for the box."""
    for operation, bodies in examples().items():
        method, _, template = operation.partition(" ")
        if method != "webhook":
            for key, body in bodies.items():
                status = int(key.partition(" ")[0])
                yield Answer(f"{operation} {key}", method, path_of(template), status, body)


def webhooks() -> Iterator[Webhook]:
    """Every example payload of the events and actions that the contract describes."""
    seen: dict[str, int] = {}
    for entry in json.loads(gzip.decompress(PAYLOADS.read_bytes())):
        event, payload = entry["event"], entry["payload"]
        action = payload.get("action")
        if event in WEBHOOKS and (action or "") in WEBHOOKS[event].split(" "):
            name = event if action is None else f"{event}.{action}"
            seen[name] = position = seen.get(name, -1) + 1
            yield Webhook(name, position, event, action, payload)


def mended_body(answer: Answer) -> Json:
    """The answer's body, without its flaw if it has one."""
    flaw = FLAWED_ANSWERS.get(answer.name)
    return answer.body if flaw is None else _mended(answer.body, flaw)


def mended_payload(webhook: Webhook) -> Json:
    """The webhook's payload, without its flaw if it has one."""
    flaw = FLAWED_WEBHOOKS.get(webhook.name)
    if flaw is None or webhook.position not in flaw.positions:
        return webhook.payload
    return _mended(webhook.payload, flaw)


def _mended(document: Json, flaw: Flaw) -> Json:
    for pointer, value in flaw.mended_by.items():
        document = _changed(document, pointer.split("/")[1:], value)
    return document


def _changed(document: Json, steps: list[str], value: Json) -> Json:
    if not steps:
        return value
    key: Json = int(steps[0]) if isinstance(document, list) else steps[0]
    copy = document.copy()
    copy[key] = _changed(document[key], steps[1:], value) if steps[1:] else value
    return copy
