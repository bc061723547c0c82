"""Structured log lines on stderr: one JSON object each, redacted."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

from app.core.text.redact import redact

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A record as one line; `extra` becomes fields beside message, level and instant."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without a line feed at its end."""
        fields: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return redact(json.dumps(fields, default=str, ensure_ascii=False))


def log_to_stderr() -> None:
    """Squadron's own lines from INFO, everybody else's from WARNING."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("squadron").setLevel(logging.INFO)
