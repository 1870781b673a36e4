"""Times as transcripts write them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def time_of(text: object) -> datetime | None:
    """Read a time, with its zone; None where it is none."""
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
