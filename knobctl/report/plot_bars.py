"""Bars of text: upright ones by band, level ones on a scale of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knobctl.report.plot_marks import label_rows, scale_rows
from knobctl.report.plot_parts import GUTTER, Role, merged
from knobctl.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from knobctl.report.plot_marks import Scores
    from knobctl.report.plot_parts import Frame, Ink, Part, Row


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
    return (side, *merged(cells))


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
        rows.append((label, *merged(cells), note))
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
