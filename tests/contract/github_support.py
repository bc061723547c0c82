"""What the tests of the GitHub adapter share: an App's key, and a judge on the wire."""

import json
from functools import cache
from urllib.parse import unquote

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from app.adapters.github.wire import API_VERSION
from tests.contract.openapi import GRAPHQL, Contract


@cache
def app_key() -> SecretStr:
    """A private key as GitHub gives one to an App."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    return SecretStr(pem.decode())


class Judged(httpx.AsyncBaseTransport):
    """Passes requests on; each exchange must keep to GitHub's own description."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self.sent: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        response = await self._inner.handle_async_request(request)
        answered = await response.aread()
        path = request.url.raw_path.partition(b"?")[0].decode()
        if path != GRAPHQL:
            Contract.load().check_exchange(
                request.method,
                path,
                dict(request.url.params),
                json.loads(request.content) if request.content else None,
                response.status_code,
                json.loads(answered) if answered else None,
            )
        assert request.headers["x-github-api-version"] == API_VERSION
        return response

    def calls(self, method: str) -> list[str]:
        """Decoded paths of the requests with that method, oldest first."""
        return [unquote(each.url.path) for each in self.sent if each.method == method]

    def token_orders(self) -> list[object]:
        """What was asked of GitHub whenever it was asked for a token."""
        return [
            json.loads(each.content)
            for each in self.sent
            if each.url.path.endswith("/access_tokens")
        ]
