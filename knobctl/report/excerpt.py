"""Shows the line in which a finding stands, with a caret under the value."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from knobctl.text import visible

if TYPE_CHECKING:
    from knobctl.documents.tree import Text
    from knobctl.finding import Location

GUTTER: Final = 6
_CUT: Final = "…"


def excerpt(text: Text, place: Location, *, width: int = 80) -> tuple[str, str] | None:
    """Give a line of a text and the line of carets under it; None where the place is no line of it.

    Args:
        text: The text as read.
        place: What to point at. Of a value of several lines, the first.
        width: Columns that both lines may take, gutter included.
    """
    try:
        line = text.line(place.line)
    except IndexError:
        return None
    start = place.column - 1
    end = place.end_column - 1 if place.end_line == place.line else len(line)
    before, at, after = line[:start], line[start : max(end, start)], line[max(end, start) :]
    before, at, after = _plain(before), _plain(at), _plain(after)
    room = width - GUTTER - 3
    at = _shortened(at, room // 2)
    if columns(before) + columns(at) > room - 1:
        keep = max(room - columns(at) - 2, 0) // 2
        before = _CUT + before[len(before) - keep :] if keep else _CUT
    after = _shortened(after, max(room - columns(before) - columns(at), 0))
    carets = " " * columns(before) + "^" * max(columns(at), 1)
    gutter = " " * GUTTER
    return f"{place.line:>{GUTTER}} | {before}{at}{after}".rstrip(), f"{gutter} | {carets}"


def _plain(text: str) -> str:
    """Outside text in one line: tabs as blanks, everything else that moves the cursor as escapes."""
    return visible(text.replace("\t", "  "))


def _shortened(text: str, room: int) -> str:
    if columns(text) <= room:
        return text
    while text and columns(text) > room - 1:
        text = text[: min(len(text) - 1, room)]
    return text + _CUT if room else ""


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: wide letters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
