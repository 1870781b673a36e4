"""What retrieval does under one set: the effective values of its knobs, found by role where they have one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

from knobctl.knobs.fusion_setup import DISABLED, InForce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.knobs import Catalogue, KnobValue

T = TypeVar("T", int, float)

_BEHIND_THE_CACHE: Final = frozenset(
    {
        "floor.fused",
        "floor.no_match",
        "assembly_max_chunks",
        "assembly_token_budget",
        "max_chunks_per_document",
        "mmr_lambda",
        "dedup_min_similarity",
        "result_cache_mode",
        "result_cache_ttl_seconds",
    }
)
"""Knobs, by role or by name, that cannot change the set before the floor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How rankings become one score."""

    k: int
    weights: Mapping[str, float]
    """Of the rankers that take part, in summation order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """When the first pass does not do, and what follows then."""

    is_on: bool
    min_confident: float
    floor: float
    max_queries: int
    depth_factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyLimits:
    """What may enter a prompt."""

    max_chunks: int
    token_budget: int
    per_document: int
    mmr_lambda: float
    dedup_min_similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One set, ready for use."""

    floor: float
    """Of AssembleContext; Search has its own."""
    vector_min_cosine: float
    """0 drops nothing, negative cosines included."""
    no_match_min_cosine: float
    """0 is off."""
    fusion: Fusion
    depths: Mapping[str, int]
    """Rows wanted of each ranker that takes part."""
    recency_window_hours: int
    timeout_s: float
    expansion: Expansion
    limits: AssemblyLimits
    caches: bool
    cache_ttl_s: float
    ranking: tuple[KnobValue, ...]
    """The values of the knobs that can change the set before the floor, in schema order: equal ones rank equally."""

    def widened(self) -> dict[str, int]:
        """Rows wanted of each ranker in an expansion pass."""
        return {
            name: int(depth * self.expansion.depth_factor) for name, depth in self.depths.items()
        }


def settings_of(catalogue: Catalogue, knobs: Mapping[str, KnobValue]) -> Settings:
    """Read the settings of a canonical set; remembered, for a set changes seldom and calls are many."""
    return _settings(_Identified(catalogue), tuple(knobs.items()))


class _Identified:
    """A catalogue as a key: by identity, since hashing 25 knobs takes longer than reading a set."""

    __slots__ = ("catalogue",)

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    def __hash__(self) -> int:
        return id(self.catalogue)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identified) and other.catalogue is self.catalogue


@lru_cache(maxsize=1024)
def _settings(key: _Identified, knobs: tuple[tuple[str, KnobValue], ...]) -> Settings:
    catalogue = key.catalogue
    values = catalogue.effective(dict(knobs))
    found = _Values(catalogue, values)
    in_force = InForce(catalogue, values, lambda name: Fraction(values[name]))
    return Settings(
        floor=found.number("floor.fused", 0.0),
        vector_min_cosine=found.number("floor.vector", 0.0),
        no_match_min_cosine=found.number("floor.no_match", 0.0),
        fusion=Fusion(
            k=in_force.k, weights={name: float(w) for name, w in in_force.weights.items()}
        ),
        depths=in_force.depths,
        recency_window_hours=found.number("recency_window_hours", 0),
        timeout_s=found.number("ranker.timeout", 0) / 1000,
        expansion=Expansion(
            is_on=found.is_on("gate"),
            min_confident=found.number("gate.confident", 0.0),
            floor=found.number("floor.expansion", 0.0),
            max_queries=found.number("expansion_max_queries", 0),
            depth_factor=found.number("expansion.depth", 0.0),
        ),
        limits=AssemblyLimits(
            max_chunks=found.number("assembly_max_chunks", 0),
            token_budget=found.number("assembly_token_budget", 0),
            per_document=found.number("max_chunks_per_document", 0),
            mmr_lambda=found.number("mmr_lambda", 0.0),
            dedup_min_similarity=found.number("dedup_min_similarity", 0.0),
        ),
        caches=found.is_on("result_cache_mode"),
        cache_ttl_s=found.number("result_cache_ttl_seconds", 0),
        ranking=tuple(
            values[knob.name]
            for knob in catalogue
            if not _BEHIND_THE_CACHE & {knob.role, knob.name}
        ),
    )


@dataclass(frozen=True, slots=True)
class _Values:
    catalogue: Catalogue
    values: Mapping[str, KnobValue]

    def number(self, role_or_name: str, kind: T) -> T:
        """The value of a knob, of the type of `kind`."""
        return type(kind)(self._value(role_or_name))

    def is_on(self, role_or_name: str) -> bool:
        return self._value(role_or_name) != DISABLED

    def _value(self, role_or_name: str) -> KnobValue:
        knob = self.catalogue.by_role.get(role_or_name) or self.catalogue[role_or_name]
        return self.values[knob.name]
