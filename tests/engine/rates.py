"""How many requests came in how short a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from knobctl.engine.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Iterable


def most_in_a_second(moments: Iterable[float]) -> int:
    """The most moments that lie within one second, wherever it begins."""
    found = sorted(moments)
    most = first = 0
    for last, moment in enumerate(found):
        while moment - found[first] >= 1 - 1e-9:  # what is a second apart is not rounded into one
            first += 1
        most = max(most, last - first + 1)
    return most


class NotedPace(Pace):
    """Writes down when each turn was taken: a machine that is busy makes requests arrive in heaps, not leave so."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.moments: list[float] = []

    def _take(self) -> None:
        super()._take()
        self.moments.append(time.monotonic())
