"""A text as read: values, and where every key and value stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from knobctl.finding import Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
Path: TypeAlias = "tuple[str | int, ...]"

_SHORT: Final = 4096
_LINE_END: Final = re.compile(r"\r\n|\n|\r")


class Spot(NamedTuple):
    """Where a node stands in the text: character offsets, from 0, ends exclusive."""

    key: int
    """Start of the key; of the node itself where it has none."""
    start: int
    end: int
    children: dict[str, Spot] | list[Spot] | None = None
    """Spots of a mapping's values or a sequence's items."""
    via: int = -1
    """Where the alias or merge key stands through which the node was reached; -1 if written here."""
    merge: int = -1
    """Where a mapping's own merge key stands; -1 if it has none."""

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, Spot]]:
        """This spot and all below it, in the order of the text, with their paths."""
        yield path, self
        pairs: Iterable[tuple[str | int, Spot]] = ()
        if isinstance(self.children, dict):
            pairs = self.children.items()
        elif self.children is not None:
            pairs = enumerate(self.children)
        for step, child in pairs:
            yield from child.walk((*path, step))


class Trouble(NamedTuple):
    """Something wrong at one place of a text, not yet a finding: severity depends on what stands there."""

    rule: str
    message: str
    start: int
    end: int
    hint: str | None = None
    related: tuple[tuple[str, int], ...] = ()


class TextStop(Exception):  # noqa: N818  it ends the reading of a text, and is caught where the reading began
    """Nothing after this place can be read."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


@dataclass(slots=True)
class Tree:
    """One document of a stream: its value, and where everything in it stands."""

    value: Value
    spot: Spot
    troubles: list[Trouble] = field(default_factory=list)


@dataclass(slots=True)
class Text:
    """A text as read, and its documents. Offsets count characters after a byte-order mark."""

    source: str
    """The name that findings carry."""
    text: str
    trees: list[Tree] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    """What makes the text as a whole unreadable, or readable only up to there."""
    has_bom: bool = False
    """Whether a byte-order mark stood before it."""
    _starts: list[int] | None = None

    def encoded(self, text: str) -> bytes:
        """Another text in this one's place, as bytes: the byte-order mark stays."""
        return text.encode("utf-8-sig" if self.has_bom else "utf-8")

    def location(self, start: int, end: int | None = None) -> Location:
        """Turn offsets into lines and columns, both from 1."""
        line, column = self._line_column(start)
        end_line, end_column = self._line_column(start if end is None else end)
        return Location(self.source, line, column, end_line, end_column)

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        starts = self._line_starts()
        stop = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : stop].rstrip("\r\n")

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        return self._starts

    def _line_column(self, offset: int) -> tuple[int, int]:
        if self._starts is None and len(self.text) < _SHORT and self.text.isascii():
            before = self.text[:offset]
            if "\r" not in before:  # a fleet asks one place of each of its short files
                return before.count("\n") + 1, offset - before.rfind("\n")
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1
