"""One bounded request at a time to GitHub, as the App itself or with an installation token.

githubkit signs and sends. Defaults of it are changed that wait for ever, repeat writes, flood, grow
without a bound, or build a TLS context per call (`facts/github.md` section 3). Answers are plain
JSON: its models reject some of what GitHub really sends, and cost 100 MB.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

import httpx
from pydantic import SecretStr

from app.adapters.github.failures import MIN_WAIT_UNSTATED, failure
from app.adapters.github.reading import needed_list
from app.adapters.github.tokens import Scope, Tokens
from app.ports import Clock, GitHubFailed, RateLimited, Refused, Unreachable

if TYPE_CHECKING:
    from githubkit import AppAuthStrategy, GitHub

API_VERSION: Final = "2026-03-10"
MAX_CALL_SECONDS: Final = 30
"""Of one request with everything: waiting for a free slot, connecting, reading to the end."""
MAX_SILENCE_SECONDS: Final = 10
MAX_CONNECT_SECONDS: Final = 5
MAX_CONCURRENT_CALLS: Final = 8
MAX_PAGES: Final = 100
PAGE_SIZE: Final = 100

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

Method = Literal["GET", "POST", "PATCH", "DELETE"]
Query = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Call:
    """One request; the path is percent-encoded and starts at GitHub's root."""

    method: Method
    path: str
    query: Query = field(default_factory=dict)
    body: Mapping[str, object] | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What GitHub said to a call that it did."""

    body: object
    """Parsed JSON; None if there was none."""
    next_page: Query | None = None
    """The query of the next page, None on the last."""


class Connection:
    """Sends calls. For one event loop, to which its locks belong."""

    def __init__(
        self,
        app_id: int,
        private_key: SecretStr,
        api_url: str,
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._app_id = app_id
        self._private_key = private_key
        self._api_url = httpx.URL(api_url)
        self._clock = clock
        self._transport = transport
        self.tokens = Tokens(self._new_token, clock)

    async def send(self, call: Call, scope: Scope | None = None) -> Answer:
        """Do a call with a token of that scope, or as the App itself.

        Raises `RateLimited`, `Refused`, `Unreachable`. A token that GitHub no longer takes is
        replaced once: a call that was answered with 401 has not been done.
        """
        if scope is None:
            return await self._exchange(call, None)
        token = await self.tokens.get(scope)
        try:
            return await self._exchange(call, token)
        except Refused as refused:
            if refused.status != 401:
                raise
        self.tokens.forget(scope, token)
        return await self._exchange(call, await self.tokens.get(scope))

    async def pages(
        self, call: Call, scope: Scope | None = None, within: str | None = None
    ) -> AsyncIterator[object]:
        """Every entry of a list, page after page; `within` names the list in the answer.

        Only the query of the `Link` is followed, so that no token goes to another host. Raises
        `Refused` beyond `MAX_PAGES`: half a list would be worse than none.
        """
        call = replace(call, query={**call.query, "per_page": PAGE_SIZE})
        for _ in range(MAX_PAGES):
            answer = await self.send(call, scope)
            path = () if within is None else (within,)
            for entry in needed_list(answer.body, *path):
                yield entry
            if answer.next_page is None:
                return
            call = replace(call, query=answer.next_page)
        most = MAX_PAGES * PAGE_SIZE
        raise Refused(f"{call} has more than {most} entries; Squadron reads no further", 422)

    async def _new_token(self, scope: Scope) -> object:
        path = f"/app/installations/{scope.installation_id}/access_tokens"
        try:
            return (await self._exchange(Call("POST", path, body=scope.order()), None)).body
        except Refused as refused:
            # Never 404: that would read as if what the token is for did not exist.
            raise Refused(
                f"No access to {scope.repository or 'the installation'}: was the App uninstalled,"
                f" suspended or given fewer permissions, or the repository renamed? {refused}",
                401 if refused.status == 401 else 403,
            ) from refused

    async def _exchange(self, call: Call, token: str | None) -> Answer:
        import jwt
        from githubkit import TokenAuthStrategy
        from githubkit.exception import RequestError, RequestFailed

        github = self._github if token is None else self._github.with_auth(TokenAuthStrategy(token))
        try:
            async with asyncio.timeout(MAX_CALL_SECONDS):
                response = await github.arequest(
                    call.method,
                    call.path,
                    params=dict(call.query),
                    json=call.body,
                    headers={"X-GitHub-Api-Version": API_VERSION},
                )
        except TimeoutError:
            raise Unreachable(f"{call}: no complete answer in {MAX_CALL_SECONDS} s") from None
        except RequestFailed as error:
            raise self._failure(call, error.response.raw_response, token) from error
        except RequestError as error:
            match error.exc:
                case httpx.HTTPError():
                    what = type(error.exc).__name__
                    raise Unreachable(f"{call}: GitHub could not be reached ({what})") from error
                case jwt.InvalidKeyError() | TypeError():  # no key, or one with a password
                    raise Refused(
                        "The App's private key is no plain RSA key in PEM form: download a new"
                        " one from the App's settings",
                        401,
                    ) from None
                case _:
                    raise
        except (ValueError, OverflowError):  # githubkit, at a Retry-After that is no number
            resets_at = self._clock.now() + MIN_WAIT_UNSTATED
            raise RateLimited(f"{call}: GitHub limits our requests", resets_at) from None
        return _answer(call, response.raw_response)

    def _failure(self, call: Call, response: httpx.Response, token: str | None) -> GitHubFailed:
        secrets = () if token is None else (token,)
        now = self._clock.now()
        return failure(
            str(call), response.status_code, response.headers, response.content, now, secrets
        )

    @cached_property
    def _github(self) -> "GitHub[AppAuthStrategy]":
        # Imported when first used: 0.1 s and 18 MB that a process may never need.
        from githubkit import AppAuthStrategy, GitHub
        from githubkit.cache import MemCacheStrategy
        from githubkit.throttling import LocalThrottler

        return GitHub(
            AppAuthStrategy(self._app_id, self._private_key.get_secret_value()),
            base_url=self._api_url,
            user_agent="Squadron",
            ssl_verify=httpx.create_ssl_context(),
            timeout=httpx.Timeout(MAX_SILENCE_SECONDS, connect=MAX_CONNECT_SECONDS),
            auto_retry=False,
            throttler=LocalThrottler(MAX_CONCURRENT_CALLS),
            # The default for signatures is one cache for all Apps and loops of the process; the
            # one for answers forgets nothing, and each new token makes it keep all of them anew.
            cache_strategy=MemCacheStrategy(),
            http_cache=False,
            # A proxy has no business between this process and a GitHub on the same machine.
            trust_env=self._api_url.host not in _LOOPBACK,
            async_transport=self._transport,
        )


def _answer(call: Call, response: httpx.Response) -> Answer:
    # A redirected POST comes back as the answer to a GET: the write has not happened.
    if response.is_redirect or response.request.method != call.method:
        raise Refused(f"{call}: GitHub has moved this; was the repository renamed?", 301)
    if not response.content:
        return Answer(None)
    try:
        body = response.json()
    except ValueError:
        raise Unreachable(f"{call}: the answer is not JSON; is this GitHub's API?") from None
    following = response.links.get("next", {}).get("url")
    return Answer(body, None if following is None else dict(httpx.URL(following).params))
