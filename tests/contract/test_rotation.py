"""Keys and secrets are rotated without a gap: two of each count at once."""

import asyncio
import hashlib
import hmac
from functools import cache
from pathlib import Path

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from app.adapters.clock import SystemClock
from app.adapters.github import GitHubApp
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.bootstrap import CannotServe, build
from app.config.settings import load_settings
from app.ports import Refused
from app.services.intake.intake import Intake, RefusedDelivery
from tests.twins.clock import TurnedClock

BODY = b'{"zen": "Keep it logically awesome."}'
OLD, NEW, THIRD = b"old", b"new", b"third"


def headers(secret: bytes, body: bytes = BODY) -> dict[bytes, bytes]:
    signature = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return {
        b"x-github-event": b"ping",
        b"x-github-delivery": b"one",
        b"x-hub-signature-256": f"sha256={signature}".encode(),
    }


@pytest.fixture
def store(tmp_path: Path) -> SqlStore:
    engine = make_engine(f"sqlite:///{tmp_path / 's.sqlite'}")
    migrate(engine)
    return SqlStore(engine, GroupWriter(engine), lambda _, __: None)


@pytest.mark.parametrize("secrets", [[NEW, OLD], [OLD, NEW]])
def test_a_delivery_may_be_signed_with_either_secret(store: SqlStore, secrets: list[bytes]) -> None:
    intake = Intake(secrets, store, SystemClock())
    for secret in (OLD, NEW):
        assert intake.verify(headers(secret), BODY).body == BODY
        with pytest.raises(RefusedDelivery, match="no valid signature"):
            intake.verify(headers(secret), BODY + b" ")
    for wrong in (THIRD, b"old\nnew", b"new\nold", b""):
        with pytest.raises(RefusedDelivery, match="no valid signature"):
            intake.verify(headers(wrong), BODY)


@pytest.mark.parametrize("secrets", [[], [b""], [NEW, b""]])
def test_without_a_secret_there_is_no_intake(store: SqlStore, secrets: list[bytes]) -> None:
    with pytest.raises(ValueError, match="no webhook secret"):
        Intake(secrets, store, SystemClock())


@cache
def key(name: str) -> rsa.RSAPrivateKey:
    """A private key; `name` tells it from others."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(name: str) -> SecretStr:
    return SecretStr(
        key(name)
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        .decode()
    )


class KeyBook:
    """GitHub's list of an App's keys, and which of them signed each call."""

    def __init__(self, *known: str) -> None:
        self.known = set(known)
        self.calls: list[str] = []
        self.status = 200

    def answer(self, request: httpx.Request) -> httpx.Response:
        token = request.headers["authorization"].split()[1]
        self.calls.append(next(name for name in ("first", "second") if _has_signed(name, token)))
        if self.calls[-1] not in self.known:
            return httpx.Response(401, json={"message": "A JSON web token could not be decoded"})
        return httpx.Response(self.status, json=[])


def _has_signed(name: str, token: str) -> bool:
    try:
        jwt.decode(token, key(name).public_key(), algorithms=["RS256"])
    except jwt.InvalidSignatureError:
        return False
    return True


def the_app(book: KeyBook, *keys: SecretStr) -> GitHubApp:
    transport = httpx.MockTransport(book.answer)
    return GitHubApp(7, keys, "http://github.test", TurnedClock(), transport)


async def test_the_first_key_is_used_for_as_long_as_github_takes_it() -> None:
    book = KeyBook("first", "second")
    github = the_app(book, pem("first"), pem("second"))
    for _ in range(2):
        assert (await github.repositories()).repositories == {}
    assert book.calls == ["first", "first"]


async def test_the_other_key_takes_over_when_github_no_longer_knows_one_and_back() -> None:
    book = KeyBook("second")
    github = the_app(book, pem("first"), pem("second"))
    for _ in range(2):
        assert (await github.repositories()).repositories == {}
    assert book.calls == ["first", "second", "second"]
    book.known = {"first"}
    assert (await github.repositories()).repositories == {}
    assert book.calls[3:] == ["second", "first"]


async def test_calls_at_once_agree_on_the_key() -> None:
    book = KeyBook("second")
    github = the_app(book, pem("first"), pem("second"))
    await asyncio.gather(*(github.repositories() for _ in range(5)))
    book.calls.clear()
    await github.repositories()
    assert book.calls == ["second"]


async def test_when_no_key_is_known_the_refusal_says_what_to_check() -> None:
    book = KeyBook()
    with pytest.raises(Refused, match="Check the App's id, its private key") as raised:
        await the_app(book, pem("first"), pem("second")).repositories()
    assert raised.value.status == 401
    assert book.calls == ["first", "second"]


async def test_only_a_key_that_is_refused_makes_way() -> None:
    """A call that failed in another way may have been done."""
    book = KeyBook("first", "second")
    book.status = 404
    with pytest.raises(Refused, match="404"):
        await the_app(book, pem("first"), pem("second")).repositories()
    assert book.calls == ["first"]


async def test_a_first_key_that_is_none_does_not_keep_the_second_from_working() -> None:
    book = KeyBook("second")
    github = the_app(book, SecretStr("not a key"), pem("second"))
    assert (await github.repositories()).repositories == {}
    assert book.calls == ["second"]


def test_a_second_key_that_is_none_is_found_before_the_service_starts(tmp_path: Path) -> None:
    broken = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
    settings = load_settings(
        {
            "SQUADRON_GITHUB_APP_ID": "7",
            "SQUADRON_GITHUB_PRIVATE_KEY": f"{pem('first').get_secret_value()}{broken}",
            "SQUADRON_WEBHOOK_SECRET": "s",
            "SQUADRON_DATA_DIR": str(tmp_path),
        }
    )
    with pytest.raises(CannotServe, match="the second key is no private key") as caught:
        build(settings)
    assert "MII" not in str(caught.value)
