"""One bounded request to GitHub, by githubkit.

Defaults of it are changed that wait for ever, repeat writes, flood, grow without a bound, or build
a TLS context per call (`facts/github.md` section 3). Answers are plain JSON: its models reject some
of what GitHub really sends, and cost 100 MB.
"""

import asyncio
from typing import Final

import httpx
import jwt
from githubkit import AppAuthStrategy, GitHub, TokenAuthStrategy
from githubkit.cache import MemCacheStrategy
from githubkit.exception import RequestError, RequestFailed
from githubkit.throttling import LocalThrottler
from pydantic import SecretStr

from app.adapters.github.call import Answer, Call
from app.adapters.github.failures import MIN_WAIT_UNSTATED, failure
from app.ports import Clock, GitHubFailed, RateLimited, Refused, Unreachable

API_VERSION: Final = "2026-03-10"
MAX_CALL_SECONDS: Final = 30
"""Of one request with everything: waiting for a free slot, connecting, reading to the end."""
MAX_SILENCE_SECONDS: Final = 10
MAX_CONNECT_SECONDS: Final = 5
MAX_CONCURRENT_CALLS: Final = 8

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Wire:
    """Sends each call once, and turns whatever comes back into an answer or a failure."""

    def __init__(
        self,
        app_id: int,
        private_key: SecretStr,
        api_url: str,
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._clock = clock
        self._github = GitHub(
            AppAuthStrategy(app_id, private_key.get_secret_value()),
            base_url=api_url,
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
            trust_env=httpx.URL(api_url).host not in _LOOPBACK,
            async_transport=transport,
        )

    async def exchange(self, call: Call, token: str | None) -> Answer:
        """Do a call with that token, or as the App itself.

        Raises `RateLimited`, `Refused`, `Unreachable`.
        """
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
            raise _not_sent(call, error) from error
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
