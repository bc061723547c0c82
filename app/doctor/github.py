"""How the App stands with GitHub, and GitHub with this installation."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

import httpx

from app.adapters.clock import SystemClock
from app.adapters.github.delivered import Delivered
from app.adapters.github.standing import Installation, KnownApp, standing
from app.bootstrap import key_problems
from app.config.settings import Settings
from app.config.variables import PREFIX
from app.core.text.markdown import instant
from app.doctor.check import Check
from app.ports import GitHubFailed

MOST_APART: Final = timedelta(seconds=60)
"""Of this machine's clock and GitHub's, which refuses what is signed in its future."""
STRANGER_SECONDS: Final = 10.0
NOT_FOR_STRANGERS: Final = ("/metrics", "/api/agents")
"""What a public address should not answer; the second wants a token of its own accord."""
MOST_NAMED: Final = 10
"""Installations that one check names."""


def github(settings: Settings, *, pings: bool) -> Iterator[Check]:
    """What GitHub says of the App, where there is a key to ask with."""
    keys = settings.github_private_keys
    if settings.github_app_id is None or not keys or key_problems(keys):
        return
    url = settings.github_api_url
    try:
        asked = standing(settings.github_app_id, keys, url, SystemClock(), pings=pings)
        found = asyncio.run(asked)
    except GitHubFailed as failed:
        yield Check("GitHub", False, str(failed), f"see that this machine reaches {url}")
        return
    yield _clock(found.ahead)
    for position, refusal in enumerate(found.refusals):
        name = "GitHub: second key" if position else "GitHub: key"
        fix = f"put a key of App {settings.github_app_id} into {PREFIX}GITHUB_PRIVATE_KEY"
        yield Check(name, not refusal, refusal or "GitHub takes it", fix if refusal else "")
    if found.app is not None:
        yield from _app(found.app)


def _clock(ahead: timedelta) -> Check:
    seconds = f"{abs(ahead.total_seconds()):.0f} s"
    if abs(ahead) <= MOST_APART:
        return Check("clock", True, f"{seconds} from GitHub's")
    which = "ahead of" if ahead > timedelta(0) else "behind"
    said = f"{seconds} {which} GitHub's, which may refuse what is signed here"
    return Check("clock", False, said, "set it, and let NTP keep it: timedatectl set-ntp true")


def _app(app: KnownApp) -> Iterator[Check]:
    """Whether it has what `squadron setup` asks for."""
    ask = f"add it in the App's settings: {app.settings}"
    for name, missing in (
        ("permissions", app.lacking),
        ("events", ", ".join(app.unheard)),
    ):
        said = f"the App lacks {missing}" if missing else "all that are needed"
        yield Check(f"GitHub: {name}", not missing, said, ask if missing else "")
    yield _installations(app)
    yield from _deliveries(app.delivered)


def _deliveries(last: Delivered | None) -> Iterator[Check]:
    """Whether GitHub reaches the webhook, and what else is reached there."""
    name = "GitHub: deliveries"
    if last is None:
        yield Check(name, True, "none in three days: label an issue, and ask again")
        return
    told = f"`{last.event}` at {instant(last.at)} to {last.url or 'an unknown address'}"
    fix = f"let GitHub reach {last.url}; `squadron doctor --ping` tries again"
    said = f"the last was taken: {told}" if last.is_taken else f"{last.said}: {told}"
    yield Check(name, last.is_taken, said, "" if last.is_taken else fix)
    if last.url:
        yield strangers(last.url.rpartition("/")[0])


def strangers(address: str, transport: httpx.BaseTransport | None = None) -> Check:
    """What anybody gets at the public address who has no token."""
    name, open_to_all = "strangers", list[str]()
    if urlsplit(address).hostname in ("localhost", "127.0.0.1", "::1"):
        return Check(name, True, f"{address} is this machine alone")
    client = httpx.Client(timeout=STRANGER_SECONDS, trust_env=False, transport=transport)
    with client as stranger:
        for path in NOT_FOR_STRANGERS:
            try:
                answer = stranger.get(f"{address}{path}")
            except httpx.HTTPError:
                return Check(name, True, f"{address} cannot be reached from here: nothing is known")
            if answer.is_success:
                open_to_all.append(path)
    if not open_to_all:
        return Check(name, True, f"{', '.join(NOT_FOR_STRANGERS)} are closed to them at {address}")
    said = f"{' and '.join(open_to_all)} at {address} can be read by everybody"
    return Check(name, False, said, "let the proxy hand on /webhook alone")


def _installations(app: KnownApp) -> Check:
    name, all_of_them = "GitHub: installations", len(app.installations)
    behind = [one for one in app.installations if one.lacking and not one.is_suspended]
    if behind:
        told = "; ".join(map(_lack, behind[:MOST_NAMED]))
        more = " and others" * (len(behind) > MOST_NAMED)
        said = f"not all is granted by {len(behind)} of {all_of_them}: {told}"
        fix = "let the owner of each accept the App's new permissions on that page"
        return Check(name, False, f"{said}{more}", fix)
    if not app.installations:
        return Check(name, True, f"none yet: {app.page}/installations/new")
    suspended = sum(one.is_suspended for one in app.installations)
    return Check(name, True, f"{all_of_them}, {suspended} of them suspended")


def _lack(installation: Installation) -> str:
    return f"{installation.account} ({installation.lacking}; {installation.page})"
