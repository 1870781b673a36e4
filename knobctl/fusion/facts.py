"""The reach of a setup as plain values: the variable `reach` of policies."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from knobctl.fusion.numbers import fraction_text, number_text, rounded_down, safely_below
from knobctl.fusion.reach import EDGE
from knobctl.fusion.scores import SUMMED_FIRST, last_rank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.fusion.reach import Names, Reach


@lru_cache(maxsize=4096)
def policy_facts(reached: Reach) -> Mapping[str, object]:
    """Give the facts for all enabled rankers, and beside them those for the sets that matter.

    Returns:
        The facts of `_facts`, plus `never_empty_whichever_live`, plus maps of the same facts under
        `without_NAME` (NAME timed out or returned nothing) and `NAME_alone`, for every enabled
        ranker and the usual three. A ranker that is not enabled has ceiling and depth 0.
    """
    enabled = reached.enabled
    named = _named(reached)
    facts = dict(enabled_facts(reached))
    for name in named:
        rest = tuple(other for other in enabled if other != name)
        alone = tuple(other for other in enabled if other == name)
        facts[f"without_{name}"] = _facts(reached, rest, named)
        facts[f"{name}_alone"] = _facts(reached, alone, named)
    return facts


def enabled_facts(reached: Reach) -> Mapping[str, object]:
    """Give the facts for all enabled rankers only: an eighth of the arithmetic, and mostly enough."""
    facts = _facts(reached, reached.enabled, _named(reached))
    return {**facts, "never_empty_whichever_live": reached.never_empty}


def _named(reached: Reach) -> Names:
    return tuple(dict.fromkeys((*SUMMED_FIRST, *reached.enabled)))


def _facts(reached: Reach, live: Names, named: Names) -> dict[str, object]:
    """What the floor does while these rankers are live; zeros where nothing is."""
    setup = reached.setup
    shares = reached.shares(live)
    heaviest = sorted(shares.values(), reverse=True)
    two, three = sum(heaviest[:2], Fraction(0)), sum(heaviest[:3], Fraction(0))
    facts: dict[str, object] = {
        "floor": float(setup.floor),
        "floor_text": number_text(setup.floor),
        "above_vector_ceiling": setup.floor > shares.get("vector", Fraction(1)),
        "above_two_ranker_ceiling": bool(shares) and setup.floor > two,
        "on_edge": _on_edge(reached, live),
        "vacuous": reached.removes_nothing(tuple(shares)),
        "never_empty": bool(shares) and not reached.can_be_empty(live),
        "two_ranker_ceiling": float(two),
        "two_ranker_ceiling_text": fraction_text(two),
        "two_equal_depth": last_rank(two, floor=setup.floor, k=setup.k),
        "three_equal_depth": last_rank(three, floor=setup.floor, k=setup.k),
    }
    for name in named:
        facts |= _of_one(reached, live, name)
    return facts


def _of_one(reached: Reach, live: Names, name: str) -> dict[str, object]:
    share = reached.shares(live).get(name, Fraction(0))
    depth = reached.setup.depths.get(name)
    keeps_all = reached.score_at(live, name, depth) if share else Fraction(0)
    return {
        f"{name}_depth": last_rank(share, floor=reached.setup.floor, k=reached.setup.k),
        f"{name}_ceiling": float(share),
        f"{name}_ceiling_text": fraction_text(share),
        f"{name}_reachable_floor_text": safely_below(share, EDGE) if share > EDGE else "0",
        f"{name}_keep_all_floor_text": rounded_down(keeps_all),
    }


def _on_edge(reached: Reach, live: Names) -> bool:
    """Whether the floor is the ceiling of some of the live rankers.

    The ceiling of all of them is left out: there both sums are the same, so the score is 1.0 in any order.
    """
    shares = reached.shares(live)
    sums = {Fraction(0)}
    for share in shares.values():
        sums |= {part + share for part in sums}
    return any(abs(reached.setup.floor - part) < EDGE for part in sums if 0 < part < 1)
