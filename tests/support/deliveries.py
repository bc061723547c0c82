"""Deliveries as GitHub would sign and send them, and as others would try to."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from tests.support.squad import WEBHOOK_SECRET, Squad

Headers = Sequence[tuple[bytes, bytes]]
"""As bytes, for what is no text."""


def signed(body: bytes) -> str:
    """The signature of a body."""
    digest = hmac.new(WEBHOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()
    return f"sha256={digest}"


def headers(event: str, delivery: str, body: bytes) -> dict[str, str]:
    """What GitHub sends with a delivery."""
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": signed(body),
    }


def deliver(team: Squad, event: str, payload: Any, delivery: str) -> httpx.Response:
    """One signed delivery."""
    body = json.dumps(payload).encode()
    return post(team, headers(event, delivery, body), body)


def told_of(team: Squad, name: str) -> list[tuple[str, Any]]:
    """What GitHub told, or would have told, of people's doings in a repository, oldest first."""
    return [
        (one["webhook"], payload)
        for one in team.github.exchanges()
        if (payload := one.get("payload", {})).get("repository", {}).get("full_name") == name
        and payload["sender"]["type"] == "User"
    ]


def post(team: Squad, sent: Mapping[str, str] | Headers, body: bytes) -> httpx.Response:
    """One POST to the webhook, whatever it holds."""
    return team.service.http.post("/webhook", headers=sent, content=body)
