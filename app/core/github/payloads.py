"""What of a payload anybody reads: the rest of a large one need not be kept.

GitHub's payloads reach 25 MB, and what matters of the largest is a few kB.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

Tree: TypeAlias = "Mapping[str, Tree] | Sequence[Tree] | None"
"""Of a value that is kept: a plain one as it is (None), an object's keys, a list's elements."""

MOST_CHARACTERS: Final = 4 * 65_536
"""Of a text. GitHub takes 65,536 (`body is too long (maximum is 65536 characters)`)."""
MOST_ELEMENTS: Final = 1_000
"""Of a list. An issue has 100 labels at most, and GitHub names 10 branches of a commit."""
_DIGEST: Final = "sha256_of_all"

_NAME: Final[Tree] = {"name": None}
_PERSON: Final[Tree] = {"login": None, "type": None}
_WORDS: Final[Tree] = {
    **dict.fromkeys(("id", "body", "created_at", "updated_at", "submitted_at", "html_url")),
    "pull_request_review_id": None,
    "user": _PERSON,
}
_THREAD: Final[Mapping[str, Tree]] = {
    **dict.fromkeys(("number", "title", "body", "updated_at")),
    "labels": [_NAME],
    "user": _PERSON,
}
READ: Final[Mapping[str, Tree]] = {
    **dict.fromkeys(("action", "ref", "deleted", "state")),
    "repository": {"full_name": None, "default_branch": None},
    "installation": {"id": None},
    "sender": _PERSON,
    "issue": _THREAD,
    "pull_request": _THREAD,
    "comment": _WORDS,
    "review": _WORDS,
    "changes": {"body": {"from": None}},
    "label": _NAME,
    "assignee": _PERSON,
    "check_run": {
        **dict.fromkeys(("id", "external_id", "conclusion")),
        "pull_requests": [{"number": None}],
    },
    "requested_action": {"identifier": None},
    "branches": [_NAME],
}
"""All that `hints.read` looks at, of whatever event, and what a list of lost deliveries shows."""


def read_of(payload: object) -> dict[str, object]:
    """The part of a payload, a document of JSON, that anybody reads. What has another shape than
    GitHub gives it is null or empty."""
    given = payload if isinstance(payload, Mapping) else {}
    return {key: _of(given[key], below) for key, below in READ.items() if key in given}


def shortened(payload: object, body: bytes) -> bytes:
    """What anybody reads of a body, whose JSON says `payload`, and the digest by which two are told
    apart that are alike in that. What was shortened before stays as it is."""
    if isinstance(payload, Mapping) and _DIGEST in payload:
        return body
    return json.dumps({**read_of(payload), _DIGEST: hashlib.sha256(body).hexdigest()}).encode()


def _of(value: object, tree: Tree) -> object:
    if isinstance(tree, Mapping):
        given = value if isinstance(value, Mapping) else {}
        return {key: _of(given[key], below) for key, below in tree.items() if key in given}
    if isinstance(tree, Sequence):
        given_list = value if isinstance(value, list) else []
        return [_of(each, below) for each in given_list[:MOST_ELEMENTS] for below in tree]
    if isinstance(value, str):
        return value[:MOST_CHARACTERS]
    return value if isinstance(value, bool | int | float) else None
