"""The level axis of a plot, and marks on it whose labels are never dropped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.fusion.numbers import number_text
from knobctl.report.plot_parts import Role
from knobctl.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.report.plot_parts import Ink, Part, Row

LABEL_ROWS: Final = 2
"""Rows of the marks' labels, always as many so that nothing jumps; more where they would not fit."""


MOST_SHIFT: Final = 10
"""So many columns a label may stand away from its mark; farther away nobody knows whose it is."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A score to point at."""

    at: Fraction
    label: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The level axis: scores from 0 to the best there is, over some columns."""

    most: Fraction
    columns: int

    def column(self, score: Fraction) -> int:
        """The column that a score is in; an edge is in the column above it, the best score in the last."""
        return min(max(math.floor(score * self.columns / self.most), 0), self.columns - 1)

    def column_up_to(self, score: Fraction) -> int:
        """The last column that a bar up to a score fills: an edge is in the column below it."""
        return min(max(math.ceil(score * self.columns / self.most), 1), self.columns) - 1

    def score(self, column: int) -> Fraction:
        """The score at the left edge of a column."""
        return self.most * column / self.columns


def marks_by_column(marks: Iterable[Mark], scores: Scores) -> dict[int, Mark]:
    """The mark that is drawn in each column: the floor before what is now before a ceiling."""
    found: dict[int, Mark] = {}
    for mark in sorted(marks, key=lambda one: _ORDER.index(one.role), reverse=True):
        found[scores.column(mark.at)] = mark
    return found


_ORDER: Final = (Role.FLOOR, Role.NOW, Role.CEILING, Role.OTHER, *Role)


def label_rows(marks: Sequence[Mark], scores: Scores, ink: Ink, *, indent: int) -> list[Row]:
    """Write the labels of marks over their columns, in two rows so that none is dropped.

    A label begins with the line of its mark, over its column where there is room; of marks at one score
    the labels are joined. Where two rows are too few there are more.
    """
    placed: list[list[tuple[int, str, Role]]] = [[] for _ in range(LABEL_ROWS)]
    for column, text, role in _joined(marks, scores, ink):
        row, start, words = _place(placed, column, text, scores.columns)
        if row == len(placed):
            placed.append([])
        placed[row].append((start, words, role))
    _poles(placed, marks, scores, ink)
    return [_spread(sorted(row), indent) for row in reversed(placed)]


def _joined(marks: Sequence[Mark], scores: Scores, ink: Ink) -> Iterator[tuple[int, str, Role]]:
    """One label for each score that is marked, in the order of the scores."""
    by_score: dict[Fraction, list[Mark]] = {}
    for mark in sorted(marks, key=lambda one: (one.at, _ORDER.index(one.role))):
        by_score.setdefault(mark.at, []).append(mark)
    for at, together in by_score.items():
        first = together[0]
        text = ", ".join(printable(mark.label) for mark in together)
        yield scores.column(at), f"{ink.mark(first.role)}{text}"[: scores.columns], first.role


def _place(
    placed: Sequence[Sequence[tuple[int, str, Role]]], column: int, text: str, columns: int
) -> tuple[int, int, str]:
    """Find a row and a start: over its column, else ending there, else as near as there is room."""
    turned = text[1:] + text[0]
    wanted = [(column, text), (column - len(text) + 1, turned)]
    for start, words in wanted:
        for row, taken in enumerate(placed):
            if _free(taken, start, len(words), columns):
                return row, start, words
    starts = range(max(column - MOST_SHIFT, 0), min(column + MOST_SHIFT, columns - len(text)) + 1)
    near = sorted(starts, key=lambda start: abs(start - column))
    for start in near:
        for row, taken in enumerate(placed):
            if _free(taken, start, len(text), columns):
                return row, start, text
    return len(placed), min(column, columns - len(text)), text


def _free(taken: Sequence[tuple[int, str, Role]], start: int, length: int, columns: int) -> bool:
    if start < 0 or start + length > columns:
        return False
    return all(start > at + len(words) or start + length < at for at, words, _ in taken)


def _poles(
    placed: Sequence[list[tuple[int, str, Role]]], marks: Sequence[Mark], scores: Scores, ink: Ink
) -> None:
    """Draw a mark's line through the rows below its label, where nothing else stands."""
    lines = {column: mark.role for column, mark in marks_by_column(marks, scores).items()}
    for above in range(1, len(placed)):
        for start, words, role in list(placed[above]):
            ends = {start, start + len(words) - 1}
            for column in ends & lines.keys():
                for row in placed[:above]:
                    if _free(row, column, 1, scores.columns):
                        row.append((column, ink.mark(role), role))


def _spread(pieces: Sequence[tuple[int, str, Role]], indent: int) -> Row:
    parts: list[Part] = []
    at = -indent
    for start, words, role in pieces:
        parts += [(" " * (start - at), Role.PLAIN), (words, role)]
        at = start + len(words)
    return tuple(part for part in parts if part[0])


def scale_rows(
    scores: Scores, ink: Ink, *, indent: int, floor: Fraction | None = None
) -> list[Row]:
    """Write the level axis and its numbers, evenly spaced; `x` stands where the floor removes."""
    cut = 0 if floor is None else scores.column(floor)
    ticks = _ticks(scores)
    row = [" "] * (scores.columns + 1)
    for at in ticks:
        text = number_text(at)
        column = min(math.floor(at * scores.columns / scores.most), scores.columns - 1)
        start = min(max(column - len(text) // 2, 0), scores.columns + 1 - len(text))
        row[start : start + len(text)] = text
    corner = " " * (indent - 1) + ink.corner
    axis = (
        (corner, Role.AXIS),
        ("x" * cut, Role.CUT),
        (ink.base * (scores.columns - cut), Role.AXIS),
    )
    return [
        tuple(part for part in axis if part[0]),
        ((" " * indent + "".join(row).rstrip(), Role.AXIS),),
    ]


def _ticks(scores: Scores) -> list[Fraction]:
    """Even numbers of few digits, as many as have room."""
    room = max(scores.columns // 7, 1)
    power = Fraction(10) ** (math.floor(math.log10(scores.most)) - 2)
    steps = (power * times * factor for factor in (1, 10, 100, 1000) for times in (1, 2, 5))
    step = next(step for step in steps if scores.most / step <= room)
    return [step * at for at in range(math.floor(scores.most / step) + 1)]
