"""Intake: bytes become a committed delivery, or a refusal with a status. Nothing else happens.

Order matters: the signature is checked on the raw bytes before anything reads them
(`facts/github.md` section 2), and a delivery is acknowledged only when it is committed.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.core.github.payloads import shortened
from app.ports import Clock, Delivery, Store

MOST_BODY_BYTES: Final = 25 * 1024 * 1024
"""GitHub sends nothing larger (GitHub: webhook payloads are capped at 25 MB)."""
MOST_KEPT_WHOLE_BYTES: Final = 64 * 1024
"""Of a larger body only what is read later is kept."""
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
_EVENT: Final = re.compile(r"[a-z0-9_]{1,60}")


@dataclass(frozen=True)
class RefusedDelivery(Exception):
    """A POST that is no delivery; `status` goes back to the sender."""

    status: int
    reason: str

    def __str__(self) -> str:
        return self.reason


class Intake:
    """Verifies, reads and commits deliveries."""

    def __init__(self, secrets: Sequence[bytes], store: Store, clock: Clock) -> None:
        """`secrets`: a delivery may be signed with any of them, so that they can be rotated.

        Raises `ValueError` for none and for an empty one: an unset secret would open the door.
        """
        if not secrets or not all(secrets):
            raise ValueError("there is no webhook secret, or one is empty")
        self._secrets = tuple(secrets)
        self._store = store
        self._clock = clock

    def verify(self, headers: Mapping[bytes, bytes], body: bytes) -> Delivery:
        """The delivery in a POST. Raises `RefusedDelivery`. Header names are lower case."""
        if not self._is_genuine(headers.get(b"x-hub-signature-256", b""), body):
            raise RefusedDelivery(401, "no valid signature")
        delivery_id = headers.get(b"x-github-delivery", b"").decode("ascii", "replace")
        event = headers.get(b"x-github-event", b"").decode("ascii", "replace")
        if not _ID.fullmatch(delivery_id):
            raise RefusedDelivery(400, "X-GitHub-Delivery is missing or malformed")
        if not _EVENT.fullmatch(event):
            raise RefusedDelivery(400, "X-GitHub-Event is missing or malformed")
        try:
            payload: object = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise RefusedDelivery(400, "the body is no JSON") from error
        kept = body if len(body) <= MOST_KEPT_WHOLE_BYTES else shortened(payload, body)
        return Delivery(delivery_id, event, kept, self._clock.now())

    async def accept(self, delivery: Delivery) -> bool:
        """Commit; False if the id was known before. Raises `StoreUnavailable`."""
        return await self._store.accept(delivery)

    def _is_genuine(self, signature: bytes, body: bytes) -> bool:
        """All secrets are tried, so that the time does not tell which of them it was."""
        is_signature_of = [_is_signature(signature, secret, body) for secret in self._secrets]
        return any(is_signature_of)


def _is_signature(signature: bytes, secret: bytes, body: bytes) -> bool:
    wanted = b"sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest().encode()
    return hmac.compare_digest(wanted, signature)
