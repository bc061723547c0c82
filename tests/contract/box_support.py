"""A box for tests, and clients that act in somebody's name.

Every exchange and every webhook that a test causes is checked against GitHub's contract when the
box is closed, and a request for something that GitHub has not, or the box has not, is an error.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import jwt
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.githubbox.box import Box
from tests.contract.openapi import GRAPHQL, Contract

SECRET = "a secret of the tests"
REPO = "/repos/octo/demo"
CONTRACT = Contract.load()
UNCHECKED_STATUSES = {400, 413}
"""Answers to calls that no client of ours makes; the contract does not describe them."""


@dataclass(slots=True)
class Listener:
    """The receiver of webhooks, an ASGI application: keeps what came and refuses bad signatures."""

    received: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    guids: list[str] = field(default_factory=list)
    status: int = 202
    secret: str = SECRET
    bodies: list[bytes] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        wanted = "sha256=" + hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        genuine = request.headers["x-hub-signature-256"] == wanted
        if genuine:
            self.received.append((request.headers["x-github-event"], json.loads(body)))
            self.guids.append(request.headers["x-github-delivery"])
            self.bodies.append(body)
        await Response(status_code=self.status if genuine else 401)(scope, receive, send)

    @property
    def names(self) -> list[str]:
        """`event.action` of everything that came, in order."""
        return [
            f"{event}.{body['action']}" if "action" in body else event
            for event, body in self.received
        ]

    def last(self, name: str) -> dict[str, Any]:
        at = len(self.names) - 1 - self.names[::-1].index(name)
        return self.received[at][1]


@dataclass(slots=True)
class SetClock:
    """What the box goes by: it shows what it is set to, and waits in earnest."""

    shows: datetime

    def now(self) -> datetime:
        return self.shows

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True)
class Rig:
    """A box with one repository, its people and its App, and whoever listens to its webhook."""

    box: Box
    listener: Listener
    tokens: dict[str, str]
    record: Path
    clock: SetClock

    @property
    def now(self) -> datetime:
        return self.clock.shows

    def client(self, authorization: str | None = None) -> httpx.AsyncClient:
        headers = {} if authorization is None else {"Authorization": authorization}
        transport = httpx.ASGITransport(self.box.asgi)
        return httpx.AsyncClient(transport=transport, base_url=self.box.url, headers=headers)

    def person(self, login: str) -> httpx.AsyncClient:
        return self.client(f"token {self.tokens[login]}")

    def app(self) -> httpx.AsyncClient:
        return self.client(
            "Bearer " + app_jwt(self.box.identity.app_id, self.box.identity.private_key_pem)
        )

    async def installation(self, **narrowing: object) -> httpx.AsyncClient:
        number = self.box.identity.installation_id
        answer = await self.app().post(f"/app/installations/{number}/access_tokens", json=narrowing)
        assert answer.status_code == 201, answer.text
        return self.client(f"Bearer {answer.json()['token']}")

    async def heard(self) -> list[str]:
        """Everything the listener was told, once nothing is on its way any more."""
        assert await self.box.idle()
        return self.listener.names

    def exchanges(self) -> Iterator[dict[str, Any]]:
        for line in self.record.read_text().splitlines():
            yield json.loads(line)

    def check_contract(self) -> int:
        """Check everything that was recorded; the number of checks."""
        checked = 0
        for one in self.exchanges():
            if "webhook" in one:
                CONTRACT.check_webhook(one["webhook"], one["action"], one["payload"])
            elif one["status"] not in UNCHECKED_STATUSES and one["path"] != GRAPHQL:
                CONTRACT.check_answer(one["method"], one["path"], one["status"], one["response"])
                if one["status"] < 400:
                    CONTRACT.check_request(one["method"], one["path"], one["query"], one["request"])
            checked += 1
        return checked


def app_jwt(app_id: int, key: bytes, minutes: float = 9) -> str:
    """Signed just now, by this machine's time."""
    now = datetime.now(UTC)
    moments = {"iat": now - timedelta(seconds=10), "exp": now + timedelta(minutes=minutes)}
    return jwt.encode({**moments, "iss": str(app_id)}, key, algorithm="RS256")


def seed(directory: Path) -> Path:
    """A plain directory that becomes a repository."""
    directory.mkdir()
    (directory / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (directory / "docs").mkdir()
    (directory / "docs" / "read me.md").write_text("# Calculator\n")
    return directory


@asynccontextmanager
async def rig(root: Path) -> AsyncIterator[Rig]:
    """A box in this process; on the way out everything that it said is checked."""
    listener, clock = Listener(), SetClock(datetime.now(UTC))
    (root / "box").mkdir()
    async with Box(
        root / "box",
        webhook_secret=SECRET,
        webhook_url="http://squadron.test/webhook",
        record=root / "record.jsonl",
        webhook_transport=httpx.ASGITransport(listener),
        clock=clock,
    ) as box:
        here = Rig(box, listener, {}, root / "record.jsonl", clock)
        for permission in ("none", "read", "triage", "write", "maintain", "admin"):
            here.tokens[permission] = box.add_user(permission, permission)
        await box.add_repository("octo/demo", seed(root / "seed"))
        yield here
        assert await box.idle()
    assert here.check_contract() > 0


def git(*arguments: str, cwd: Path, ok: bool = True) -> str:
    """A real git as a person runs it; its output and error text."""
    who = ["-c", "user.name=ann", "-c", "user.email=ann@users.noreply.github.com"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode == 0) == ok, done.stderr
    return done.stdout + done.stderr
