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

Request = tuple[str, bytes]
"""The delivery id, and the whole HTTP request."""


def signed(series: str) -> Iterator[Request]:
    """Deliveries without end, each with an id of its own; they concern no agent."""
    bodies = [_body(n) for n in range(DIFFERENT_BODIES)]
    posts = cycle([_post(body, _signature(body)) for body in bodies])
    return ((name, post(name)) for name, post in zip(_names(series), posts, strict=False))


def junk(series: str) -> Iterator[Request]:
    """Unsigned, wrongly signed, and now and then large: nothing that may cost much."""
    body, large = _body(0), bytes(LARGE_BODY_BYTES)
    wrong = "sha256=" + "0" * 64
    small = [_post(body, None), _post(body, wrong)]
    posts = cycle([*small * 10, _post(large, wrong), _post(large, None)])
    return ((name, post(name)) for name, post in zip(_names(series), posts, strict=False))


def _names(series: str) -> Iterator[str]:
    return (f"{series}-{number:012x}" for number in count())


def _post(body: bytes, signature: str | None) -> Callable[[str], bytes]:
    signed_line = "" if signature is None else f"X-Hub-Signature-256: {signature}\r\n"
    head = (
        "POST /webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: GitHub-Hookshot/bench\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"X-GitHub-Event: issue_comment\r\n{signed_line}X-GitHub-Delivery: "
    ).encode()
    return lambda name: b"%b%b\r\n\r\n%b" % (head, name.encode(), body)


def _signature(body: bytes) -> str:
    return "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()


def _body(number: int) -> bytes:
    """A comment on an issue on which no agent works, in the shape and size that GitHub sends."""
    user = {"login": "mona", "id": 583_231, "type": "User", "site_admin": False}
    links = {f"{name}_url": f"https://api.github.com/users/mona/{name}" for name in _LINKS}
    person = {**user, **links}
    payload = {
        "action": "created",
        "issue": {"number": number, "title": "Login fails", "user": person, "labels": []},
        "comment": {"id": 1_000 + number, "user": person, "body": ""},
        "repository": {"full_name": f"octo/nobody-{number}", "owner": person, "private": False},
        "installation": {"id": 42},
        "sender": person,
    }
    missing = BODY_BYTES - len(json.dumps(payload))
    payload["comment"] = {"id": 1_000 + number, "user": person, "body": "x" * missing}
    return json.dumps(payload).encode()


_LINKS: Final = (
    *("avatar", "followers", "following", "gists", "starred", "subscriptions", "organizations"),
    *("repos", "events", "received"),
)
