"""Deliveries as GitHub sends them, 7 kB and signed, and junk that only looks like them."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from itertools import count, cycle
from typing import Final

SECRET: Final = b"the benchmark's webhook secret"
BODY_BYTES: Final = 7_000
DIFFERENT_BODIES: Final = 64
LARGE_BODY_BYTES: Final = 2_000_000
LARGEST_BODY_BYTES: Final = 24_000_000

Request = tuple[str, bytes]
"""The delivery id, and the whole HTTP request."""


def signed(series: str) -> Iterator[Request]:
    """Deliveries without end, each with an id of its own; they concern no agent."""
    bodies = [_body(n) for n in range(DIFFERENT_BODIES)]
    posts = cycle([_post(body, _signature(body)) for body in bodies])
    return ((name, post(name)) for name, post in zip(_names(series), posts, strict=False))


def mixed(series: str) -> Iterator[Request]:
    """As `signed`, of what a busy repository sends: comments, labels, reviews, checks, pushes."""
    posts = cycle(
        [
            _post(body, _signature(body), event)
            for number in range(DIFFERENT_BODIES)
            for event, parts in _MIXED
            for body in [_filled({**_common(number), **parts}, BODY_BYTES)]
        ]
    )
    return ((name, post(name)) for name, post in zip(_names(series), posts, strict=False))


def largest(series: str) -> Iterator[Request]:
    """As `signed`, each as large as GitHub may send it."""
    body = _filled(json.loads(_body(0)), LARGEST_BODY_BYTES)
    post = _post(body, _signature(body))
    return ((name, post(name)) for name in _names(series))


def junk(series: str) -> Iterator[Request]:
    """Unsigned, wrongly signed, and now and then large: nothing that may cost much."""
    body, large = _body(0), bytes(LARGE_BODY_BYTES)
    wrong = "sha256=" + "0" * 64
    small = [_post(body, None), _post(body, wrong)]
    posts = cycle([*small * 10, _post(large, wrong), _post(large, None)])
    return ((name, post(name)) for name, post in zip(_names(series), posts, strict=False))


def _names(series: str) -> Iterator[str]:
    return (f"{series}-{number:012x}" for number in count())


def _post(
    body: bytes, signature: str | None, event: str = "issue_comment"
) -> Callable[[str], bytes]:
    signed_line = "" if signature is None else f"X-Hub-Signature-256: {signature}\r\n"
    head = (
        "POST /webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: GitHub-Hookshot/bench\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"X-GitHub-Event: {event}\r\n{signed_line}X-GitHub-Delivery: "
    ).encode()
    return lambda name: b"%b%b\r\n\r\n%b" % (head, name.encode(), body)


def _signature(body: bytes) -> str:
    return "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()


def _body(number: int) -> bytes:
    """A comment on an issue on which no agent works, in the shape and size that GitHub sends."""
    payload = {**_common(number), "action": "created"}
    comment = {"id": 1_000 + number, "user": _person(), "body": ""}
    missing = BODY_BYTES - len(json.dumps({**payload, "comment": comment}))
    return json.dumps({**payload, "comment": {**comment, "body": "x" * missing}}).encode()


def _common(number: int) -> dict[str, object]:
    """What all of a repository have, and that none of its agents works on."""
    person = _person()
    return {
        "issue": {"number": number, "title": "Login fails", "user": person, "labels": []},
        "repository": {"full_name": f"octo/nobody-{number}", "owner": person, "private": False},
        "installation": {"id": 42},
        "sender": person,
    }


def _filled(payload: dict[str, object], size: int) -> bytes:
    """Of that many bytes: with many small parts that Squadron does not read."""
    missing = size - len(json.dumps({**payload, "links": []}))
    link = {"url": "https://api.github.com/repos/octo/nobody"}
    links = [link] * (missing // len(json.dumps([link])))
    return json.dumps({**payload, "links": links}).encode()


def _person() -> dict[str, object]:
    user = {"login": "mona", "id": 583_231, "type": "User", "site_admin": False}
    links = {f"{name}_url": f"https://api.github.com/users/mona/{name}" for name in _LINKS}
    return {**user, **links}


_MIXED: Final = (
    ("issue_comment", {"action": "created", "comment": {"id": 1, "body": "me too"}}),
    ("issues", {"action": "labeled", "label": {"name": "bug"}}),
    ("pull_request_review", {"action": "submitted", "review": {"id": 1, "state": "approved"}}),
    ("check_run", {"action": "completed", "check_run": {"id": 1, "conclusion": "success"}}),
    ("push", {"ref": "refs/heads/topic", "deleted": False}),
    ("issues", {"action": "opened"}),
)
_LINKS: Final = (
    *("avatar", "followers", "following", "gists", "starred", "subscriptions", "organizations"),
    *("repos", "events", "received"),
)
