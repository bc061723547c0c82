"""A delivery is acknowledged when it is committed, and never before: else the answer is 503."""

import hashlib
import hmac
import sqlite3
from pathlib import Path

import httpx
import pytest

from app.adapters.clock import SystemClock
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.services.intake.intake import Intake
from app.web.webhook import WebhookEndpoint

SECRET, BODY = b"a secret of the tests", b'{"zen": "Wait."}'
HEADERS = {
    "X-GitHub-Event": "ping",
    "X-GitHub-Delivery": "one",
    "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET, BODY, hashlib.sha256).hexdigest(),
}


@pytest.mark.full
async def test_a_locked_database_is_a_503_and_the_delivery_can_come_again(tmp_path: Path) -> None:
    """Issue, "Intake": inbox unavailable 503; docs/design.md, promise 1."""
    path = tmp_path / "s.sqlite"
    engine = make_engine(f"sqlite:///{path}")
    migrate(engine)
    writer = GroupWriter(engine)
    store = SqlStore(engine, writer, lambda _, __: None)
    endpoint = WebhookEndpoint(Intake([SECRET], store, SystemClock()), lambda: None)
    other = sqlite3.connect(path, isolation_level=None)
    transport = httpx.ASGITransport(endpoint)
    async with httpx.AsyncClient(transport=transport, base_url="http://squadron") as github:
        other.execute("BEGIN IMMEDIATE")
        refused = await github.post("/webhook", content=BODY, headers=HEADERS)
        assert refused.status_code == 503
        assert other.execute("SELECT count(*) FROM sq_deliveries").fetchone() == (0,)
        other.execute("ROLLBACK")
        again = await github.post("/webhook", content=BODY, headers=HEADERS)
        assert again.status_code == 202
        assert other.execute("SELECT id FROM sq_deliveries").fetchall() == [("one",)]
    other.close()
    writer.close()
    engine.dispose()
