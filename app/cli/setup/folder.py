"""What `squadron setup` leaves: a folder with the settings and secrets of the App."""

import os
import shlex
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.github.registration import NewApp
from app.config.variables import DEFAULT_API_URL, PREFIX

SECRET_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700


class CannotKeep(Exception):
    """Why the secrets cannot be kept there; what is there already is left alone."""


@dataclass(frozen=True, slots=True)
class AppFolder:
    """A directory that its owner alone can enter, with one file in it.

    Nothing in that file names a path or needs quotes. So a shell, systemd and Docker read it alike,
    as whoever owns it, and the service may run as somebody else and in another place.
    """

    directory: Path
    """Absolute."""
    model: str = ""
    """`provider:name` for roles that name none; empty: not known yet."""
    api_url: str = DEFAULT_API_URL
    """Of GitHub."""

    @property
    def environment(self) -> Path:
        """Settings as lines of NAME=VALUE, secrets among them."""
        return self.directory / "squadron.env"

    def prepare(self) -> None:
        """Make the directory if it is missing. Raises `CannotKeep` if nothing may be written."""
        try:
            self.directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            mode = self.directory.stat().st_mode & 0o777
        except OSError as error:
            raise CannotKeep(f"{self.directory} cannot be used: {error.strerror}") from error
        if mode & ~DIRECTORY_MODE:
            raise CannotKeep(
                f"{self.directory} is open to others (mode {mode:o}): `chmod 700"
                f" {shlex.quote(str(self.directory))}`, or name another by --folder"
            )
        if not os.access(self.directory, os.W_OK | os.X_OK):
            raise CannotKeep(f"{self.directory} cannot be written to: name another by --folder")
        self.check_free()

    def check_free(self) -> None:
        """Raises `CannotKeep` if the file is there: secrets are never overwritten."""
        if self.environment.exists():
            raise CannotKeep(
                f"{self.environment}: there already, and left as it is. Squadron has its App; if"
                " you want another one, move it away, or name another directory by --folder"
            )

    def write(self, app: NewApp) -> None:
        """The whole file or none. Raises `CannotKeep`."""
        is_ours = False
        try:
            # Exclusively, and with its mode from the first moment on.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            number = os.open(self.environment, flags, SECRET_MODE)
            is_ours = True
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in self._lines(app))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            if is_ours:
                with suppress(OSError):
                    self.environment.unlink()
            raise CannotKeep(f"{self.environment} cannot be written: {error.strerror}") from error

    def _lines(self, app: NewApp) -> Iterator[str]:
        key = f"{app.private_key.get_secret_value().strip()}\n"
        yield f"# The GitHub App {app.page}."
        yield f"{PREFIX}GITHUB_APP_ID={app.id}"
        yield f"{PREFIX}GITHUB_PRIVATE_KEY={b64encode(key.encode()).decode()}"
        yield f"{PREFIX}WEBHOOK_SECRET={shlex.quote(app.webhook_secret.get_secret_value())}"
        if self.api_url != DEFAULT_API_URL:
            yield f"{PREFIX}GITHUB_API_URL={self.api_url}"
        yield ""
        yield "# The model of roles that name none, openai:NAME or anthropic:NAME, and its key."
        yield f"{PREFIX}MODEL={self.model}"
        yield f"{PREFIX}MODEL_API_KEY="
