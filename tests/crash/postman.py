"""GitHub's deliveries at their worst: late, out of order, twice, lost, and again after a failure.

The box sends its webhooks here; from here they reach the service with the very bytes, signature
and delivery id that the box gave them.
"""

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

import httpx

MOST_SECONDS = 5.0
LATE_SECONDS = 4.0
AGAIN_SECONDS = 2.0
ROUND_SECONDS = 0.02
PASSED_OVER_SECONDS = 5.0
"""As `deploy/cluster.Caddyfile` does with who did not answer."""
SHARE_DOUBLED = 0.25
SHARE_LATE = 0.3
SHARE_LOST = 0.1
"""Of deliveries about issues: what they say, reconciliation can see for itself."""
_PASSED_ON = ("content-type", "x-github-delivery", "x-github-event", "x-hub-signature-256")


@dataclass(frozen=True, slots=True)
class Letter:
    """One POST that is to be made at some time."""

    guid: str
    headers: dict[str, str]
    body: bytes
    due: float
    """On the monotonic clock."""


class Postman:
    """A context manager that delivers while it is open."""

    def __init__(self, seed: int, addresses: Sequence[str]) -> None:
        """`addresses` are those of the service's webhook; each delivery goes to one of them, as
        by a proxy, which passes over who has just not answered."""
        self._random = random.Random(seed)
        self._passed_over_until = dict.fromkeys(addresses, 0.0)
        """Until when, on the monotonic clock."""
        self._letters: list[Letter] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Http(("127.0.0.1", 0), self)
        self._threads = [
            threading.Thread(target=self._http.serve_forever, args=(ROUND_SECONDS,)),
            threading.Thread(target=self._deliver, name="postman"),
        ]
        self.may_deliver = threading.Event()
        """Cleared: everything waits, as when GitHub is behind with its deliveries."""
        self.may_deliver.set()
        self.acknowledged: set[str] = set()
        """Ids of deliveries that were answered with 2xx."""
        self.posts = 0
        self.repeated = 0
        """Posts of a delivery that had been acknowledged before."""
        self.unanswered = 0
        """Posts that nobody answered, because nobody lived or somebody was killed."""
        self.refused: list[str] = []
        """Answers that no good delivery ever deserves."""

    @property
    def url(self) -> str:
        """Where the box sends its webhooks."""
        return f"http://127.0.0.1:{self._http.server_port}/"

    @property
    def is_done(self) -> bool:
        """Whether everything was delivered."""
        with self._lock:
            return not self._letters

    def take(self, headers: dict[str, str], body: bytes) -> None:
        """A delivery from the box."""
        guid = headers["x-github-delivery"]
        with self._lock:
            chance = self._random.random
            if headers["x-github-event"] == "issues" and chance() < SHARE_LOST:
                return
            for _ in range(2 if chance() < SHARE_DOUBLED else 1):
                late = self._random.uniform(0, LATE_SECONDS) if chance() < SHARE_LATE else 0
                self._letters.append(Letter(guid, headers, body, time.monotonic() + late))

    def _deliver(self) -> None:
        with httpx.Client(timeout=MOST_SECONDS) as client:
            while not self._closing.wait(ROUND_SECONDS):
                if not self.may_deliver.is_set():
                    continue
                for letter in self._due():
                    is_delivered = self._post(client, letter)
                    with self._lock:
                        self._letters.remove(letter)
                        if not is_delivered:
                            self._letters.append(self._again(letter))

    def _due(self) -> list[Letter]:
        now = time.monotonic()
        with self._lock:
            due = [letter for letter in self._letters if letter.due <= now]
            self._random.shuffle(due)
        return due

    def _post(self, client: httpx.Client, letter: Letter) -> bool:
        self.posts += 1
        self.repeated += letter.guid in self.acknowledged
        address = self._address()
        try:
            answer = client.post(address, content=letter.body, headers=letter.headers)
        except httpx.TransportError:
            self._passed_over_until[address] = time.monotonic() + PASSED_OVER_SECONDS
            self.unanswered += 1
            return False
        if answer.is_success:
            self.acknowledged.add(letter.guid)
            return True
        if answer.status_code != 503:
            self.refused.append(f"{letter.guid}: {answer.status_code} {answer.text}")
        return answer.status_code != 503

    def _address(self) -> str:
        now, until = time.monotonic(), self._passed_over_until
        able = [address for address in until if until[address] <= now]
        return self._random.choice(able or [*until])

    def _again(self, letter: Letter) -> Letter:
        due = time.monotonic() + self._random.uniform(0, AGAIN_SECONDS)
        return Letter(letter.guid, letter.headers, letter.body, due)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        for thread in self._threads:
            thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], postman: Postman) -> None:
        self.postman = postman
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name: self.headers[name] for name in _PASSED_ON}
        self.server.postman.take(headers, body)
        self.send_response(202)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""
