"""Who is calling: the App, one of its installation tokens, a person, or nobody."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from app.githubbox.state import Repository, Role, User, World

SLUG = "squadron-box"
TOKEN_LIFE = timedelta(hours=1)
MAX_JWT_LIFE = timedelta(minutes=10)
CLOCK_SKEW = timedelta(seconds=60)
DEFAULT_PERMISSIONS: Mapping[str, str] = {
    "checks": "write", "contents": "write", "issues": "write", "metadata": "read",
    "pull_requests": "write", "statuses": "write",
}
EVENTS = (
    "check_run", "check_suite", "issue_comment", "issue_dependencies", "issues", "label",
    "pull_request", "pull_request_review", "push", "sub_issues",
)
_LEVELS = {"read": 1, "write": 2, "admin": 3}


class BadCredentials(Exception):
    """The caller showed something that is not, or no longer, a valid credential."""


@dataclass(frozen=True, slots=True)
class Nobody:
    """No credential at all: sees what is public."""


@dataclass(frozen=True, slots=True)
class AsApp:
    """The App itself, by a JWT signed with its private key."""


@dataclass(frozen=True, slots=True)
class AsInstallation:
    """The App in its installation, by a token that may be narrowed."""

    bot: User
    permissions: Mapping[str, str]
    repository_ids: frozenset[int] | None
    """None: all repositories of the installation."""
    expires_at: datetime

    def may(self, permission: str, level: str) -> bool:
        return _LEVELS.get(self.permissions.get(permission, ""), 0) >= _LEVELS[level]


@dataclass(frozen=True, slots=True)
class AsUser:
    user: User


Caller = Nobody | AsApp | AsInstallation | AsUser


def sees(caller: Caller, repository: Repository) -> bool:
    """May this caller know that the repository exists?"""
    match caller:
        case AsInstallation():
            return caller.repository_ids is None or repository.id in caller.repository_ids
        case AsUser():
            return not repository.private or caller.user.role >= Role.READ
        case Nobody() | AsApp():
            return not repository.private


@dataclass(slots=True)
class Identity:
    """The App with its key, its one installation, and every token that was handed out."""

    world: World
    permissions: Mapping[str, str] = field(default_factory=lambda: DEFAULT_PERMISSIONS)
    app_id: int = 0
    installation_id: int = 0
    bot: User = field(init=False)
    private_key_pem: bytes = field(init=False)
    _public_key: rsa.RSAPublicKey = field(init=False)
    _tokens: dict[str, AsInstallation | AsUser] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.app_id = self.world.next_id()
        self.installation_id = self.world.next_id()
        self.bot = self.world.add_user(f"{SLUG}[bot]", kind="Bot")
        key = _key()
        self._public_key = key.public_key()
        self.private_key_pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def user_token(self, user: User) -> str:
        """A new personal token of that person."""
        token = "ghp_" + secrets.token_hex(18)
        self._tokens[token] = AsUser(user)
        return token

    def installation_token(
        self, permissions: Mapping[str, str], repository_ids: frozenset[int] | None, long: bool
    ) -> tuple[str, AsInstallation]:
        """A new token of the installation, in GitHub's long or its short shape."""
        expires_at = self.world.now() + TOKEN_LIFE
        holder = AsInstallation(self.bot, permissions, repository_ids, expires_at)
        token = f"ghs_{self.app_id}_{_opaque(expires_at)}" if long else "ghs_" + _letters(36)
        self._tokens[token] = holder
        return token, holder

    def whole_installation(self) -> AsInstallation:
        """The App in its installation without a token, for what the box does in its name."""
        return AsInstallation(self.bot, self.permissions, None, self.world.now() + TOKEN_LIFE)

    def forget(self, authorization: str) -> None:
        """Make the token of this Authorization header worthless, as if its hour were over."""
        self._tokens.pop(_secret_of(authorization), None)

    def caller(self, authorization: str | None) -> Caller:
        """Whose Authorization header this is; BadCredentials for a wrong or expired one."""
        if not authorization:
            return Nobody()
        secret = _secret_of(authorization)
        if secret.count(".") == 2 and not secret.startswith("gh"):
            return self._app(secret)
        holder = self._tokens.get(secret)
        if holder is None:
            raise BadCredentials
        if isinstance(holder, AsInstallation) and holder.expires_at <= self.world.now():
            raise BadCredentials
        return holder

    def _app(self, token: str) -> AsApp:
        try:
            claims = jwt.decode(
                token, self._public_key, algorithms=["RS256"], leeway=CLOCK_SKEW.total_seconds(),
                options={"require": ["exp", "iat", "iss"], "verify_exp": False,
                         "verify_iat": False},
            )
        except jwt.InvalidTokenError:
            raise BadCredentials from None
        now = self.world.now()
        expires = datetime.fromtimestamp(float(claims["exp"]), UTC)
        issued = datetime.fromtimestamp(float(claims["iat"]), UTC)
        if str(claims["iss"]) != str(self.app_id) or not (
            now < expires <= now + MAX_JWT_LIFE + CLOCK_SKEW and issued <= now + CLOCK_SKEW
        ):
            raise BadCredentials
        return AsApp()


@cache
def _key() -> rsa.RSAPrivateKey:
    """The App's key: made once in a process, for it takes longer than everything else."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _secret_of(authorization: str) -> str:
    """The secret of a Bearer, token or Basic header; of Basic it is the password."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic":
        return value.strip()
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _letters(length: int) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    return "".join(secrets.choice(alphabet) for _ in range(length))


def _opaque(expires_at: datetime) -> str:
    """Something of the shape of a JWT that only the box can read: clients must not look inside."""
    claims = {"exp": int(expires_at.timestamp()), "jti": secrets.token_urlsafe(220)}
    return jwt.encode(claims, secrets.token_bytes(32), algorithm="HS256")
