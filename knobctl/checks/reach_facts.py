"""What policies are told of the arithmetic: `reach` of the contract, and words for messages."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Final

from knobctl.fusion import reach
from knobctl.fusion.numbers import fraction_text, rounded_down, safely_below
from knobctl.fusion.reach import EDGE
from knobctl.fusion.scores import last_rank
from knobctl.knobs.fusion_setup import fusion_setup
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.fusion import Setup
    from knobctl.knobs import Catalogue, KnobValue

_NUMBERS: Final = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def reach_facts(
    catalogue: Catalogue, values: Mapping[str, KnobValue], exact: Callable[[str], Fraction]
) -> Mapping[str, object] | None:
    """Give the variable `reach`: the facts of `Reach.policy_facts`, and words for messages.

    Beside them: rankers, rankers_text: how many rankers are enabled, and which; rows: how many rows they fetch
    together, -1 where a depth is unknown; rows_text, weights_text, depths_text: by ranker; weight_ratio,
    lightest, lightest_ceiling_text: how far the weights spread, and the ranker with the least;
    kept_text: what still passes when vector search alone does not; lowest_text: the lowest score that a
    list can hold; edge_text, edge_under_text, edge_over_text: the ceiling that the floor touches, and
    floors on either side of it; two_ranker_reachable_floor_text; recency_list, recency_passing: how
    many recent chunks there are, and how many of them pass on that alone; recency_silent_weight_text:
    the recency weight with which none does.

    Returns:
        None where the schema has no fused floor or these values leave none in force.
    """
    setup = fusion_setup(catalogue, values, exact)
    return _facts(setup) if setup else None


@lru_cache(maxsize=4096)
def _facts(setup: Setup) -> Mapping[str, object]:
    reached = reach(setup)
    enabled, shares = reached.enabled, reached.shares(reached.enabled)
    depths = {name: last_rank(shares[name], floor=setup.floor, k=setup.k) for name in enabled}
    all_depths_known = all(name in setup.depths for name in enabled)
    edge, touching = _edge(setup, shares)
    lowest = [
        reached.score_at(enabled, name, depth) for name, depth in setup.depths.items() if depth
    ]
    two = reached.two_ranker_ceiling
    lightest, heaviest = (pick(setup.weights.values()) for pick in (min, max))
    recency = depths.get("recency", 0)
    return {
        **reached.policy_facts(),
        "rankers": len(enabled),
        "rankers_text": ", ".join(enabled),
        "rows": sum(setup.depths.values()) if all_depths_known else -1,
        "rows_text": _by_ranker(setup.depths),
        "depths_text": _by_ranker(depths),
        "weights_text": _by_ranker(
            {name: spelled(float(weight)) for name, weight in setup.weights.items()}
        ),
        "weight_ratio": float(heaviest / lightest) if lightest else 0.0,
        "weight_ratio_text": f"{float(heaviest / lightest):.4g}" if lightest else "",
        "lightest": min(setup.weights, key=lambda name: setup.weights[name]),
        "kept_text": _kept_text(setup, shares),
        "lowest_text": rounded_down(min(lowest)) if lowest else "0",
        "lightest_ceiling_text": fraction_text(min(shares.values())),
        "edge_text": f"{fraction_text(edge)}, the most that a match found by {touching} can score",
        "edge_under_text": safely_below(edge, EDGE) if edge > EDGE else "0",
        "edge_over_text": spelled(math.floor((edge + EDGE) * 100 + 1) / 100),
        "two_ranker_reachable_floor_text": safely_below(two, EDGE) if two > EDGE else "0",
        "recency_list": setup.depths.get("recency", 0),
        "recency_passing": min(recency, setup.depths.get("recency", recency)),
        "recency_silent_weight_text": _silent_weight(setup),
    }


def _by_ranker(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _kept_text(setup: Setup, shares: Mapping[str, Fraction]) -> str:
    """How deep hits of several rankers pass: `found by two rankers: to rank 30 each; by all three: ...`."""
    heaviest = sorted(shares, key=lambda name: -shares[name])
    passing = []
    for size in range(2, len(heaviest) + 1):
        together = heaviest[:size]
        ceiling = sum((shares[name] for name in together), Fraction(0))
        if depth := last_rank(ceiling, floor=setup.floor, k=setup.k):
            even = len(set(shares.values())) == 1
            passing.append(f"by {_who(together, len(heaviest), even=even)}: to rank {depth}")
    if not passing:
        return "nothing"
    return "; ".join([f"found {passing[0]} each", *passing[1:]])


def _who(together: list[str], of: int, *, even: bool) -> str:
    size = len(together)
    if size == of:
        return "both rankers" if size == 2 else f"all {_NUMBERS.get(size, str(size))}"
    return f"{_NUMBERS.get(size, str(size))} rankers" if even else " and ".join(together)


def _edge(setup: Setup, shares: Mapping[str, Fraction]) -> tuple[Fraction, str]:
    """The ceiling that the floor touches, and which rankers' it is; 0 and nothing where it touches none."""
    for size in range(1, len(shares)):
        ceilings = {
            names: sum((shares[name] for name in names), Fraction(0))
            for names in combinations(shares, size)
        }
        touched = {
            names: ceiling
            for names, ceiling in ceilings.items()
            if abs(ceiling - setup.floor) < EDGE
        }
        if touched:
            alone = " alone" if size == 1 else ""
            who = ", or by ".join(" and ".join(names) + alone for names in touched)
            return next(iter(touched.values())), who
    return Fraction(0), ""


def _silent_weight(setup: Setup) -> str:
    """The largest recency weight, of two decimals, with which no merely recent chunk passes; or nothing."""
    others = sum(
        (weight for name, weight in setup.weights.items() if name != "recency"), Fraction(0)
    )
    if "recency" not in setup.weights or setup.floor >= 1 or not others:
        return ""
    limit = setup.floor * others / (1 - setup.floor)
    return safely_below(limit, EDGE) if limit > Fraction("0.011") else ""
