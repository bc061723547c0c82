"""The scripted model as an HTTP server on loopback, for any client of a real one.

Speaks OpenAI's chat completions and responses and Anthropic's messages, each as JSON and as
server-sent events. What it was told is recorded: that is what tests look at.
"""

import hmac
import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from app.scripted.script import Answer, Conversation, Failure, Scripts, Served, Step
from app.scripted.usage import input_tokens, reported_tokens
from app.scripted.wires import Json, Reply, Wire, chat, messages, responses

MOST_BODY_BYTES = 32_000_000
MOST_RECORDED = 1_000
MOST_TRAILERS = 100
IDLE_CONNECTION_SECONDS = 30
SHUTDOWN_POLL_SECONDS = 0.02

_WIRES: Mapping[str, Wire] = {
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
    "/v1/messages": messages,
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request to the model."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Json
    conversation: Conversation


@dataclass(frozen=True, slots=True)
class Silence:
    """The connection ends without a byte of an answer."""


class ScriptedServer:
    """The server: a context manager that listens while it is open.

    With an `api_key` every request has to carry it, else the answer is 401.
    """

    def __init__(self, scripts: Scripts, *, api_key: str | None = None, port: int = 0) -> None:
        """Listen on loopback; port 0 means any free one. Raises `OSError` if it is taken."""
        self.scripts = scripts
        self.api_key = api_key
        self.requests: deque[Recorded] = deque(maxlen=MOST_RECORDED)
        """The newest requests for an answer, oldest first."""
        self.trouble: Step | Silence | None = None
        """What every request gets while it is set, whatever its script says."""
        self.closing = threading.Event()
        self._faults: deque[Failure] = deque()
        self._listen(port)

    def _listen(self, port: int) -> None:
        self._http = _Http(("127.0.0.1", port), self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(SHUTDOWN_POLL_SECONDS,), name="scripted-model"
        )

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`; OpenAI's clients want `/v1` added to it."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def fail_next(self, *failures: Failure) -> None:
        """Answer the next requests with these failures, whatever their scripts say."""
        self._faults.extend(failures)

    def next_trouble(self) -> Step | Silence | None:
        """Take what the next request gets besides its script, if there is something."""
        try:
            return self._faults.popleft()
        except IndexError:
            return self.trouble

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """New connections are refused meanwhile, old ones end without an answer."""
        before, self.trouble = self.trouble, Silence()
        self._hang_up()
        try:
            yield
        finally:
            self.trouble = before
            self._listen(self._http.server_port)
            self._thread.start()

    def close(self) -> None:
        """Stop listening; answers that are still being thought about are dropped."""
        self.closing.set()
        self._hang_up()

    def _hang_up(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], scripted: ScriptedServer) -> None:
        self.scripted = scripted
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_CONNECTION_SECONDS
    disable_nagle_algorithm = True
    """Else the second piece of an answer waits 40 ms."""
    server: _Http

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True  # the client went away, as an interrupted one does

    def do_HEAD(self) -> None:
        self._send_json(200, {})

    def do_GET(self) -> None:
        if not self._has_key():
            self._refuse(401, "authentication_error", "invalid API key")
        elif urlsplit(self.path).path == "/v1/models":
            model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "scripted"}
            self._send_json(200, {"object": "list", "data": [model]})
        else:
            self._refuse(404, "not_found_error", "no such address")

    def do_POST(self) -> None:
        body = self._read_json()
        path = urlsplit(self.path).path
        if not self._has_key():
            self._refuse(401, "authentication_error", "invalid API key")
        elif body is None:
            self._refuse(400, "invalid_request_error", "the body is not a JSON object")
        elif path == "/v1/messages/count_tokens":
            self._send_json(200, {"input_tokens": input_tokens(messages.conversation(body))})
        elif (wire := _WIRES.get(path)) is not None:
            self._answer(wire, body)
        else:
            self._refuse(404, "not_found_error", "no such address")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the requests are recorded."""

    def _answer(self, wire: Wire, body: Json) -> None:
        scripted = self.server.scripted
        conversation = wire.conversation(body)
        headers = {name.lower(): value for name, value in self.headers.items()}
        scripted.requests.append(Recorded(self.path, headers, body, conversation))
        trouble = scripted.next_trouble()
        if isinstance(trouble, Silence):
            self.close_connection = True
            return
        following = scripted.scripts.next
        served = following(conversation) if trouble is None else Served("trouble", trouble)
        match served.step:
            case Failure(status=status, body=text, headers=extra):
                self._send(status, text.encode(), extra)
            case Answer() as answer:
                if scripted.closing.wait(answer.think_seconds):
                    self.close_connection = True
                    return
                used = reported_tokens(conversation, answer)
                reply = Reply(served.id, str(body.get("model")), answer, *used)
                if body.get("stream"):
                    self._send_events(wire, reply)
                else:
                    self._send_whole(wire, reply)

    def _send_whole(self, wire: Wire, reply: Reply) -> None:
        content = json.dumps(wire.whole(reply)).encode()
        self._begin(200, "application/json", {"Content-Length": str(len(content))})
        if reply.answer.breaks_off:
            content = content[: len(content) // 2]
            self.close_connection = True
        self.wfile.write(content)

    def _send_events(self, wire: Wire, reply: Reply) -> None:
        self._begin(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        events = list(wire.events(reply))
        if reply.answer.breaks_off:
            events = events[: len(events) // 2]
        for event in events:
            if self.server.scripted.closing.wait(reply.answer.drip_seconds):
                self.close_connection = True
                return
            data = event.encoded()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
        if reply.answer.breaks_off:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, status: int, kind: str, message: str) -> None:
        self._send_json(status, {"type": "error", "error": {"type": kind, "message": message}})

    def _send_json(self, status: int, content: Json) -> None:
        self._send(status, json.dumps(content).encode(), {})

    def _send(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self._begin(status, "application/json", {"Content-Length": str(len(content)), **headers})
        if self.command != "HEAD":
            self.wfile.write(content)

    def _begin(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _has_key(self) -> bool:
        wanted = self.server.scripted.api_key
        if wanted is None:
            return True
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        given = self.headers.get("x-api-key", bearer)
        return hmac.compare_digest(given.encode(), wanted.encode())

    def _read_json(self) -> Json | None:
        try:
            body = json.loads(b"".join(self._body()))
        except ValueError:
            self.close_connection = True  # what is left of the body cannot be told apart
            return None
        return body if isinstance(body, dict) else None

    def _body(self) -> Iterator[bytes]:
        """The request's body, sent with its length or in chunks. Raises `ValueError`."""
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            yield self._read(int(self.headers.get("Content-Length", "0")))
            return
        left = MOST_BODY_BYTES
        while size := int(self.rfile.readline(100).split(b";")[0], 16):
            left -= size
            if left < 0:
                raise ValueError("the body is too large")
            yield self._read(size)
            self.rfile.readline(100)
        for _ in range(MOST_TRAILERS):
            if not self.rfile.readline(1_000).strip():
                return
        raise ValueError("the body has too many trailing headers")

    def _read(self, size_bytes: int) -> bytes:
        if not 0 <= size_bytes <= MOST_BODY_BYTES:
            raise ValueError("the body is too large")
        return self.rfile.read(size_bytes)
