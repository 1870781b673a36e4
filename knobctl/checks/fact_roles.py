"""On which knobs each fact of the arithmetic stands: what a policy reads that asks for it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.knobs import Catalogue

_SHARES: Final = ("fusion.weight.*", "ranker.*")
_AGAINST_FLOOR: Final = ("floor.fused", *_SHARES)
_RANKS: Final = ("floor.fused", "fusion.*", "ranker.*")
EVERY_ROLE: Final = ("floor.fused", "fusion.*", "depth.*", "ranker.*")
"""The roles of all knobs that the arithmetic stands on."""

_BY_FACT: Final[Sequence[tuple[str, Sequence[str]]]] = (
    ("floor", ("floor.fused",)),
    ("floor_text", ("floor.fused",)),
    ("*_keep_all_floor_text", ("fusion.*", "depth.*", "ranker.*")),
    ("lowest_text", ("fusion.*", "depth.*", "ranker.*")),
    ("rows*", ("depth.*", "fusion.weight.*", "ranker.*")),
    ("recency_list", ("depth.*", "fusion.weight.*", "ranker.*")),
    ("above_*", _AGAINST_FLOOR),
    ("on_edge", _AGAINST_FLOOR),
    ("edge_*", _AGAINST_FLOOR),
    ("never_empty*", _AGAINST_FLOOR),
    ("recency_silent_weight_text", _AGAINST_FLOOR),
    ("*_ceiling", _SHARES),
    ("*_ceiling_text", _SHARES),
    ("*_reachable_floor_text", _SHARES),
    ("rankers*", _SHARES),
    ("weight*", _SHARES),
    ("lightest*", _SHARES),
    ("*_depth", _RANKS),
    ("depths_text", _RANKS),
    ("kept_text", _RANKS),
)
"""The first pattern that fits decides; a fact that none fits stands on everything."""


@lru_cache(maxsize=256)
def roles_of(fact: str) -> Sequence[str]:
    """The roles, or patterns of roles, of the knobs on which a fact stands; all of them for a name that is none."""
    return next((roles for pattern, roles in _BY_FACT if fnmatchcase(fact, pattern)), EVERY_ROLE)


def with_rank_constant(knobs: tuple[str, ...], catalogue: Catalogue) -> tuple[str, ...]:
    """Add the rank constant to the knobs that a rule reads, where it moves what weights can give.

    On the normalised scale a ceiling is a share of the weights; a raw sum divides each by the constant.
    """
    constant = catalogue.by_role.get("fusion.k")
    if constant is None or constant.name in knobs or not catalogue.ceilings_move:
        return knobs
    weights = {f"fusion.weight.{ranker}" for ranker in catalogue.rankers}
    reads_weights = any(catalogue[name].role in weights for name in knobs)
    return (*knobs, constant.name) if reads_weights else knobs
