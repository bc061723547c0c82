"""Who shows one of the operator's tokens."""

import hmac
from collections.abc import Sequence
from typing import Final

from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.config.settings import AdminToken

GUARDED: Final = ("/api", "/openapi.json")
"""How paths begin that need the token."""


class BearersOnly:
    """ASGI: `/api` and its description are for bearers of the operator's tokens. Others are turned
    away before anything of their request is read. Elsewhere a bearer is known, and nobody is turned
    away."""

    def __init__(self, app: ASGIApp, tokens: Sequence[AdminToken]) -> None:
        self._app = app
        self._wanted = [(each.name, each.token.get_secret_value().encode()) for each in tokens]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry."""
        bearer = self._bearer(scope) if scope["type"] == "http" else None
        if bearer is not None:
            scope.setdefault("state", {})["bearer"] = bearer
        if bearer is not None or scope["type"] != "http" or not _is_guarded(scope["path"]):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse(
            {"detail": "a bearer token is needed: SQUADRON_ADMIN_TOKEN"},
            401,
            headers={"WWW-Authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)

    def _bearer(self, scope: Scope) -> str | None:
        """The name of the token that was shown. It is compared with all: the time tells nothing."""
        shown = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, given = shown.partition(b" ")
        equal = [name for name, one in self._wanted if hmac.compare_digest(given.strip(), one)]
        return equal[0] if equal and scheme.lower() == b"bearer" else None


def bearer_of(request: Request) -> str | None:
    """The name of the operator's token that came with a request; None: none did."""
    return getattr(request.state, "bearer", None)


def _is_guarded(path: str) -> bool:
    return path.startswith(GUARDED)
