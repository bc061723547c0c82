"""The model's own endpoint: where it is, what it is sent, and what its failures mean."""

import asyncio
import functools
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from app.adapters.modelproxy.bounds import Bounds
from app.adapters.modelproxy.wires import Provider
from app.core.rules.outages import no_key

_OWN: Final[Mapping[Provider, str]] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}
_ANTHROPIC_VERSION: Final = "2023-06-01"
_SENT_ON: Final = ("accept", "anthropic-beta", "anthropic-version", "openai-beta", "user-agent")
"""Headers of the CLI that its provider is told; none of them names an account."""
_PASSED_BACK: Final = ("content-type", "request-id", "x-request-id", "x-should-retry")
"""Headers of the endpoint that the CLI is told; none of them names an account."""
_HINTS: Final[Mapping[int, str]] = {
    400: "it refused the request; is it the right model for this endpoint?",
    401: "check the model's API key",
    403: "check the model's API key and what it may use",
    404: "check the model's name and base URL",
    429: "the rate limit did not pass; use fewer workers or ask for more",
}
FINAL_STATUSES: Final = frozenset({301, 302, 303, 307, 308, 401, 403, 404})
"""Trying again does not help."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where a model is asked, and with which key."""

    base_url: str | None
    """OpenAI-compatible ones end in `/v1`, Anthropic's do not. None: the provider's own."""
    api_key: SecretStr
    provider: Provider

    @property
    def host(self) -> str:
        """For messages; never a user or key in it."""
        address = urlsplit(self.base_url or _OWN[self.provider])
        host = address.hostname or "an address without a host"
        return f"{host}:{address.port}" if address.port else host

    @property
    def missing_key(self) -> str:
        """That the provider's own endpoint cannot be asked, in people's words; empty: it can."""
        is_missing = self.base_url is None and not self.api_key.get_secret_value()
        return no_key(self.provider).reason if is_missing else ""

    def url(self, path: str) -> str:
        """The address for a path of the proxy, which begins with `/v1`."""
        base = (self.base_url or _OWN[self.provider]).rstrip("/")
        return base + (path.removeprefix("/v1") if self.provider == "openai" else path)

    def headers(self, given: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request, with the real key in the place of the CLI's."""
        sent = {name: given[name] for name in _SENT_ON if name in given}
        sent["content-type"] = "application/json"
        sent["accept-encoding"] = "identity"  # what is compressed could not be counted in passing
        if self.provider == "anthropic":
            sent = {"anthropic-version": _ANTHROPIC_VERSION, **sent}
        key = self.api_key.get_secret_value()
        if not key:  # an endpoint of one's own may need none
            return sent
        if self.provider == "anthropic":
            return {**sent, "x-api-key": key}
        return {**sent, "authorization": f"Bearer {key}"}

    def without_key(self, text: bytes) -> bytes:
        """A text of the endpoint as the CLI may see it."""
        key = self.api_key.get_secret_value().encode()
        return text.replace(key, b"***") if key else text

    def failure(self, model: str, status: int) -> str:
        """What a status that is no success means, in people's words."""
        hint = _HINTS.get(status, "the endpoint failed; see its status page or log")
        return f"the model {model} at {self.host} answered with HTTP status {status}: {hint}"


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Whom all proxies of the process trust: reading it takes longer than all else at a start."""
    return httpx.create_ssl_context()


def asked_wait_seconds(response: httpx.Response) -> int | None:
    """How long the endpoint wants not to be asked; None: it does not say, or not in seconds."""
    wait = response.headers.get("retry-after", "")
    return int(wait) if wait.isascii() and wait.isdigit() and len(wait) < 10 else None


class Trouble(Exception):
    """The endpoint could not be asked or broke off; the text is for people."""


class Asking:
    """Asks the endpoint, each request once."""

    def __init__(self, upstream: Upstream, bounds: Bounds) -> None:
        self.upstream = upstream
        self._bounds = bounds
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=bounds.connect_seconds),
            limits=httpx.Limits(max_connections=None),  # how many there are is bounded before
            follow_redirects=False,
            verify=_certificates(),
        )

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def answer(
        self, method: str, path: str, given: Mapping[str, str], content: bytes, *, beta: bool
    ) -> AsyncIterator[httpx.Response]:
        """The endpoint's answer, its body still to be read by `pieces`. Raises `Trouble`."""
        try:
            request = self._client.build_request(
                method,
                self.upstream.url(path),
                params={"beta": "true"} if beta else None,
                headers=self.upstream.headers(given),
                content=content or None,
            )
            async with asyncio.timeout(self._bounds.first_byte_seconds):
                response = await self._client.send(request, stream=True)
        except TimeoutError:
            seconds = self._bounds.first_byte_seconds
            raise Trouble(f"the model did not answer within {seconds:g} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise Trouble(self._broken("cannot be reached or broke off", error)) from None
        try:
            yield response
        finally:
            await response.aclose()

    async def pieces(self, response: httpx.Response, most_bytes: int) -> AsyncIterator[bytes]:
        """An answer's body as it arrives, within the bounds. Raises `Trouble`."""
        body, total = response.aiter_bytes(), 0
        while True:
            try:
                async with asyncio.timeout(self._bounds.idle_seconds):
                    piece = await anext(body, None)
            except TimeoutError:
                seconds = self._bounds.idle_seconds
                raise Trouble(f"the model said nothing more for {seconds:g} seconds") from None
            except (httpx.HTTPError, httpx.StreamError, OSError) as error:
                raise Trouble(self._broken("broke off", error)) from None
            if piece is None:
                return
            total += len(piece)
            if total > most_bytes:
                raise Trouble(f"the model's answer is larger than {most_bytes:,} bytes")
            yield piece

    def headers_back(self, response: httpx.Response) -> dict[str, str]:
        """The answer's headers that the CLI is told, its wait bounded."""
        told = {name: response.headers[name] for name in _PASSED_BACK if name in response.headers}
        wait = asked_wait_seconds(response)
        if wait is not None:
            told["retry-after"] = str(min(wait, self._bounds.longest_retry_seconds))
        return told

    def _broken(self, what: str, error: Exception) -> str:
        return f"the model at {self.upstream.host} {what} ({type(error).__name__})"
