"""The orders in which the fleet can be shown. Pure; nothing in it keeps the interpreter for long.

One call of `sorted` for 100,000 texts holds every thread of the process for its whole time. So equal
values are gathered first, and the different ones are sorted in small parts, which are then merged.
"""

from __future__ import annotations

from heapq import merge
from itertools import islice
from math import isnan
from operator import le
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knobctl.tui.fleet import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from knobctl.tui.fleet import Fleet

_PART: Final = 4_096


class Order(NamedTuple):
    """One order of the list."""

    word: str
    """As the header shows it."""
    key: Callable[[Fleet], Callable[[int], Any]]
    reverse: bool = False


def _worst_first(fleet: Fleet) -> Callable[[int], int]:
    ranks = {state: rank for rank, state in enumerate(State)}
    return lambda row: ranks[fleet.state(row)]


def _set_first(column: Sequence[float]) -> Callable[[int], float]:
    """By value; what is not set comes last where the highest come first."""

    def key(row: int) -> float:
        value = column[row]
        return float("-inf") if isnan(value) else value

    return key


ORDERS: Final = (
    Order("name", lambda fleet: fleet.lowered.__getitem__),
    Order("state", _worst_first),
    Order(
        "floor",
        lambda fleet: _set_first(fleet.column(fleet.floor_knob)),
        reverse=True,
    ),
    Order("warnings", lambda fleet: fleet.warnings.__getitem__, reverse=True),
    Order("last change", lambda fleet: _set_first(fleet.changed), reverse=True),
    Order("set", lambda fleet: fleet.counts.__getitem__, reverse=True),
)


def by_name(fleet: Fleet, rows: Iterable[int]) -> list[int]:
    """Rows by name."""
    known = list(rows)
    key = fleet.lowered.__getitem__
    # As files are listed, tenants mostly are too.
    if all(map(_is_sorted, _parts([*map(key, known)]))):
        return known
    return _sorted(key, known, reverse=False)


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """In parts, each of which begins with the last of the one before."""
    return (texts[start : start + _PART + 1] for start in range(0, len(texts), _PART))


def _is_sorted(texts: Sequence[str]) -> bool:
    return all(map(le, texts, islice(texts, 1, None)))


def in_order(fleet: Fleet, order: Order, named: Sequence[int]) -> list[int]:
    """Rows in an order; among equal ones, as they were.

    Args:
        fleet: The columns.
        order: By what.
        named: The rows by name.
    """
    if order is ORDERS[0]:
        return list(named)
    return _sorted(order.key(fleet), named, reverse=order.reverse)


def _sorted(key: Callable[[int], Any], rows: Iterable[int], *, reverse: bool) -> list[int]:
    gathered: dict[Any, list[int]] = {}
    for row in rows:
        gathered.setdefault(key(row), []).append(row)
    return [row for value in _ordered(gathered, reverse=reverse) for row in gathered[value]]


def _ordered(values: Mapping[Any, object], *, reverse: bool) -> Iterator[Any]:
    known = list(values)
    parts = (
        sorted(known[start : start + _PART], reverse=reverse)
        for start in range(0, len(known), _PART)
    )
    return merge(*parts, reverse=reverse)
