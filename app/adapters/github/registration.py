"""What Squadron's App may do and hears of, and how a new App's secrets are had from GitHub."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import httpx
from pydantic import SecretStr

from app.adapters.github.failures import failure
from app.adapters.github.reading import needed_number, needed_text
from app.adapters.github.tokens import PERMISSIONS
from app.ports import Clock, Refused, Unreachable

_LEVELS: Final = ("", "read", "write")


def _needed() -> Mapping[str, str]:
    needed: dict[str, str] = {}
    for permissions in PERMISSIONS.values():
        for name, level in permissions.items():
            needed[name] = max(level, needed.get(name, ""), key=_LEVELS.index)
    return MappingProxyType(dict(sorted(needed.items())))


APP_PERMISSIONS: Final = _needed()
"""What the App has to be granted: all that any token is asked for, and nothing else."""

PERMISSION_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "checks": "writes the check `squadron/<role>` on the agent's branch, and `squadron/config`",
        "contents": "clones, pushes the agent's branch, reads `.squadron/` from the default branch",
        "issues": "writes the progress comment, the `needs-human` issue and its labels",
        "members": "reads who is in a team, for team budgets and `trust.teams`;"
        " an organization permission",
        "metadata": "reads what the App can see, and each sender's permission;"
        " GitHub always grants it",
        "pull_requests": "hands the work over as a pull request, posts reviews",
        "statuses": "reads a status that failed on the agent's head, which wakes the agent",
    }
)
"""Why the App needs each of them: what Squadron does with it."""

APP_EVENTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "issues": "a label or an assignment starts an agent; taking it away, or closing the issue,"
        " ends the agent or wakes one that waits for the issue",
        "issue_comment": "a trusted person's comment wakes an agent that waits;"
        " commands are obeyed",
        "check_run": "the buttons of the agent's check; another App's check that failed on the"
        " agent's head wakes it",
        "pull_request": "merged: the agent is COMPLETED; closed unmerged: CANCELLED; `.squadron/`"
        " touched: it is checked; labels and `triggers.events` start reviewers",
        "pull_request_review": "a trusted person's review wakes the agent; commands are obeyed",
        "pull_request_review_comment": "the same for a comment on a line",
        "push": "the default branch moved: `.squadron/` is read again. The branch of an agent that"
        " rests moved: its check stands on the new head",
        "status": "a status that failed on the agent's head wakes it",
        "repository": "it was renamed or transferred: its agents go on there",
    }
)
"""What the App subscribes to, and what follows. Events of an installation come by themselves."""


@dataclass(frozen=True, slots=True)
class NewApp:
    """An App that was just registered. GitHub tells its secrets this once."""

    id: int
    owner: str
    page: str
    """Its public page, from which it is installed."""
    private_key: SecretStr
    """PEM."""
    webhook_secret: SecretStr


async def convert(
    code: str, api_url: str, clock: Clock, transport: httpx.AsyncBaseTransport | None = None
) -> NewApp:
    """The App that a code stands for; a code is good for one answer.

    Raises `Refused` for a code that is wrong, used or too old, and for an answer without secrets;
    `RateLimited` and `Unreachable`, after which the code may still be good. No error holds the
    code.
    """
    # Imported at the call: 0.3 s and 30 MB that no other command waits for.
    from app.adapters.github.wire import MAX_CALL_SECONDS, unsigned

    call = "POST /app-manifests/…/conversions"
    try:
        async with asyncio.timeout(MAX_CALL_SECONDS), unsigned(api_url, transport) as client:
            answer = await client.post(f"/app-manifests/{code}/conversions")
    except (TimeoutError, httpx.HTTPError) as error:
        what = type(error).__name__
        raise Unreachable(f"{call}: GitHub could not be reached ({what})") from None
    if not answer.is_success:
        raise failure(call, answer.status_code, answer.headers, answer.content, clock.now(), [code])
    return _new_app(answer.content)


def _new_app(content: bytes) -> NewApp:
    try:
        document: object = json.loads(content)
        return NewApp(
            needed_number(document, "id"),
            needed_text(document, "owner", "login"),
            needed_text(document, "html_url"),
            SecretStr(needed_text(document, "pem")),
            SecretStr(needed_text(document, "webhook_secret")),
        )
    except (ValueError, Unreachable):
        # Not `Unreachable`: the code is used up, so asking again would not help.
        raise Refused(
            "GitHub's answer lacks the App's key or secret: if an App was registered, delete it in"
            " its settings",
            422,
        ) from None
