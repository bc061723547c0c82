"""What `squadron setup` leaves: the key, the webhook secret, and the settings that name them."""

import os
import shlex
from collections.abc import Mapping
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
class AppFiles:
    """The three files in a directory that its owner alone can enter."""

    directory: Path
    """Absolute."""

    @property
    def key(self) -> Path:
        """The private key, PEM."""
        return self.directory / "github-app.pem"

    @property
    def secret(self) -> Path:
        """The webhook secret."""
        return self.directory / "webhook-secret"

    @property
    def environment(self) -> Path:
        """Settings as lines of NAME=VALUE, for a shell or a service manager."""
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
                f" {shlex.quote(str(self.directory))}`, or name another by --data-dir"
            )
        if not os.access(self.directory, os.W_OK | os.X_OK):
            raise CannotKeep(f"{self.directory} cannot be written to: name another by --data-dir")
        self.check_free()

    def check_free(self) -> None:
        """Raises `CannotKeep` if one of the files is there: secrets are never overwritten."""
        there = [path for path in (self.key, self.secret, self.environment) if path.exists()]
        if there:
            names = ", ".join(map(str, there))
            raise CannotKeep(
                f"{names}: there already, and left as it is. Squadron has its App; if you want"
                " another one, move what is there away, or name another directory by --data-dir"
            )

    def write(self, app: NewApp, api_url: str) -> None:
        """All three files or none. Raises `CannotKeep`."""
        settings = {
            "GITHUB_APP_ID": str(app.id),
            "GITHUB_PRIVATE_KEY_FILE": str(self.key),
            "WEBHOOK_SECRET_FILE": str(self.secret),
            "DATA_DIR": str(self.directory),
            **({} if api_url == DEFAULT_API_URL else {"GITHUB_API_URL": api_url}),
        }
        lines = (f"{PREFIX}{name}={shlex.quote(value)}\n" for name, value in settings.items())
        self._write_all(
            {
                self.key: f"{app.private_key.get_secret_value().strip()}\n",
                self.secret: f"{app.webhook_secret.get_secret_value()}\n",
                self.environment: "".join(lines),
            }
        )

    @staticmethod
    def _write_all(contents: Mapping[Path, str]) -> None:
        written: list[Path] = []
        try:
            for path, content in contents.items():
                # Exclusively, and with its mode from the first moment on.
                number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, SECRET_MODE)
                written.append(path)
                with os.fdopen(number, "w", encoding="utf-8") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            for incomplete in written:
                with suppress(OSError):
                    incomplete.unlink()
            raise CannotKeep(f"{path} cannot be written: {error.strerror}") from error
