"""What GitHub answered instead of what was asked for, as exceptions of the port.

Rules: https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api and
`facts/github.md` sections 3 and 6.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from app.core.text.redact import redact
from app.ports import GitHubFailed, RateLimited, Refused, Unreachable

MIN_WAIT_UNSTATED: Final = timedelta(seconds=60)
"""How long to wait at a limit when GitHub does not say how long."""
MAX_MESSAGE_CHARACTERS: Final = 500

_LIMITS_IN_WORDS: Final = ("secondary rate limit", "rate limit exceeded", "abuse detection")
_PERMISSION_HEADER: Final = "x-accepted-github-permissions"


class MissingPermission(Refused):
    """The App may not do this: its owner has to ask for a permission, or the installation's owner
    to grant it."""

    def __init__(
        self, refusal: str, needed: str, lacking: Collection[str] = (), where: str = ""
    ) -> None:
        super().__init__(f"{refusal}. The App needs {needed}{where}", 403)
        self.refusal, self.needed = refusal, needed
        self.lacking = lacking
        """Names of the permissions, as far as they are known."""


class Suspended(Refused):
    """The owner of the installation has suspended it, and the token with it."""


def failure(
    request: str,
    status: int,
    headers: Mapping[str, str],
    content: bytes,
    now: datetime,
    secrets: Sequence[str],
) -> GitHubFailed:
    """The exception for an answer with an error status.

    `request` names what was asked, as "POST /repos/…"; `headers` are looked up in lower case.
    """
    if status >= 500:
        return Unreachable(f"GitHub answered {request} with {status}; it may be in trouble")
    said = redact(_message(content), secrets)[:MAX_MESSAGE_CHARACTERS]
    resets_at = _resets_at(status, headers, said, now)
    if resets_at is not None:
        text = f"GitHub limits our requests until {resets_at:%H:%M:%S} UTC; {request}: {said}"
        return RateLimited(text, resets_at)
    refusal = f"GitHub refused {request} with {status}: {said}"
    if status == 403 and "not accessible by integration" in said:
        needed = headers.get(_PERMISSION_HEADER, "a permission that it does not name")
        return MissingPermission(refusal, needed)
    if status == 403 and "installation has been suspended" in said:
        return Suspended(refusal, status)
    if status == 401:
        refusal += ". Check the App's id, its private key, and this machine's clock"
    return Refused(refusal, status)


def _resets_at(
    status: int, headers: Mapping[str, str], said: str, now: datetime
) -> datetime | None:
    """When to come back; None if this is no limit."""
    if status not in (403, 429):
        return None
    retry_after_seconds = _whole(headers.get("retry-after"))
    if retry_after_seconds is not None:
        return now + timedelta(seconds=retry_after_seconds)
    reset_epoch = _whole(headers.get("x-ratelimit-reset"))
    if headers.get("x-ratelimit-remaining") == "0" and reset_epoch is not None:
        return max(datetime.fromtimestamp(reset_epoch, UTC), now)
    if status == 429 or any(words in said.lower() for words in _LIMITS_IN_WORDS):
        return now + MIN_WAIT_UNSTATED
    return None


def _message(content: bytes) -> str:
    """GitHub's own words: the message and what it says about single fields."""
    try:
        body = json.loads(content)
    except ValueError:
        return "(no message)"
    if not isinstance(body, dict):
        return "(no message)"
    errors = body.get("errors")
    details = [_detail(each) for each in errors] if isinstance(errors, list) else []
    return "; ".join([str(body.get("message", "(no message)")), *details])


def _detail(error: object) -> str:
    if not isinstance(error, dict):
        return str(error)
    named = (error.get(key) for key in ("resource", "field", "code", "message"))
    return " ".join(str(each) for each in named if each is not None)


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,10}", text) else None
