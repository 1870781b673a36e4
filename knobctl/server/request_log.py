"""Log lines for people and for machines; each names the call that it belongs to."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any, Final

from knobctl.server.request_id import current_request_id
from knobctl.text import visible

_OWN: Final = frozenset(
    [*logging.makeLogRecord({}).__dict__, "message", "asctime", "request_id", "taskName"]
)
"""What every record has; the rest are facts that the line was given."""


class NamesItsCall(logging.Filter):
    """Puts the id of the call that is being answered on each record, in the thread that made it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every record."""
        record.request_id = current_request_id()
        return True


class TextFormatter(logging.Formatter):
    """Time, level, logger, the id of the call in brackets, message."""

    def format(self, record: logging.LogRecord) -> str:
        """Make one line, and the lines of a traceback under it."""
        request_id = getattr(record, "request_id", "")
        told = visible(record.getMessage())
        line = f"{_time(record)} {record.levelname} {record.name}: {f'[{request_id}] ' if request_id else ''}{told}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, request_id, and every fact of the line."""

    def format(self, record: logging.LogRecord) -> str:
        """Make the line."""
        told: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id := getattr(record, "request_id", ""):
            told["request_id"] = request_id
        told |= {name: value for name, value in record.__dict__.items() if name not in _OWN}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


FORMATTERS: Final[dict[str, type[logging.Formatter]]] = {
    "text": TextFormatter,
    "json": JsonFormatter,
}


def _time(record: logging.LogRecord) -> str:
    """RFC 3339, UTC, with milliseconds."""
    moment = datetime.fromtimestamp(record.created, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
