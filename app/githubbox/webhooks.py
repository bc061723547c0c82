"""Signed webhook deliveries, kept with their exact bytes so that they can be sent again.

Deliveries go out one after the other, in the order in which things happened, unless a fault says
otherwise. Each is bounded by ten seconds; like GitHub, the box never tries again by itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import ssl
import time
import uuid
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache

import httpx

from app.githubbox.apps import EVENTS, App
from app.githubbox.faults import Faults
from app.githubbox.render import instant
from app.githubbox.state import Json, World

MAX_DELIVERY_SECONDS = 10
MAX_DELIVERIES = 10_000
"""The oldest delivery is forgotten for the one that exceeds this."""
LISTED_FOR = timedelta(days=3)
"""What is older is neither listed nor sent again."""
MAX_PAYLOAD_BYTES = 25_000_000
"""A larger payload is not sent at all, as on GitHub."""
MAX_KEPT_ANSWER_CHARACTERS = 10_000
BATCH_SECONDS = 0.2
"""How long a `shuffled` fault gathers deliveries before it turns their order round."""
USER_AGENT = "GitHub-Hookshot/box"
UNASKED_EVENTS = {"installation", "ping"}
"""Sent to every App."""


@dataclass(slots=True, eq=False)
class Delivery:
    """One attempt to deliver one event; a redelivery is an attempt of its own with equal bytes."""

    id: int
    guid: str
    event: str
    action: str | None
    body: bytes
    headers: dict[str, str]
    installation_id: int
    repository_id: int | None
    url: str
    delivered_at: datetime
    redelivery: bool
    duration: float = 0.0
    status: str = "pending"
    status_code: int = 0
    answer_headers: dict[str, str] = field(default_factory=dict)
    answer: str = ""

    def summary(self) -> Json:
        return {
            "id": self.id,
            "guid": self.guid,
            "delivered_at": instant(self.delivered_at),
            "redelivery": self.redelivery,
            "duration": self.duration,
            "status": self.status,
            "status_code": self.status_code,
            "event": self.event,
            "action": self.action,
            "installation_id": self.installation_id,
            "repository_id": self.repository_id,
            "throttled_at": None,
        }

    def fail(self, why: str = "") -> None:
        """Nobody is there to be connected to."""
        self.status, self.status_code, self.answer = "failed to connect to host", 502, why

    def detail(self) -> Json:
        request = {"headers": self.headers, "payload": json.loads(self.body)}
        response = {"headers": self.answer_headers, "payload": self.answer}
        return self.summary() | {"url": self.url, "request": request, "response": response}


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


class Webhooks:
    """The App's webhook: where it goes, how it is signed, and what became of each delivery."""

    def __init__(
        self,
        world: World,
        faults: Faults,
        *,
        secret: str,
        url: str | None,
        installation_id: int,
        transport: httpx.AsyncBaseTransport | None,
        seen: Callable[[str, Json], None],
    ) -> None:
        self.url = url
        self.events: Collection[str] = EVENTS
        """What the installed App subscribed to."""
        self.hook_id = world.next_id()
        self._world, self._faults = world, faults
        self.secret = secret
        self._installation_id = installation_id
        self._transport = transport
        self._seen = seen
        self._deliveries: dict[int, Delivery] = {}
        self._waiting: deque[Delivery] = deque()
        self._shuffle = False
        self._pump: asyncio.Task[None] | None = None
        self._late: set[asyncio.Task[None]] = set()

    def send(self, event: str, payload: Json) -> None:
        """Queue the delivery of an event; without a URL nothing is sent and nothing is kept.

        An event that the App did not subscribe to does not exist for it.
        """
        if event not in self.events and event not in UNASKED_EVENTS:
            return
        self._seen(event, payload)
        body = json.dumps(payload, separators=(",", ":")).encode()
        if self.url is None or len(body) > MAX_PAYLOAD_BYTES:
            return
        guid, action = str(uuid.uuid4()), payload.get("action")
        repository_id = payload.get("repository", {}).get("id")
        self._set_out(self._record(event, action, guid, body, repository_id, redelivery=False))

    def serve(self, app: App, installation_id: int) -> None:
        """From now on the webhook is that App's."""
        self.url, self.secret, self.events = app.hook_url, app.hook_secret, app.events
        self._installation_id = installation_id

    def list(self) -> list[Delivery]:
        """All deliveries that were not forgotten, newest first."""
        oldest = self._world.now() - LISTED_FOR
        return [one for one in reversed(self._deliveries.values()) if one.delivered_at >= oldest]

    def find(self, number: int) -> Delivery | None:
        return next((one for one in self.list() if one.id == number), None)

    def grow_old(self, by: timedelta) -> int:
        """All deliveries so far happened so much earlier; how many that are."""
        for delivery in self._deliveries.values():
            delivery.delivered_at -= by
        return len(self._deliveries)

    def redeliver(self, delivery: Delivery) -> None:
        """Send the same bytes with the same GUID again, as a new delivery."""
        self._set_out(self._again(delivery, redelivery=True))

    @property
    def idle(self) -> bool:
        """Is nothing waiting, late or on its way?"""
        return not self._late and not self.is_sending

    @property
    def is_sending(self) -> bool:
        """Is something on its way, or waiting for what is?"""
        return bool(self._waiting) or (self._pump is not None and not self._pump.done())

    async def close(self) -> None:
        """Give up what has not been sent."""
        tasks = [*self._late, *([self._pump] if self._pump else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _record(
        self,
        event: str,
        action: str | None,
        guid: str,
        body: bytes,
        repository_id: int | None,
        *,
        redelivery: bool,
    ) -> Delivery:
        assert self.url is not None
        signature = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        headers = {
            "Accept": "*/*",
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "X-GitHub-Delivery": guid,
            "X-GitHub-Event": event,
            "X-GitHub-Hook-ID": str(self.hook_id),
            "X-GitHub-Hook-Installation-Target-ID": str(self._installation_id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature-256": f"sha256={signature}",
        }
        delivery = Delivery(
            self._world.next_id(),
            guid,
            event,
            action,
            body,
            headers,
            self._installation_id,
            repository_id,
            self.url,
            self._world.now(),
            redelivery,
        )
        self._deliveries[delivery.id] = delivery
        if len(self._deliveries) > MAX_DELIVERIES:
            del self._deliveries[next(iter(self._deliveries))]
        return delivery

    def _again(self, earlier: Delivery, *, redelivery: bool) -> Delivery:
        return self._record(
            earlier.event,
            earlier.action,
            earlier.guid,
            earlier.body,
            earlier.repository_id,
            redelivery=redelivery,
        )

    def _set_out(self, delivery: Delivery) -> None:
        fault = self._faults.for_webhook(delivery.event, delivery.action)
        match fault.kind if fault else None:
            case "lost":
                del self._deliveries[delivery.id]
            case "doubled":
                self._enqueue(delivery, self._again(delivery, redelivery=False))
            case "late":
                assert fault is not None
                task = asyncio.create_task(self._send_late(delivery, fault.seconds))
                self._late.add(task)
                task.add_done_callback(self._late.discard)
            case "shuffled":
                self._shuffle = True
                self._enqueue(delivery)
            case "unreachable":
                delivery.fail()
            case _:
                self._enqueue(delivery)

    def _enqueue(self, *deliveries: Delivery) -> None:
        self._waiting.extend(deliveries)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        """Empty the queue; of a shuffled batch the last comes first."""
        while self._waiting:  # asked again: something may come while the client closes
            async with self._client() as client:
                while self._waiting:
                    if self._shuffle:
                        await self._world.clock.sleep(BATCH_SECONDS)
                        self._waiting.reverse()
                        self._shuffle = False
                    await self._post(client, self._waiting.popleft())

    async def _send_late(self, delivery: Delivery, seconds: float) -> None:
        await self._world.clock.sleep(seconds)
        async with self._client() as client:
            await self._post(client, delivery)

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=self._transport, verify=_tls(), trust_env=False, timeout=MAX_DELIVERY_SECONDS
        )

    async def _post(self, client: httpx.AsyncClient, delivery: Delivery) -> None:
        started = time.monotonic()
        try:
            async with asyncio.timeout(MAX_DELIVERY_SECONDS):
                answer = await client.post(
                    delivery.url, content=delivery.body, headers=delivery.headers
                )
        except (httpx.TimeoutException, TimeoutError):
            delivery.status, delivery.status_code = "timed out", 504
        except httpx.HTTPError as error:
            delivery.fail(str(error))
        else:
            delivery.status_code = answer.status_code
            bad = f"Invalid HTTP Response: {answer.status_code}"
            delivery.status = "OK" if answer.is_success else bad
            delivery.answer_headers = dict(answer.headers)
            delivery.answer = answer.text[:MAX_KEPT_ANSWER_CHARACTERS]
        delivery.duration = round(time.monotonic() - started, 3)
