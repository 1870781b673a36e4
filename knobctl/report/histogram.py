"""Scores from 0 to 1 as a picture of text: bars, and marks at the scores that matter."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import click

from knobctl.report.plot_bars import upright
from knobctl.report.plot_parts import Ink
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

BANDS: Final = 20
"""Equal bands from 0 to 1; an edge is in the band below, as in an engine's answer."""
BAND_COLUMNS: Final = 3
COLUMNS: Final = BANDS * BAND_COLUMNS
INDENT: Final = "  "
WIDTH: Final = 76
"""What the legend may take beside the indent."""
FLOOR: Final = "^"
CEILING: Final = "|"
_TENTH: Final = COLUMNS // 10
_EDGE: Final = Fraction(1, 10**9)
"""A double this near above an edge is meant to be on it: 0.35 * 20 is a little more than 7."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A score to point at, with a sign of one column such as `FLOOR` or `CEILING`."""

    at: Fraction
    """Above 0, at most 1."""
    sign: str
    meaning: str
    """What the legend says, such as `floor 0.3`."""


def bands_of(scores: Iterable[float]) -> list[int]:
    """Count scores by band; what is not above 0 and at most 1 is left out."""
    bands = [0] * BANDS
    for score in scores:
        if 0 < score <= 1:
            bands[_slot(Fraction(score), BANDS)] += 1
    return bands


def column_of(score: Fraction) -> int:
    """The column that holds a score; as with bands, an edge is in the column below."""
    return _slot(score, COLUMNS)


def _slot(score: Fraction, slots: int) -> int:
    return min(max(math.ceil((score - _EDGE) * slots), 1), slots) - 1


def histogram(
    bands: Sequence[int],
    marks: Sequence[Mark] = (),
    *,
    height: int = 3,
    ink: Ink = Ink.FINE,
    colored: bool = False,
) -> str:
    """Draw bands as bars, under them an axis with the marks, the scale and a legend.

    Args:
        bands: `BANDS` counts, each >= 0. A band that holds anything shows, however small its part.
        marks: What to point at; of two in one column the later one is drawn, the legend has both.
        height: Rows of the bars.
        ink: The characters of the bars.
        colored: Whether what lies under the floor is dimmed.

    Raises:
        ValueError: If there are not `BANDS` bands, or one is negative.
    """
    if len(bands) != BANDS or min(bands) < 0:
        raise ValueError(f"a histogram has {BANDS} bands, none of them negative")
    signs = {column_of(mark.at): mark.sign for mark in marks}
    ruled = {at for at, sign in signs.items() if sign == CEILING}
    cells = [number for number in bands for _ in range(BAND_COLUMNS)]
    rows = [_ruled(row, ruled) for row in upright(cells, height=height, ink=ink)]
    floors = [at for at, sign in signs.items() if sign == FLOOR]
    if colored and floors:
        rows = [_dimmed(row.rstrip(), max(floors) + 1) for row in rows]
    axis = "".join(signs.get(at, "-") for at in range(COLUMNS))
    scale = "".join(f"{tenth / 10:<{_TENTH}.1f}" for tenth in range(11))
    lines = [*rows, axis, scale, *_legend(marks)]
    return "\n".join(f"{INDENT}{line}".rstrip() for line in lines)


def _dimmed(row: str, until: int) -> str:
    return click.style(row[:until], dim=True) + row[until:] if row else row


def _ruled(row: str, ruled: Collection[int]) -> str:
    """One row of the bars; a ceiling shows where no bar stands."""
    return "".join(CEILING if cell == " " and at in ruled else cell for at, cell in enumerate(row))


def _legend(marks: Sequence[Mark]) -> list[str]:
    """What each sign means, in one line where it fits, else one line a sign."""
    meanings: dict[str, list[str]] = {}
    for mark in sorted(marks, key=lambda mark: mark.at):
        meanings.setdefault(mark.sign, []).append(visible(mark.meaning))
    parts = [f"{sign} {', '.join(dict.fromkeys(texts))}" for sign, texts in meanings.items()]
    whole = "   ".join(parts)
    if len(whole) <= WIDTH:
        return [whole] if parts else []
    return [line for part in parts for line in textwrap.wrap(part, WIDTH, subsequent_indent="  ")]
