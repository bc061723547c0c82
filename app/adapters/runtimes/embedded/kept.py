"""Results too long for the model, kept whole beside the session and read line by line on demand."""

import os
from pathlib import Path

from app.adapters.runtimes.embedded import files

DIRECTORY_NAME = "results"
MOST_LINE_CHARACTERS = 2_000
"""A longer line is read as several, so that every part of it can be asked for."""

_CHARACTERS_WITHIN_A_FILE = files.MOST_FILE_BYTES // 4  # a character has at most four bytes


class NotKept(Exception):
    """There is no kept result of this number; the text is for the model."""


class KeptResults:
    """The results of one session, numbered from 1. The oldest go when there are too many."""

    def __init__(self, session_directory: Path, most_results: int, most_bytes: int) -> None:
        """Find what an earlier process kept. Raises `OSError`."""
        self._directory = session_directory / DIRECTORY_NAME
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._most_results = most_results
        self._most_bytes = most_bytes
        self._bytes = {
            int(file.stem): file.lstat().st_size
            for file in self._directory.iterdir()
            if file.suffix == ".txt" and file.stem.isdecimal()
        }

    def keep(self, text: str) -> int | None:
        """The number under which the text is kept from now on; None: it could not be written."""
        number = max(self._bytes, default=0) + 1
        try:
            content = _encoded(text)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(self._file(number), flags, 0o600), "wb") as file:
                file.write(content)
            self._bytes[number] = len(content)
            self._let_go()
        except OSError:
            return None
        return number

    def has(self, number: int) -> bool:
        """Whether this result is still kept."""
        return number in self._bytes

    def read(self, number: int, first_line: int, last_line: int | None, most: int) -> str:
        """Some lines with their numbers, in at most about `most` characters.

        Raises `NotKept`, and `FileRefused` if somebody else changed what is there.
        """
        if number not in self._bytes:
            kept = ", ".join(str(each) for each in sorted(self._bytes)) or "none"
            raise NotKept(f"result {number} is not kept (any more); kept are: {kept}")
        content = files.view(self._directory, self._file(number).name)
        lines = _lines(content if isinstance(content, str) else "")
        end = min(last_line or len(lines), len(lines))
        shown: list[str] = []
        for index in range(first_line - 1, end):
            line = f"{index + 1}\t{lines[index]}"
            most -= len(line) + 1
            if shown and most < 0:
                return "\n".join([*shown, f"(cut here: ask for line {index + 1} and on)"])
            shown.append(line)
        return "\n".join([*shown, f"({len(lines)} lines in all)"])

    def _let_go(self) -> None:
        """Never the newest: its number is in the answer that is being written."""
        while len(self._bytes) > 1 and (
            len(self._bytes) > self._most_results or sum(self._bytes.values()) > self._most_bytes
        ):
            oldest = min(self._bytes)
            self._file(oldest).unlink(missing_ok=True)
            del self._bytes[oldest]

    def _file(self, number: int) -> Path:
        return self._directory / f"{number}.txt"


def _encoded(text: str) -> bytes:
    content = text.encode(errors="replace")
    if len(content) <= files.MOST_FILE_BYTES:
        return content
    half = _CHARACTERS_WITHIN_A_FILE // 2 - 100
    return f"{text[:half]}\n[… the middle is lost …]\n{text[-half:]}".encode(errors="replace")


def _lines(content: str) -> list[str]:
    lines = content.removesuffix("\n").split("\n")
    return [
        line[start : start + MOST_LINE_CHARACTERS]
        for line in lines
        for start in range(0, max(len(line), 1), MOST_LINE_CHARACTERS)
    ]
