"""The fused score of one document, in doubles and exactly, and its two closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knobctl.fusion.numbers import Number, as_float, exact

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SUMMED_FIRST: Final = ("vector", "bm25", "recency")
"""Doubles are summed in this order, then the other rankers as `weights` lists them: the order decides the last bit."""


def fused_score(
    ranks: Mapping[str, int],
    *,
    weights: Mapping[str, Number],
    k: int,
    active: Collection[str],
) -> float:
    """Score one document in doubles, summed left to right: what the engine compares with the floor.

    Args:
        ranks: The document's rank, from 1, in every ranker that holds it. A rank in a ranker that is
            not active counts for nothing.
        weights: Weight of every ranker, >= 0. Only ratios matter.
        k: Rank constant, in ranks.
        active: The rankers that returned at least one row.

    Returns:
        A score from 0 to 1; 1.0 is first in every active ranker.

    Raises:
        ValueError: If nothing is active, all active weights are 0, or a rank, weight or name is none.
    """
    if k < 0:
        _refuse(ranks, weights, k, active)
    above = below = 0.0
    seen = 0
    for name in _summation_order(tuple(weights)):
        if name in active:
            seen += 1
            weight = weights[name]
            if type(weight) is not float:
                weight = as_float(weight, f"the weight of {name}")
            if not 0.0 <= weight < math.inf:
                raise ValueError(f"the weight of {name} is {weight}; it must be a number from 0")
            below += weight / (k + 1)
            rank = ranks.get(name)
            if rank is not None:
                if rank < 1:
                    raise ValueError(f"the rank in {name} is {rank}; ranks count from 1")
                above += weight / (k + rank)
    if seen != len(active) or below == 0.0 or not ranks.keys() <= weights.keys():
        _refuse(ranks, weights, k, active)
        if below == 0.0:  # weights so small that w/(k + 1) is no double
            return float(exact_score(ranks, weights=weights, k=k, active=active))
    return above / below


def exact_score(
    ranks: Mapping[str, int],
    *,
    weights: Mapping[str, Number],
    k: int,
    active: Collection[str],
) -> Fraction:
    """Score one document exactly; see `fused_score`.

    Raises:
        ValueError: As `fused_score`.
    """
    shares = exact_shares(weights, active)
    _refuse(ranks, weights, k, active)
    return sum(
        (shares[name] * (k + 1) / (k + rank) for name, rank in ranks.items() if name in shares),
        Fraction(0),
    )


def ceiling(
    found_by: Collection[str], *, weights: Mapping[str, Number], active: Collection[str]
) -> Fraction:
    """Give the best score that a hit found by exactly these rankers can reach: their share of the weights.

    It depends neither on k nor on how many rows a ranker returns.

    Raises:
        ValueError: As `fused_score`, and if a ranker that found the hit is not active.
    """
    shares = exact_shares(weights, active)
    idle = [name for name in found_by if name not in shares]
    if idle:
        raise ValueError(
            f"{idle[0]} found the hit but is not among the active rankers {_listed(active)}"
        )
    return sum((shares[name] for name in set(found_by)), Fraction(0))


def deepest_rank(
    ranker: str,
    *,
    floor: Number,
    weights: Mapping[str, Number],
    k: int,
    active: Collection[str],
) -> int:
    """Give the last rank at which a hit found by this ranker alone passes the floor; 0 if none does.

    Raises:
        ValueError: As `ceiling`, and if the floor is not above 0.
    """
    exact_floor = exact(floor, "the floor")
    if exact_floor <= 0:
        raise ValueError(f"the floor is {floor}; without a floor above 0 there is no last rank")
    _refuse({}, weights, k, active)
    return last_rank(ceiling({ranker}, weights=weights, active=active), floor=exact_floor, k=k)


def last_rank(share: Fraction, *, floor: Fraction, k: int | Fraction) -> int:
    """Solve share * (k + 1)/(k + rank) >= floor for the largest rank; 0 if there is none."""
    if not isinstance(k, int):
        return max(0, math.floor(share * (k + 1) / floor - k)) if share else 0
    above, below = share.as_integer_ratio()
    floor_above, floor_below = floor.as_integer_ratio()
    return max(0, above * (k + 1) * floor_below // (below * floor_above) - k)


def exact_shares(weights: Mapping[str, Number], active: Collection[str]) -> dict[str, Fraction]:
    """Divide the weights of the active rankers by their sum, exactly, in summation order.

    Raises:
        ValueError: If nothing is active, a name or weight is none, or the weights are all 0.
    """
    unknown = [name for name in active if name not in weights]
    if unknown:
        raise ValueError(
            f"{unknown[0]} is active but has no weight; weights are given for {_listed(weights)}"
        )
    known = {
        name: exact(weights[name], f"the weight of {name}")
        for name in _summation_order(tuple(weights))
        if name in active
    }
    for name, weight in known.items():
        if weight < 0:
            raise ValueError(f"the weight of {name} is {weight}; it must be a number from 0")
    total = sum(known.values(), Fraction(0))
    if not known:
        raise ValueError(
            "no ranker is active, so there is no score; a ranker is active when it returned a row"
        )
    if not total:
        raise ValueError(f"the weights of {_listed(known)} are all 0, so there is no score")
    return {name: weight / total for name, weight in known.items()}


@lru_cache(maxsize=64)
def _summation_order(names: tuple[str, ...]) -> tuple[str, ...]:
    first = [name for name in SUMMED_FIRST if name in names]
    return (*first, *(name for name in names if name not in SUMMED_FIRST))


def _refuse(
    ranks: Mapping[str, int], weights: Mapping[str, Number], k: int, active: Collection[str]
) -> None:
    """Raise with the reason why there is no score; return where there is one.

    Raises:
        ValueError: Always where `exact_shares` does, and for ranks, names and k that are none.
    """
    exact_shares(weights, active)
    if k < 0:
        raise ValueError(f"k is {k}; the rank constant must be 0 or more")
    for name, rank in ranks.items():
        if name not in weights:
            raise ValueError(f"a rank is given for {name}, a weight only for {_listed(weights)}")
        if rank < 1:
            raise ValueError(f"the rank in {name} is {rank}; ranks count from 1")


def _listed(names: Collection[str]) -> str:
    return ", ".join(names) or "none"
