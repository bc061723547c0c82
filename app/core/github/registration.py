"""Registering the operator's GitHub App: what its manifest asks for, and which answer counts.

Rules: https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
and `facts/github.md` section 5.
"""

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

WEBHOOK_PATH: Final = "/webhook"
LIFE: Final = timedelta(hours=1)
"""GitHub wants all three steps within this time."""
MOST_NAME_CHARACTERS: Final = 34
"""Of an App's name, by GitHub."""
_CODE: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")
_ORGANIZATION: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
_ADDRESS: Final = re.compile(
    r"(?P<home>https?://(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?)(?P<path>/[^?#\s]*)?"
)


@dataclass(frozen=True, slots=True)
class Order:
    """What a person wants: an App for an account, and where GitHub reaches Squadron."""

    web_url: str
    """Of GitHub's pages, without a slash at the end."""
    webhook_url: str
    organization: str | None
    """None: the account of whoever is signed in."""

    @property
    def name(self) -> str:
        """Proposed; on GitHub's page the person may choose another."""
        return f"Squadron {self.organization or ''}"[:MOST_NAME_CHARACTERS].strip()

    def page(self, state: str) -> str:
        """The address that takes the manifest by POST."""
        account = "" if self.organization is None else f"/organizations/{self.organization}"
        return f"{self.web_url}{account}/settings/apps/new?state={state}"

    def manifest(
        self, redirect_url: str, permissions: Mapping[str, str], events: Sequence[str]
    ) -> Mapping[str, object]:
        """What GitHub is asked for. The App is its owner's alone."""
        webhook = _ADDRESS.fullmatch(self.webhook_url)
        assert webhook is not None, "webhook_address made it"
        return {
            "name": self.name,
            "url": webhook["home"],
            "hook_attributes": {"url": self.webhook_url},
            "redirect_url": redirect_url,
            "public": False,
            "default_permissions": dict(permissions),
            "default_events": list(events),
        }


@dataclass(frozen=True, slots=True)
class Begun:
    """A registration that waits for GitHub's answer, which has to repeat the state."""

    state: str
    ends_at: datetime

    def problem(self, code: str, state: str, now: datetime) -> str | None:
        """Why an answer does not count; None if it does. The state is compared in constant time."""
        if not hmac.compare_digest(self.state.encode(), state.encode(errors="replace")):
            return "This answer does not belong to the page that was opened here: its state differs"
        if now >= self.ends_at:
            return "An hour has passed since the page was opened, and GitHub's codes live no longer"
        if not _CODE.fullmatch(code):
            return "GitHub's code is missing or malformed"
        return None


def webhook_address(given: str) -> str:
    """The address for deliveries; `/webhook` is added to a bare host.

    Raises `ValueError` for what is no address, and for one with a path that is not served. What
    stands before `/webhook` a proxy may take away.
    """
    address = _ADDRESS.fullmatch(given.strip())
    if address is None:
        raise ValueError("must be an address like https://HOST/webhook, without credentials")
    path = (address["path"] or "").rstrip("/") or WEBHOOK_PATH
    if not path.endswith(WEBHOOK_PATH):
        raise ValueError(f"must end in {WEBHOOK_PATH}: Squadron takes deliveries nowhere else")
    return address["home"] + path


def organization_login(given: str) -> str:
    """The login of an organization. Raises `ValueError` for what can be none."""
    if not _ORGANIZATION.fullmatch(given):
        raise ValueError("must be the organization's login, as in https://github.com/LOGIN")
    return given
