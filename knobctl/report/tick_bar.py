"""A floor on the way from 0 to the best score, with the ceilings of hits that fewer rankers find marked."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from knobctl.fusion.numbers import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knobctl.fusion import Reach

MARK, FLOOR, NOW, LINE = "|", "^", "o", "-"


class TickBar(NamedTuple):
    """Two lines of the same width."""

    bar: str
    labels: str
    """What stands under the marks; one that has no room is left out, the floor's never."""


def tick_bar(reached: Reach, *, width: int, now: Fraction | None = None) -> TickBar:
    """Draw the floor among the ceilings while all enabled rankers are live.

    Args:
        reached: What the floor reaches.
        width: Columns.
        now: The floor in force now, where that is another one.
    """
    best = reached.best_score
    last = width - 1

    def column(score: Fraction) -> int:
        return max(0, min(last, round(score / best * last))) if best else 0

    bar = [LINE] * width
    ceilings = _ceilings(reached)
    for ceiling in ceilings:
        bar[column(ceiling)] = MARK
    if now is not None and now != reached.setup.floor:
        bar[column(now)] = NOW
    bar[column(reached.setup.floor)] = FLOOR
    wanted = [(column(reached.setup.floor), number_text(reached.setup.floor))]
    wanted += [(column(ceiling), reached.told(ceiling)) for ceiling in ceilings]
    wanted += [(0, "0"), (last, reached.told(best))]
    return TickBar("".join(bar), _labels(wanted, width))


def _ceilings(reached: Reach) -> list[Fraction]:
    """The most that a hit of one ranker, of the best two, and so on can score; not of all."""
    shares = sorted(reached.shares(reached.enabled).values(), reverse=True)
    return [sum(shares[:size], Fraction(0)) for size in range(1, len(shares))]


def _labels(wanted: Iterable[tuple[int, str]], width: int) -> str:
    """Write labels centred under their columns, the first ones first; one that would touch another is left out."""
    line = [" "] * width
    for column, label in wanted:
        start = max(0, min(width - len(label), column - len(label) // 2))
        end = start + len(label)
        if all(char == " " for char in line[max(0, start - 1) : end + 1]):
            line[start:end] = label
    return "".join(line).rstrip()
