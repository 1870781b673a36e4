"""The numbers behind the plots of a floor: a table for people, CSV for what comes after."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.evidence.recording import Label
from knobctl.fusion.numbers import number_text
from knobctl.report.floor_view import marks
from knobctl.report.reach import aligned, passes, table
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.evidence.curve import RefusalCurve
    from knobctl.report.floor_view import FloorView

BANDS: Final = 50
"""Of the scores in a CSV file."""


def floor_table(view: FloorView) -> str:
    """What each floor lets through and refuses, those that the plots point at among them; then the reach.

    Of all questions how many get no context; of answerable ones how many are lost, of unanswerable ones
    how many pass; each with how many there are.
    """
    pointed = {
        mark.at: ", ".join(one.label for one in marks(view) if one.at == mark.at)
        for mark in marks(view)
    }
    floors = sorted({*_even(view, 20), *pointed})
    first = view.reached.enabled[0]
    head = ["floor", f"{visible(first)} alone", *_heads(view), ""]
    lines = [head]
    for floor in floors:
        under = view.reached.under_floor(floor)
        lines.append(
            [
                number_text(floor),
                passes(under.row(under.enabled, (first,))).strip(),
                *(_cell(curve, floor, label) for label, curve in _curves(view)),
                pointed.get(floor, ""),
            ]
        )
    return f"{aligned(lines)}\n\n{table(view.reached)}"


def _heads(view: FloorView) -> Iterator[str]:
    for label, curve in _curves(view):
        match label:
            case Label.ANSWERABLE:
                what = "lost"
            case Label.UNANSWERABLE:
                what = "passed"
            case None:
                what = "no context"
            case name:
                what = visible(name)
        yield f"{what} /{curve.counted:,}"


def _curves(view: FloorView) -> Iterator[tuple[Label | str | None, RefusalCurve]]:
    if view.evidence:
        yield None, view.evidence.curve
        yield from view.evidence.by_label.items()
    if view.beside:
        yield view.beside.name, view.beside.measured.curve


def _cell(curve: RefusalCurve, floor: Fraction, label: Label | str | None) -> str:
    if not curve.knows(floor):
        return "?"
    number = curve.refused(floor)
    if label is Label.UNANSWERABLE:
        number = curve.counted - number
    wide = len(f"{curve.counted:,}")
    return f"{number:>{wide},} {number / curve.counted:>6.1%}"


def _even(view: FloorView, parts: int) -> Iterator[Fraction]:
    """Floors from above 0 to the best score, evenly spaced, in few decimals."""
    most, unit = view.reached.best_score, Fraction(1, 10**view.reached.decimals)
    step = max(most / parts // unit * unit, unit)
    floor = step
    while floor <= most:
        yield floor
        floor += step


def floor_csv(view: FloorView) -> str:
    """Every number of the plots: `plot,series,score,upto,count,of`.

    In `reach` the score is the floor, and count and of are the last rank that passes and the depth; in
    `refused` the score is the floor too; in `scores` it is the lower edge of a band.
    """
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["plot", "series", "score", "upto", "count", "of"])
    for row in view.reached.rows:
        series = f"{'+'.join(row.live)}|{'+'.join(row.found_by)}"
        rows.writerow(
            [
                "reach",
                series,
                _number(view.floor),
                _number(row.ceiling),
                row.deepest_rank,
                row.depth,
            ]
        )
    for label, curve in _curves(view):
        for floor in _even(view, 100):
            if curve.knows(floor):
                series = _series(label)
                rows.writerow(
                    ["refused", series, _number(floor), "", curve.refused(floor), curve.counted]
                )
    if view.evidence:
        counted = view.evidence.by_band(view.reached.best_score, BANDS)
        for label, numbers in counted.by_label.items():
            for at, number in enumerate(numbers):
                edges = (repr(counted.edges[at]), repr(counted.edges[at + 1]))
                rows.writerow(["scores", _series(label), *edges, number, sum(numbers)])
    return out.getvalue()


def _series(label: Label | str | None) -> str:
    """A name that no spreadsheet takes for a formula."""
    if isinstance(label, Label):
        return label.value
    return f"beside: {visible(label)}" if label else "all"


def _number(value: Fraction) -> str:
    return repr(float(value))
