"""What a simulation came to: rates, shifts, slices, and what it cannot say. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knobctl.evidence.paired import Shift, shift_of
from knobctl.evidence.recording import Corpus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knobctl.evidence.ranking_measures import Measure, Moved
    from knobctl.evidence.rates import Rate
    from knobctl.evidence.simulating import Kept, Pair, Simulated
    from knobctl.knobs import Catalogue, KnobValue

_UNSEEN: Final = ("ranker.timeout",)
_UNSEEN_NAMES: Final = ("result_cache_mode", "result_cache_ttl_seconds")
"""Knobs, by role and by name, that change nothing of what is simulated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some of the questions."""

    name: str
    questions: int
    changed: Rate
    empty: tuple[Rate, Rate]
    served: Kept | None
    passing: Kept | None
    measures: Sequence[Moved]
    """Not corrected for how many slices there are."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A simulation in numbers."""

    simulated: Simulated
    tokens: Shift | None
    """Of the prompts' texts; None where nobody counted."""
    measures: Sequence[Moved]
    """Empty without qrels."""
    slices: Sequence[Slice]
    caveats: Sequence[str]


def summed_up(
    simulated: Simulated, measures: Sequence[Measure], *, seed: int, caveats: Sequence[str] = ()
) -> Summary:
    """Count what a simulation came to.

    Args:
        simulated: The pairs.
        measures: Of ranking; they need qrels.
        seed: Of the tests.
        caveats: What else a reader must know.
    """
    by_measure = {}
    if measures and simulated.judged.has_qrels:
        from knobctl.evidence.ranking_measures import reckoned

        by_measure = reckoned(simulated, measures)
    slices = [
        _slice(simulated, name, pairs, by_measure, seed)
        for name, pairs in simulated.slices().items()
    ]
    return Summary(
        simulated=simulated,
        tokens=_tokens(simulated, seed),
        measures=_moved(simulated.pairs, by_measure, seed),
        slices=slices,
        caveats=[*caveats, *_caveats(simulated)],
    )


def _tokens(simulated: Simulated, seed: int) -> Shift | None:
    before, after = simulated.tokens
    return shift_of(before, after, span=max([*before, *after], default=0.0), seed=seed)


def _moved(
    pairs: Sequence[Pair],
    by_measure: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]],
    seed: int,
) -> Sequence[Moved]:
    if not by_measure:
        return ()
    from knobctl.evidence.ranking_measures import moved

    return moved(pairs, by_measure, seed=seed)


def _slice(
    simulated: Simulated,
    name: str,
    pairs: Sequence[Pair],
    by_measure: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]],
    seed: int,
) -> Slice:
    part = replace(simulated, pairs=pairs)
    return Slice(
        name=name,
        questions=len(pairs),
        changed=part.changes["changed"],
        empty=part.empty,
        served=part.served,
        passing=part.passing,
        measures=_moved(pairs, by_measure, seed),
    )


def together(found: Sequence[Simulated], rankers: Sequence[str]) -> Simulated:
    """Count the questions of several tenants together.

    Args:
        found: At least one, of one engine.
        rankers: All that the engine has, in summation order.

    Returns:
        Under the knobs that are the same in all of them, over their corpora together. The tenant is empty.
    """
    first = found[0]
    if len(found) == 1:
        return first
    unknown: Counter[str] = Counter()
    for one in found:
        unknown.update(one.unknown)
    corpora = [one.corpus for one in found if one.corpus]
    live = {name for one in found for name in one.rankers}
    return replace(
        first,
        tenant="",
        before=_common([one.before for one in found]),
        after=_common([one.after for one in found]),
        pairs=[pair for one in found for pair in one.pairs],
        unknown=dict(unknown),
        corpus=Corpus(
            digest="",
            documents=sum(one.documents for one in corpora),
            chunks=sum(one.chunks for one in corpora),
        ),
        rankers=tuple(name for name in rankers if name in live),
    )


def _common(sets: Sequence[Mapping[str, KnobValue]]) -> dict[str, KnobValue]:
    return {
        name: value
        for name, value in sets[0].items()
        if all(one.get(name) == value for one in sets)
    }


def _caveats(simulated: Simulated) -> Iterator[str]:
    if simulated.judged.has_qrels:
        yield "What nobody judged counts as not relevant: a set that finds other texts looks worse than it is."
    if any(one.before.expanded or one.after.expanded for one in simulated.pairs):
        expanded = sum(one.after.expanded for one in simulated.pairs)
        yield f"{expanded:,} of {len(simulated.pairs):,} questions go through the expansion pass, which is cut at its own floor first; of those a match that is not shown counts as under the floors."


def unseen_knobs(catalogue: Catalogue, changed: Sequence[str]) -> list[str]:
    """Of some knobs those that change nothing of what is simulated."""
    roles = [catalogue.by_role[role].name for role in _UNSEEN if role in catalogue.by_role]
    return [name for name in changed if name in roles or name in _UNSEEN_NAMES]
