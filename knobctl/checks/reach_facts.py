"""What policies are told of the arithmetic: `reach` of the contract, and words for their messages."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.fusion import NORMALISED, Scale, Weighs
from knobctl.fusion.facts import fact_names, one_fact
from knobctl.fusion.numbers import rank_text, safely_below
from knobctl.fusion.reach import EDGE
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from knobctl.fusion import Reach
    from knobctl.fusion.row import Names

_NUMBERS: Final = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def facts_named(reached: Reach, names: Iterable[str]) -> dict[str, object]:
    """Give facts of the variable `reach` by name; a name that is none is left out.

    They are those of `Reach.policy_facts` and of `_WORDS` here. Each costs some fractions, and a
    fleet has thousands of setups: only what is asked for is computed.
    """
    found: dict[str, object] = {}
    for name in names:
        if name in _WORDS:
            found[name] = _WORDS[name](reached)
            continue
        try:
            found[name] = one_fact(reached, name)
        except KeyError:
            continue
    return found


def every_fact(reached: Reach) -> dict[str, object]:
    """Give the whole variable `reach`."""
    return {**reached.policy_facts(), **{name: words(reached) for name, words in _WORDS.items()}}


def known_facts(rankers: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Give the names of all facts, and of those in each of the maps for a set of live rankers."""
    outer, inner = fact_names(rankers)
    return outer | _WORDS.keys(), inner


def _shares(reached: Reach) -> Mapping[str, Fraction]:
    return reached.shares(reached.enabled)


def _by_ranker(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _depths(reached: Reach) -> dict[str, int]:
    return {name: reached.deepest(reached.enabled, (name,)) for name in reached.enabled}


def _rows(reached: Reach) -> int:
    depths = reached.setup.depths
    return sum(depths.values()) if all(name in depths for name in reached.enabled) else -1


def _weights(reached: Reach) -> Mapping[str, int] | Mapping[str, Fraction]:
    """The weights up to a factor: whole numbers, which are quick, where first rows stand as they do."""
    setup = reached.setup
    return reached.units if setup.formula.weighs is Weighs.SCORE else setup.weights


def _weight_ratio(reached: Reach) -> float:
    weights = _weights(reached).values()
    lightest = min(weights)
    return float(max(weights) / lightest) if lightest else 0.0


def _lightest(reached: Reach) -> str:
    weights = _weights(reached)
    return min(weights, key=weights.__getitem__)


def _kept_text(reached: Reach) -> str:
    """How deep hits of several rankers pass: `found by two rankers: to rank 30 each; by all three: ...`."""
    heaviest = reached.heaviest(reached.enabled, len(reached.enabled))
    even = len(set(reached.units.values())) == 1
    passing = []
    for size in range(2, len(heaviest) + 1):
        if depth := reached.deepest(reached.enabled, heaviest[:size]):
            who = _who(heaviest[:size], len(heaviest), even=even)
            passing.append(f"by {who}: to rank {rank_text(depth)}")
    if not passing:
        return "nothing"
    return "; ".join([f"found {passing[0]} each", *passing[1:]])


def _who(together: Names, of: int, *, even: bool) -> str:
    size = len(together)
    if size == of:
        return "both rankers" if size == 2 else f"all {_NUMBERS.get(size, str(size))}"
    return f"{_NUMBERS.get(size, str(size))} rankers" if even else " and ".join(together)


def _lowest_text(reached: Reach) -> str:
    """The score of the last row of the weakest list."""
    depths = reached.setup.depths
    scores = [reached.score_at(reached.enabled, name, depth) for name, depth in depths.items()]
    return reached.down(min(scores)) if scores else "0"


def _edge(reached: Reach) -> tuple[Fraction, Sequence[str]]:
    """The ceiling that the floor touches, and whose it is; 0 and nobody where it touches none."""
    edges = reached.edges(reached.enabled, reached.setup.floor)
    fewest = min(map(len, edges), default=0)
    touched = {names: ceiling for names, ceiling in edges.items() if len(names) == fewest}
    alone = " alone" if fewest == 1 else ""
    return next(iter(touched.values()), Fraction(0)), [
        f"{' and '.join(names)}{alone}" for names in touched
    ]


def _edge_text(reached: Reach) -> str:
    edge, touched = _edge(reached)
    *others, last = touched or [""]
    rankers = " or ".join([", ".join(others), last] if others else [last])
    return f"{reached.told(edge)}, the most that a match found by {rankers} can score"


def _edge_under(reached: Reach) -> str:
    """The next floor of two decimals under the edge that touches no other one."""
    text = reached.under(_edge(reached)[0])
    while reached.edges(reached.enabled, Fraction(text)):
        text = reached.under(Fraction(text))
    return text


def _edge_over(reached: Reach) -> str:
    """The next floor of two decimals above the edge that touches no other one."""
    floor, step = _edge(reached)[0], 10**reached.decimals
    while reached.edges(reached.enabled, floor):
        floor = Fraction(math.floor((floor + EDGE) * step + 1), step)
    return spelled(float(floor))


def _recency_list(reached: Reach) -> int:
    return reached.setup.depths.get("recency", 0)


def _recency_passing(reached: Reach) -> int:
    """How many of the merely recent chunks pass."""
    if "recency" not in reached.enabled:
        return 0
    depth = reached.deepest(reached.enabled, ("recency",))
    return min(depth, reached.setup.depths.get("recency", depth))


def _silent_weight(reached: Reach) -> str:
    """The largest recency weight, of two decimals, with which no merely recent chunk passes; or nothing."""
    setup = reached.setup
    if setup.formula != NORMALISED:
        return ""
    others = sum(
        (weight for name, weight in setup.weights.items() if name != "recency"), Fraction(0)
    )
    if "recency" not in setup.weights or setup.floor >= 1 or not others:
        return ""
    limit = setup.floor * others / (1 - setup.floor)
    return safely_below(limit, EDGE) if limit > Fraction("0.011") else ""


_WORDS: Final[Mapping[str, Callable[[Reach], object]]] = {
    # how many rankers are enabled, and which
    "rankers": lambda reached: len(reached.enabled),
    "rankers_text": lambda reached: ", ".join(reached.enabled),
    # how many rows they fetch together, -1 where a depth is unknown
    "rows": _rows,
    "rows_text": lambda reached: _by_ranker(reached.setup.depths),
    # down to which rank each passes alone
    "depths_text": lambda reached: _by_ranker(
        {name: rank_text(depth) if depth else "none" for name, depth in _depths(reached).items()}
    ),
    # how far the weights spread, and the ranker with the least
    "weights_text": lambda reached: _by_ranker(
        {name: spelled(float(weight)) for name, weight in reached.setup.weights.items()}
    ),
    "weight_ratio": _weight_ratio,
    "weight_ratio_text": lambda reached: f"{_weight_ratio(reached):.4g}",
    "lightest": _lightest,
    "lightest_ceiling_text": lambda reached: reached.told(min(_shares(reached).values())),
    # what passes that several rankers found
    "kept_text": _kept_text,
    "lowest_text": _lowest_text,
    # the ceiling that the floor touches, and floors on either side of it
    "edge_text": _edge_text,
    "edge_under_text": _edge_under,
    "edge_over_text": _edge_over,
    "two_ranker_reachable_floor_text": lambda reached: reached.under(reached.two_ranker_ceiling),
    # whether another rank constant moves the ceilings too
    "ceilings_move": lambda reached: reached.setup.formula.scale is Scale.RAW,
    "recency_list": _recency_list,
    "recency_passing": _recency_passing,
    "recency_silent_weight_text": _silent_weight,
}
"""By name, facts that the contract does not list."""
