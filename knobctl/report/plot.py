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
from knobctl.report.plot_bars import Bar, bars, histogram, upright
from knobctl.report.plot_marks import Mark, Scores, label_rows, marks_by_column, scale_rows
from knobctl.report.plot_parts import (
    GUTTER,
    Frame,
    Ink,
    Part,
    Role,
    Row,
    colored_text_of,
    merged,
    text_of,
)

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
    "colored_text_of",
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
        rows.append((_side(row, top, frame), *merged(cells)))
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
