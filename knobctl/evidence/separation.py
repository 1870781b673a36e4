"""How well a score separates two kinds: the area under the ROC curve. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def area_under_curve(wanted: Sequence[float], unwanted: Sequence[float]) -> float | None:
    """Give the share of pairs in which the wanted one scores higher; equal scores count one half.

    Args:
        wanted: Scores of what should score high; finite.
        unwanted: Scores of what should not.

    Returns:
        1 where a floor separates them, 0.5 where the score says nothing; None where one of both is empty.

    Source: Hanley and McNeil 1982: the statistic of Mann and Whitney over the number of pairs.
    """
    if not wanted or not unwanted:
        return None
    ascending = sorted(unwanted)
    twice = sum(bisect_left(ascending, one) + bisect_right(ascending, one) for one in wanted)
    return twice / (2 * len(wanted) * len(unwanted))
