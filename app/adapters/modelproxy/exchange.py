"""One request for an answer, from the gate's word to the last byte that the CLI gets.

It runs to its end even when the CLI hangs up: the rest of the answer is read for a bounded time,
because only its end tells what it used. What is not known by then is estimated. So every answer
is counted exactly once, and before the CLI has the last of it: the tools that it asks for are
judged by counters that include it.
"""

import asyncio
import json
from collections.abc import Mapping

import httpx
from starlette.types import Send

from app.adapters.modelproxy.books import Books, NotCounted
from app.adapters.modelproxy.bounds import Bounds
from app.adapters.modelproxy.reading import Reading, parsed
from app.adapters.modelproxy.requests import BadRequest, Prepared, prepared, shortened, with_notes
from app.adapters.modelproxy.sse import EventData
from app.adapters.modelproxy.upstream import (
    FINAL_STATUSES,
    Asking,
    Trouble,
    asked_wait_seconds,
)
from app.adapters.modelproxy.wires import (
    NOT_AGAIN,
    REFUSED,
    Wire,
    error_body,
    error_event,
)
from app.core.breaker.verdict import Verdict
from app.core.rules.outages import UNAUTHORIZED
from app.ports import ModelRequest

_JSON = {"content-type": "application/json"}
_LAST_PIECES_SECONDS = 1.0
"""For the end of the stream, when the answer is over."""
_STOPPED = "nobody waits for this answer any more"
_NO_WORDS = frozenset({401, 403})
"""What an endpoint says with these statuses may quote the key."""


class Exchange:
    """Runs once."""

    def __init__(
        self, wire: Wire, asking: Asking, books: Books, bounds: Bounds, send: Send
    ) -> None:
        self._wire = wire
        self._asking = asking
        self._books = books
        self._terms = books.terms
        self._bounds = bounds
        self._send = send
        self._final = REFUSED[asking.upstream.provider]
        self._reading = Reading()
        self._guessed_input_tokens = 0
        self._deadline: asyncio.Timeout | None = None
        self._counting: asyncio.Task[None] | None = None
        self._is_cut = False
        self._has_begun = False
        self._has_ended = False

    def cut(self, within_seconds: float) -> None:
        """Nobody waits for the answer any more: it is read for so long, to be counted."""
        self._is_cut = True
        self._end_within(within_seconds)

    async def run(self, given: Mapping[str, str], raw: bytes, *, beta: bool) -> None:
        """Answer the CLI: `given` are its headers, `raw` is the body of its request."""
        if self._books.failed is not None:
            await self._refuse(self._final, self._books.failed)
            return
        try:
            most = self._terms.most_output_tokens
            request = prepared(self._wire, raw, self._terms.name, most)
        except BadRequest as error:
            await self._refuse(400, str(error))
            return
        if missing := self._asking.upstream.missing_key:
            self._books.went_wrong(missing, status=UNAUTHORIZED, is_final=True)
            await self._refuse(self._final, missing)
            return
        verdict = await self._judged(request)
        if not verdict.allowed:
            await self._refuse(self._final, verdict.reason)
            return
        if self._is_cut:
            await self._tell(_STOPPED)
            return
        notes = self._books.notes()
        body = shortened(self._wire, request, verdict.most_output_tokens)
        content = json.dumps(with_notes(self._wire, body, notes)).encode()
        await self._forward(given, content, beta=beta)
        if self._reading.is_whole:
            self._books.told(notes)

    async def _judged(self, request: Prepared) -> Verdict:
        self._guessed_input_tokens = request.guessed_input_tokens
        return await self._books.ask(
            ModelRequest(
                self._terms.model,
                request.guessed_input_tokens,
                request.most_output_tokens,
                self._terms.phase,
                request.least_output_tokens,
            )
        )

    async def _forward(self, given: Mapping[str, str], content: bytes, *, beta: bool) -> None:
        path, is_late, words = self._wire.path, False, ""
        try:
            async with asyncio.timeout(self._bounds.total_seconds) as self._deadline:
                async with self._asking.answer("POST", path, given, content, beta=beta) as answer:
                    await self._pass_on(answer)
        except TimeoutError:
            seconds = self._bounds.total_seconds
            is_late, words = True, f"the model's answer took longer than {seconds:g} seconds"
        except Trouble as error:
            words = str(error)
        except NotCounted as error:
            await self._tell(str(error))
        finally:
            self._deadline = None
        if not self._has_ended:
            await self._settle(words, is_late=is_late)

    async def _settle(self, words: str, *, is_late: bool) -> None:
        """The answer did not end as it should: what it used is counted all the same."""
        is_ours = is_late and self._is_cut
        is_good = self._reading.is_whole and self._has_begun
        if not is_good and not is_ours:
            self._books.went_wrong(words)
        if self._reading.is_answer or is_ours:  # what was sent and cut by us will be billed
            try:
                await self._count()
            except NotCounted as error:
                is_good, words = False, str(error)
        if is_good:
            self._books.went_well()
            await self._end()
        else:
            await self._tell(_STOPPED if is_ours else words)

    def _end_within(self, seconds: float) -> None:
        if self._deadline is not None and not self._deadline.expired():
            end = asyncio.get_running_loop().time() + seconds
            self._deadline.reschedule(min(end, self._deadline.when() or end))

    async def _pass_on(self, answer: httpx.Response) -> None:
        if not answer.is_success:
            await self._pass_on_failure(answer)
        elif answer.headers.get("content-type", "").startswith("text/event-stream"):
            await self._pass_on_stream(answer)
        else:
            await self._pass_on_whole(answer)

    async def _pass_on_whole(self, answer: httpx.Response) -> None:
        most = self._bounds.most_answer_bytes
        body = b"".join([piece async for piece in self._asking.pieces(answer, most)])
        self._reading = self._wire.meter.whole(body)
        self._look()
        await self._count()
        self._books.went_well()
        await self._respond(answer.status_code, self._asking.headers_back(answer), body)

    async def _pass_on_stream(self, answer: httpx.Response) -> None:
        """Each piece as it came, as soon as it has come."""
        await self._begin(answer.status_code, self._asking.headers_back(answer))
        events, meter = EventData(self._bounds.most_answer_bytes), self._wire.meter
        async for piece in self._asking.pieces(answer, self._bounds.most_answer_bytes):
            for data in events.feed(piece):
                self._reading = meter.event(self._reading, data)
            if self._reading.is_over:
                await self._count()
                self._end_within(_LAST_PIECES_SECONDS)
            await self._send_piece(piece)
        for data in events.rest():
            self._reading = meter.event(self._reading, data)
        self._look()
        await self._count()
        self._books.went_well()
        await self._end()

    async def _pass_on_failure(self, answer: httpx.Response) -> None:
        """What the endpoint said, in its own words where these cannot hold the key."""
        status, upstream = answer.status_code, self._asking.upstream
        words = upstream.failure(self._terms.name, status)
        body = bytearray()
        try:
            async for piece in self._asking.pieces(answer, self._bounds.most_error_bytes):
                body += piece
        except Trouble:
            body.clear()
        self._books.went_wrong(
            words,
            status=status,
            is_final=status in FINAL_STATUSES,
            retry_after_seconds=asked_wait_seconds(answer),
        )
        if self._books.failed is not None or status in _NO_WORDS or status < 400:
            await self._tell(words)
        elif "error" in (parsed(bytes(body)) or {}):
            headers = {**self._asking.headers_back(answer), **_JSON}
            await self._respond(status, headers, upstream.without_key(bytes(body)))
        else:
            told = error_body(upstream.provider, status, words)
            await self._respond(status, {**self._asking.headers_back(answer), **_JSON}, told)

    def _look(self) -> None:
        """Raises `Trouble` unless a whole answer has come."""
        host = self._asking.upstream.host
        if self._reading.has_failed:
            raise Trouble(f"the model at {host} ended its answer with an error")
        if not self._reading.is_answer:
            raise Trouble(f"the model at {host} gave no answer that can be understood")
        if not self._reading.is_whole:
            raise Trouble(f"the model at {host} broke off in the middle of its answer")

    async def _count(self) -> None:
        """Tell the gate what the answer used, once. Raises `NotCounted`.

        What has been begun is ended, even if the time for the answer is up meanwhile.
        """
        if self._counting is None:
            billed = self._reading.billed(self._guessed_input_tokens)
            self._counting = asyncio.create_task(
                self._books.count(
                    self._terms,
                    billed,
                    has_text=self._reading.has_text,
                    is_whole=self._reading.is_whole,
                )
            )
        await asyncio.shield(self._counting)

    async def _tell(self, words: str) -> None:
        """Why there is no answer, or no rest of it."""
        if self._has_begun:
            await self._send_piece(error_event(self._wire, words))
            await self._end()
        elif self._books.failed is not None:
            await self._refuse(self._final, self._books.failed)
        else:
            await self._refuse(502, words)

    async def _refuse(self, status: int, words: str) -> None:
        """An error in the provider's shape; one of ours (4xx) is not worth another try."""
        again = NOT_AGAIN if status < 500 else {}
        body = error_body(self._asking.upstream.provider, status, words)
        await self._respond(status, {**_JSON, **again}, body)

    async def _respond(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        await self._begin(status, {**headers, "content-length": str(len(body))})
        await self._end(body)

    async def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self._has_begun = True
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def _send_piece(self, piece: bytes) -> None:
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def _end(self, body: bytes = b"") -> None:
        self._has_ended = True
        await self._send({"type": "http.response.body", "body": body})
