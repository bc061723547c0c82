"""Files that hold secrets."""

from pathlib import Path
from typing import Final

MAX_SECRET_FILE_BYTES: Final = 64 * 1024


class SecretFileError(ValueError):
    """The file cannot be used; why goes on a sentence that names it, and never quotes it."""


def secret_text(path: Path) -> str:
    """What stands in the file, with its blanks. Raises `SecretFileError`."""
    try:
        with path.open("rb") as opened:
            content = opened.read(MAX_SECRET_FILE_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise SecretFileError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise SecretFileError("is not UTF-8 text") from None
    if not text.strip():
        raise SecretFileError("is empty")
    if len(content) > MAX_SECRET_FILE_BYTES:
        raise SecretFileError("is larger than 64 kB")
    return text
