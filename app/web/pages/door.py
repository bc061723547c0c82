"""Who comes in: whoever is at this machine and has the link that `serve` printed.

The pages have a listener of their own on 127.0.0.1, for a proxy in front of the webhook comes from
there, too. What a proxy has passed on is turned away, and so is what a page of somebody else's has
its visitor's browser ask for under another name of this machine (DNS rebinding).
"""

import hashlib
import hmac
import re
from typing import Final

from pydantic import SecretStr
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.pages.html import Templates
from app.web.pages.visitors import LOGIN, NAME_COOKIE, Visitor

TOKEN: Final = "token"
"""The name of the link's parameter."""
COOKIE: Final = "squadron_pages"
ASSETS: Final = "/static/"
"""How paths begin that nobody needs the link for: styles and scripts hold no secret."""

_LOCAL_HOST: Final = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_PASSED_ON: Final = frozenset({"forwarded", "via", "x-real-ip"})
_PASSED_ON_BEGINS: Final = "x-forwarded-"

_BY_A_PROXY: Final = (
    "A proxy has passed this request on. These pages are for people at this machine alone."
)
_BY_ANOTHER_NAME: Final = "These pages are opened as 127.0.0.1 or localhost, under no other name."
_BY_AN_OLD_LINK: Final = (
    "This link is of an earlier start. Open the one that squadron serve has printed last."
)
_WITHOUT_LINK: Final = (
    "Open the link that squadron serve has printed at its start. A link of an earlier start opens"
    " nothing any more."
)

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class LocalDoor:
    """ASGI: before the pages."""

    def __init__(self, app: ASGIApp, token: SecretStr, templates: Templates) -> None:
        self._app = app
        self._token = token.get_secret_value().encode()
        self._session = hmac.digest(self._token, b"session", hashlib.sha256).hex()
        self._key = hmac.digest(self._token, b"key", hashlib.sha256)
        self._templates = templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry, for HTTP."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        request = Request(scope)
        request.state.visitor = self._visitor(request)
        answer = self._answer(request) or self._app
        await answer(scope, receive, guarded)

    def _visitor(self, request: Request) -> Visitor:
        login = request.cookies.get(NAME_COOKIE, "")
        return Visitor(login if LOGIN.fullmatch(login) else "", is_operator=True, key=self._key)

    def _answer(self, request: Request) -> Response | None:
        """To whoever does not come in; None: the request goes on."""
        if any(map(_is_of_a_proxy, request.headers)):
            return self._refusal(_BY_A_PROXY)
        if not is_local(request.headers.getlist("host")):
            return self._refusal(_BY_ANOTHER_NAME)
        if (given := request.query_params.get(TOKEN)) is not None:
            return self._entered(request, given)
        shown = request.cookies.get(COOKIE, "")
        is_known = hmac.compare_digest(shown.encode(), self._session.encode())
        if is_known or request.url.path.startswith(ASSETS):
            return None
        return self._refusal(_WITHOUT_LINK)

    def _entered(self, request: Request, given: str) -> Response:
        """From then on the browser shows a cookie: the link stays out of its address."""
        if not hmac.compare_digest(given.encode(), self._token):
            return self._refusal(_BY_AN_OLD_LINK)
        answer = RedirectResponse(request.url.path, 303)
        answer.set_cookie(COOKIE, self._session, httponly=True, samesite="strict", path="/")
        return answer

    def _refusal(self, why: str) -> Response:
        return self._templates.page("refused.html", status_code=403, why=why)


def _is_of_a_proxy(header: str) -> bool:
    return header in _PASSED_ON or header.startswith(_PASSED_ON_BEGINS)


def is_local(hosts: list[str]) -> bool:
    """Whether a request names this machine as people at it do, by what stands in `Host`."""
    return len(hosts) == 1 and _LOCAL_HOST.fullmatch(hosts[0]) is not None
