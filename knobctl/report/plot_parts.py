"""What plots are made of: rows of text with roles, ink, and what stands around a plot."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from knobctl.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knobctl.report.plot_marks import Mark

GUTTER: Final = 5
"""Columns before a plot: a label of the upright axis and the axis itself."""


class Role(StrEnum):
    """What a piece of a plot is. Signs and words say it too: no meaning rests on colour."""

    TITLE = "title"
    AXIS = "axis"
    DATA = "data"
    OTHER = "other"
    """What the data is compared with."""
    CUT = "cut"
    """What the floor removes."""
    FLOOR = "floor"
    NOW = "now"
    CEILING = "ceiling"
    PLAIN = "plain"


Part: TypeAlias = tuple[str, Role]
Row: TypeAlias = tuple[Part, ...]


class Ink(StrEnum):
    """The characters that plots are drawn with."""

    FINE = "fine"
    """Braille and block elements."""
    ASCII = "ascii"

    @classmethod
    def for_encoding(cls, encoding: str | None) -> Ink:
        """The finest that a stream can carry."""
        try:
            "▁▂▃▄▅▆▇█⠿┤└─┊".encode(encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return cls.ASCII
        return cls.FINE

    @property
    def levels(self) -> str:
        """The tops of an upright bar, from the least that shows to a full cell."""
        return "▁▂▃▄▅▆▇█" if self is Ink.FINE else ".:#"

    @property
    def shades(self) -> str:
        """The parts of a level bar, in order."""
        return "█▓▒░" if self is Ink.FINE else "#=+-"

    @property
    def removed(self) -> str:
        """A cell of a level bar that the floor removes."""
        return "·" if self is Ink.FINE else "."

    @property
    def side(self) -> str:
        """The upright axis."""
        return "│" if self is Ink.FINE else "|"

    @property
    def tick(self) -> str:
        """The upright axis where a label stands."""
        return "┤" if self is Ink.FINE else "+"

    @property
    def corner(self) -> str:
        """Where the axes meet."""
        return "└" if self is Ink.FINE else "+"

    @property
    def base(self) -> str:
        """The level axis."""
        return "─" if self is Ink.FINE else "-"

    def mark(self, role: Role) -> str:
        """The line of a mark, and what its label begins with."""
        if self is Ink.ASCII:
            return {Role.FLOOR: "|", Role.NOW: ":"}.get(role, "'")
        return {Role.FLOOR: "┃", Role.NOW: "┆"}.get(role, "┊")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around a plot, and how it is drawn."""

    title: str
    sentence: str
    width: int
    height: int
    """Rows of the plot itself."""
    ink: Ink = Ink.FINE
    marks: Sequence[Mark] = ()

    def head(self) -> list[Row]:
        """The title."""
        return said(self.title, self.width, Role.TITLE)

    def foot(self) -> list[Row]:
        """The sentence."""
        return said(self.sentence, self.width)


def merged(parts: Sequence[Part]) -> list[Part]:
    """Put neighbours of one role together."""
    merged: list[Part] = []
    for text, role in parts:
        if merged and merged[-1][1] is role:
            merged[-1] = (merged[-1][0] + text, role)
        else:
            merged.append((text, role))
    return merged


def said(text: str, width: int, role: Role = Role.PLAIN) -> list[Row]:
    """Write a sentence in as many rows as it needs."""
    return [
        ((line, role),) for line in textwrap.wrap(printable(text), width, break_on_hyphens=False)
    ]


_STYLES: Final[dict[Role, dict[str, Any]]] = {
    Role.TITLE: {"bold": True},
    Role.AXIS: {"dim": True},
    Role.OTHER: {"fg": "cyan"},
    Role.CUT: {"fg": "red"},
    Role.FLOOR: {"bold": True},
    Role.CEILING: {"dim": True},
}


def colored_text_of(rows: Iterable[Row]) -> str:
    """The rows for a terminal with colours, which repeat what signs and words say."""
    return "\n".join(
        "".join(
            click.style(text, **_STYLES[role]) if role in _STYLES and text.strip() else text
            for text, role in row
        )
        for row in rows
    )


def text_of(rows: Iterable[Row]) -> str:
    """The rows as plain text: what a log and a file get."""
    return "\n".join("".join(text for text, _ in row).rstrip() for row in rows)
