"""Times for people: `2 h ago`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNITS: Final[Sequence[tuple[timedelta, str]]] = (
    (timedelta(days=365), "y"),
    (timedelta(days=30), "months"),
    (timedelta(days=1), "d"),
    (timedelta(hours=1), "h"),
    (timedelta(minutes=1), "min"),
    (timedelta(seconds=1), "s"),
)


def ago(then: str, now: datetime) -> str:
    """Say how long ago a time was; the time itself where it is unreadable or lies ahead.

    Args:
        then: RFC 3339.
        now: The time, with its zone.
    """
    try:
        age = now - datetime.fromisoformat(then)
    except (ValueError, TypeError):
        return visible(then)
    if age < timedelta(0):
        return "just now" if age > timedelta(seconds=-5) else visible(then)
    for unit, name in _UNITS:
        if age >= unit:
            number = age // unit
            return f"{number} {name.removesuffix('s') if name == 'months' and number == 1 else name} ago"
    return "just now"
