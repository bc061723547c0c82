"""Structured log lines on stderr: one JSON object each, redacted."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

from app.core.text.redact import Redactor

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A record as one line; `extra` becomes fields beside message, level and instant."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

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
        plain = json.loads(json.dumps(fields, default=str))
        return json.dumps(self._redact.within(plain), ensure_ascii=False)


def log_to_stderr(redact: Redactor) -> None:
    """Squadron's own lines from INFO, everybody else's from WARNING; `redact` may learn later."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(redact))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("squadron").setLevel(logging.INFO)
