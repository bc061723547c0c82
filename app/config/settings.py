"""The environment (`SQUADRON_…`), read once at start, with every mistake in one message.

Nothing here reads the process's environment by itself: it is an argument. No message and no
representation contains a secret, or any value of a variable that may hold one.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from app.config.names import endpoint_url, model
from app.config.secretfiles import SecretFileError, secret_text
from app.config.variables import (
    DEFAULT_API_URL,
    DEFAULT_DATA_DIR,
    DEFAULT_DATABASE_POOL,
    DEFAULT_PAGES,
    DEFAULT_PAGES_PORT,
    PREFIX,
    VARIABLES,
)

LEAST_SECRET_CHARACTERS: Final = 6
"""Shorter values are no secrets: they stand in ordinary words."""
DATABASE_POOLS: Final = (3, 200)
"""Least and most."""
MAX_ROTATING: Final = 2
"""Webhook secrets, and private keys, that are accepted at once: the new one and the one before."""
SECRETS: Final = tuple(name for name, variable in VARIABLES.items() if variable.is_secret)
"""Variables that are secret; each has a `…_FILE`."""

OF_S3: Final = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
"""Secret variables that S3's library reads by itself."""

MOST_PORT: Final = 65_535
MOST_DIGITS: Final = 18

UNNAMED: Final = "api"
"""Who is named when the token of `ADMIN_TOKEN` was shown."""
LEAST_TOKEN_CHARACTERS: Final = 16
"""Of a token with a name: fewer could be guessed."""

_BUCKET: Final = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^\s?#]*)?")
_NAME: Final = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,38}")
_TOKEN_LINE: Final = (
    "expected a name, a blank and a token; a name has up to 39 letters, digits, '.', '_' and '-'"
)
_PEM: Final = re.compile(r"^-----BEGIN .*?^-----END [^\n]*-----$", re.DOTALL | re.MULTILINE)


class SettingsError(Exception):
    """The environment cannot be used; says what to set, never what was set."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class Pages(StrEnum):
    """Who may look at pages in a browser."""

    OFF = "off"
    LOOPBACK = "loopback"
    """Whoever is at this machine, and has the link that `serve` prints."""


@dataclass(frozen=True, slots=True)
class AdminToken:
    """Who may use `/api`."""

    name: str
    """As it stands in the log of what its bearer did: `api`, or `api:NAME`."""
    token: SecretStr


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says, checked and with defaults filled in."""

    github_app_id: int | None = None
    github_private_keys: tuple[SecretStr, ...] = ()
    """PEM, at most `MAX_ROTATING`; the first is used for as long as GitHub takes it."""
    webhook_secrets: tuple[SecretStr, ...] = ()
    """At most `MAX_ROTATING`; a delivery may be signed with any of them."""
    admin_tokens: tuple[AdminToken, ...] = ()
    """Empty: `/api` is off."""
    pages: Pages = Pages.LOOPBACK
    pages_port: int = DEFAULT_PAGES_PORT
    """On 127.0.0.1; 0: any that is free."""
    github_api_url: str = DEFAULT_API_URL
    """Without a slash at the end, like every address here."""
    github_git_url: str = "https://github.com"
    data_dir: Path
    """Absolute."""
    database_url: SecretStr
    """An SQLAlchemy address: `sqlite:///…` or `postgresql+psycopg://…`."""
    database_pool: int = DEFAULT_DATABASE_POOL
    """Connections to PostgreSQL that a process keeps at most for its queries."""
    artifacts: str | None = None
    """Where it is kept what other machines need of agents: an absolute path, or `s3://…`; None: in
    the database."""
    artifact_secrets: tuple[SecretStr, ...] = ()
    """What opens that address, from variables that its library reads."""
    config: Path | None = None
    """The operator's file."""
    model: str | None = None
    """`provider:name` for roles that name none."""
    model_base_url: str | None = None
    model_api_key: SecretStr | None = None
    copilot_cli: Path | None = None
    """The program of the copilot runtime, absolute; None: it is looked for in PATH."""

    def problems_for_serving(self) -> tuple[str, ...]:
        """What is missing before webhooks can be taken and agents can work; empty: nothing."""
        required = {
            "GITHUB_APP_ID": self.github_app_id,
            "GITHUB_PRIVATE_KEY": self.github_private_keys,
            "WEBHOOK_SECRET": self.webhook_secrets,
        }
        return tuple(
            f"{PREFIX}{name} is not set or empty: set it{_or_file(name)}"
            f" to {VARIABLES[name].meaning}"
            for name, value in required.items()
            if value is None or value == ()
        )

    def secret_values(self) -> tuple[str, ...]:
        """All that must not leave this installation, as far as it can be told from words."""
        secrets = [*self.github_private_keys, *map(_encoded, self.github_private_keys)]
        secrets += self.webhook_secrets
        secrets += (each.token for each in self.admin_tokens)
        secrets += filter(None, (self.model_api_key,))
        secrets += self.artifact_secrets
        password = urlsplit(self.database_url.get_secret_value()).password or ""
        values = [*(each.get_secret_value() for each in secrets), unquote(password)]
        return tuple(value for value in values if len(value) >= LEAST_SECRET_CHARACTERS)


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Everything that the environment says. Empty variables count as not set.

    Raises `SettingsError` with every problem. Whether it is enough to serve is another question:
    `Settings.problems_for_serving`.
    """
    return _Reader(environ).settings(SECRETS)


def load_local_settings(environ: Mapping[str, str]) -> Settings:
    """What a command needs that only looks at the database or at files.

    The secrets of GitHub and the model are not read, so whoever runs it need not be able to.
    """
    return _Reader(environ).settings(("DATABASE_URL",))


class _Reader:
    """Reads variables one by one and collects what is wrong with them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._problems: list[str] = []

    def settings(self, secrets: Iterable[str]) -> Settings:
        known = {name: self._secret(name) for name in secrets}
        data_dir = Path(self._value("DATA_DIR") or DEFAULT_DATA_DIR).absolute()
        api_url = self._url("GITHUB_API_URL") or DEFAULT_API_URL
        config, copilot_cli = self._value("CONFIG"), self._value("COPILOT_CLI")
        settings = Settings(
            github_app_id=self._app_id(),
            github_private_keys=self._private_keys(known.get("GITHUB_PRIVATE_KEY")),
            webhook_secrets=self._webhook_secrets(known.get("WEBHOOK_SECRET")),
            admin_tokens=self._admin_tokens(known["ADMIN_TOKEN"]) if "ADMIN_TOKEN" in known else (),
            pages=self._pages(),
            pages_port=self._pages_port(),
            github_api_url=api_url,
            github_git_url=self._url("GITHUB_GIT_URL") or git_url_of(api_url),
            data_dir=data_dir,
            database_url=self._database_url(known.get("DATABASE_URL"), data_dir),
            database_pool=self._database_pool(),
            artifacts=self._artifacts(),
            artifact_secrets=self._artifact_secrets(),
            config=Path(config).absolute() if config else None,
            model=self._model(),
            model_base_url=self._url("MODEL_BASE_URL"),
            model_api_key=known.get("MODEL_API_KEY"),
            copilot_cli=Path(copilot_cli).absolute() if copilot_cli else None,
        )
        if self._problems:
            raise SettingsError(self._problems)
        return settings

    def _value(self, name: str) -> str | None:
        return self._environ.get(PREFIX + name, "").strip() or None

    def _secret(self, name: str) -> SecretStr | None:
        value, file = self._value(name), self._value(f"{name}_FILE")
        if value and file:
            self._wrong(name, f"and {PREFIX}{name}_FILE are both set: set only one")
        if file is None:
            return SecretStr(value) if value else None
        text = self._text(f"{name}_FILE", file)
        return None if text is None else SecretStr(text.strip())

    def _text(self, name: str, file: str) -> str | None:
        """What stands in a file that a variable names."""
        try:
            return secret_text(Path(file))
        except SecretFileError as error:
            self._wrong(name, f"names {file}, which {error}")
            return None

    def _admin_tokens(self, unnamed: SecretStr | None) -> tuple[AdminToken, ...]:
        found = [] if unnamed is None else [AdminToken(UNNAMED, unnamed)]
        file = self._value("ADMIN_TOKENS_FILE")
        text = None if file is None else self._text("ADMIN_TOKENS_FILE", file)
        for number, line in enumerate((text or "").splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            name, *values = line.split()
            if not _NAME.fullmatch(name) or len(values) != 1:
                self._wrong("ADMIN_TOKENS_FILE", f"line {number} of its file: {_TOKEN_LINE}")
            elif len(values[0]) < LEAST_TOKEN_CHARACTERS:
                least = f"the token has fewer than {LEAST_TOKEN_CHARACTERS} characters"
                self._wrong("ADMIN_TOKENS_FILE", f"line {number} of its file: {least}")
            else:
                found.append(AdminToken(f"{UNNAMED}:{name}", SecretStr(values[0])))
        for what, each in (("name", [one.name.casefold() for one in found]), ("token", _of(found))):
            if len(set(each)) < len(each):
                self._wrong("ADMIN_TOKENS_FILE", f"has a {what} twice: whose deed is it then?")
        return tuple(found)

    def _app_id(self) -> int | None:
        value = self._value("GITHUB_APP_ID")
        if value is None:
            return None
        number = _number(value, 0, 10**MOST_DIGITS)
        if number is None:
            self._wrong("GITHUB_APP_ID", "must be the App's numeric id")
        return number

    def _private_keys(self, value: SecretStr | None) -> tuple[SecretStr, ...]:
        if value is None:
            return ()
        text = "\n".join(line.strip() for line in _pem_text(value).splitlines())
        blocks = _PEM.findall(text)
        if _PEM.sub("", text).strip() or any(block.count("\n") < 2 for block in blocks):
            self._wrong(
                "GITHUB_PRIVATE_KEY",
                f"is neither a PEM file's text nor the base64 of one (did its line breaks get lost?"
                f" {PREFIX}GITHUB_PRIVATE_KEY_FILE takes the file as it is)",
            )
        elif len(blocks) > MAX_ROTATING:
            self._too_many("GITHUB_PRIVATE_KEY", f"{len(blocks)} keys")
        return tuple(map(SecretStr, blocks))

    def _webhook_secrets(self, value: SecretStr | None) -> tuple[SecretStr, ...]:
        lines = [] if value is None else value.get_secret_value().splitlines()
        secrets = [line.strip() for line in lines]
        if not all(secrets):
            self._wrong("WEBHOOK_SECRET", "has an empty line between secrets: one secret a line")
        elif len(secrets) > MAX_ROTATING:
            self._too_many("WEBHOOK_SECRET", f"{len(secrets)} lines, so as many secrets")
        return tuple(map(SecretStr, secrets))

    def _too_many(self, name: str, found: str) -> None:
        self._wrong(name, f"holds {found}: keep the new one and the one before it, no more")

    def _url(self, name: str) -> str | None:
        value = self._value(name)
        try:
            return value and endpoint_url(value)
        except ValueError as error:
            self._wrong(name, str(error))
            return None

    def _database_url(self, url: SecretStr | None, data_dir: Path) -> SecretStr:
        if url is None:
            return SecretStr(f"sqlite:///{data_dir / 'squadron.sqlite3'}")
        scheme, separator, rest = url.get_secret_value().partition("://")
        if scheme in ("postgresql", "postgres"):
            scheme = "postgresql+psycopg"
        names_a_file = scheme == "sqlite" and rest.startswith("/") and rest != "/"
        if not separator or not (names_a_file or scheme == "postgresql+psycopg"):
            self._wrong("DATABASE_URL", "must start with postgresql:// or sqlite:///")
        return SecretStr(f"{scheme}://{rest}")

    def _database_pool(self) -> int:
        value, least, most = self._value("DATABASE_POOL"), *DATABASE_POOLS
        if value is None:
            return DEFAULT_DATABASE_POOL
        if (size := _number(value, least, most)) is not None:
            return size
        self._wrong("DATABASE_POOL", f"must be a number of connections from {least} to {most}")
        return DEFAULT_DATABASE_POOL

    def _pages(self) -> Pages:
        value = self._value("PAGES") or DEFAULT_PAGES
        if value in [*Pages]:
            return Pages(value)
        self._wrong("PAGES", f"must be {' or '.join(Pages)}")
        return Pages(DEFAULT_PAGES)

    def _pages_port(self) -> int:
        value = self._value("PAGES_PORT")
        if value is None:
            return DEFAULT_PAGES_PORT
        if (port := _number(value, 0, MOST_PORT)) is not None:
            return port
        self._wrong("PAGES_PORT", f"must be a port from 0 to {MOST_PORT}")
        return DEFAULT_PAGES_PORT

    def _artifacts(self) -> str | None:
        value = self._value("ARTIFACTS")
        if value is None or "://" not in value:
            return value and str(Path(value).absolute())
        if not _BUCKET.fullmatch(value):
            self._wrong("ARTIFACTS", "must be a directory, or s3://BUCKET or s3://BUCKET/PATH")
        return value.rstrip("/")

    def _artifact_secrets(self) -> tuple[SecretStr, ...]:
        found = (self._environ.get(name, "") for name in OF_S3)
        return tuple(SecretStr(value) for value in found if value)

    def _model(self) -> str | None:
        value = self._value("MODEL")
        try:
            return value and model(value)
        except ValueError as error:
            self._wrong("MODEL", str(error))
            return None

    def _wrong(self, name: str, message: str) -> None:
        self._problems.append(f"{PREFIX}{name} {message}")


def _number(value: str, least: int, most: int) -> int | None:
    """The number that this is; None: it is none, or not within its bounds."""
    is_number = value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS
    return int(value) if is_number and least <= int(value) <= most else None


def _pem_text(value: SecretStr) -> str:
    """Keys as they stand in their files, where they were given as base64, too: files of settings
    need one line. Several have commas between them."""
    given = value.get_secret_value()
    try:
        encoded = ("".join(each.split()) for each in given.split(","))
        return "\n".join(b64decode(each, validate=True).decode() for each in encoded)
    except ValueError:
        return given


def _encoded(key: SecretStr) -> SecretStr:
    """As it may stand in the environment, but for its end, which depends on what follows it."""
    return SecretStr(b64encode(key.get_secret_value().encode())[:-4].decode())


def _of(tokens: Sequence[AdminToken]) -> Sequence[str]:
    return [each.token.get_secret_value() for each in tokens]


def git_url_of(api_url: str) -> str:
    """Where git lives for a REST address: GitHub and GHE.com (`api.` host), GHES (`/api/v3`)."""
    parts = urlsplit(api_url)
    host = parts.netloc if parts.path else parts.netloc.removeprefix("api.")
    return f"{parts.scheme}://{host}"


def _or_file(name: str) -> str:
    return f" (or {PREFIX}{name}_FILE)" if name in SECRETS else ""
