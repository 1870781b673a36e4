"""Reads the lines of files that may be larger than memory, and parses only those that somebody wants."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knobctl.evidence.harvest.asked import Census

MAX_LINE_BYTES: Final = 16 << 20
"""A longer line is passed over: it is one tool's output, and memory is bounded by it."""
_BLOCK_BYTES: Final = 1 << 18
_HEAD_BYTES: Final = 2_048
_MARK: Final = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line where it lies in the block that was read: looked into without a copy, until the next is asked for."""

    block: bytearray
    start: int
    end: int

    def holds(self, word: bytes) -> bool:
        """Whether it holds a word; nearly all records say what they are at their beginning."""
        block, start, end = self
        head = start + _HEAD_BYTES
        if head < end and block.find(word, start, head) >= 0:
            return True
        return block.find(word, start, end) >= 0

    @property
    def raw(self) -> bytes:
        """Its bytes."""
        return bytes(self.block[self.start : self.end])


def lines_of(path: Path, census: Census) -> Iterator[Line]:
    """Give the lines of a file, which end at LF and at nothing else.

    Raises:
        OSError: If it cannot be read.
    """
    block, kept, start = bytearray(_BLOCK_BYTES), 0, 0
    at_start, too_long = True, False
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(memoryview(block)[kept:]):
            filled, start = kept + size, 0
            if at_start:
                start, at_start = len(_MARK) if block.startswith(_MARK) else 0, False
            while (end := block.find(b"\n", max(start, kept), filled)) >= 0:
                if too_long:
                    too_long = False
                else:
                    census.lines += 1
                    yield Line(block, start, end)
                start = kept = end + 1
            kept = filled - start
            if too_long:
                kept = 0
            elif kept > MAX_LINE_BYTES:
                census.skipped["line too long"] += 1
                kept, too_long = 0, True
            elif start:
                block[:kept] = block[start:filled]
            elif kept == len(block):
                block.extend(bytes(len(block)))
    if kept:
        census.lines += 1
        yield Line(block, 0, kept)


def records(path: Path, census: Census, wanted: Callable[[Line], bool]) -> Iterator[dict[str, Any]]:
    """Give the JSON objects of a JSON Lines file; what is none is counted and passed over.

    Args:
        path: The file.
        census: Told what was passed over.
        wanted: Says by its bytes whether a line is worth parsing.

    Raises:
        OSError: If it cannot be read.
    """
    for line in lines_of(path, census):
        if wanted(line):
            raw = line.raw
            record = parsed(raw, census) if raw.strip() else None
            if record is not None:
                yield record


def parsed(raw: bytes, census: Census) -> dict[str, Any] | None:
    """Read one JSON object; None where it is none, which is counted."""
    try:
        value = json.loads(raw.decode("utf-8", "replace"))
    except RecursionError:
        census.skipped["nested too deep"] += 1
        return None
    except ValueError:  # no JSON, or a number with more digits than the interpreter reads
        census.skipped["no JSON"] += 1
        return None
    if not isinstance(value, dict):
        census.skipped["no object"] += 1
        return None
    return value


def texts_of(content: object) -> list[str]:
    """The texts of a message: one string, or those of its blocks."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    found = (block.get("text") for block in content if isinstance(block, dict))
    return [text for text in found if isinstance(text, str)]
