"""Who is calling: an App, a token of the installed App, a person, or nobody."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, replace
from datetime import UTC, datetime, timedelta

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from app.githubbox.apps import App, Apps, first_key
from app.githubbox.state import Json, Repository, Role, User, World

SLUG = "squadron-box"
TOKEN_LIFE = timedelta(hours=1)
MAX_JWT_LIFE = timedelta(minutes=10)
CLOCK_SKEW = timedelta(seconds=60)
DEFAULT_PERMISSIONS: Mapping[str, str] = {
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "members": "read",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "write",
}
_LEVELS = {"read": 1, "write": 2, "admin": 3}


class BadCredentials(Exception):
    """The caller showed something that is not, or no longer, a valid credential."""


class Suspended(BadCredentials):
    """The token is good, but its installation is suspended."""


@dataclass(frozen=True, slots=True)
class Nobody:
    """No credential at all: sees what is public."""


@dataclass(frozen=True, slots=True)
class AsApp:
    """An App itself, by a JWT signed with one of its private keys."""

    app: App


@dataclass(frozen=True, slots=True)
class AsInstallation:
    """The App in its installation, by a token that may be narrowed."""

    bot: User
    permissions: Mapping[str, str]
    repository_ids: frozenset[int] | None
    """None: all repositories of the installation."""
    expires_at: datetime
    installation_id: int | None = None
    """As `Repository.installation_id`."""

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
            in_reach = caller.repository_ids is None or repository.id in caller.repository_ids
            is_own = repository.installation_id == caller.installation_id
            return repository.installed and in_reach and is_own
        case AsUser():
            return not repository.private or caller.user.role >= Role.READ
        case Nobody() | AsApp():
            return not repository.private


@dataclass(slots=True)
class Condition:
    """What the owner of an installation has made of it."""

    is_installed: bool = True
    suspended_at: datetime | None = None
    withheld: frozenset[str] = frozenset()
    """Permissions of the App that the owner has not granted."""


@dataclass(slots=True)
class Identity:
    """All Apps, the one of them that is installed, and every token that was handed out."""

    world: World
    permissions: InitVar[Mapping[str, str]] = DEFAULT_PERMISSIONS
    key: InitVar[rsa.RSAPrivateKey | None] = None
    """Of the App that the box starts with; None: one that is made."""
    apps: Apps = field(default_factory=Apps)
    app: App = field(init=False)
    """The App that has the box's one installation."""
    installation_id: int = 0
    further: dict[int, User] = field(default_factory=dict)
    """Further installations of the App, and whose they are."""
    _conditions: dict[int | None, Condition] = field(default_factory=dict)
    private_key_pem: bytes = field(init=False)
    """Of the App that the box starts with."""
    _tokens: dict[str, AsInstallation | AsUser] = field(default_factory=dict)

    def __post_init__(self, permissions: Mapping[str, str], key: rsa.RSAPrivateKey | None) -> None:
        app_id = self.world.next_id()
        self.installation_id = self.world.next_id()
        bot = self.world.add_user(f"{SLUG}[bot]", kind="Bot")
        self.app = self.apps.add(
            App(
                app_id,
                "Squadron in the box",
                SLUG,
                "http://box.localhost",
                bot,
                None,
                permissions,
            )
        )
        _, self.private_key_pem = self.app.add_key(key or first_key())

    @property
    def app_id(self) -> int:
        """Of the installed App."""
        return self.app.id

    def condition(self, further: int | None) -> Condition:
        """Of the further installation of that number; None: of the first."""
        return self._conditions.setdefault(further, Condition())

    def granted(self, further: int | None) -> Mapping[str, str]:
        """What the App may do in an installation."""
        asked, withheld = self.app.permissions.items(), self.condition(further).withheld
        return {name: level for name, level in asked if name not in withheld}

    @property
    def bot(self) -> User:
        """The account of the installed App."""
        return self.app.bot

    def install(self, app: App) -> None:
        """The App takes the place of the one that was installed, whose tokens are worthless now."""
        self.app = app
        self.installation_id = self.world.next_id()
        self._tokens = {
            token: holder for token, holder in self._tokens.items() if isinstance(holder, AsUser)
        }

    def install_further(self, owner: User) -> int:
        """The App is installed at one more account, for all of its repositories."""
        number = self.world.next_id()
        self.further[number] = owner
        for repository in self.world.repositories.values():
            if repository.owner is owner:
                repository.installation_id = number
        return number

    def other_app(self, slug: str) -> App:
        """Another App that is at work in the repositories; made when it is first named."""
        found = self.apps.with_slug(slug)
        if found is not None:
            return found
        bot = self.world.add_user(f"{slug}[bot]", kind="Bot")
        return self.apps.add(
            App(
                self.world.next_id(),
                slug,
                slug,
                "http://ci.localhost",
                bot,
                None,
                {"checks": "write", "metadata": "read"},
                ("check_run",),
            )
        )

    def user_token(self, user: User) -> str:
        """A new personal token of that person."""
        token = "ghp_" + secrets.token_hex(18)
        self._tokens[token] = AsUser(user)
        return token

    def installation_token(
        self,
        permissions: Mapping[str, str],
        repository_ids: frozenset[int] | None,
        long: bool,
        further: int | None,
    ) -> tuple[str, AsInstallation]:
        """A new token of an installation, in GitHub's long or its short shape; `further`: which,
        if it is not the first."""
        expires_at = self.world.now() + TOKEN_LIFE
        holder = AsInstallation(self.bot, permissions, repository_ids, expires_at, further)
        token = f"ghs_{self.app.id}_{_opaque(expires_at)}" if long else "ghs_" + _letters(36)
        self._tokens[token] = holder
        return token, holder

    def whole_installation(self) -> AsInstallation:
        """The App in its installation without a token, for what the box does in its name."""
        return AsInstallation(self.bot, self.app.permissions, None, self.world.now() + TOKEN_LIFE)

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
        return self._present(holder) if isinstance(holder, AsInstallation) else holder

    def _present(self, holder: AsInstallation) -> AsInstallation:
        """What is left of a token's rights. Raises `BadCredentials`."""
        condition = self.condition(holder.installation_id)
        if not condition.is_installed or holder.expires_at <= self.world.now():
            raise BadCredentials
        if condition.suspended_at is not None:
            raise Suspended
        granted = self.granted(holder.installation_id)
        kept = {name: level for name, level in holder.permissions.items() if name in granted}
        return replace(holder, permissions=kept)

    def _app(self, token: str) -> AsApp:
        """The App that is named as the issuer, if one of its keys has signed."""
        try:
            issuer = str(jwt.decode(token, options={"verify_signature": False}).get("iss"))
        except jwt.InvalidTokenError:
            raise BadCredentials from None
        app = self.apps.by_id.get(int(issuer)) if issuer.isdecimal() else None
        for key in app.keys.values() if app else ():
            claims = _verified(token, key)
            if app and claims and self._is_current(claims):
                return AsApp(app)
        raise BadCredentials

    def _is_current(self, claims: Json) -> bool:
        now = (self.world.wall() + self.world.ahead).replace(microsecond=0)
        expires = datetime.fromtimestamp(float(claims["exp"]), UTC)
        issued = datetime.fromtimestamp(float(claims["iat"]), UTC)
        soon_enough = now < expires <= now + MAX_JWT_LIFE + CLOCK_SKEW
        return soon_enough and issued <= now + CLOCK_SKEW


def _verified(token: str, key: rsa.RSAPublicKey) -> Json | None:
    try:
        return jwt.decode(
            token,
            key,
            algorithms=["RS256"],
            leeway=CLOCK_SKEW.total_seconds(),
            options={"require": ["exp", "iat", "iss"], "verify_exp": False, "verify_iat": False},
        )
    except jwt.InvalidTokenError:
        return None


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
