"""How a text is laid out: lines, comment blocks, and the entries of a mapping as stretches of text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from knobctl.documents.tree import Spot

_BREAK: Final = re.compile(r"\r\n|\n|\r")
_ALIAS: Final = re.compile(r"\*[^\s,\[\]{}]+").match
_COLON: Final = re.compile(r"\s*:(?:[ \t]+[&!][^\s,\[\]{}]*)*").match
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'", re.DOTALL).match


class Entry(NamedTuple):
    """A key that a mapping itself writes, with its value: not what it merges in."""

    name: str
    key: int
    """Start of the key."""
    key_end: int
    """End of the key, its quotes included."""
    end: int
    """End of the value."""
    spot: Spot


def newline_of(text: str) -> str:
    """The line end that a text uses: that of its first line."""
    found = _BREAK.search(text)
    return found[0] if found else "\n"


def line_start(text: str, at: int) -> int:
    """Where the line begins in which an offset lies."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def line_end(text: str, at: int) -> int:
    """Where the line's characters end, before its line end."""
    found = _BREAK.search(text, at)
    return found.start() if found else len(text)


def next_line(text: str, at: int) -> int:
    """Where the next line begins; the end of the text if there is none."""
    found = _BREAK.search(text, at)
    return found.end() if found else len(text)


def after_value(text: str, end: int) -> int:
    """Where the line begins after the one in which a value ends; a block scalar ends with its line end."""
    return end if end and text[end - 1] in "\r\n" else next_line(text, end)


def indentation(text: str, at: int) -> str | None:
    """What stands before an offset in its line, if only blanks do."""
    before = text[line_start(text, at) : at]
    return before if not before.strip(" \t") else None


def comment_block(text: str, line: int, indent: str) -> int:
    """Where the comment lines begin that stand directly above a line and are indented like it."""
    while line > 0:
        above = line_start(text, line - (2 if text[line - 2 : line] == "\r\n" else 1))
        if not text.startswith(f"{indent}#", above):
            return line
        line = above
    return line


def is_merged(text: str, spot: Spot) -> bool:
    """Whether a value arrived by a merge key."""
    return spot.via >= 0 and text.startswith("<<", spot.via)


def is_flow(text: str, spot: Spot) -> bool:
    """Whether a collection is written with brackets."""
    return text.startswith(("{", "["), spot.start)


def entries(text: str, mapping: Spot) -> list[Entry]:
    """The entries that a mapping itself writes, in the order of the text."""
    assert isinstance(mapping.children, dict)
    found = []
    for name, spot in mapping.children.items():
        if is_merged(text, spot):
            continue
        end = spot.end
        if spot.via >= 0 and (alias := _ALIAS(text, spot.via)):
            end = alias.end()
        quoted = _QUOTED(text, spot.key)
        key_end = quoted.end() if quoted else spot.key + len(name)
        found.append(Entry(name, spot.key, key_end, end, spot))
    return sorted(found, key=lambda entry: entry.key)


def after_colon(text: str, entry: Entry) -> int:
    """Behind the colon of an entry, and behind an anchor or tag that stands there."""
    found = _COLON(text, entry.key_end)
    return found.end() if found else entry.key_end
