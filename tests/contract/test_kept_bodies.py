"""Of a large delivery only what is read of it is kept, however large it is."""

import hashlib
import hmac
import json
from pathlib import Path

import pytest

from app.adapters.clock import SystemClock
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.core.github.hints import read
from app.services.intake.intake import MOST_KEPT_WHOLE_BYTES, Intake

SECRET = b"secret"
EVENT = "issue_comment"


@pytest.fixture
def intake(tmp_path: Path) -> Intake:
    engine = make_engine(f"sqlite:///{tmp_path / 's.sqlite'}")
    migrate(engine)
    store = SqlStore(engine, GroupWriter(engine), lambda _, __: None)
    return Intake([SECRET], store, SystemClock())


def comment(words: str, size: int, tail: str = "") -> bytes:
    """A comment that GitHub would send in that many bytes, with much that nobody reads."""
    payload = {
        "action": "created",
        "repository": {"full_name": "octo/demo", "default_branch": "main", "topics": []},
        "installation": {"id": 42, "node_id": "x"},
        "issue": {"number": 7, "title": "Login fails", "body": "It does.", "labels": []},
        "comment": {"id": 9, "body": words, "user": {"login": "mona", "type": "User"}},
        "sender": {"login": "mona", "type": "User"},
        "links": "",
        "tail": tail,
    }
    missing = size - len(json.dumps(payload))
    return json.dumps({**payload, "links": "x" * missing}).encode()


def kept(intake: Intake, body: bytes) -> bytes:
    """What is to be stored of a delivery."""
    signature = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    headers = {
        b"x-github-event": EVENT.encode(),
        b"x-github-delivery": b"one",
        b"x-hub-signature-256": f"sha256={signature}".encode(),
    }
    return intake.verify(headers, body).body


def test_up_to_the_bound_a_body_is_kept_as_it_is(intake: Intake) -> None:
    at_bound = comment("hello", MOST_KEPT_WHOLE_BYTES)
    assert kept(intake, at_bound) == at_bound
    assert len(kept(intake, comment("hello", MOST_KEPT_WHOLE_BYTES + 1))) < 1_000


def test_a_large_one_means_the_same_and_is_small(intake: Intake) -> None:
    words = "/squadron stop\n" + "€" * 60_000
    body = comment(words, 20_000_000)
    stored = kept(intake, body)
    assert len(stored) < 500_000
    assert json.loads(stored)["comment"]["body"] == words
    assert read(EVENT, json.loads(stored)) == read(EVENT, json.loads(body))


def test_two_that_differ_in_what_nobody_reads_are_told_apart(intake: Intake) -> None:
    """A press of a button is known by what was sent: replayed under a new id it is the same."""
    one, other = (comment("hello", 100_000, tail) for tail in ("a", "b"))
    assert kept(intake, one) == kept(intake, one)
    assert kept(intake, one) != kept(intake, other)
