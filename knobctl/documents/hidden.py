"""Finds characters that a reviewer cannot see: bidirectional, zero-width and control characters."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from knobctl.documents.tree import Trouble
from knobctl.text import INVISIBLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.documents.tree import Text, Tree

_RAW: Final = re.compile(
    "[\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)
"""What may stand in a comment unseen; line ends are none of it."""
_HINT: Final = "remove it: a reviewer sees another text than the one that is read"


def note_invisible(text: Text) -> None:
    """Add a trouble for every key, value and comment that holds characters nobody sees.

    Only a text that is not ASCII, or that writes escapes, can hold any: others cost one look.
    """
    raw = text.text
    if raw.isascii() and "\\" not in raw:
        return
    for number, tree in enumerate(text.trees):
        stop = text.trees[number + 1].spot.start if number + 1 < len(text.trees) else len(raw)
        first = 0 if number == 0 else tree.spot.start
        covered = [0]
        for start, end, char in _in_scalars(tree, raw):
            tree.troubles.append(_trouble(char, start, end))
            covered += (start, end)
        covered.sort()
        line = -1
        for found in _RAW.finditer(raw, first, stop):
            # Scalars do not overlap: an odd number of ends before it means outside of all of them.
            outside = bisect_right(covered, found.start()) % 2 == 1
            if outside and text.location(found.start()).line != line:
                line = text.location(found.start()).line
                tree.troubles.append(_trouble(found[0], found.start(), found.end()))


def _in_scalars(tree: Tree, raw: str) -> Iterator[tuple[int, int, str]]:
    for path, spot in tree.spot.walk():
        if spot.via >= 0:
            continue
        if path and isinstance(path[-1], str) and (found := _invisible(path[-1])):
            end = spot.start if raw[spot.key] in "\"'" else spot.key + len(path[-1])
            yield spot.key, spot.key + len(raw[spot.key : end].rstrip(" :")), found
        if spot.children is None:
            value: object = tree.value
            for step in path:
                value = value[step]  # type: ignore[index]  # the spots mirror the value
            if isinstance(value, str) and (found := _invisible(value)):
                yield spot.start, spot.end, found


def _invisible(value: str) -> str | None:
    if value.isprintable():
        return None
    found = INVISIBLE.search(value)
    return found[0] if found else None


def _trouble(char: str, start: int, end: int) -> Trouble:
    name = unicodedata.name(char, "a control character")
    message = f"U+{ord(char):04X} stands here and cannot be seen: {name}"
    return Trouble("invisible-characters", message, start, end, _HINT)
