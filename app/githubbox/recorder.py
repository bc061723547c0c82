"""What was said on the wire, one JSON object a line, for a judge who knows GitHub's contract."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TextIO

from app.githubbox.state import Json

_TOKEN = re.compile(r"gh[pousr]_[A-Za-z0-9._-]{20,}")
_SECRET = re.compile(r'"(pem|client_secret|webhook_secret)":"[^"]*"')


class Recorder:
    """Appends each REST exchange and each webhook; secrets are masked."""

    def __init__(self, path: Path | None) -> None:
        self._file: TextIO | None = path.open("a", encoding="utf-8") if path else None

    def exchange(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        request: object,
        status: int,
        response: object,
    ) -> None:
        self._write(
            {
                "method": method,
                "path": path,
                "query": query,
                "request": request,
                "status": status,
                "response": response,
            }
        )

    def webhook(self, event: str, payload: Json) -> None:
        self._write({"webhook": event, "action": payload.get("action"), "payload": payload})

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _write(self, entry: Json) -> None:
        if self._file:
            line = _TOKEN.sub("ghx_masked", json.dumps(entry, separators=(",", ":")))
            self._file.write(_SECRET.sub(r'"\1":"masked"', line) + "\n")
            self._file.flush()
