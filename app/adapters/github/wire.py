"""One bounded request to GitHub, by githubkit.

Defaults of it are changed that wait for ever, repeat writes, flood, grow without a bound, or build
a TLS context per call (`facts/github.md` section 3). Answers are plain JSON: its models reject some
of what GitHub really sends, and cost 100 MB.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import httpx
import jwt
from githubkit import AppAuthStrategy, GitHub, TokenAuthStrategy
from githubkit.cache import MemCacheStrategy
from githubkit.exception import RequestError, RequestFailed
from githubkit.throttling import LocalThrottler
from pydantic import SecretStr

from app.adapters.github.call import Answer, Call
from app.adapters.github.failures import MIN_WAIT_UNSTATED, failure
from app.adapters.github.remembered import Remembered, RememberedAnswers
from app.adapters.github.spending import count, count_unchanged
from app.core.text.unicode import read_json, writable
from app.ports import Clock, GitHubFailed, RateLimited, Refused, Unreachable

API_VERSION: Final = "2026-03-10"
MAX_CALL_SECONDS: Final = 30
"""Of one request with everything: waiting for a free slot, connecting, reading to the end."""
MAX_SILENCE_SECONDS: Final = 10
MAX_CONNECT_SECONDS: Final = 5
MAX_CONCURRENT_CALLS: Final = 8

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

log = logging.getLogger("squadron.github")


def unsigned(api_url: str, transport: httpx.AsyncBaseTransport | None) -> httpx.AsyncClient:
    """A client that shows no credential, for calls that take none."""
    return httpx.AsyncClient(
        base_url=api_url,
        headers={
            "Accept": "application/vnd.github+json",
            "User-Agent": "Squadron",
            "X-GitHub-Api-Version": API_VERSION,
        },
        timeout=httpx.Timeout(MAX_SILENCE_SECONDS, connect=MAX_CONNECT_SECONDS),
        transport=transport,
        trust_env=_is_elsewhere(api_url),
    )


def _is_elsewhere(api_url: str) -> bool:
    """A proxy has no business between this process and a GitHub on the same machine."""
    return httpx.URL(api_url).host not in LOOPBACK


class Wire:
    """Sends each call once, and turns whatever comes back into an answer or a failure."""

    def __init__(
        self,
        app_id: int,
        private_keys: Sequence[SecretStr],
        api_url: str,
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._clock = clock
        self._remembered = RememberedAnswers()
        tls = httpx.create_ssl_context() if transport is None else False
        throttler = LocalThrottler(MAX_CONCURRENT_CALLS)
        self._signing = [
            GitHub(
                AppAuthStrategy(app_id, private_key.get_secret_value()),
                base_url=api_url,
                user_agent="Squadron",
                ssl_verify=tls,
                timeout=httpx.Timeout(MAX_SILENCE_SECONDS, connect=MAX_CONNECT_SECONDS),
                auto_retry=False,
                throttler=throttler,
                # The default for signatures is one cache for all Apps, keys and loops of the
                # process; the one for answers forgets nothing, and each new token makes it keep
                # all of them anew.
                cache_strategy=MemCacheStrategy(),
                http_cache=False,
                trust_env=_is_elsewhere(api_url),
                async_transport=transport,
            )
            for private_key in private_keys
        ]
        """One for each private key; the one that GitHub took last comes first."""

    async def exchange(self, call: Call, token: str | None) -> Answer:
        """Do a call with that token, or as the App itself.

        Raises `RateLimited`, `Refused`, `Unreachable`.
        """
        if token is None:
            return await self._as_the_app(call)
        return await self._once(call, self._signing[0].with_auth(TokenAuthStrategy(token)), token)

    async def _as_the_app(self, call: Call) -> Answer:
        """With the key that GitHub took last, else with the other: 401 means nothing was done."""
        refused: Refused | None = None
        for github in tuple(self._signing):
            try:
                answer = await self._once(call, github, None)
            except Refused as failed:
                if failed.status != 401:
                    raise
                refused = failed
            else:
                self._prefer(github)
                return answer
        assert refused is not None, "an App has a private key"
        raise refused

    def _prefer(self, github: GitHub[Any]) -> None:
        if github is not self._signing[0]:
            log.warning("GitHub took the App's other private key, after it refused one")
            others = (each for each in self._signing if each is not github)
            self._signing = [github, *others]

    async def _once(self, call: Call, github: GitHub[Any], token: str | None) -> Answer:
        if not call.only_reads:  # what is redirected is asked for again with GET
            github = GitHub(github.auth, config=replace(github.config, follow_redirects=False))
        before = self._remembered.to(call)
        known = {} if before is None else {"If-None-Match": before.tag}
        count(call)
        try:
            async with asyncio.timeout(MAX_CALL_SECONDS):
                response = await github.arequest(
                    call.method,
                    call.path,
                    params=dict(call.query),
                    json=None if call.body is None else writable(call.body),
                    headers={"X-GitHub-Api-Version": API_VERSION, **known},
                )
        except TimeoutError:
            raise Unreachable(f"{call}: no complete answer in {MAX_CALL_SECONDS} s") from None
        except RequestFailed as error:
            raise self._failure(call, error.response.raw_response, token) from error
        except RequestError as error:
            raise _not_sent(call, error) from error
        except (ValueError, OverflowError):  # githubkit, at a Retry-After that is no number
            resets_at = self._clock.now() + MIN_WAIT_UNSTATED
            raise RateLimited(f"{call}: GitHub limits our requests", resets_at) from None
        raw = response.raw_response
        if raw.status_code == httpx.codes.NOT_MODIFIED and before is not None:
            count_unchanged()
            return Answer(_parsed(call, before.content), before.next_page)
        answer = _answer(call, raw)
        if call.is_remembered and (tag := raw.headers.get("etag")) is not None:
            self._remembered.keep(call, Remembered(tag, raw.content, answer.next_page))
        return answer

    def _failure(self, call: Call, response: httpx.Response, token: str | None) -> GitHubFailed:
        secrets = () if token is None else (token,)
        now = self._clock.now()
        return failure(
            str(call), response.status_code, response.headers, response.content, now, secrets
        )


def _not_sent(call: Call, error: RequestError[Exception]) -> Exception:
    """What githubkit wraps alike: trouble with the network, the key, or the program."""
    match error.exc:
        case httpx.HTTPError():
            what = type(error.exc).__name__
            return Unreachable(f"{call}: GitHub could not be reached ({what})")
        case jwt.InvalidKeyError() | TypeError():  # no key, or one with a password
            return Refused(
                "The App's private key is no plain RSA key in PEM form: download a new one from"
                " the App's settings",
                401,
            )
        case other:
            return other


def _answer(call: Call, response: httpx.Response) -> Answer:
    if response.is_redirect:
        raise Refused(f"{call}: GitHub has moved this; was the repository renamed?", 301)
    if not response.content:
        return Answer(None)
    body = _parsed(call, response.content)
    following = response.links.get("next", {}).get("url")
    return Answer(body, None if following is None else dict(httpx.URL(following).params))


def _parsed(call: Call, content: bytes) -> object:
    try:
        return read_json(content)
    except ValueError:
        raise Unreachable(f"{call}: the answer is not JSON; is this GitHub's API?") from None
