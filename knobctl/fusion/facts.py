"""The reach of a setup as plain values: the variable `reach` of policies."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knobctl.fusion.numbers import number_text
from knobctl.fusion.scores import SUMMED_FIRST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from knobctl.fusion.reach import Reach
    from knobctl.fusion.row import Names

MOST: Final = 2**63 - 1
"""The largest whole number of CEL: a floor near 0 reaches to deeper ranks."""


def policy_facts(reached: Reach) -> Mapping[str, object]:
    """Give the facts for all enabled rankers, and beside them those for the sets that matter.

    Returns:
        The facts of `_FACTS` and `_OF_ONE`, plus `never_empty_whichever_live`, plus maps of the same
        facts under `without_NAME` (NAME timed out or returned nothing) and `NAME_alone`, for every
        enabled ranker and the usual three. A ranker that is not enabled has ceiling and depth 0.
    """
    enabled = reached.enabled
    facts = _all_facts(reached, enabled)
    facts["never_empty_whichever_live"] = reached.never_empty
    for name in _named(reached):
        rest = tuple(other for other in enabled if other != name)
        alone = tuple(other for other in enabled if other == name)
        facts[f"without_{name}"] = _all_facts(reached, rest)
        facts[f"{name}_alone"] = _all_facts(reached, alone)
    return facts


def one_fact(reached: Reach, name: str) -> object:
    """Give one fact of `policy_facts`, without the arithmetic of the others where it stands alone.

    Raises:
        KeyError: If there is no such fact.
    """
    if name in _FACTS:
        return _FACTS[name](reached, reached.enabled)
    if of_one := _of_one(name, reached.enabled):
        ranker, kind = of_one
        return _OF_ONE[kind](reached, reached.enabled, ranker)
    return policy_facts(reached)[name]


@lru_cache(maxsize=256)
def _of_one(name: str, enabled: Names) -> tuple[str, str] | None:
    """The ranker, and which fact of it, where a name says both."""
    for ranker in dict.fromkeys((*SUMMED_FIRST, *enabled)):
        kind = name.removeprefix(f"{ranker}_")
        if kind != name and kind in _OF_ONE:
            return ranker, kind
    return None


def fact_names(rankers: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Give the names of `policy_facts`, and of the facts in each of its maps.

    Args:
        rankers: Those of the engine, besides the usual three.
    """
    known = dict.fromkeys((*SUMMED_FIRST, *rankers))
    inner = frozenset(_FACTS) | {f"{name}_{kind}" for name in known for kind in _OF_ONE}
    maps = {f"without_{name}" for name in known} | {f"{name}_alone" for name in known}
    return inner | maps | {"never_empty_whichever_live"}, inner


def _named(reached: Reach) -> Names:
    return tuple(dict.fromkeys((*SUMMED_FIRST, *reached.enabled)))


def _all_facts(reached: Reach, live: Names) -> dict[str, object]:
    """What the floor does while these rankers are live; zeros where nothing is."""
    facts = {name: fact(reached, live) for name, fact in _FACTS.items()}
    for ranker in _named(reached):
        facts |= {f"{ranker}_{kind}": fact(reached, live, ranker) for kind, fact in _OF_ONE.items()}
    return facts


def _equal_depth(reached: Reach, live: Names, rankers: int) -> int:
    return min(reached.deepest(live, reached.heaviest(live, rankers)), MOST)


def _on_edge(reached: Reach, live: Names) -> bool:
    return bool(reached.edges(live, reached.setup.floor))


def _above_vector(reached: Reach, live: Names) -> bool:
    if not reached.scores(live):
        return False
    if "vector" in live:
        return reached.setup.floor > reached.share(live, "vector")
    return _above_best(reached, live)


def _above_two(reached: Reach, live: Names) -> bool:
    two = reached.best(live, 2)
    return 0 < two < reached.setup.floor and not _above_best(reached, live)


def _above_best(reached: Reach, live: Names) -> bool:
    """Whether no hit at all can pass: only a raw sum has a best score that floors lie above."""
    return reached.scores(live) and reached.setup.floor > reached.best(live, len(live))


def _depth(reached: Reach, live: Names, ranker: str) -> int:
    return min(reached.deepest(live, (ranker,)), MOST) if ranker in live else 0


def _reachable_floor(reached: Reach, live: Names, ranker: str) -> str:
    return reached.under(reached.share(live, ranker))


def _keep_all_floor(reached: Reach, live: Names, ranker: str) -> str:
    if not reached.share(live, ranker):
        return "0"
    return reached.down(reached.score_at(live, ranker, reached.setup.depths.get(ranker)))


_FACTS: Final[Mapping[str, Callable[[Reach, Names], object]]] = {
    "floor": lambda reached, _: float(reached.setup.floor),
    "floor_text": lambda reached, _: number_text(reached.setup.floor),
    "above_vector_ceiling": _above_vector,
    "above_two_ranker_ceiling": _above_two,
    "above_best_score": _above_best,
    "on_edge": _on_edge,
    "vacuous": lambda reached, live: reached.removes_nothing(live),
    "never_empty": lambda reached, live: reached.scores(live) and not reached.can_be_empty(live),
    "two_ranker_ceiling": lambda reached, live: float(reached.best(live, 2)),
    "two_ranker_ceiling_text": lambda reached, live: reached.told(reached.best(live, 2)),
    "best_score_text": lambda reached, live: reached.told(reached.best(live, len(live))),
    "best_reachable_floor_text": lambda reached, live: reached.under(reached.best(live, len(live))),
    "two_equal_depth": lambda reached, live: _equal_depth(reached, live, 2),
    "three_equal_depth": lambda reached, live: _equal_depth(reached, live, 3),
}
"""By name, facts about the floor under a set of live rankers."""

_OF_ONE: Final[Mapping[str, Callable[[Reach, Names, str], object]]] = {
    "depth": _depth,
    "ceiling": lambda reached, live, ranker: float(reached.share(live, ranker)),
    "ceiling_text": lambda reached, live, ranker: reached.told(reached.share(live, ranker)),
    "reachable_floor_text": _reachable_floor,
    "keep_all_floor_text": _keep_all_floor,
}
"""By name, facts about what one ranker finds alone; in `reach` they are called `vector_depth` and so on."""
