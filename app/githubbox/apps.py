"""GitHub Apps: who they are, their keys, and how one is made from a manifest.

Rules: https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from app.githubbox.data import contract
from app.githubbox.state import Json, User

CODE_LIFE = timedelta(hours=1)
MAX_NAME_CHARACTERS = 34
MAX_STATE_CHARACTERS = 1_000
_EVENT_NEEDS = {
    "check_run": "checks",
    "check_suite": "checks",
    "issue_comment": "issues",
    "issue_dependencies": "issues",
    "issues": "issues",
    "label": "issues",
    "pull_request": "pull_requests",
    "pull_request_review": "pull_requests",
    "pull_request_review_comment": "pull_requests",
    "push": "contents",
    "repository": "metadata",
    "status": "statuses",
    "sub_issues": "issues",
}
"""What the box can tell of, and the permission that an App needs to hear of it."""
EVENTS = tuple(_EVENT_NEEDS)
_LEVELS = ("read", "write", "admin")
_KEYS = {
    "name",
    "url",
    "hook_attributes",
    "redirect_url",
    "callback_urls",
    "setup_url",
    "description",
    "public",
    "default_events",
    "default_permissions",
    "request_oauth_on_install",
    "setup_on_update",
}


class BadManifest(ValueError):
    """A manifest that GitHub would not take; the text says why."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an App is to be; its name may still be changed by the person who registers it."""

    name: str
    url: str
    hook_url: str | None
    redirect_url: str
    public: bool
    permissions: Mapping[str, str]
    events: tuple[str, ...]


@dataclass(slots=True, eq=False)
class App:
    """A registered App; one of them has the box's installation."""

    id: int
    name: str
    slug: str
    url: str
    bot: User
    owner: User | None
    """None: whoever owns the first repository."""
    permissions: Mapping[str, str]
    events: tuple[str, ...] = EVENTS
    hook_url: str | None = None
    hook_secret: str = ""
    keys: dict[str, rsa.RSAPublicKey] = field(default_factory=dict)
    """By fingerprint; of a private key GitHub keeps the public half alone."""

    def new_key(self) -> tuple[str, bytes]:
        """A further private key: its fingerprint, and its PEM, which nobody can have again."""
        return self.add_key(rsa.generate_private_key(public_exponent=65537, key_size=2048))

    def add_key(self, key: rsa.RSAPrivateKey) -> tuple[str, bytes]:
        """From now on the App may sign with this key too."""
        public = key.public_key()
        der = public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        fingerprint = "SHA256:" + base64.b64encode(hashlib.sha256(der).digest()).decode()
        self.keys[fingerprint] = public
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        return fingerprint, pem


@dataclass(slots=True)
class Apps:
    """All Apps that were registered, and the codes that were handed out for new ones."""

    by_id: dict[int, App] = field(default_factory=dict)
    _codes: dict[str, tuple[App, datetime]] = field(default_factory=dict)

    def with_slug(self, slug: str) -> App | None:
        return next((one for one in self.by_id.values() if one.slug == slug), None)

    def add(self, app: App) -> App:
        self.by_id[app.id] = app
        return app

    def code_for(self, app: App, now: datetime) -> str:
        """A code by which whoever registered the App gets its secrets once, within an hour."""
        code = secrets.token_hex(20)
        self._codes[code] = app, now + CODE_LIFE
        return code

    def take(self, code: str, now: datetime) -> App | None:
        """The App of a code, which is used up by this; None for a wrong or an old one."""
        app, ends_at = self._codes.pop(code, (None, now))
        return app if now < ends_at else None


@cache
def first_key() -> rsa.RSAPrivateKey:
    """Of the box's own App: made once in a process, for it takes longer than everything else."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def slug_of(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def read_manifest(text: str) -> Manifest:
    """The manifest in a form. BadManifest for what GitHub would not take."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise BadManifest("the manifest is not JSON") from None
    if not isinstance(document, dict):
        raise BadManifest("the manifest is no JSON object")
    if unknown := document.keys() - _KEYS:
        raise BadManifest(f"unknown keys: {', '.join(sorted(unknown))}")
    hook = document.get("hook_attributes")
    if hook is not None and not isinstance(hook, dict):
        raise BadManifest("hook_attributes is no object")
    permissions = _permissions(document.get("default_permissions", {}))
    return Manifest(
        name=_name(document.get("name", "")),
        url=_address(document, "url"),
        hook_url=None if hook is None else _address(hook, "url"),
        redirect_url=_address(document, "redirect_url"),
        public=document.get("public") is True,
        permissions=permissions,
        events=_events(document.get("default_events", []), permissions),
    )


def _name(name: object) -> str:
    if not isinstance(name, str) or len(name) > MAX_NAME_CHARACTERS:
        raise BadManifest(f"name is a text of at most {MAX_NAME_CHARACTERS} characters")
    return name.strip()


def _address(document: Json, key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or urlsplit(value).scheme not in ("http", "https"):
        raise BadManifest(f"{key} is no address")
    return value


def _permissions(given: object) -> Mapping[str, str]:
    known = contract()["components"]["schemas"]["app-permissions"]["properties"]
    if not isinstance(given, dict):
        raise BadManifest("default_permissions is no object")
    for name, level in given.items():
        if name not in known or level not in _LEVELS:
            raise BadManifest(f"default_permissions: there is no {name}: {level}")
    return {**given, "metadata": "read"}


def _events(given: object, permissions: Mapping[str, str]) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise BadManifest("default_events is no list")
    for event in given:
        if _EVENT_NEEDS.get(str(event)) not in permissions:
            raise BadManifest(f"default events unsupported: {event}")
    return tuple(given)
