"""How a column of the fleet is compared with a number: 100,000 rows in milliseconds. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knobctl.tui.fleet import Fleet

    Kept: TypeAlias = "Callable[[Fleet, Sequence[int]], list[int]]"
    """Which of some rows are kept, in their order."""


def column_compared(
    column_of: Callable[[Fleet], Sequence[float]], sign: str, wanted: float, default: float
) -> Kept:
    """Compare what is in force: where nothing is set, the default is."""
    with_unset = _holds(sign, default, wanted)
    passing = _PASSING[sign, with_unset]

    def kept(fleet: Fleet, rows: Sequence[int]) -> list[int]:
        return passing(column_of(fleet), wanted, rows)

    return kept


_Passing: TypeAlias = "Callable[[Sequence[float], float, Sequence[int]], list[int]]"
_PASSING: Final[Mapping[tuple[str, bool], _Passing]] = {
    ("<", False): lambda held, wanted, rows: [row for row in rows if held[row] < wanted],
    ("<", True): lambda held, wanted, rows: [row for row in rows if not held[row] >= wanted],
    ("<=", False): lambda held, wanted, rows: [row for row in rows if held[row] <= wanted],
    ("<=", True): lambda held, wanted, rows: [row for row in rows if not held[row] > wanted],
    (">", False): lambda held, wanted, rows: [row for row in rows if held[row] > wanted],
    (">", True): lambda held, wanted, rows: [row for row in rows if not held[row] <= wanted],
    (">=", False): lambda held, wanted, rows: [row for row in rows if held[row] >= wanted],
    (">=", True): lambda held, wanted, rows: [row for row in rows if not held[row] < wanted],
    ("=", False): lambda held, wanted, rows: [row for row in rows if held[row] == wanted],
    ("=", True): lambda held, wanted, rows: [
        row for row in rows if not (held[row] < wanted or held[row] > wanted)
    ],
    ("!=", False): lambda held, wanted, rows: [
        row for row in rows if held[row] < wanted or held[row] > wanted
    ],
    ("!=", True): lambda held, wanted, rows: [row for row in rows if held[row] != wanted],
}
"""By sign, and whether rows that set nothing pass, how a column is compared.

Every comparison with NaN, which is where nothing is set, fails, and so its contrary holds. One line
for each: a call in every row would cost more than the row.
"""


def _holds(sign: str, value: float, wanted: float) -> bool:
    return bool(_PASSING[sign, False]([value], wanted, [0]))
