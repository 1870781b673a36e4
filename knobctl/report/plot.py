"""Plots of text: a curve in braille, upright bars by band, level bars. For the CLI and the terminal UI alike.

Each gives rows of (text, role). The rules: nothing that is zero is drawn, and nothing that is not zero is
drawn as zero; data stands over marks; no label of a mark is dropped; how many and of when stands in the
title; few points are drawn as points; one sentence made from the numbers stands under the plot.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.fusion.numbers import exact
from knobctl.report.plot_parts import (
    GUTTER,
    Ink,
    Mark,
    Part,
    Role,
    Row,
    Scores,
    label_rows,
    marks_by_column,
    said,
    scale_rows,
    text_of,
)
from knobctl.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "GUTTER",
    "Bar",
    "Frame",
    "Ink",
    "Mark",
    "Role",
    "Row",
    "Scores",
    "Steps",
    "bars",
    "histogram",
    "line_plot",
    "text_of",
    "upright",
]

FEW: Final = 20
"""Of fewer points no line is drawn: it would look like more than is known."""
_FULLEST: Final = (Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 2), Fraction(1))
"""What the upright axis of shares may end at."""
_BRAILLE: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of the dots of a braille cell, by row from the top and by column."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A share that steps up right above some scores, such as that of refused questions."""

    scores: Sequence[float]
    """Where it steps up, ascending; at a score itself it has not stepped yet."""
    of: int
    """How many steps are the whole."""
    before: int = 0
    """How many are there below the first score."""
    known_from: float = 0.0
    """At scores below it nothing is known, so nothing is drawn."""
    role: Role = Role.DATA

    def at(self, score: Fraction) -> Fraction:
        """The share at a score."""
        return Fraction(self.before + bisect_left(self.scores, float(score)), self.of)


def line_plot(curves: Sequence[Steps], scores: Scores, frame: Frame) -> list[Row]:
    """Draw shares over scores; the first curve stands over the others, all stand over the marks."""
    curves = [curve for curve in curves if curve.of]
    most = max((curve.at(scores.most) for curve in curves), default=Fraction(0))
    top = next(full for full in _FULLEST if full >= most)
    drawings = [_drawn(curve, scores, frame, top) for curve in curves]
    lines = marks_by_column(frame.marks, scores)
    rows: list[Row] = []
    for row in range(frame.height):
        cells = [
            _cell(drawings, lines, (row, column), frame.ink) for column in range(scores.columns)
        ]
        rows.append((_side(row, top, frame), *_merged(cells)))
    known_from = max((curve.known_from for curve in curves), default=0.0)
    return [
        *frame.head(),
        *label_rows(frame.marks, scores, frame.ink, indent=GUTTER),
        *rows,
        *_unknown(scale_rows(scores, frame.ink, indent=GUTTER), scores, known_from),
        *frame.foot(),
    ]


def _drawn(
    curve: Steps, scores: Scores, frame: Frame, top: Fraction
) -> Mapping[tuple[int, int], Part]:
    """The cells that a curve touches."""
    fine = frame.ink is Ink.FINE
    across, down = (2, 4) if fine else (1, 1)
    levels = frame.height * down
    dots: dict[tuple[int, int], int] = {}
    few, second = len(curve.scores) < FEW, curve.role is Role.OTHER
    known_from = exact(curve.known_from)
    for dot in range(scores.columns * across):
        left = scores.most * dot / (scores.columns * across)
        right = scores.most * (dot + 1) / (scores.columns * across)
        if right <= known_from or (second and fine and dot % 2):  # the second one is dotted
            continue
        low, high = (_level(curve.at(edge), top, levels) for edge in (left, right))
        line = range(low, high + 1, 2 if second and fine else 1)
        touched = _points(curve, (left, right), top, levels) if few else line
        for level in touched:
            from_top = levels - 1 - level
            cell = (from_top // down, dot // across)
            dots[cell] = dots.get(cell, 0) | _BRAILLE[from_top % down][dot % across]
    sign = "o" if second else "*"
    return {cell: (chr(0x2800 + bits) if fine else sign, curve.role) for cell, bits in dots.items()}


def _points(
    curve: Steps, between: tuple[Fraction, Fraction], top: Fraction, levels: int
) -> Iterator[int]:
    """The levels of the single points in one column of dots: the share right above each score."""
    left, right = between
    first = bisect_left(curve.scores, float(left))
    last = bisect_left(curve.scores, float(right))
    for index in range(first, last):
        yield _level(Fraction(curve.before + index + 1, curve.of), top, levels)


def _level(share: Fraction, top: Fraction, levels: int) -> int:
    """The row of dots of a share: the lowest is zero and nothing else, the highest the top and nothing else."""
    if share <= 0:
        return 0
    if share >= top:
        return levels - 1
    return min(max(round(share / top * (levels - 1)), 1), levels - 2)


def _cell(
    drawings: Sequence[Mapping[tuple[int, int], Part]],
    lines: Mapping[int, Mark],
    at: tuple[int, int],
    ink: Ink,
) -> Part:
    for drawing in drawings:
        if at in drawing:
            return drawing[at]
    mark = lines.get(at[1])
    return (ink.mark(mark.role), mark.role) if mark else (" ", Role.PLAIN)


def _side(row: int, top: Fraction, frame: Frame) -> Part:
    """The upright axis with its numbers: the top, nothing, and the middle where a row is there."""
    bottom = frame.height - 1
    shares = {bottom: Fraction(0), 0: top}
    if frame.height % 2 and frame.height > 4:
        shares[bottom // 2] = top / 2
    text = f"{float(shares[row] * 100):.3g}%" if row in shares else ""
    return (f"{text:>{GUTTER - 1}}{frame.ink.tick if text else frame.ink.side}", Role.AXIS)


def _unknown(rows: list[Row], scores: Scores, known_from: float) -> list[Row]:
    """Put `?` on the level axis where nothing is known."""
    cut = scores.column(exact(known_from))
    if not cut:
        return rows
    text = "".join(part for part, _ in rows[0])
    marked = (text[:GUTTER], Role.AXIS), ("?" * cut, Role.CUT), (text[GUTTER + cut :], Role.AXIS)
    return [marked, *rows[1:]]


def _merged(parts: Sequence[Part]) -> list[Part]:
    """Put neighbours of one role together."""
    merged: list[Part] = []
    for text, role in parts:
        if merged and merged[-1][1] is role:
            merged[-1] = (merged[-1][0] + text, role)
        else:
            merged.append((text, role))
    return merged


def upright(numbers: Sequence[int], *, height: int, ink: Ink, most: int | None = None) -> list[str]:
    """Draw numbers as upright bars of one column, in rows from the top.

    Nothing stands for 0; what is above 0 shows, however small its part of `most`, the largest if not given.
    """
    top = max(most or 0, *numbers, 1)
    levels = ink.levels
    rows = []
    for row in reversed(range(height)):
        steps = (-(-number * height * len(levels) // top) for number in numbers)
        heights = (min(max(step - row * len(levels), 0), len(levels)) for step in steps)
        rows.append("".join(levels[one - 1] if one else " " for one in heights))
    return rows


def histogram(
    groups: Mapping[str, Sequence[int]], scores: Scores, frame: Frame, *, floor: Fraction | None
) -> list[Row]:
    """Draw counts by band as upright bars, a panel a group, all to one measure; `x` stands below the floor.

    Args:
        groups: Counts of equal bands over the whole axis, by the group's name; a name may be empty.
        scores: The level axis, whose columns the number of bands divides.
        frame: Title, marks, ink; its height is that of one panel.
        floor: What lies under it is removed.
    """
    most = max((max(counts, default=0) for counts in groups.values()), default=0)
    cut = 0 if floor is None else scores.column(floor)
    rows: list[Row] = []
    for name, counts in groups.items():
        wide = scores.columns // len(counts)
        cells = [number for number in counts for _ in range(wide)]
        drawn = upright(cells, height=frame.height, ink=frame.ink, most=most)
        for index, text in enumerate(drawn):
            number = f"{most}"[-4:] if index == 0 and most else ""
            side = f"{number:>{GUTTER - 1}}{frame.ink.tick if number else frame.ink.side}"
            title = f" {printable(name)} " if index == 0 and name else ""
            rows.append(_panel_row((side, Role.AXIS), text, cut, title))
    return [
        *frame.head(),
        *label_rows(frame.marks, scores, frame.ink, indent=GUTTER),
        *rows,
        *scale_rows(scores, frame.ink, indent=GUTTER, floor=floor),
        *frame.foot(),
    ]


def _panel_row(side: Part, text: str, cut: int, title: str) -> Row:
    """One row of a panel; the group's name stands where nothing else does."""
    start = next(
        (at for at in (0, len(text) - len(title)) if not text[at : at + len(title)].strip()), -1
    )
    cells = [(sign, Role.CUT if at < cut else Role.DATA) for at, sign in enumerate(text)]
    if title and start >= 0:
        cells[start : start + len(title)] = [(sign, Role.PLAIN) for sign in title]
    return (side, *_merged(cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What scores reach, for level bars."""

    label: str
    ends: Sequence[Fraction]
    """Scores, ascending; between each and the one before it the bar has a shade of its own."""
    note: str
    """Stands behind it."""


def bars(
    items: Sequence[Bar],
    scores: Scores,
    frame: Frame,
    *,
    floor: Fraction,
    legend: Sequence[str],
    more: str = "",
) -> list[Row]:
    """Draw level bars on a scale of scores: dots where the floor removes, shades where hits pass.

    Args:
        items: From the top.
        scores: The scale.
        frame: Title, marks, ink, width; its height is not asked.
        floor: What lies under it is removed. A score equal to it passes.
        legend: What each shade means, in order.
        more: What else the legend says.
    """
    indent = max((len(item.label) for item in items), default=0) + 1
    marks = label_rows(frame.marks, scores, frame.ink, indent=indent)
    rows: list[Row] = []
    for item in items:
        label = (f"{printable(item.label):<{indent}}", Role.PLAIN)
        note = (f" {printable(item.note)}", Role.PLAIN)
        cells = _bar(item.ends, scores, floor, frame.ink)
        rows.append((label, *_merged(cells), note))
    signs = [(f"{frame.ink.removed} removed", Role.CUT)]
    signs += [
        (f"   {sign} {text}", Role.PLAIN)
        for sign, text in zip(frame.ink.shades, legend, strict=False)
    ]
    if more:
        signs.append((f"   {more}", Role.PLAIN))
    return [*frame.head(), *marks, *rows, *_wrapped(signs, frame.width), *frame.foot()]


def _bar(ends: Sequence[Fraction], scores: Scores, floor: Fraction, ink: Ink) -> list[Part]:
    """One bar's cells. A part that passes shows at least once, one that does not never."""
    cells: list[Part] = [(" ", Role.PLAIN)] * scores.columns
    last = scores.column_up_to(ends[-1]) if ends and ends[-1] else -1
    cells[: last + 1] = [(ink.removed, Role.CUT)] * (last + 1)
    start = scores.column(floor)
    for sign, end in zip(ink.shades, ends, strict=False):
        if not end or end < floor:
            continue
        upto = scores.column_up_to(end)
        for column in range(min(start, upto), upto + 1):
            if cells[column][0] == ink.removed or column == upto >= start:
                cells[column] = (sign, Role.DATA)
        start = upto + 1
    return cells


def _wrapped(parts: Sequence[Part], width: int) -> list[Row]:
    rows: list[list[Part]] = [[]]
    for text, role in parts:
        if rows[-1] and sum(len(one) for one, _ in rows[-1]) + len(text) > width:
            rows.append([])
            text = text.lstrip()  # noqa: PLW2901  a row begins without the gap
        rows[-1].append((text, role))
    return [tuple(row) for row in rows]
